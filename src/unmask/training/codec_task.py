"""Stage 1 as a task: an autoencoder, its critic, and the losses between them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

import torch
from einops import rearrange
from PIL import Image
from torch import Tensor, nn

from unmask.codec.augment import augment
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, LossConfig
from unmask.codec.discriminator import Discriminator
from unmask.codec.losses import adaptive_weight, discriminator_loss, generator_loss, usage
from unmask.codec.perceptual import Perceptual
from unmask.codec.quantizers import Nearest, Quantized
from unmask.data.batches import Batches
from unmask.data.pixels import PixelSet
from unmask.data.transforms import grid, to_pictures, to_tensor
from unmask.evaluation.inception import Inception
from unmask.evaluation.reconstruction import measure_reconstructions
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part
from unmask.training.config import LoopConfig, OptimConfig
from unmask.training.ema import Ema
from unmask.training.engine import Engine
from unmask.training.optim import adam, descend, learning_rate
from unmask.training.scalars import averaged

NUM_SHOWN = 8  # validation pictures that a person follows through training


class CodecTask:
    """Trains an ``Autoencoder``; satisfies ``training.loop.Task``."""

    objective = "rec"

    def __init__(
        self,
        codec: CodecConfig,
        loss: LossConfig,
        optim: OptimConfig,
        loop: LoopConfig,
        engine: Engine,
        train: PixelSet,
        validation: PixelSet,
        *,
        flip: bool,
        shift: int = 0,
        perceptual: Perceptual | None = None,
        inception: Inception | None = None,
        about: Mapping[str, Any],
    ) -> None:
        self._loss, self._optim, self._loop, self._engine = loss, optim, loop, engine
        self._validation, self._about = validation, dict(about)
        self._shown = validation if len(validation) else train
        self._perceptual = perceptual.to(engine.device) if perceptual else None
        self._inception = inception.to(engine.device) if inception else None
        self.num_examples = optim.batch * optim.accumulate * engine.world
        self._batches = Batches(
            train,
            batch=optim.batch,
            seed=loop.seed,
            flip=flip,
            shift=shift,
            rank=engine.rank,
            world=engine.world,
        )
        self._codec = Autoencoder(codec, generator(loop.seed, "codec"))
        self._critic = Discriminator(loss, generator(loop.seed, "discriminator"))
        self._model, self._optimizer = engine.setup(self._codec, adam(self._codec.parameters(), optim))
        self._critic_model, self._critic_optimizer = engine.setup(
            self._critic, adam(self._critic.parameters(), optim)
        )
        self._ema = Ema(self._codec, optim.ema_decay)
        self._counts = torch.zeros(self._codec.codebook_size, dtype=torch.int64, device=engine.device)

    def start_from(self, tensors: Mapping[str, Tensor]) -> None:
        """Begin with the weights of a codec instead of random ones."""
        self._codec.load_state_dict(tensors)
        self._ema.module.load_state_dict(tensors)

    def begin(self) -> None:
        """Start the codebook from k-means where that is asked for."""
        quantizer = self._codec.quantizer
        if isinstance(quantizer, Nearest) and quantizer.config.kmeans_batches:
            rows = [self._latent_rows(batch) for batch in range(quantizer.config.kmeans_batches)]
            quantizer.start_from(torch.cat(rows), generator(self._loop.seed, "kmeans"))
            self._engine.broadcast(quantizer.codebook.data)
            self._ema.module.load_state_dict(self._codec.state_dict())

    @torch.no_grad()
    def _latent_rows(self, batch: int) -> Tensor:
        images = self._batches.at(batch).to(self._engine.device)
        return rearrange(self._codec.latents(images), "B E h w -> (B h w) E")

    def step(self, step: int) -> dict[str, Tensor]:
        """Forward, both backwards, both optimisers, the average."""
        passes, codes, latents = [], [], []
        for micro in range(self._optim.accumulate):
            waiting = micro + 1 < self._optim.accumulate
            images = self._batches.at(step * self._optim.accumulate + micro).to(self._engine.device)
            address = ("train", step, micro, self._engine.rank)
            rng = generator(self._loop.seed, *address, device=self._engine.device)
            figures, quantized = self._pass(images, step, waiting, rng)
            passes.append(figures)
            codes.append(quantized.codes.flatten())
            latents.append(quantized.before)
        self._watch_codes(torch.cat(codes), torch.cat(latents), rng)
        lr = learning_rate(self._optim, step, self._loop.steps)
        descend(self._optimizer, lr, self._optim.clip)
        if self._adversarial(step):
            descend(self._critic_optimizer, lr, self._optim.clip)
        if (step + 1) % self._optim.ema_every == 0:
            self._ema.update(self._codec)
        return averaged(passes)

    def _pass(
        self, images: Tensor, step: int, waiting: bool, rng: torch.Generator
    ) -> tuple[dict[str, Tensor], Quantized]:
        """Add the gradients of one batch, to the codec and to its critic.

        Each loss is differentiated once, with respect to the reconstruction. The two gradients give λ through
        the decoder's last layer alone, and their weighted sum goes back through the codec: the same gradients
        as differentiating L_rec, L_G and the total one after the other, at the cost of the total.
        """
        with self._engine.accumulate(self._model, waiting):
            output, quantized = self._model(images, step, rng)
            seen = output.detach().requires_grad_()
            figures, rec = self._reconstruction_loss(images, seen)
            (gradient,) = torch.autograd.grad(rec, seen)
            if self._adversarial(step):
                with self._engine.autocast():
                    adversarial = generator_loss(
                        self._critic(self._jitter(seen, rng)), self._loss.adversarial
                    )
                (push,) = torch.autograd.grad(adversarial, seen)
                weight = self._adaptive_weight(output, gradient, push)
                gradient = gradient + weight * push
                figures |= {"lambda": weight, "generator": adversarial}
            total = (output * gradient).sum() + quantized.loss
            self._engine.backward(total / self._optim.accumulate)
        figures["quantizer"] = quantized.loss
        if self._adversarial(step):
            figures["critic"] = self._critic_pass(images, output.detach(), waiting, rng)
        return figures, quantized

    def _reconstruction_loss(self, images: Tensor, seen: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """L1 plus the perceptual distance."""
        rec = l1 = (images - seen).abs().mean()
        figures = {"l1": l1}
        if self._perceptual is not None:
            with self._engine.autocast():
                distance = self._perceptual(images, seen).float().mean()
            figures["lpips"] = distance
            rec = l1 + self._loss.perceptual_weight * distance
        return {"rec": rec, **figures}, rec

    def _critic_pass(self, images: Tensor, output: Tensor, waiting: bool, rng: torch.Generator) -> Tensor:
        with self._engine.accumulate(self._critic_model, waiting):
            real = self._critic_model(self._jitter(images, rng))
            fake = self._critic_model(self._jitter(output, rng))
            loss = discriminator_loss(real, fake, self._loss.adversarial)
            self._engine.backward(loss / self._optim.accumulate)
        return loss

    def _adaptive_weight(self, output: Tensor, gradient: Tensor, push: Tensor) -> Tensor:
        """λ, from what each gradient would do to the decoder's last convolution."""
        last = cast(nn.Conv2d, self._codec.decoder[-1]).weight
        (from_rec,) = torch.autograd.grad(output, last, grad_outputs=gradient, retain_graph=True)
        (from_adv,) = torch.autograd.grad(output, last, grad_outputs=push, retain_graph=True)
        return adaptive_weight(from_rec, from_adv, self._loss.adaptive_max)

    def _adversarial(self, step: int) -> bool:
        return self._loss.adversarial != "off" and step >= self._loss.adversarial_start

    def _jitter(self, images: Tensor, rng: torch.Generator) -> Tensor:
        return augment(images, rng) if self._loss.augment else images

    @torch.no_grad()
    def _watch_codes(self, codes: Tensor, latents: Tensor, rng: torch.Generator) -> None:
        """Count the codes used in a step, and recycle those that have long been idle."""
        counts = torch.zeros_like(self._counts).index_add_(0, codes, torch.ones_like(codes))
        counts = self._engine.sum(counts)
        self._counts += counts
        quantizer = self._codec.quantizer
        if (
            isinstance(quantizer, Nearest)
            and quantizer.config.recycle_after
            and quantizer.recycle(counts > 0, latents, rng)
        ):
            self._engine.broadcast(quantizer.codebook.data)

    def report(self) -> dict[str, float]:
        """Codebook usage since the last report."""
        figures = usage(self._counts)
        self._counts.zero_()
        return figures

    def validate(self) -> dict[str, float]:
        """L1, LPIPS, PSNR, SSIM and codebook usage of the averaged codec on the validation split."""
        if not len(self._validation):
            return {}
        figures = measure_reconstructions(
            self._ema.module,
            self._validation,
            batch=self._optim.batch,
            perceptual=self._perceptual,
            inception=self._inception,
            share=(self._engine.rank, self._engine.world),
            add_up=self._engine.sum,
        )
        figures["rec"] = figures["l1"] + self._loss.perceptual_weight * figures.get("lpips", 0.0)
        return figures

    @torch.no_grad()
    def pictures(self) -> dict[str, Image.Image]:
        """The same few pictures every time, held out if any are, reconstructions below originals."""
        images = to_tensor(self._shown.read(self._shown.spread(NUM_SHOWN))).to(self._engine.device)
        output = self._ema.module.decode(self._ema.module.encode(images))
        return {"reconstructions": grid(to_pictures(torch.cat([images, output])), columns=len(images))}

    def state(self) -> dict[str, Any]:
        """Networks, optimisers, average, and the counts that drive recycling and reports."""
        quantizer = self._codec.quantizer
        return {
            "codec": self._codec.state_dict(),
            "critic": self._critic.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "critic_optimizer": self._critic_optimizer.state_dict(),
            "ema": self._ema.state(),
            "counts": self._counts,
            "idle": quantizer.idle if isinstance(quantizer, Nearest) else None,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        self._codec.load_state_dict(state["codec"])
        self._critic.load_state_dict(state["critic"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._critic_optimizer.load_state_dict(state["critic_optimizer"])
        self._ema.load(state["ema"])
        self._counts.copy_(state["counts"])
        if isinstance(self._codec.quantizer, Nearest):
            self._codec.quantizer.idle.copy_(state["idle"])

    def bundle(self, step: int, validation: Mapping[str, float]) -> Bundle:
        """The averaged codec, with how it came to be."""
        about = self._about | {"codec_step": step, "codec_validation": dict(validation)}
        tensors = {name: tensor.cpu() for name, tensor in self._ema.module.state_dict().items()}
        return Bundle(codec=Part(config=asdict(self._codec.config), tensors=tensors), about=about)
