"""``unmask retrieve``: whether samples show what their captions say."""

from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from PIL import Image

from unmask.cli.arguments import Amount, Data, Sampling, SettingsOption, command_line, settings_flags
from unmask.cli.loading import load_model
from unmask.cli.pictures import sheet_with_text, write_file
from unmask.cli.results import emit
from unmask.data.pictures import encoded
from unmask.data.pixels import PixelSet, spread
from unmask.data.splits import Part
from unmask.errors import ConfigError, DataError
from unmask.evaluation.results import plain
from unmask.progress import bar
from unmask.samples import SampleFolder
from unmask.storage.files import accessing, write_json

if TYPE_CHECKING:
    from unmask.evaluation.estimate import Estimate
    from unmask.pipeline import Pipeline

HELP = """Test whether samples show what their captions say.

  unmask retrieve runs/prior photos/ --guidance 3
  unmask retrieve runs/prior emoji --split pairs --count 200     known subjects in styles not trained on

Samples are drawn for captions of images that were not trained on. A sample is correct if, among 50 real
images of different captions, the nearest is the one with its caption: by Inception features (subject) and by
LPIPS (appearance). After a stop, run the same command again to continue."""

ROWS = 24  # captions on the sheet


@command_line
class Arguments(Sampling):
    """Arguments of the command."""

    data: Data
    split: Part = "validation"
    """Which images. pairs: of the built-in emoji, known subjects in a style in which they were not seen."""
    count: Amount = 100
    """Number of captions, evenly spread; captions with words that the model does not know are skipped."""
    samples: Amount = 4
    """Samples per caption."""
    candidates: Amount = 50
    """Real images among which the nearest is searched."""
    out: Path = Path("retrieval")
    """Folder for samples, sheet.png (the real image of a caption, then its samples) and results.json."""
    sampling: SettingsOption = settings_flags("sample")

    def __post_init__(self) -> None:
        if min(self.count, self.candidates) < 2 or min(self.samples, self.batch) < 1:
            raise ConfigError("--count and --candidates must be at least 2, --samples and --batch 1")
        if self.candidates > self.count:
            raise ConfigError(
                f"--candidates {self.candidates} must not be above --count {self.count}",
                hint=f"--candidates {self.count}",
            )


def main(argv: list[str]) -> None:
    """Draw, search and show."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask retrieve", description=HELP)
    model = load_model(arguments.model, arguments.device, arguments.backend, arguments.precision)
    pixels = choose(model, model.open(arguments.data, arguments.split, captions="auto"), arguments)
    folder = SampleFolder(
        arguments.out / "samples",
        model,
        arguments.seed,
        prompt=[*map(str, pixels.captions)],
        **arguments.sampling.keywords,
    )
    with bar("sampling") as report:
        folder.fill(len(pixels) * arguments.samples, batch=arguments.batch, report=report)
    _write_sheet(folder, pixels, arguments)
    found, chance = _measure(model, folder, pixels, arguments), 1 / arguments.candidates
    for by, share in found.items():
        emit(f"{by:<10} {share.value:6.1%} ± {share.standard_error:.1%}", **plain({by: share}))
    emit(f"{'chance':<10} {chance:6.1%}", chance=chance)
    emit(f"also in {arguments.out}: sheet.png, results.json, samples/", folder=arguments.out)


def choose(model: "Pipeline", pixels: PixelSet, arguments: Arguments) -> PixelSet:
    """Images of different captions in words that the model knows, evenly spread."""
    knows = model.words.require().knows
    first = {caption: number for number, caption in reversed([*enumerate(pixels.captions)]) if caption}
    known = sorted(number for caption, number in first.items() if knows(caption))
    if len(known) < arguments.candidates:
        raise DataError(
            f"{arguments.data} has {len(known)} different captions of known words in that part of its split; "
            f"wanted {arguments.candidates} candidates",
            hint=f"--candidates {len(known)}, or another --split" if len(known) > 1 else "another --split",
        )
    chosen = pixels.take([known[place] for place in spread(arguments.count, len(known))])
    emit(
        f"{len(chosen)} captions ({len(first)} in the {arguments.split} split, {len(known)} of known words), "
        f"samples of each: {arguments.samples}, candidates: {arguments.candidates}",
        captions=len(chosen),
        samples=arguments.samples,
        candidates=arguments.candidates,
    )
    return chosen


def _measure(
    model: "Pipeline", folder: SampleFolder, pixels: PixelSet, arguments: Arguments
) -> "dict[str, Estimate]":
    from unmask.evaluation.features import features_of, inception_features, lpips_features
    from unmask.evaluation.retrieval import retrieval

    samples, found = folder.pixels(), {}
    for by, extractor in (("inception", inception_features), ("lpips", lpips_features)):
        with bar(f"looking, by {by}") as report:
            seen = [features_of(part, extractor(model.device), report=report) for part in (samples, pixels)]
        drawn = seen[0][: len(pixels) * arguments.samples]
        found[by] = retrieval(drawn, seen[1], arguments.candidates, seed=arguments.seed)
    options = {"data": arguments.data, "split": arguments.split, "captions": len(pixels)}
    options |= {"samples": arguments.samples, "candidates": arguments.candidates}
    request = {"model": model.fingerprint, "seed": arguments.seed} | folder.settings.of("sample")
    with accessing(arguments.out):
        write_json(arguments.out / "results.json", options | request | plain(found))
    return found


def _write_sheet(folder: SampleFolder, pixels: PixelSet, arguments: Arguments) -> None:
    """Rows of a caption's own image and its first four samples, the caption below."""
    rows = []
    for number in pixels.spread(ROWS):
        own = Image.fromarray(pixels.read([number])[0])
        drawn = (folder.picture(number + turn * len(pixels)) for turn in range(min(4, arguments.samples)))
        rows.append([(own, str(pixels.captions[number])), *((picture, "") for picture in drawn)])
    write_file(arguments.out / "sheet.png", encoded(sheet_with_text(rows)))
