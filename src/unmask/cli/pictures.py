"""What commands that make single pictures share: files in, files out, settings, progress."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from unmask.errors import ConfigError, DataError
from unmask.files import write_bytes

if TYPE_CHECKING:
    from torch import Tensor

    from unmask.images.progress import Report


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How new parts of a picture are drawn."""

    count: int = 4
    """Versions to make."""
    rank: bool = False
    """Put the versions in order, the one whose new codes the model finds likeliest first."""
    seam: int | None = None
    """Pixels over which what is new fades into the picture. 0: a hard edge. None: half a code."""
    temperature: float = 1.0
    """Below 1: likelier codes, less variety. 0: the likeliest."""
    steps: int | None = None
    """Steps of the chain. None: as many as there are codes to draw."""
    stride: int = 1
    """Beyond the trained size: windows are this many codes apart. More: faster and less exact."""
    windows: int | None = None
    """Beyond the trained size: about this many random windows a pass. None: all."""
    seed: int = 0


def check_out(path: Path) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path.suffix.lower() != ".png":
        raise ConfigError(
            f"{path} does not end in .png; other formats do not keep every pixel as it is",
            hint=f"--out {path.with_suffix('.png')}",
        )
    if not path.absolute().parent.is_dir():
        raise DataError(f"there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")


def write_pictures(pictures: Sequence[Image.Image], out: Path) -> list[Path]:
    """Write one picture to ``out``, several to files numbered after it."""
    numbered = [out.with_stem(f"{out.stem}-{number}") for number in range(1, len(pictures) + 1)]
    paths = numbered if len(pictures) > 1 else [out]
    for picture, path in zip(pictures, paths, strict=True):
        file = io.BytesIO()
        picture.save(file, "PNG")
        try:
            write_bytes(path, file.getvalue())
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}") from error
    return paths


def counting(report: "Report", mask_id: int) -> "Callable[[Tensor], None]":
    """A function that is shown the codes after every pass and reports how many of those to draw are known."""
    total = 0

    def on_step(codes: "Tensor") -> None:
        nonlocal total
        left = int((codes == mask_id).sum())
        total = max(total, left)
        report(total - left, total)

    return on_step
