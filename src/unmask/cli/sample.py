"""``unmask sample``: new pictures."""

import io
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from PIL import Image

from unmask.cli.loading import load_model
from unmask.errors import ConfigError, DataError
from unmask.files import shortage, sweep, write_bytes, write_json
from unmask.graphs.config import Backend
from unmask.images.pictures import open_picture
from unmask.sampling.config import SamplingConfig
from unmask.training.config import Device, EngineConfig

if TYPE_CHECKING:
    from torch import Tensor

    from unmask.images.progress import Report
    from unmask.pipeline import Pipeline

HELP = """Draw new pictures into a folder, files named by number.

  unmask sample runs/prior/best --count 64 --grid sheet.png
  unmask sample runs/prior/best --steps 32 --temperature 0.9 --gif unmasking.gif
  unmask sample runs/prior/best --steps 16 --schedule cosine --order halton --out fast
  torchrun --nproc-per-node 4 -m unmask sample runs/prior/best --count 50000 --out many

After a stop, run the same command again to continue; with a larger count, only what is missing is drawn. The
same seed always gives the same pictures, in one process or in several. What the settings do:
docs/sampling.md."""

STAMP = "samples.json"  # what a folder's pictures are
SHEET = 64  # pictures of a sheet
MOVING = 16  # pictures of an animation
FRAMES, FRAME_MS, LAST_FRAME_MS = 32, 120, 2000


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="MODEL")]
    """A model with a prior, such as runs/prior/best."""
    count: int = 16
    """Pictures to have in the folder."""
    seed: int = 0
    """Which pictures: each seed stands for an endless row of them, numbered from 0."""
    out: Path = Path("samples")
    """Folder of the pictures: 000000.png and so on."""
    grid: Path | None = None
    """A file for a sheet of the first 64, a PNG."""
    gif: Path | None = None
    """A file for an animation of how the first 16 appear."""
    batch: int = 16
    """Pictures drawn at a time."""
    device: Device = "auto"
    """Where to compute. auto: a GPU if there is one."""
    backend: Backend = "torch"
    """What computes the prior. onnx, onnx-int8: onnxruntime on the CPU (docs/models.md)."""
    sampling: Annotated[SamplingConfig, tyro.conf.arg(name="")] = field(default_factory=SamplingConfig)

    def check(self) -> None:
        """Refuse what could not be done, before anything is computed."""
        if min(self.count, self.batch) < 1:
            raise ConfigError(f"{self.count} pictures, {self.batch} at a time: 1 of each is the least")
        for path, suffix in ((self.grid, ".png"), (self.gif, ".gif")):
            if path and path.suffix.lower() != suffix:
                raise ConfigError(f"{path} does not end in {suffix}")
            if path and not path.absolute().parent.is_dir():
                raise DataError(f"there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")


def main(argv: list[str]) -> None:
    """Draw what is missing in the folder, then the sheet and the animation."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask sample", description=HELP)
    arguments.check()
    from unmask.images.progress import bar
    from unmask.training.engine import Engine

    engine = Engine(EngineConfig(device=arguments.device))
    with engine.first_goes_first():  # what one process fetches or makes, the others find
        model = load_model(arguments.model, str(engine.device), arguments.backend)
    if engine.is_first:
        _open_folder(arguments.out, _request(arguments, model))
    engine.barrier()
    parts = _missing(arguments)[engine.rank :: engine.world]
    engine.barrier()  # nobody writes before all have looked
    with bar("sampling", visible=engine.is_first) as report:
        film = _draw(model, arguments, parts, report)
    engine.barrier()
    if engine.is_first:
        print(f"{arguments.count} pictures: {arguments.out}")
        _show(model, arguments, film)


def fill_folder(model: "Pipeline", arguments: Arguments, report: "Report") -> None:
    """Draw what is missing in the folder, in this process."""
    _open_folder(arguments.out, _request(arguments, model))
    _draw(model, arguments, _missing(arguments), report)


def _request(arguments: Arguments, model: "Pipeline") -> dict[str, Any]:
    """What a picture of the folder depends on, beside its number, as it comes back from JSON."""
    request = {"model": model.fingerprint, "seed": arguments.seed} | asdict(arguments.sampling)
    return dict(json.loads(json.dumps(request)))


def _open_folder(folder: Path, request: dict[str, Any]) -> None:
    """Make sure that all pictures in the folder, there or to come, are of this request."""
    stamp = folder / STAMP
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if all(path.name.startswith((STAMP, f".{STAMP}.")) for path in folder.iterdir()):
            write_json(stamp, request)
    except OSError as error:
        raise DataError(f"{folder} cannot hold samples: {error.strerror}") from error
    if not stamp.exists():
        raise DataError(f"{folder} holds something else than samples", hint="name another:  --out FOLDER")
    _compare(stamp, request)
    sweep(folder)


def _compare(stamp: Path, request: dict[str, Any]) -> None:
    """Refuse to mix pictures of different requests."""
    try:
        there = dict(json.loads(stamp.read_bytes()))
    except (ValueError, TypeError) as error:
        raise DataError(f"{stamp} is damaged: {error}", hint="name another folder:  --out FOLDER") from None
    changed = [
        f"{key} {there.get(key)}, not {value}" for key, value in request.items() if there.get(key) != value
    ]
    if changed:
        message = f"{stamp.parent} holds samples of another request: {'; '.join(changed)}"
        raise DataError(message, hint="name another folder:  --out FOLDER")


def _missing(arguments: Arguments) -> list[range]:
    """The numbers to draw, in parts that are always drawn together: rounding may depend on the company.

    The first part is among them if it is to be filmed, there or not.
    """
    count, batch = arguments.count, arguments.batch
    names = {path.name for path in arguments.out.iterdir()}
    parts = [range(start, min(start + batch, count)) for start in range(0, count, batch)]
    return [
        part
        for part in parts
        if any(_path(arguments.out, number).name not in names for number in part)
        or (arguments.gif and part.start == 0)
    ]


def _draw(model: "Pipeline", arguments: Arguments, parts: list[range], report: "Report") -> "list[Tensor]":
    """Draw the parts and write what is not there yet; if filmed, the codes after each pass of the first."""
    film: list[Tensor] = []
    done, total = 0, sum(map(len, parts))
    for part in parts:
        filmed = film if arguments.gif and part.start == 0 else None
        pictures = model.sample(
            len(part),
            first=part.start,
            seed=arguments.seed,
            batch=arguments.batch,
            on_step=_watch(model.prior.mask_id, done, total, report, filmed),
            **asdict(arguments.sampling),
        )
        for number, picture in zip(part, pictures, strict=True):
            path = _path(arguments.out, number)
            if not path.exists():
                _write(path, picture, "PNG")
        done += len(part)
    return film


def _watch(
    mask_id: int, done: int, total: int, report: "Report", film: "list[Tensor] | None"
) -> "Callable[[Tensor], None]":
    def on_step(codes: "Tensor") -> None:
        report(done + (codes != mask_id).double().mean().item() * len(codes), total)
        if film is not None:
            film.append(codes[:MOVING].clone())

    return on_step


def _show(model: "Pipeline", arguments: Arguments, film: "list[Tensor]") -> None:
    """Write the sheet and the animation, if they are wanted."""
    from unmask.images.transforms import grid

    if arguments.grid:
        numbers = range(min(arguments.count, SHEET))
        pictures = [open_picture(_path(arguments.out, number)) for number in numbers]
        _write(arguments.grid, grid(pictures, _columns(len(pictures))), "PNG")
        print(f"sheet: {arguments.grid}")
    if arguments.gif:
        frames = _frames(model, film)
        times = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
        _write(
            arguments.gif, frames[0], "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0
        )
        print(f"animation: {arguments.gif}")


def _frames(model: "Pipeline", film: "list[Tensor]") -> list[Image.Image]:
    """Moments of the film, evenly spread from nothing known to the end."""
    import torch

    from unmask.images.progress import bar
    from unmask.images.transforms import grid

    film = [torch.full_like(film[0], model.prior.mask_id), *film]
    moments = torch.linspace(0, len(film) - 1, min(FRAMES, len(film))).round().int().tolist()
    frames = []
    with bar("filming") as report:
        for number, moment in enumerate(moments):
            report(number, len(moments))
            frames.append(grid(model.preview(film[moment]), _columns(len(film[0]))))
    return frames


def _columns(count: int) -> int:
    return math.ceil(math.sqrt(count))


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.png"


def _write(path: Path, picture: Image.Image, kind: str, **options: Any) -> None:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    try:
        write_bytes(path, file.getvalue())
    except OSError as error:
        raise DataError(shortage(path, len(file.getvalue()), error)) from error
