"""Stage 1 as a task: an autoencoder, its discriminator, and the losses between them."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, cast

import torch
from PIL import Image
from torch import Tensor, nn

from unmask.codec.augment import augment
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.discriminator import Discriminator
from unmask.codec.losses import adaptive_weight, discriminator_loss, generator_loss, usage
from unmask.codec.perceptual import Perceptual
from unmask.codec.quantizers import Quantized
from unmask.config import CodecTraining
from unmask.data.batches import Batches
from unmask.data.pixels import PixelSet
from unmask.data.transforms import contact_sheet, to_pictures, to_tensor
from unmask.evaluation.inception import Inception
from unmask.evaluation.reconstruction import measure_reconstructions
from unmask.progress import say
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part
from unmask.training.ema import Ema
from unmask.training.engine import Engine
from unmask.training.optim import adam, averaged, descend, learning_rate
from unmask.training.transfer import shared_layers

NUM_SHOWN = 8  # validation pictures that a person follows through training


class CodecTask:
    """Trains an ``Autoencoder``; satisfies ``training.loop.Task``."""

    def __init__(
        self,
        settings: CodecTraining,
        engine: Engine,
        train: PixelSet,
        validation: PixelSet,
        *,
        kept: Bundle | None = None,
        perceptual: Perceptual | None = None,
        inception: Inception | None = None,
        about: Mapping[str, Any],
    ) -> None:
        """``kept`` is a model whose encoder and codebook stay: all but its codec goes with the new one."""
        self._loss, self._optim, self._loop = settings.loss, settings.optim, settings.loop
        self._engine, optim, seed = engine, settings.optim, settings.loop.seed
        self._validation, self._about = validation, dict(about)
        self._shown = validation if len(validation) else train
        self._perceptual = perceptual.to(engine.device) if perceptual else None
        self._inception = inception.to(engine.device) if inception else None
        self.objective = "fid" if inception and len(validation) > 1 else "rec"  # one has no covariance
        self.num_examples = optim.batch * optim.accumulate * engine.world
        self._batches = Batches(
            train,
            batch=optim.batch,
            seed=seed,
            flip=settings.images.flip,
            shift=settings.images.shift,
            rank=engine.rank,
            world=engine.world,
        )
        self._codec = Autoencoder(settings.codec, generator(seed, "codec"))
        self._kept, self._train_encoder = kept, kept is None
        self._codec.encoder.requires_grad_(self._train_encoder)
        self._codec.quantizer.requires_grad_(self._train_encoder)
        self._discriminator = Discriminator(settings.loss, generator(seed, "discriminator"))
        trained = [parameter for parameter in self._codec.parameters() if parameter.requires_grad]
        self._model, self._optimizer = engine.setup(self._codec, adam(trained, optim))
        self._discriminator_model, self._discriminator_optimizer = engine.setup(
            self._discriminator, adam(self._discriminator.parameters(), optim)
        )
        self._ema = Ema(self._codec, optim.ema_decay)
        self._counts = torch.zeros(self._codec.codebook_size, dtype=torch.int64, device=engine.device)

    def start_from(self, part: Part) -> None:
        """Begin with the weights of a codec instead of random ones, as far as the networks are alike."""
        tensors, count = shared_layers(part.tensors, self._codec.state_dict())
        if not count:
            raise RuntimeError("no layer of the two codecs is alike")
        if count < len(tensors) and self._engine.is_first:
            say(f"{count} of {len(tensors)} tensors of the codec are taken over; the others are random")
        self._codec.load_state_dict(tensors)
        self._ema.module.load_state_dict(tensors)

    def begin(self) -> None:
        """Let the quantiser start from latents of the first batches, unless it keeps its codebook."""
        if self._train_encoder:
            self._codec.quantizer.begin(self._latents, generator(self._loop.seed, "kmeans"))
            self._broadcast_quantizer()
            self._ema.module.load_state_dict(self._codec.state_dict())

    @torch.no_grad()
    def _latents(self, batch: int) -> Tensor:
        return self._codec.latents(self._batches.at(batch).to(self._engine.device))

    def _broadcast_quantizer(self) -> None:
        """Let all processes go on with what the first made of its own latents."""
        for parameter in self._codec.quantizer.parameters():
            self._engine.broadcast(parameter.data)

    def step(self, step: int) -> dict[str, Tensor]:
        """Forward, both backwards, both optimisers, the average."""
        passes, codes, latents = [], [], []
        for micro in range(self._optim.accumulate):
            waiting = micro + 1 < self._optim.accumulate
            images = self._batches.at(step * self._optim.accumulate + micro).to(self._engine.device)
            address = ("train", step, micro, self._engine.rank)
            rng = generator(self._loop.seed, *address, device=self._engine.device)
            metrics, quantized = self._pass(images, step, waiting, rng)
            passes.append(metrics)
            codes.append(quantized.codes.flatten())
            latents.append(quantized.before)
        self._after_step(torch.cat(codes), torch.cat(latents), rng)
        lr = learning_rate(self._optim, step, self._loop.steps)
        descend(self._optimizer, lr, self._optim.clip)
        if self._adversarial(step):
            descend(self._discriminator_optimizer, lr, self._optim.clip)
        if (step + 1) % self._optim.ema_every == 0:
            self._ema.update(self._codec)
        return averaged(passes)

    def _pass(
        self, images: Tensor, step: int, waiting: bool, rng: torch.Generator
    ) -> tuple[dict[str, Tensor], Quantized]:
        """Add the gradients of one batch, to the codec and to its discriminator.

        Each loss is differentiated once, with respect to the reconstruction. The two gradients give λ through
        the decoder's last layer alone, and their weighted sum goes back through the codec: the same gradients
        as differentiating L_rec, L_G and the total one after the other, at the cost of the total.
        """
        with self._engine.accumulate(self._model, waiting):
            output, quantized = self._model(images, step, rng)
            seen = output.detach().requires_grad_()
            metrics, rec = self._reconstruction_loss(images, seen)
            (gradient,) = torch.autograd.grad(rec, seen)
            if self._adversarial(step):
                with self._engine.autocast():
                    adversarial = generator_loss(
                        self._discriminator(self._jitter(seen, rng)), self._loss.adversarial
                    )
                (push,) = torch.autograd.grad(adversarial, seen)
                weight = self._adaptive_weight(output, gradient, push)
                gradient = gradient + weight * push
                metrics |= {"lambda": weight, "generator": adversarial}
            total = (output * gradient).sum() + quantized.loss
            self._engine.backward(total / self._optim.accumulate)
        metrics["quantizer"] = quantized.loss
        if self._adversarial(step):
            metrics["discriminator"] = self._discriminator_pass(images, output.detach(), waiting, rng)
        return metrics, quantized

    def _reconstruction_loss(self, images: Tensor, seen: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """L1 plus the perceptual distance."""
        rec = l1 = (images - seen).abs().mean()
        metrics = {"l1": l1}
        if self._perceptual is not None:
            with self._engine.autocast():
                distance = self._perceptual(images, seen).float().mean()
            metrics["lpips"] = distance
            rec = l1 + self._loss.perceptual_weight * distance
        return {"rec": rec, **metrics}, rec

    def _discriminator_pass(
        self, images: Tensor, output: Tensor, waiting: bool, rng: torch.Generator
    ) -> Tensor:
        with self._engine.accumulate(self._discriminator_model, waiting):
            real = self._discriminator_model(self._jitter(images, rng))
            fake = self._discriminator_model(self._jitter(output, rng))
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
    def _after_step(self, codes: Tensor, latents: Tensor, rng: torch.Generator) -> None:
        """Count the codes used in a step, and let the quantiser look back on it."""
        counts = torch.zeros_like(self._counts).index_add_(0, codes, torch.ones_like(codes))
        counts = self._engine.sum(counts)
        self._counts += counts
        if self._train_encoder and self._codec.quantizer.after_step(counts > 0, latents, rng):
            self._broadcast_quantizer()

    def metrics(self) -> dict[str, float]:
        """Codebook usage since it was last asked for."""
        metrics = usage(self._counts)
        self._counts.zero_()
        return metrics

    def validate(self) -> dict[str, float]:
        """L1, LPIPS, PSNR, SSIM and codebook usage of the averaged codec on the validation split."""
        if not len(self._validation):
            return {}
        metrics = measure_reconstructions(
            self._ema.module,
            self._validation,
            batch=self._optim.batch,
            perceptual=self._perceptual,
            inception=self._inception,
            processes=self._engine,
        )
        metrics["rec"] = metrics["l1"] + self._loss.perceptual_weight * metrics.get("lpips", 0.0)
        return metrics

    @torch.no_grad()
    def pictures(self) -> dict[str, Image.Image]:
        """The same few pictures every time, of the validation split if there is one, above their copies."""
        images = to_tensor(self._shown.read(self._shown.spread(NUM_SHOWN))).to(self._engine.device)
        output = self._ema.module.decode(self._ema.module.encode(images))
        return {
            "reconstructions": contact_sheet(to_pictures(torch.cat([images, output])), columns=len(images))
        }

    def state(self) -> dict[str, Any]:
        """Networks, optimisers, average, and the counts that drive recycling and metrics."""
        return {
            "codec": self._codec.state_dict(),
            "discriminator": self._discriminator.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "discriminator_optimizer": self._discriminator_optimizer.state_dict(),
            "ema": self._ema.state(),
            "counts": self._counts,
            "quantizer": self._codec.quantizer.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        state = _renamed(state)
        self._codec.load_state_dict(state["codec"])
        self._discriminator.load_state_dict(state["discriminator"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._discriminator_optimizer.load_state_dict(state["discriminator_optimizer"])
        self._ema.load(state["ema"])
        self._counts.copy_(state["counts"])
        self._codec.quantizer.load(state["quantizer"])

    def bundle(self, step: int, validation: Mapping[str, float]) -> Bundle:
        """The averaged codec, with how it came to be, and what is kept of another model."""
        about = self._about | {"codec_step": step, "codec_validation": dict(validation)}
        tensors = {name: tensor.cpu() for name, tensor in self._ema.module.state_dict().items()}
        codec = Part(config=asdict(self._codec.config), tensors=tensors)
        return replace(self._kept, codec=codec, about=about) if self._kept else Bundle(codec, about=about)


def _renamed(state: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint of before the discriminator was called so, in today's words."""
    if "critic" not in state:
        return state
    names = {"discriminator": "critic", "discriminator_optimizer": "critic_optimizer"}
    return state | {new: state[old] for new, old in names.items()} | {"quantizer": {"idle": state["idle"]}}
