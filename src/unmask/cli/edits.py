"""What the commands that change an image share: arguments, and the way from an image to its versions."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from PIL import Image
from tyro.conf import Positional, arg

from unmask.cli.arguments import (
    Amount,
    Drawing,
    GuideOption,
    PromptFlags,
    PromptOption,
    SettingsOption,
    command_line,
    settings_flags,
)
from unmask.cli.loading import load_guide, load_model
from unmask.cli.pictures import check_out
from unmask.cli.results import emit
from unmask.data.folders import edit_folder, write_beside
from unmask.data.pictures import open_picture
from unmask.data.provenance import KEY
from unmask.data.transforms import contact_sheet
from unmask.progress import say

LOOK_PX = 256  # longer side of a picture on the sheet
COLUMNS = 5  # of the sheet

Seam = Annotated[
    int | None,
    arg(help="Width in pixels of the blend between new and old. 0: a hard edge. None: half a code."),
]
Unlikely = Annotated[
    bool, arg(help="Redraw the codes that the model finds least likely, instead of random ones.")
]


@command_line
class EditArguments(Drawing):
    """Arguments of every edit."""

    image: Annotated[Positional[Path], arg(metavar="IMAGE")]
    """An image file, or a folder, of which every image is edited; results go to the folder --out."""
    count: Amount = 4
    """Number of versions."""
    rank: bool = False
    """Sort the versions by the likelihood of their new codes, the most likely first."""
    prompted: PromptOption = field(default_factory=PromptFlags)
    guide: GuideOption = None
    sampling: SettingsOption = settings_flags("edit")

    def draw(self, how: Literal["inpaint", "extend", "vary"], out: Path, **given: Any) -> None:
        """Draw versions by the model's method of that name, told what is ``given`` too, and write them."""
        if self.image.is_dir():
            place = out.with_suffix("") if out.suffix == ".png" else out
            paths = edit_folder(partial(self._edit(how, given), progress=False), self.image, place)
            emit("\n".join(map(str, paths)), pictures=paths)
            return
        check_out(out)
        before = open_picture(self.image)  # what is no picture is refused before a model is opened
        pictures = self._edit(how, given)(self.image)
        paths = write_beside(pictures, out)
        emit("\n".join(map(str, paths)), pictures=paths, drawn=[one.info[KEY] for one in pictures])
        sheet = sheet_of(before, pictures, (given.get("left", 0), given.get("top", 0)))
        (path,) = write_beside([sheet], out.with_stem(f"{out.stem}-sheet"))
        say(f"before and after: {path}")
        emit(sheet=path)

    def _edit(self, how: str, given: dict[str, Any]) -> Callable[..., list[Image.Image]]:
        """The model's method of that name, told all but the image."""
        model = load_model(self.model, self.device, self.backend, self.precision)
        guide = load_guide(self.guide, self.device, self.precision)
        options = {"count": self.count, "rank": self.rank, "guide": guide} | asdict(self.prompted)
        return partial(getattr(model, how), **given | options | self.keywords)


def sheet_of(
    before: Image.Image, after: Sequence[Image.Image], place: tuple[int, int] = (0, 0)
) -> Image.Image:
    """An image, and in the same place what came of it, side by side and at a size to look at."""
    framed = Image.new("RGB", after[0].size, "white")
    framed.paste(before, place)
    edge = max(framed.size)
    zoom = LOOK_PX // edge or LOOK_PX / edge
    size = max(round(framed.width * zoom), 1), max(round(framed.height * zoom), 1)
    how = Image.Resampling.NEAREST if zoom >= 1 else Image.Resampling.LANCZOS
    shown = [picture.resize(size, how) for picture in (framed, *after)]
    return contact_sheet(shown, COLUMNS, gap=8)
