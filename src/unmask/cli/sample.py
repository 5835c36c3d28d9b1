"""``unmask sample``: new images."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from PIL import Image
from tyro.conf import Positional, arg

from unmask.cli.arguments import (
    Amount,
    GuideOption,
    Sampling,
    SettingsOption,
    command_line,
    settings_flags,
)
from unmask.cli.loading import load_guide, load_shared
from unmask.cli.pictures import check_out, write_file, write_sheet
from unmask.cli.results import emit
from unmask.data.pictures import encoded
from unmask.data.transforms import contact_sheet
from unmask.errors import ConfigError
from unmask.progress import bar
from unmask.reading import lines_of, read_bytes
from unmask.samples import SampleFolder

if TYPE_CHECKING:
    from torch import Tensor

    from unmask.pipeline import Pipeline

HELP = """Sample new images into a folder: 000000.png, 000001.png and so on.

  unmask sample emoji --count 64 --grid sheet.png
  unmask sample runs/prior --steps 32 --gif unmasking.gif --out fast
  unmask sample runs/prior --settings paper --out paper
  unmask sample emoji "woman astronaut" --guidance 3 --negative flag --out astronauts
  torchrun --nproc-per-node 4 -m unmask sample runs/prior --count 50000 --out many

After a stop, run the same command again to continue. With a larger --count, only the missing images are
drawn. The same seed gives the same images, in one process or in several. What the settings do:
docs/sampling.md."""

AS_IN_TRAINING = Path("data")  # unless there is a file of that name
SHEET = 64  # pictures of a sheet
MOVING = 16  # pictures of an animation
FRAMES, FRAME_MS, LAST_FRAME_MS = 32, 120, 2000


@command_line
class Arguments(Sampling):
    """Arguments of the command."""

    prompt: Annotated[str | None, Positional, arg(metavar="PROMPT")] = None
    """Prompt, for models trained on captions. None: captions as in training. '': unconditional."""
    captions: Path | None = None
    """A text file with a prompt per line, one for each image, repeated as needed. data: captions as in
    training, the default without a prompt."""
    negative: str = ""
    """Negative prompt: what guidance moves away from."""
    guide: GuideOption = None
    count: Amount = 16
    """Number of images that the folder will have."""
    seed: int = 0
    """The same seed gives the same images: each seed defines an endless sequence of them."""
    out: Path = Path("samples")
    """Folder of the images."""
    grid: Path | None = None
    """Also write a contact sheet of the first 64 images, a PNG."""
    gif: Path | None = None
    """Also write an animation of how the first images appear, up to 16 and to --batch, a GIF."""
    sampling: SettingsOption = settings_flags("sample")

    def __post_init__(self) -> None:
        if min(self.count, self.batch) < 1:
            raise ConfigError(f"{self.count} images, {self.batch} at a time: 1 of each is the least")
        if self.prompt is not None and self.captions is not None:
            raise ConfigError("give either a prompt or --captions, not both")
        check_out(self.grid, option="--grid")
        check_out(self.gif, ".gif", option="--gif")


def main(argv: list[str]) -> None:
    """Draw what is missing in the folder, then the sheet and the animation."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask sample", description=HELP)
    device, precision = arguments.device, arguments.precision
    model, processes = load_shared(arguments.model, device, arguments.backend, precision)
    folder = SampleFolder(
        arguments.out,
        model,
        arguments.seed,
        prompt=arguments.prompt if arguments.captions is None else read_prompts(arguments.captions),
        negative=arguments.negative,
        guide=load_guide(arguments.guide, device, precision),
        **arguments.sampling.keywords,
    )
    film: list[Tensor] = []
    watch = (lambda codes: film.append(codes[:MOVING].clone())) if arguments.gif else None
    with bar("sampling") as report:
        folder.fill(arguments.count, batch=arguments.batch, processes=processes, report=report, film=watch)
    if processes.is_first:
        drawn = {"count": arguments.count, "seed": arguments.seed} | folder.settings.of("sample")
        emit(f"{arguments.count} images: {arguments.out}", folder=arguments.out, **drawn)
        if arguments.grid:
            _write_sheet(arguments.grid, folder, min(arguments.count, SHEET))
        if arguments.gif:
            _write_animation(arguments.gif, model, film)


def read_prompts(path: Path) -> list[str] | None:
    """The lines of a text file; None, which is captions as in training, for ``data``."""
    if path == AS_IN_TRAINING and not path.is_file():
        return None
    try:
        lines = lines_of(read_bytes(path).decode())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}") from error
    if not lines:
        raise ConfigError(f"{path} holds no captions; wanted one a line")
    return lines


def _write_sheet(path: Path, folder: SampleFolder, count: int) -> None:
    pictures = [folder.picture(number) for number in range(count)]
    write_sheet(path, contact_sheet(pictures, _columns(count)), "sheet")


def _write_animation(path: Path, model: "Pipeline", film: "list[Tensor]") -> None:
    frames = _frames(model, film)
    times = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
    moving = {"save_all": True, "append_images": frames[1:], "duration": times, "loop": 0}
    write_file(path, encoded(frames[0], "GIF", **moving))
    emit(f"animation: {path}", animation=path)


def _frames(model: "Pipeline", film: "list[Tensor]") -> list[Image.Image]:
    """Moments of the film, evenly spread from nothing known to the end."""
    import torch

    film = [torch.full_like(film[0], model.prior.mask_id), *film]
    moments = torch.linspace(0, len(film) - 1, min(FRAMES, len(film))).round().int().tolist()
    frames = []
    with bar("filming", unit="frames") as report:
        for number, moment in enumerate(moments):
            report(number, len(moments))
            frames.append(contact_sheet(model.preview(film[moment]), _columns(len(film[0]))))
    return frames


def _columns(count: int) -> int:
    return math.ceil(math.sqrt(count))
