"""Pictures larger than those of the training, and parts of pictures drawn anew."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from unmask.codec.tiles import encode_tiles
from unmask.data.patches import Box, Patch, Sides, cut, frame, selection
from unmask.data.pictures import Picture, open_picture
from unmask.data.transforms import MAX_PIXELS, TOO_LARGE, to_pictures, to_tensor
from unmask.diffusion.canvas import Canvas
from unmask.diffusion.fill import OnStep
from unmask.diffusion.refill import refill
from unmask.diffusion.rules import remasking
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import (
    CanvasConfig,
    EditConfig,
    Order,
    Temperature,
    WindowedConfig,
)
from unmask.errors import ConfigError
from unmask.models import Model

BATCH = 16  # pictures in memory at once


class Editor(Model):
    """A model that draws on canvases and into pictures."""

    @torch.no_grad()
    def canvas(
        self,
        size: tuple[int, int],
        *,
        steps: int | None = None,
        temperature: Temperature = CanvasConfig.temperature,
        remask: float = CanvasConfig.remask,
        order: Order = CanvasConfig.order,
        seed: int = 0,
        stride: int = CanvasConfig.stride,
        windows: int | None = None,
        on_step: OnStep | None = None,
    ) -> Image.Image:
        """A picture of ``size`` (width, height) in pixels, at least as large as those of the training.

        What a code could be is the mean over all windows of the trained size that contain it. ``stride``
        takes only windows so many codes apart, ``windows`` only about so many a pass: faster, less exact.
        Without ``steps`` the chain has as many as there are codes.
        """
        self._check_size(size)
        factor = self.codec.config.factor
        config = CanvasConfig(
            steps=steps,
            temperature=temperature,
            remask=remask,
            order=order,
            stride=stride,
            windows=windows,
        )
        denoise = self._canvas((-(-size[1] // factor), -(-size[0] // factor)), config, seed)
        codes = sample_codes(
            denoise, range(1), denoise.grid, config.sampling, seed=seed, device=self.device, on_step=on_step
        )
        return to_pictures(self.decode(codes.view(1, *denoise.grid)))[0].crop((0, 0, *size))

    @torch.no_grad()
    def inpaint(
        self,
        image: Picture,
        mask: Picture | Box,
        *,
        count: int = EditConfig.count,
        steps: int | None = None,
        temperature: Temperature = EditConfig.temperature,
        remask: float = EditConfig.remask,
        seed: int = 0,
        seam: int | None = None,
        rank: bool = EditConfig.rank,
        stride: int = EditConfig.stride,
        windows: int | None = None,
        on_step: OnStep | None = None,
    ) -> list[Image.Image]:
        """``count`` versions of a picture, upright and opaque, with what is selected drawn anew.

        The mask is a picture of the same size, white where to replace, or a box (left, top, width, height).
        Other pixels stay as they are, bit for bit, but for a seam of so many pixels around the selection over
        which new fades into old; unless given it is half as wide as a code, and 0 is a hard edge. With
        ``rank`` the version whose new codes the model finds likeliest comes first. Pictures larger than those
        of the training are a ``canvas``, with its ``stride`` and ``windows``. Without ``steps`` the chain has
        as many as there are codes to draw.
        """
        config = EditConfig(
            count=count,
            steps=steps,
            temperature=temperature,
            remask=remask,
            seam=seam,
            rank=rank,
            stride=stride,
            windows=windows,
        )
        patch = self.patch(image, mask, config.seam)
        denoise = self._canvas(patch.grid, config, seed)
        drawn = refill(
            denoise,
            self._known_codes(patch),
            config.count,
            seed=seed,
            steps=config.steps,
            temperature=config.temperature,
            remask=remasking(config.remask),
            batch=BATCH,
            on_step=on_step,
        )
        best_first = drawn.log_p.argsort(descending=True, stable=True)
        grids = drawn.codes[best_first if config.rank else slice(None)].view(config.count, 1, *patch.grid)
        return [patch.paste(self.decode(codes)[0]) for codes in grids]

    def patch(self, image: Picture, mask: Picture | Box, seam: int | None = None) -> Patch:
        """What ``inpaint`` looks at of a picture: its grid is that of the codes which ``on_step`` sees."""
        picture = open_picture(image, self.images.background)
        self._check_size(picture.size)
        factor, selected = self.codec.config.factor, selection(mask, picture.size)
        seam = factor // 2 if seam is None else seam
        return cut(np.asarray(picture), selected, factor=factor, window=self.prior.grid, seam=seam)

    def extend(
        self,
        image: Picture,
        *,
        left: int = 0,
        top: int = 0,
        right: int = 0,
        bottom: int = 0,
        count: int = EditConfig.count,
        steps: int | None = None,
        temperature: Temperature = EditConfig.temperature,
        remask: float = EditConfig.remask,
        seed: int = 0,
        seam: int | None = None,
        rank: bool = EditConfig.rank,
        stride: int = EditConfig.stride,
        windows: int | None = None,
        on_step: OnStep | None = None,
    ) -> list[Image.Image]:
        """``count`` versions of a picture, larger by so many pixels on each side; the rest as in ``inpaint``.

        The seam lies within the picture, along the edges that were moved.
        """
        larger, mask, asked = self.framed(image, (left, top, right, bottom))
        versions = self.inpaint(
            larger,
            mask,
            count=count,
            steps=steps,
            temperature=temperature,
            remask=remask,
            seed=seed,
            seam=seam,
            rank=rank,
            stride=stride,
            windows=windows,
            on_step=on_step,
        )
        return [version.crop(asked) for version in versions]

    def framed(self, image: Picture, margins: Sides) -> tuple[Image.Image, Image.Image, Sides]:
        """What ``extend`` makes an edit of: a larger picture, the mask of what is new, the part asked for."""
        left, top, right, bottom = margins
        if min(margins) < 0 or not any(margins):
            raise ConfigError(
                f"{left}, {top}, {right}, {bottom} pixels left, above, right and below extend nothing",
                hint="say how many on which side, such as 128 on the right",
            )
        picture = open_picture(image, self.images.background)
        self._check_size((left + picture.width + right, top + picture.height + bottom))
        return frame(picture, margins, self.codec.config.factor)

    def _known_codes(self, patch: Patch) -> Tensor:
        """(N,) codes of a patch, MASK where it is to be drawn anew."""
        images = to_tensor(patch.pixels[None]).to(self.device)
        codes = encode_tiles(self.codec.encode, images, self.codec.config.factor, tile=self._tile)
        masked = torch.from_numpy(patch.masked).to(self.device)
        return codes[0].masked_fill(masked, self.prior.mask_id).flatten()

    def _canvas(self, grid: tuple[int, int], config: WindowedConfig, seed: int) -> Canvas:
        windows, stride = config.windows, config.stride
        return Canvas(self.denoiser, self.prior.grid, grid, stride=stride, windows=windows, seed=seed)

    def _check_size(self, size: tuple[int, int]) -> None:
        """Refuse pictures that the prior cannot fill in, before anything is computed."""
        if self.prior.causal:
            raise ConfigError(
                "an autoregressive prior draws codes in one order only: it fills in no part of a picture and "
                "no larger canvas",
                hint="train an absorbing one:  unmask train prior CODEC DATA --kind absorbing",
            )
        factor, least = self.codec.config.factor, self.image_size
        if any(-(-edge // factor) < codes for edge, codes in zip(size[::-1], self.prior.grid, strict=True)):
            raise ConfigError(
                f"{size[0]}×{size[1]} pixels are too few: the model was trained on {least}×{least}, and no "
                "window of that size fits"
            )
        if size[0] * size[1] > MAX_PIXELS:
            raise ConfigError(f"{size[0]}×{size[1]} pixels are {TOO_LARGE}")
