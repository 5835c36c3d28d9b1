"""``unmask``: the list of commands, and the one place where a user's mistake becomes an exit code."""

import os
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unmask import __version__
from unmask.cli.results import OPTIONS, results
from unmask.cli.streams import settle_streams
from unmask.errors import BundleError, DataError, UnmaskError
from unmask.reading import printable

# Command -> (module with ``main(argv)``, what it does). Modules are imported only when called, so that
# ``unmask --help`` does not wait for torch.
COMMANDS = {
    "sample": ("unmask.cli.sample", "sample new images, with or without a prompt"),
    "canvas": ("unmask.cli.canvas", "sample an image larger than the training images"),
    "inpaint": ("unmask.cli.inpaint", "redraw a part of an image, in several versions"),
    "extend": ("unmask.cli.extend", "extend an image beyond its edges"),
    "vary": ("unmask.cli.vary", "draw variations of an image"),
    "studio": ("unmask.cli.studio", "all of this in your browser, on your own machine"),
    "demo": ("unmask.cli.demo", "run many of these commands and show the results on one page"),
    "data": ("unmask.cli.data", "inspect a data set: counts, sizes, bad files, a contact sheet"),
    "train": ("unmask.cli.train", "train both stages, codec and prior, then write a results page"),
    "train codec": ("unmask.cli.train_codec", "stage 1: train a codec, images to codes and back"),
    "encode": ("unmask.cli.encode", "encode a data set to codes once, for training priors"),
    "train prior": ("unmask.cli.train_prior", "stage 2: train a prior on codes"),
    "tune": ("unmask.cli.tune", "find the best sampling settings and store them in the model"),
    "evaluate": ("unmask.cli.evaluate", "FID, KID, precision, recall, diversity over a sweep of settings"),
    "fid": ("unmask.cli.fid", "FID, KID, precision and recall of any two sets of images"),
    "reconstruct": ("unmask.cli.reconstruct", "encode and decode images: a comparison, and PSNR, LPIPS, FID"),
    "score": ("unmask.cli.score", "likelihood of images, in bits per code"),
    "neighbours": ("unmask.cli.neighbours", "nearest training images of samples: a test for copies"),
    "retrieve": ("unmask.cli.retrieve", "test whether samples show what their captions say"),
    "caption": ("unmask.cli.caption", "caption images, with a model trained on captions"),
    "classify": ("unmask.cli.classify", "predict the labels of images, and measure the accuracy"),
    "import": ("unmask.cli.import_", "import models of the paper's authors or taming-transformers"),
    "export": ("unmask.cli.export", "export a model to ONNX, to the Hugging Face hub, or in 16 bits"),
    "weights": ("unmask.cli.weights", "third-party weights (Inception, LPIPS): list, download, verify"),
    "reproduce": ("unmask.cli.reproduce", "test the claims of the paper"),
    "completion": ("unmask.cli.completion", "a completion script for your shell"),
}
HEADINGS = {
    "sample": "Generate and edit",
    "data": "Train",
    "evaluate": "Measure",
    "import": "More",
}
"""Above which commands the list of them has a heading."""
STAGES = ("train codec", "train prior")
TRAINED = ("train codec", "encode", "train prior")
MEASURED = ("reconstruct", "score", "evaluate", "tune", "fid", "neighbours")
ALONE_AFTER = 5  # seconds in which the first process has not failed: the mistake is one's own
SHARED = (*TRAINED, "sample", *MEASURED)  # what several processes do together


def main(argv: list[str] | None = None) -> None:
    """Run one command line and exit: 0 when all went well, 2 on a mistake the user can fix."""
    argv = sys.argv[1:] if argv is None else argv
    settle_streams()
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    warnings.filterwarnings("ignore", module="PIL")  # odd pictures are reported by name, with a reason
    try:
        try:
            _dispatch(argv)
        finally:
            sys.stdout.flush()  # here, where it may fail
    except UnmaskError as error:
        _print_error(errors, error)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("stopped")
        sys.exit(130)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left to say would fail again
        if isinstance(error, BrokenPipeError):  # the reader of the output has closed it
            sys.exit(141)
        _print_error(errors, error)
        sys.exit(2)


def _print_error(console: Console, error: Exception) -> None:
    """Show an error; what a file says in it is shown too, and never obeyed by the terminal.

    What all processes of a machine find, the first one says: torchrun ends the others while they wait.
    """
    if int(os.environ.get("LOCAL_RANK", 0)):
        time.sleep(ALONE_AFTER)
    lines = (printable(line) for line in str(error).splitlines())
    console.print(f"[bold red]error:[/] {escape(chr(10).join(lines))}")


def _dispatch(argv: list[str]) -> None:
    if argv == ["--version"]:
        print(f"unmask {__version__}")
    elif not argv or argv[0] in ("-h", "--help", "help"):
        _print_help()
    else:
        run_command(argv)


def run_command(argv: list[str]) -> None:
    """Run what stands after ``unmask``, in this process; a mistake in it is an UnmaskError."""
    with results([word for word in argv if word in OPTIONS]):
        _run([word for word in argv if word not in OPTIONS])


def _run(argv: list[str]) -> None:
    for words in (2, 1):
        name = " ".join(argv[:words])
        if name == "train" and _near(" ".join(argv[:2])) in STAGES and not Path(argv[1]).exists():
            break  # misspelt
        if name in COMMANDS:
            if name not in SHARED and int(os.environ.get("WORLD_SIZE", 1)) > 1:
                raise UnmaskError(
                    f"{name} runs in one process only", hint=f"without torchrun:  unmask {name} …"
                )
            module, _ = COMMANDS[name]
            from unmask.cli.arguments import ARGUMENTS

            try:
                with ARGUMENTS:
                    import_module(module).main(argv[words:])
            except (BundleError, DataError) as error:
                raise _unswapped(name, argv[words:]) or error from None
            return
    raise UnmaskError(_unknown(argv))


def _unswapped(name: str, argv: list[str]) -> BundleError | None:
    """What to type where the first argument is pictures, and the second the model that is wanted first."""
    from unmask.models import is_model

    match argv:
        case [first, second, *rest] if (
            name != "fid" and is_model(second) and Path(first).exists() and not is_model(first)
        ):
            words = " ".join(["unmask", name, second, first, *rest])
            return BundleError(f"{first} is no model, and {second} is: the model comes first", hint=words)
    return None


def _near(typed: str) -> str | None:
    """The command that was meant, perhaps."""
    import difflib

    return next(iter(difflib.get_close_matches(typed, COMMANDS, n=1, cutoff=0.7)), None)


def _unknown(argv: list[str]) -> str:
    words = [" ".join(argv[:2]), argv[0]]  # train codex; smaple MODEL
    typed = next(filter(_near, words), argv[0])
    near = _near(typed)
    suggestion = f"did you mean:  unmask {near}" if near else "see what there is:  unmask --help"
    return f"there is no command {typed!r}\n  {suggestion}"


def _print_help() -> None:
    console = Console(highlight=False)
    console.print("[bold]unmask[/]: train an image generator on your own images, then sample and edit")
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, (_, summary) in COMMANDS.items():
        if heading := HEADINGS.get(name):
            table.add_row(f"\n{heading}")
        table.add_row(f"[bold]unmask {name}[/]", summary)
    console.print(table)
    console.print("\nStart with:  [bold]unmask sample avatars --grid new.png[/]")
    console.print("\nAfter any command:")
    for option, does in OPTIONS.items():
        console.print(f"  [bold]{option}[/]  {does}")
    console.print("\nunmask COMMAND --help shows every option with its default, and examples.")
