"""``unmask import``: other people's models become ours."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from unmask.cli.results import emit
from unmask.progress import stderr

if TYPE_CHECKING:
    from unmask.storage.bundles import Bundle

HELP = """Import a model of the paper's authors or of taming-transformers, for use with every command.

  unmask import official --vqgan vqgan_ema_2200000.th --prior absorbing_ema_2000000.th --out churches
  unmask import taming --ckpt last.ckpt --config model.yaml --out imagenet-f16

Nothing in the files is executed. If a tensor is unknown, missing or of the wrong shape, the import fails and
names it. More: docs/models.md."""

Out = Annotated[Path, tyro.conf.arg(metavar="BUNDLE")]


def main(argv: list[str]) -> None:
    """Run ``unmask import``."""
    commands: dict[str, Callable[..., None]] = {"official": official, "taming": taming}
    tyro.extras.subcommand_cli_from_dict(commands, args=argv, prog="unmask import", description=HELP)


def official(*, vqgan: Path, prior: Path | None = None, heads: int | None = None, out: Out) -> None:
    """The authors' files (Unleashing Transformers), plain or EMA weights.

    Args:
        vqgan: vqgan_STEP.th or vqgan_ema_STEP.th.
        prior: absorbing_STEP.th, autoregressive_STEP.th, or their EMA. None: the codec alone.
        heads: Attention heads of the prior, which the files do not state. None: 64 channels per head.
        out: Folder of the model.
    """
    from unmask.importers.official import import_official

    _keep(partial(import_official, vqgan, prior, heads=heads), out)


def taming(*, ckpt: Path, config: Path, codec_only: bool = False, out: Out) -> None:
    """A VQGAN of taming-transformers and, where the checkpoint holds one, its unconditional prior.

    Args:
        ckpt: The checkpoint, such as last.ckpt.
        config: The configuration beside it, such as model.yaml.
        codec_only: Import only the codec.
        out: Folder of the model.
    """
    from unmask.importers.taming import import_taming

    _keep(partial(import_taming, ckpt, config, codec_only=codec_only), out)


def _keep(read: "Callable[[], Bundle]", out: Path) -> None:
    from unmask.storage import bundles as bundle

    with stderr().status("reading, tensor by tensor"):
        model = read()
    bundle.save(model, out)
    for name, part in model.parts.items():
        count = sum(tensor.numel() for tensor in part.tensors.values())
        sentence = f"{name}: {count:,} parameters, fingerprint {part.fingerprint}"
        emit(sentence, **{name: {"parameters": count, "fingerprint": part.fingerprint}})
    size = model.image_size
    emit(f"for images of {size}×{size} pixels, in {out}", image_size=size, folder=out)
