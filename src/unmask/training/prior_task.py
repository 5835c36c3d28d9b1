"""Stage 2 as a task: a Transformer that learns to fill in codes, by diffusion or one after the other."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.data.batches import batch_indices
from unmask.data.codes import Codes
from unmask.data.transforms import contact_sheet, to_pictures
from unmask.diffusion.autoregressive import autoregress
from unmask.diffusion.fill import fill
from unmask.diffusion.likelihood import Noise, Score, bits_per_code, cost_curve, join, likelihood_of
from unmask.diffusion.schedule import even_plan
from unmask.diffusion.settings import Settings
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part
from unmask.training.config import DiffusionConfig, LoopConfig, OptimConfig
from unmask.training.ema import Ema
from unmask.training.engine import Engine
from unmask.training.optim import adam, descend, learning_rate
from unmask.training.scalars import averaged

NUM_SAMPLES = 16  # drawn at every validation
SAMPLE_STEPS = 32


class PriorTask:
    """Trains a ``Transformer`` on codes; satisfies ``training.loop.Task``."""

    objective = "bits"

    def __init__(
        self,
        prior: PriorConfig,
        diffusion: DiffusionConfig,
        optim: OptimConfig,
        loop: LoopConfig,
        engine: Engine,
        codes: Codes,
        *,
        codec: Part,
        decode: Callable[[Tensor], Tensor],
        about: Mapping[str, Any],
    ) -> None:
        self._diffusion, self._optim, self._loop, self._engine = diffusion, optim, loop, engine
        self._train, self._validation = codes.split("train"), codes.split("validation")
        self._codec, self._decode, self._about = codec, decode, dict(about)
        self.num_examples = optim.batch * optim.accumulate * engine.world
        stamp = codes.stamp
        self._prior = Transformer(prior, stamp.codebook_size, stamp.grid, generator(loop.seed, "prior"))
        self._model, self._optimizer = engine.setup(self._prior, adam(self._prior.parameters(), optim))
        self._ema = Ema(self._prior, optim.ema_decay)
        self._likelihood = likelihood_of(self._ema.module)
        self._curve: dict[str, list[float]] = {}

    def start_from(self, tensors: Mapping[str, Tensor]) -> None:
        """Begin with the weights of a prior instead of random ones."""
        self._prior.load_state_dict(tensors)
        self._ema.module.load_state_dict(tensors)

    def begin(self) -> None:
        """Nothing comes before the first step."""

    def step(self, step: int) -> dict[str, Tensor]:
        """Forward, backward, optimiser, the average."""
        passes = []
        for micro in range(self._optim.accumulate):
            waiting = micro + 1 < self._optim.accumulate
            with self._engine.accumulate(self._model, waiting):
                loss, metrics = self._loss(step, micro)
                self._engine.backward(loss / self._optim.accumulate)
            passes.append(metrics)
        descend(self._optimizer, learning_rate(self._optim, step, self._loop.steps), self._optim.clip)
        if (step + 1) % self._optim.ema_every == 0:
            self._ema.update(self._prior)
        return averaged(passes)

    def _loss(self, step: int, micro: int) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of this process's part of a batch; beside it an estimate of the true bound.

        Smoothed costs are no estimate of it, so that with label smoothing there is none.
        """
        rank, batch, seed = self._engine.rank, self._optim.batch, self._loop.seed
        device = self._engine.device
        noise = Noise(
            masks=generator(seed, "train", step, micro, 0, device=device),
            dropout=generator(seed, "dropout", step, micro, rank, device=device),
        )
        x0 = self._batch(step * self._optim.accumulate + micro)
        rows = slice(rank * batch, (rank + 1) * batch)
        loss, bound = self._likelihood.loss(self._model, x0, self._diffusion, rows, noise)
        smoothed = self._diffusion.label_smoothing > 0
        return loss, {"loss": loss} if smoothed else {"loss": loss, "bits": bound / math.log(2)}

    def _batch(self, number: int) -> Tensor:
        """The (world·batch, N) codes of all processes."""
        batch = self._optim.batch * self._engine.world
        rows = batch_indices(number, count=len(self._train), batch=batch, seed=self._loop.seed)
        return self._train.read(rows).to(self._engine.device)

    def metrics(self) -> dict[str, float]:
        """Nothing is gathered over steps."""
        return {}

    def validate(self) -> dict[str, float]:
        """Bits per code of the averaged prior on the validation split, with the standard error."""
        if not len(self._validation):
            return {}
        score = self._score_validation()
        num_codes = self._ema.module.num_positions
        self._curve = cost_curve(score, num_codes)
        bits, error = bits_per_code(score, num_codes)
        return {"bits": bits, "standard_error": error}

    def _score_validation(self) -> Score:
        """Scores of the whole validation split; the processes take batches in turn."""
        world, rank = self._engine.world, self._engine.rank
        starts = range(0, len(self._validation), self._optim.batch)
        scores = [self._score(first, mine=number % world == rank) for number, first in enumerate(starts)]
        return Score(*map(self._engine.sum, join(scores)))

    def _score(self, first: int, mine: bool) -> Score:
        """Scores of one batch of the validation split, or zeros if another process has it."""
        draws, steps = self._diffusion.validation_draws, self._diffusion.steps
        rows = range(first, min(first + self._optim.batch, len(self._validation)))
        if not mine:
            return self._likelihood.unscored(len(rows), draws)
        codes = self._validation.read(rows).to(self._engine.device)
        with self._engine.autocast():
            return self._likelihood.score(codes, first, num_draws=draws, num_steps=steps)

    @torch.no_grad()
    def pictures(self) -> dict[str, Image.Image]:
        """Samples of the averaged prior, the same numbers of the same seed every time."""
        prior, images, seed = self._ema.module, range(NUM_SAMPLES), self._loop.seed
        if prior.causal:
            codes = autoregress(prior, images, Settings(), seed=seed)
        else:
            masked = torch.full((NUM_SAMPLES, prior.num_positions), prior.mask_id, device=self._engine.device)
            plan = even_plan(images, prior.num_positions, SAMPLE_STEPS, seed=seed)
            codes = fill(prior, masked, plan, Settings(), seed=seed)
        height, width = prior.grid
        grids = rearrange(codes.to(self._engine.device), "B (h w) -> B h w", h=height, w=width)
        return {"samples": contact_sheet(to_pictures(self._decode(grids)), columns=NUM_SAMPLES // 2)}

    def state(self) -> dict[str, Any]:
        """Network, optimiser, average, and the last curve."""
        return {
            "prior": self._prior.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "ema": self._ema.state(),
            "curve": self._curve,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        self._prior.load_state_dict(state["prior"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._ema.load(state["ema"])
        self._curve = state["curve"]

    def bundle(self, step: int, validation: Mapping[str, float]) -> Bundle:
        """Codec and averaged prior: a whole model."""
        prior = self._ema.module
        config = asdict(prior.config) | {"codebook_size": prior.codebook_size, "grid": list(prior.grid)}
        tensors = {name: tensor.cpu() for name, tensor in prior.state_dict().items()}
        about = self._about | {"prior_step": step, "prior_validation": dict(validation), "curve": self._curve}
        return Bundle(codec=self._codec, prior=Part(config=config, tensors=tensors), about=about)
