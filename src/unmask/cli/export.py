"""``unmask export``: our models for other programs, and for other people."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from unmask.cli.arguments import AnyModel
from unmask.cli.results import emit
from unmask.errors import ConfigError, DataError
from unmask.progress import stderr
from unmask.storage.files import accessing, replace_folder, write_bytes

if TYPE_CHECKING:
    from unmask.storage.bundles import Bundle

HELP = """Export a model: ONNX graphs, a folder for the Hugging Face hub, or weights in 16 bits.

  unmask export runs/prior/best --to onnx --int8 --out graphs/
  unmask export runs/prior/best --to hub --name ann/birds --licence cc-by-4.0 --picture sheet.png --out birds/
  hf upload ann/birds birds/                       then, anywhere:  unmask.load("ann/birds")
  unmask export runs/prior/best --to half --out small/

Inputs and outputs of the graphs: docs/models.md."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    model: AnyModel
    to: Literal["onnx", "hub", "half"]
    """onnx: graphs of encoder, decoder and prior. hub: the model with a model card. half: 16-bit weights."""
    out: Path
    """Folder to write."""
    int8: bool = False
    """onnx: also write the prior with 8-bit weights and activations."""
    name: str | None = None
    """hub: the name of the repository, such as ann/birds."""
    licence: Annotated[str | None, tyro.conf.arg(aliases=["--license"])] = None
    """hub: the licence, such as cc-by-4.0; consider the licence of the training images."""
    picture: Path | None = None
    """hub: a PNG for the model card, such as a sheet of samples."""

    def __post_init__(self) -> None:
        if self.to != "hub" and (self.name or self.licence or self.picture):
            raise ConfigError("--name, --licence and --picture are for --to hub")
        if self.to != "onnx" and self.int8:
            raise ConfigError("--int8 is for --to onnx")
        if self.to == "hub" and not (self.name and self.licence):
            raise ConfigError(
                "a model on the hub needs a name and a licence",
                hint="--name ann/birds --licence cc-by-4.0",
            )


def main(argv: list[str]) -> None:
    """Write the folder and say what is in it."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask export", description=HELP)
    from unmask.models import open_model

    model = open_model(arguments.model)
    write = {"hub": _to_hub, "onnx": _to_onnx, "half": _to_half}[arguments.to]
    with accessing(arguments.out):
        write(model, arguments)


def _to_hub(model: "Bundle", arguments: Arguments) -> None:
    from unmask.storage import bundles as bundle
    from unmask.storage.cards import PICTURE, check_card, write_card

    assert arguments.name is not None, "checked before"
    assert arguments.licence is not None, "checked before"
    picture = _read(arguments.picture) if arguments.picture else None
    check_card(arguments.out)
    model = replace(model, about=model.about | {"licence": arguments.licence})
    bundle.save(model, arguments.out)
    card = write_card(model, arguments.name, arguments.licence, picture=picture is not None)
    write_bytes(arguments.out / "README.md", card.encode())
    if picture:
        write_bytes(arguments.out / PICTURE, picture)
    emit(f"upload it:  hf upload {arguments.name} {arguments.out}", folder=arguments.out)


def _read(path: Path) -> bytes:
    if path.suffix.lower() != ".png":
        raise ConfigError(f"{path} does not end in .png")
    with accessing(path, "be read"):
        return path.read_bytes()


def _to_onnx(model: "Bundle", arguments: Arguments) -> None:
    from unmask.models import codec_from, prior_from, vocabulary_from
    from unmask.onnx import export

    folder, ours = arguments.out, (*export.GRAPHS, export.ABOUT)
    if folder.is_dir() and any(path.suffix != ".onnx" and path.name not in ours for path in folder.iterdir()):
        raise DataError(f"{folder} holds something else than graphs", hint="name a folder that is new")
    with (
        stderr().status("tracing the networks"),
        replace_folder(folder, ours) as partial,
    ):
        export.export_codec(codec_from(model.codec), model.image_size, partial)
        if model.prior:
            prior, vocabulary = prior_from(model.prior), vocabulary_from(model.prior)
            export.export_prior(prior, partial)
            export.describe_prior(prior, vocabulary.words if vocabulary else (), model.image_size, partial)
            if arguments.int8:
                export.round_prior(partial)
    sizes = {path: path.stat().st_size for path in sorted(folder.iterdir()) if path.name in ours}
    emit("\n".join(f"{path}  {size / 1e6:.1f} MB" for path, size in sizes.items()), bytes=sizes)


def _to_half(model: "Bundle", arguments: Arguments) -> None:
    from unmask.storage import bundles as bundle

    bundle.save(bundle.halved(model), arguments.out)
    size = sum(path.stat().st_size for path in arguments.out.iterdir() if path.name in bundle.OURS)
    emit(f"{arguments.out}  {size / 1e6:.1f} MB", folder=arguments.out, bytes=size)
