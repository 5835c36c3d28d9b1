"""Stage 2 as a task: training of a Transformer over codes, absorbing or autoregressive."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.config import PriorTraining
from unmask.data.batches import batch_indices
from unmask.data.captions import Caption
from unmask.data.codes import Codes
from unmask.data.config import ImagesConfig
from unmask.data.pixels import Indices
from unmask.data.transforms import contact_sheet, to_pictures
from unmask.data.vocabulary import END, Vocabulary
from unmask.diffusion.autoregressive import autoregress
from unmask.diffusion.guidance import Conditioned
from unmask.diffusion.likelihood import Noise, Prior, Score, bits_by_picture, cost_curve, join, likelihood_of
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import RECOMMENDED, Settings
from unmask.evaluation.estimate import mean_of
from unmask.models import vocabulary_from
from unmask.prior.transformer import NO_TEXT, Text, Transformer
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part
from unmask.training.ema import Ema
from unmask.training.engine import Engine
from unmask.training.optim import averaged, descend, learning_rate, optimizer_of
from unmask.training.transfer import with_other_words

NUM_SAMPLES = 16  # drawn at every validation
SAMPLE_STEPS = 32
MAX_CAPTIONS = 4096  # of the training that a model remembers


class PriorTask:
    """Trains a ``Transformer`` on codes; satisfies ``training.loop.Task``."""

    def __init__(
        self,
        settings: PriorTraining,
        engine: Engine,
        codes: Codes,
        *,
        codec: Part,
        decode: Callable[[Tensor], Tensor],
        about: Mapping[str, Any],
    ) -> None:
        self._diffusion, self._optim, self._loop = settings.diffusion, settings.optim, settings.loop
        self._engine, optim, rng = engine, settings.optim, generator(settings.loop.seed, "prior")
        self._train, self._validation = codes.split("train"), codes.split("validation")
        self._codec, self._decode, self._about = codec, decode, dict(about)
        self.num_examples = optim.batch * optim.accumulate * engine.world
        stamp = codes.stamp
        self._vocabulary = vocabulary_of(codes)
        text = Text(self._vocabulary.length, len(self._vocabulary)) if self._vocabulary else NO_TEXT
        self._prior = Transformer(settings.prior, stamp.codebook_size, stamp.grid, rng, text)
        self._words = self._encode(self._validation.captions)
        self.objective = "bits_given_caption" if self._vocabulary else "bits"
        self._model, self._optimizer = engine.setup(
            self._prior, optimizer_of(self._prior, self._prior.blocks, optim)
        )
        self._ema = Ema(self._prior, optim.ema_decay)
        self._likelihood = likelihood_of(self._ema.module)
        self._curve: dict[str, list[float]] = {}

    def start_from(self, part: Part) -> None:
        """Begin with the weights of a prior instead of random ones; words that it does not know are new."""
        known, fresh = vocabulary_from(part), self._prior.state_dict()
        tensors = with_other_words(part.tensors, fresh, self._prior.codebook_size, known, self._vocabulary)
        self._prior.load_state_dict(tensors)
        self._ema.module.load_state_dict(tensors)

    def begin(self) -> None:
        """Nothing to initialise."""

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
        """The loss of this process's part of a batch, and metrics, with an estimate of the bound.

        With label smoothing there is none, since smoothed costs do not estimate it.
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
        """The (world·batch, L + N) words and codes of all processes.

        Parts of a caption between commas are shuffled, so that a prompt may begin with any of them.
        """
        batch, seed = self._optim.batch * self._engine.world, self._loop.seed
        rows = batch_indices(number, count=len(self._train), batch=batch, seed=seed)
        captions = [
            caption and reordered(caption, generator(seed, "caption", number, place))
            for place, caption in enumerate(self._train.captions[row] for row in rows)
        ]
        return torch.cat([self._encode(captions), self._train.read(rows)], dim=1).to(self._engine.device)

    def _encode(self, captions: Sequence[Caption]) -> Tensor:
        """(n, L) words of captions; MASK where there is none."""
        vocabulary, mask_id = self._vocabulary, self._prior.mask_id
        if vocabulary is None:
            return torch.empty(len(captions), 0, dtype=torch.int64)
        encoded = [vocabulary.encode(caption or "") for caption in captions]
        words = torch.tensor(encoded).view(-1, vocabulary.length)
        return torch.where((words == END).all(1, keepdim=True), mask_id, words + mask_id + 1)

    def metrics(self) -> dict[str, float]:
        """Nothing is gathered over steps."""
        return {}

    def validate(self) -> dict[str, float]:
        """Bits per code of the averaged prior on the validation split, with the standard error.

        Where there are captions: without them, given them, and bits per caption given the codes.
        """
        if not len(self._validation):
            return {}
        prior, L, num_codes = self._ema.module, self._prior.text.length, self._prior.num_positions
        everything = np.arange(len(self._validation))
        conditional = self._score(
            everything, lambda rows: (Conditioned(prior, words=rows[:, :L]), rows[:, L:])
        )
        self._curve = cost_curve(conditional, num_codes)
        bits, error = mean_of(bits_by_picture(conditional, num_codes))
        if not L:
            return {"bits": bits} | _where_known(error)
        nothing = torch.full((L,), prior.mask_id)
        unconditional = self._score(everything, lambda rows: (Conditioned(prior, words=nothing), rows[:, L:]))
        estimate = mean_of(bits_by_picture(unconditional, num_codes))
        metrics = {"bits": estimate.value} | _where_known(estimate.standard_error)
        metrics["bits_given_caption"] = bits
        captioned = everything[(self._words != prior.mask_id).all(1).numpy()]
        if len(captioned) and not prior.causal:  # a causal one sees no codes before words
            words = self._score(captioned, lambda rows: (Conditioned(prior, codes=rows[:, L:]), rows[:, :L]))
            metrics["bits_per_caption"] = mean_of(bits_by_picture(words, 1)).value
        return metrics

    def _score(self, numbers: Indices, ask: Callable[[Tensor], tuple[Prior, Tensor]]) -> Score:
        """Scores of validation rows, shared by the processes; ``ask`` makes of rows a prior and its ids."""
        draws, steps = self._diffusion.validation_draws, self._diffusion.steps

        def cost(places: range) -> Iterator[Score]:
            part = numbers[places.start : places.stop]
            rows = torch.cat([self._words[torch.from_numpy(part)], self._validation.read(part)], dim=1)
            prior, ids = ask(rows.to(self._engine.device))
            with self._engine.autocast():
                yield likelihood_of(prior).score(ids, places.start, num_draws=draws, num_steps=steps)

        scores = [*self._engine.share(cost, range(len(numbers)), self._optim.batch)]
        return join(self._engine.agreed(lambda: scores))

    @torch.no_grad()
    def pictures(self) -> dict[str, Image.Image]:
        """Samples of the averaged prior, the same numbers of the same seed every time."""
        prior, images, device = self._ema.module, range(NUM_SAMPLES), self._engine.device
        how: dict[str, Any] = {"seed": self._loop.seed, "device": device, "words": self._shown_words()}
        if prior.causal:
            codes = autoregress(prior, images, Settings(), **how)
        else:
            codes = sample_codes(prior, images, prior.grid, Settings(steps=SAMPLE_STEPS), **how)
        height, width = prior.grid
        grids = rearrange(codes, "B (h w) -> B h w", h=height, w=width)
        return {"samples": contact_sheet(to_pictures(self._decode(grids)), columns=NUM_SAMPLES // 2)}

    def _shown_words(self) -> Tensor:
        """(NUM_SAMPLES, L) words of captions, evenly from those of the validation split, or of the others."""
        captions = self._validation.captions or self._train.captions
        return self._encode([captions[place * len(captions) // NUM_SAMPLES] for place in range(NUM_SAMPLES)])

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
        if self._vocabulary:
            config |= {"words": list(self._vocabulary.words), "caption_length": self._vocabulary.length}
        tensors = {name: tensor.cpu() for name, tensor in prior.state_dict().items()}
        about = (
            self._about
            | self._some_captions()
            | {"prior_step": step, "prior_validation": dict(validation), "curve": self._curve}
        )
        sampling = {} if prior.causal else recommended(captioned=self._vocabulary is not None)
        return Bundle(self._codec, Part(config=config, tensors=tensors), about, sampling)

    def _some_captions(self) -> dict[str, list[str]]:
        """Captions of the training, evenly chosen, which are sampled where there is no prompt."""
        captions = [caption for caption in self._train.captions if caption]
        chosen = captions[:: math.ceil(len(captions) / MAX_CAPTIONS)] if captions else []
        return {"prior_captions": chosen} if chosen else {}


def _where_known(error: float) -> dict[str, float]:
    """The standard error as a metric; one image has none."""
    return {} if math.isnan(error) else {"standard_error": error}


def reordered(caption: str, rng: torch.Generator) -> str:
    """A caption with the parts between its commas shuffled."""
    parts = caption.split(",")
    return ",".join(parts[place] for place in torch.randperm(len(parts), generator=rng))


def recommended(*, captioned: bool) -> dict[str, dict[str, Any]]:
    """Recommended settings of a new model, until ``unmask tune`` measures better ones.

    With captions, guidance is worth more than the steps that it costs.
    """
    sample: dict[str, Any] = {"steps": 64, "temperature": 0.9, "remask": 1.0}
    if captioned:
        sample = {"steps": 32, "temperature": 0.85, "remask": 0.5, "guidance": 2.0}
    larger = {"temperature": 0.8, "remask": 1.0}
    return {RECOMMENDED: {"sample": sample, "canvas": larger, "edit": larger}}


def vocabulary_of(codes: Codes) -> Vocabulary | None:
    """The words of the training captions; None where there are no captions."""
    captions = codes.split("train").captions
    length = codes.stamp.images.get("caption_words", ImagesConfig.caption_words)
    return Vocabulary.of(captions, length) if any(captions) else None
