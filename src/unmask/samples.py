"""A folder of samples: numbered images of one request, of which only what is missing is drawn.

The request is model, seed and settings. ``samples.json`` holds it, and another one is refused. An image
appears whole or not at all, so that a folder goes on where it was stopped, and processes can share the work.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from unmask.data.pictures import encoded, open_picture
from unmask.data.provenance import inscribed, read
from unmask.diffusion.settings import Settings
from unmask.distributed import ALONE, Group
from unmask.errors import ConfigError, DataError
from unmask.generation.arguments import checked
from unmask.progress import Report, silent
from unmask.reading import DamagedError, parsing, read_json
from unmask.storage.files import accessing, free_name, write_bytes, write_json, writing
from unmask.storage.locks import working_in

if TYPE_CHECKING:
    from unmask.data.pixels import PixelSet
    from unmask.diffusion.fill import OnStep
    from unmask.generation.prompts import Prompt
    from unmask.pipeline import Pipeline

STAMP = "samples.json"  # what a folder's pictures are
NOISE = 2  # version of the noise; in 1 it was no hash of its address
BATCH = 16
MAX_COUNT = 1_000_000  # of pictures in a folder: names have six digits


class SampleFolder:
    """A resumable folder of samples of one model, seed and settings: the same as ``unmask sample`` makes.

    Settings and prompts are those of ``Pipeline.sample``. A folder that holds samples of another request is
    refused.
    """

    @checked
    def __init__(
        self,
        path: str | Path,
        model: "Pipeline",
        seed: int = 0,
        settings: Settings | str | None = None,
        *,
        prompt: "Prompt" = None,
        negative: str = "",
        guide: "Pipeline | None" = None,
        **changes: Any,
    ) -> None:
        self.path, self.model, self.seed = Path(path), model, seed
        self.conditioning: dict[str, Any] = {"prompt": prompt, "negative": negative, "guide": guide}
        self.settings = model.settings("sample", settings, **changes)

    @checked
    def fill(
        self,
        count: int,
        *,
        batch: int = BATCH,
        processes: Group = ALONE,
        report: Report = silent,
        film: "OnStep | None" = None,
    ) -> None:
        """Draw those of the first ``count`` images that are missing. ``processes`` share the work.

        ``film`` is called with the codes after every pass over the first ``batch`` images, which are then
        drawn even if they exist.
        """
        if not 1 <= count <= MAX_COUNT:
            raise ConfigError(f"a folder holds up to {MAX_COUNT:,} samples, not {count:,}")
        with self._opened(processes):
            processes.barrier()
            parts = self._missing(count, batch, filmed=film is not None)[processes.rank :: processes.world]
            processes.barrier()  # nobody writes before all have looked
            done, total = 0, sum(map(len, parts))
            for part in parts:
                self._draw(
                    part, batch, partial(_add, report, done, total, len(part)), None if part.start else film
                )
                done += len(part)
            processes.barrier()

    def picture(self, number: int) -> Image.Image:
        """An existing image, with its metadata in ``info["unmask"]``."""
        picture, drawn = open_picture(self._place(number)), read(self._place(number).read_bytes())
        return inscribed(picture, drawn) if drawn else picture

    def pixels(self) -> "PixelSet":
        """All existing images, as a data set."""
        return self.model.open(str(self.path), keep=False)

    @contextmanager
    def _opened(self, processes: Group) -> Iterator[None]:
        """The folder, all of this request; of several processes the first opens it for all."""
        if not processes.is_first:
            yield
            return
        with accessing(self.path, "hold samples"):
            self.path.mkdir(parents=True, exist_ok=True)
        with working_in(self.path, self._stamp):
            yield

    def _stamp(self) -> None:
        """Write the request into the folder, if it is new; else check that it is the same."""
        stamp = self.path / STAMP
        with accessing(self.path, "hold samples"):
            if all(path.name.startswith((STAMP, f".{STAMP}.")) for path in self.path.iterdir()):
                write_json(stamp, self._request())
        if not stamp.exists():
            raise DataError(
                f"{self.path} holds something else than samples",
                hint=f"name another folder:  --out {free_name(self.path)}",
            )
        self._compare(stamp)

    def _request(self) -> dict[str, Any]:
        """What an image depends on, besides its number, as JSON values."""
        prompt, negative, guide = (self.conditioning[name] for name in ("prompt", "negative", "guide"))
        prompt = prompt if prompt is None or isinstance(prompt, str) else list(prompt)
        prompt = prompt if self.model.words.length else prompt or None  # without words both draw the same
        told = {"prompt": prompt, "negative": negative or None, "guide": guide and guide.fingerprint}
        told = {name: value for name, value in told.items() if value is not None}
        request = {"model": self.model.fingerprint, "noise": NOISE, "seed": self.seed}
        return request | self.settings.of("sample") | told

    def _compare(self, stamp: Path) -> None:
        """Refuse to mix images of different requests."""
        hint = f"name another folder:  --out {free_name(self.path)}"
        try:
            with parsing():
                there = dict(read_json(stamp))
        except DamagedError as error:
            raise DataError(f"{stamp} is damaged: {error}", hint=hint) from None
        there = Settings().of("sample") | {"noise": 1} | there  # what is not there yet had its default
        wanted = dict.fromkeys(self.conditioning) | self._request()
        differing = [key for key in wanted if there.get(key) != wanted[key]]
        changed = [f"{key} {there.get(key)}, not {wanted[key]}" for key in differing]
        if changed:
            message = f"{self.path} holds samples of another request: {'; '.join(changed)}"
            raise DataError(message, hint=hint)

    def _missing(self, count: int, batch: int, *, filmed: bool) -> list[range]:
        """The numbers to draw, in parts that share passes: rounding may depend on the batch."""
        names = {path.name for path in self.path.iterdir()}
        parts = [range(start, min(start + batch, count)) for start in range(0, count, batch)]
        return [
            part
            for part in parts
            if any(self._place(number).name not in names for number in part) or (filmed and part.start == 0)
        ]

    def _draw(self, part: range, batch: int, report: Report, film: "OnStep | None") -> None:
        """Draw a part and write what is not there yet."""
        from unmask.diffusion.fill import counting

        prior = self.model.prior
        pictures = self.model.sample(
            len(part),
            **self.conditioning,
            settings=self.settings,
            first=part.start,
            seed=self.seed,
            batch=batch,
            on_step=counting(report, prior.mask_id, film, len(part) * prior.num_positions),
        )
        for number, picture in zip(part, pictures, strict=True):
            path = self._place(number)
            if not path.exists():
                write_picture(path, encoded(picture))

    def _place(self, number: int) -> Path:
        return self.path / f"{number:06d}.png"


def _add(report: Report, done: int, total: int, count: int, known: float, codes: int) -> None:
    """Report images, of which some are done and ``count`` more are as far as so many of their codes."""
    report(done + count * known / codes, total)


def write_picture(path: Path, data: bytes) -> None:
    """Write a file whole; that there is no room for it is a ``DataError``."""
    with writing(path, len(data)):
        write_bytes(path, data)
