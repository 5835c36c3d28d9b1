"""Models by name or folder, and networks from their parts: what is at rest comes alive."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig
from unmask.codec.preview import decode_partly
from unmask.codec.tiles import TILE
from unmask.config import merge
from unmask.data.config import ImagesConfig
from unmask.diffusion.fill import Denoiser
from unmask.diffusion.start import RememberedStart
from unmask.errors import BundleError
from unmask.onnx.config import Backend
from unmask.onnx.denoiser import make_denoiser
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.storage import bundles as bundle
from unmask.storage import hub
from unmask.storage.bundles import Bundle, Part

M = TypeVar("M", bound=nn.Module)


BUILTIN = Path(__file__).with_name("builtin")


def open_model(model: str | Path) -> Bundle:
    """The model in a folder, of a built-in name or of one on the Hugging Face hub, checked in full."""
    return bundle.load(locate(model))


def locate(model: str | Path) -> Path:
    """The folder of a model: itself, a built-in one, or where the hub's ``user/name`` is kept here."""
    folder, name = Path(model), str(model)
    if not folder.exists() and name in builtin_names():
        return BUILTIN / name
    elsewhere = not folder.parent.exists() and hub.is_name(name)
    return hub.snapshot(name) if elsewhere else folder


def builtin_names() -> list[str]:
    """The models that come with the package."""
    return sorted(path.parent.name for path in BUILTIN.glob(f"*/{bundle.MANIFEST}"))


def codec_from(part: Part) -> Autoencoder:
    """The codec that ``part`` describes, ready to encode and decode."""
    return _filled(Autoencoder(merge(CodecConfig(), part.config)), part, "codec")


def prior_from(part: Part) -> Transformer:
    """The prior that ``part`` describes, ready to predict codes."""
    config = dict(part.config)
    codebook_size, (height, width) = config.pop("codebook_size"), config.pop("grid")
    return _filled(Transformer(merge(PriorConfig(), config), codebook_size, (height, width)), part, "prior")


def _filled(module: M, part: Part, name: str) -> M:
    """The module with the part's weights, float32 whatever they are stored as, and nothing left to train."""
    broken = [key for key, tensor in part.tensors.items() if not torch.isfinite(tensor).all()]
    if broken:
        raise BundleError(f"the {name}'s weights are not all numbers: {', '.join(broken[:3])}")
    try:
        module.load_state_dict(part.tensors)
    except RuntimeError as error:
        raise BundleError(f"the {name}'s weights do not fit its configuration: {error}") from None
    module.eval().requires_grad_(False)
    return module


class Model:
    """A codec and, where there is one, a prior, at work on a device."""

    def __init__(self, model: Bundle, device: torch.device, backend: Backend = "torch") -> None:
        self.about = model.about
        names = [part.fingerprint for part in model.parts.values()]
        self.fingerprint = "-".join(names if backend == "torch" else [*names, backend])
        self.codec_fingerprint = model.codec.fingerprint
        self.device = device
        self.codec = codec_from(model.codec).to(device)
        self._prior = prior_from(model.prior).to(device) if model.prior else None
        self._graph = None if backend == "torch" else make_denoiser(self.prior, names[-1], backend)

    def __repr__(self) -> str:
        size, codes = self.image_size, self.codec.codebook_size
        parts = [f"{size}×{size} pictures", f"{codes} codes"]
        if self._prior is not None:
            h, w = self._prior.grid
            parts = [parts[0], f"{h}×{w} of {codes} codes", f"{self._prior.config.kind} prior"]
        return f"<{type(self).__name__}: {', '.join(parts)}, on {self.device}>"

    @property
    def prior(self) -> Transformer:
        """The prior; a model that is a codec alone has none."""
        if self._prior is None:
            raise BundleError(
                "this model is a codec alone and has no prior",
                hint="train one:  unmask train prior CODEC DATA --out runs/prior",
            )
        return self._prior

    @cached_property
    def denoiser(self) -> Denoiser:
        """The prior as samplers ask it: what it says before anything is known is computed once."""
        return RememberedStart(self._graph or self.prior)

    @property
    def image_size(self) -> int:
        """Edge in pixels of the pictures that the model was trained on."""
        return int(self.about["image_size"])

    @property
    def images(self) -> ImagesConfig:
        """How the pictures of the last training were prepared, and how many of them were held out.

        But decoded in full: what is measured does not depend on how a training saved time.
        """
        training = self.about.get("prior_training") or self.about.get("codec_training") or {}
        images = merge(ImagesConfig(), training.get("images", {}))
        return replace(images, size=self.image_size, fast_decode=False)

    @property
    def _tile(self) -> int:
        """Codes along the edge of what the codec takes at a time, no fewer than it was trained on."""
        return max(TILE, self.codec.config.grid(self.image_size))

    @torch.no_grad()
    def decode(self, codes: Tensor) -> Tensor:
        """(B, h, w) codes, on any grid, to (B, 3, H, W) images in [0, 1], grey where they are MASK."""
        return decode_partly(self.codec, codes.to(self.device), tile=self._tile)
