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
    "data": ("unmask.cli.data", "look at a set of pictures: counts, sizes, bad files, a contact sheet"),
    "train": ("unmask.cli.train", "both stages by one command: codec, prior, and a page of results"),
    "train codec": ("unmask.cli.train_codec", "stage 1: learn to turn pictures into codes and back"),
    "encode": ("unmask.cli.encode", "a set of pictures to codes, once, for training priors"),
    "train prior": ("unmask.cli.train_prior", "stage 2: learn how codes go together"),
    "reconstruct": ("unmask.cli.reconstruct", "pictures through a codec and back, side by side, measured"),
    "score": ("unmask.cli.score", "how likely pictures are, in bits per code"),
    "sample": ("unmask.cli.sample", "draw new pictures"),
    "canvas": ("unmask.cli.canvas", "draw a picture larger than those of the training"),
    "inpaint": ("unmask.cli.inpaint", "draw a part of a picture again, in several versions"),
    "extend": ("unmask.cli.extend", "draw what could lie beyond the edges of a picture"),
    "vary": ("unmask.cli.vary", "draw variations of a picture, as different as you like"),
    "caption": ("unmask.cli.caption", "say what pictures show, in the words of a model's training"),
    "classify": ("unmask.cli.classify", "which label pictures have, and how often it is the right one"),
    "studio": ("unmask.cli.studio", "all of this on a web page, on your own machine"),
    "import": ("unmask.cli.import_", "make a model of other people's files"),
    "export": ("unmask.cli.export", "a model for other programs (ONNX) or other people (the hub)"),
    "evaluate": ("unmask.cli.evaluate", "how good samples are: FID, KID, precision, recall, diversity"),
    "tune": ("unmask.cli.tune", "find the best settings for each number of steps, and keep them"),
    "retrieve": ("unmask.cli.retrieve", "do samples show what their captions say?"),
    "fid": ("unmask.cli.fid", "FID, KID, precision and recall of two sets of pictures"),
    "neighbours": ("unmask.cli.neighbours", "the training pictures nearest to samples; are they copies?"),
    "weights": ("unmask.cli.weights", "third-party weights (Inception, VGG, Alex): list, fetch, verify"),
    "reproduce": ("unmask.cli.reproduce", "put the claims of the paper to the test"),
    "completion": ("unmask.cli.completion", "commands and options that your shell completes"),
    "demo": ("unmask.cli.demo", "what Unmask does, on one page, with the built-in model"),
}
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
        if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
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
                    f"{name} is work for one process", hint=f"without torchrun:  unmask {name} …"
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
    console.print("[bold]unmask[/]: train an image codec and a diffusion prior on your own pictures\n")
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, (_, summary) in COMMANDS.items():
        table.add_row(f"[bold]unmask {name}[/]", summary)
    console.print(table)
    console.print("\nAfter any command:")
    for option, does in OPTIONS.items():
        console.print(f"  [bold]{option}[/]  {does}")
    console.print("\nunmask COMMAND --help shows every setting, its default and examples.")
