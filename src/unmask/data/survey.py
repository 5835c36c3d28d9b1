"""Statistics of a set of images, for ``unmask data``."""

from collections import Counter
from dataclasses import dataclass, field, replace

from unmask.data.base import Source, content_hash
from unmask.data.config import ImagesConfig
from unmask.data.crops import Crop
from unmask.data.pixels import spread
from unmask.data.prepare import Prepared, Unusable, prepare_all
from unmask.data.transforms import Pixels8
from unmask.progress import Report

SAMPLE = 256  # pictures to show at most


@dataclass
class Survey:
    """Counts over all pictures, and an even sample of the usable ones."""

    sizes: list[tuple[int, int]] = field(default_factory=list)
    """Width and height of each usable picture."""
    formats: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    groups: list[str] = field(default_factory=list)
    pairs: set[int] = field(default_factory=set)
    """Which of the usable pictures are of pairs."""
    contents: set[str] = field(default_factory=set)
    unusable: list[Unusable] = field(default_factory=list)
    sample: list[Pixels8] = field(default_factory=list)
    _stride: int = 1

    @property
    def num_copies(self) -> int:
        """Pictures that are, byte for byte, copies of another one."""
        return len(self.sizes) - len(self.contents)

    def shown(self) -> list[Pixels8]:
        """At most ``SAMPLE`` squares, evenly spread over the set."""
        return [self.sample[place] for place in spread(SAMPLE, len(self.sample))]

    def add(self, item: Prepared | Unusable, *, pair: bool = False) -> None:
        """Count one more picture."""
        if isinstance(item, Unusable):
            self.unusable.append(item)
            return
        self._keep(item.pixels)
        if pair:
            self.pairs.add(len(self.groups))
        self.sizes.append(item.size)
        self.formats[item.format] += 1
        self.modes[item.mode] += 1
        self.groups.append(item.group)
        self.contents.add(item.content)

    def _keep(self, pixels: Pixels8) -> None:
        """Keep every picture until there are too many, then every second, and so on."""
        if len(self.sizes) % self._stride == 0:
            self.sample.append(pixels)
        if len(self.sample) == 2 * SAMPLE:
            self.sample = self.sample[::2]
            self._stride *= 2


def survey(source: Source, config: ImagesConfig, report: Report) -> Survey:
    """Decode every picture of a source once, and count."""
    result, crop = Survey(), Crop.of(config)
    for number, item in enumerate(prepare_all(source, config)):
        if crop and isinstance(item, Prepared):
            address = content_hash(item.pixels.tobytes()), 0  # of the crop that validation sees
            item = replace(item, pixels=crop(item.pixels, *address))
        result.add(item, pair=source.entry(number).pair)
        report(number + 1, len(source))
    return result
