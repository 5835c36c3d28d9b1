"""A prior at work on a device: what it is told, and the codes that it draws. Pixels are the pipeline's."""

import inspect
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar, Unpack, get_type_hints

import torch
from torch import Tensor

from unmask.data.provenance import Provenance
from unmask.devices import Precision, wants_bfloat16
from unmask.diffusion.autoregressive import Continuer, autoregress
from unmask.diffusion.choose import choose
from unmask.diffusion.fill import Denoiser, OnStep, Watch
from unmask.diffusion.first_pass import RememberedStart
from unmask.diffusion.guidance import Conditioned, Guided, GuidedContinuer, with_words
from unmask.diffusion.likelihood import Bound, likelihood_of
from unmask.diffusion.precision import InBfloat16
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.schedule import Curve
from unmask.diffusion.settings import NOT_GIVEN, Changes, Settings, Use
from unmask.errors import ConfigError
from unmask.generation.arguments import checked
from unmask.generation.prompts import Prompt, Words, has_text
from unmask.models import prior_from, vocabulary_from
from unmask.onnx.config import Backend
from unmask.onnx.denoiser import make_denoiser
from unmask.progress import say
from unmask.reading import brief
from unmask.storage.bundles import Bundle

BATCH = 16  # pictures in memory at once
Method = TypeVar("Method", bound=Callable[..., Any])


class Guide(Protocol):
    """A weaker model, which autoguidance moves away from."""

    @property
    def sampler(self) -> "Sampler":
        """Its prior at work."""


class Options(Changes, total=False):
    """What everything that draws takes by keyword: these, and every setting, which goes over ``settings``."""

    negative: str
    """Negative prompt: what guidance moves away from."""
    guide: Guide | None
    """A weaker model, which guidance moves away from (autoguidance)."""
    settings: Settings | str | None
    """A name of the model's own or ``paper``, or None for those that the model recommends."""
    seed: int | None
    """0 unless given. None: one is drawn, and said."""
    progress: bool
    """Whether to show a bar on stderr."""
    on_step: OnStep | None
    """What sees the codes after every pass."""


@dataclass(frozen=True)
class Request:
    """What ``Options`` ask for, in full."""

    settings: Settings
    seed: int
    negative: str
    guide: "Sampler | None"
    watch: Watch


def draws(method: Method) -> Method:
    """A method that takes ``Options``, with a signature that names them, for ``help`` and completion."""
    signature = inspect.signature(method)
    first, *own, _ = signature.parameters.values()
    itself = first.replace(name="self", annotation=inspect.Parameter.empty)
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [each for each in inspect.signature(Sampler.request).parameters.values() if each.kind is keyword]
    settings = [
        inspect.Parameter(name, keyword, default=NOT_GIVEN, annotation=hint)
        for name, hint in get_type_hints(Changes).items()
    ]
    vars(method)["__signature__"] = signature.replace(parameters=[itself, *own, *shared, *settings])
    return method


class Sampler:
    """The prior of a model, its words, and what it says of codes."""

    def __init__(
        self, model: Bundle, device: torch.device, backend: Backend, precision: Precision, name: str
    ) -> None:
        assert model.prior, "models without one have no sampler"
        self.prior = prior_from(model.prior).to(device)
        captions = model.about.get("prior_captions", [])
        self.words = Words(vocabulary_from(model.prior), self.prior.mask_id, captions, self.prior.causal)
        self.device = device
        self.curve: Curve | None = model.about.get("curve")
        """What a code costs by the share of codes masked, as measured in the training."""
        self.codec_fingerprint = model.codec.fingerprint
        """Of the codec whose codes these are."""
        self._fingerprint, self._sampling = model.prior.fingerprint, model.sampling
        self._name, self._backend, self._precision = name, backend, precision
        self._graph = None if backend == "torch" else make_denoiser(self.prior, self._fingerprint, backend)

    def to(self, device: torch.device) -> None:
        """From now on at work there."""
        self.device = device
        self.prior.to(device)
        self.__dict__.pop("denoiser", None)  # of what was on the other one

    @property
    def fingerprint(self) -> str:
        """What a code depends on: the networks, and what computes the prior."""
        how = [self._backend] if self._backend != "torch" else []
        return "-".join([self.codec_fingerprint, self._fingerprint, *how, *["bf16"] * self._in_bfloat16])

    @property
    def _in_bfloat16(self) -> bool:
        denoises = not self.prior.causal and self._backend in ("torch", "compile")
        return denoises and wants_bfloat16(self._precision, self.device.type)

    @cached_property
    def denoiser(self) -> Denoiser:
        """The prior as samplers ask it: what it says before anything is known is computed once.

        Where it knows words it takes rows of them and of codes.
        """
        prior: Denoiser = self._graph or self.prior
        return RememberedStart(InBfloat16(prior) if self._in_bfloat16 else prior)

    @property
    def likelihood(self) -> Bound:
        """What codes alone are scored by: the prior without a caption."""
        if not self.words.length:
            return likelihood_of(self.prior)
        return likelihood_of(Conditioned(self.prior, words=self.words.ids("")))

    def check_captions(self, task: str = "caption images", hint: str | None = None) -> None:
        """Refuse a task that asks a prior for words given codes, if it cannot tell."""
        if self.prior.causal:
            raise ConfigError(
                f"an autoregressive prior reads captions before codes, so it cannot {task}", hint=hint
            )

    @checked
    def request(
        self,
        use: Use,
        *,
        settings: Settings | str | None = None,
        seed: int | None = 0,
        negative: str = "",
        guide: Guide | None = None,
        progress: bool = False,
        on_step: OnStep | None = None,
        **changes: Unpack[Changes],
    ) -> Request:
        """What options ask for."""
        chosen = choose(use, self._sampling, settings, changes)
        if guide is not None and not hasattr(guide, "sampler"):
            raise ConfigError(
                f"guide is {brief(guide)}, but should be a model", hint="guide=unmask.load('emoji')"
            )
        if guide is not None and chosen.guidance == 1:
            raise ConfigError("at guidance 1 a guide has no effect", hint="--guidance 2")
        self.words.ids(negative)  # an unknown word is refused now
        if seed is None:
            seed = secrets.randbits(31)
            say(f"seed {seed}")
        return Request(chosen, seed, negative, guide.sampler if guide else None, Watch(progress, on_step))

    def draw(self, request: Request, images: range, prompt: Prompt, batch: int) -> Tensor:
        """(len(images), N) codes of the given numbers of a request."""
        prompted = has_text(prompt)
        sample: Callable[..., Tensor] = (
            partial(autoregress, self._continuer(request, prompted))
            if self.prior.causal
            else partial(
                sample_codes, self._guided(request, prompted), grid=self.prior.grid, curve=self.curve
            )
        )
        words = self.words.of(prompt, images, request.seed)
        with request.watch.of(self.prior.mask_id) as on_step:
            return sample(
                images=images,
                settings=request.settings,
                seed=request.seed,
                device=self.device,
                words=words,
                batch=batch,
                on_step=on_step,
            )

    def denoisers(
        self, request: Request, prompts: Sequence[str] = ("",), num_drawn: int | None = None
    ) -> list[Denoiser]:
        """Denoisers of codes alone, one conditioned on each prompt; ``num_drawn`` as ``Guided`` has it."""
        guided = self._guided(request, has_text(prompts), num_drawn)
        ids = (self.words.ids(prompt) for prompt in prompts)
        return [Conditioned(guided, words=words) if len(words) else guided for words in ids]

    def origin(self, request: Request) -> Provenance:
        """How an image was drawn, as far as the request says it."""
        return Provenance(
            model=self._name,
            fingerprint=self.fingerprint,
            seed=request.seed,
            negative=request.negative,
            guide=request.guide.fingerprint if request.guide else None,
            settings=request.settings,
        )

    def guides(self, request: Request, prompted: bool) -> bool:
        """Whether a pass is one of twice the rows, or has one of a guide beside it.

        Without a prompt or a negative one, both predictions of classifier-free guidance are the same.
        """
        differs = self.words.length > 0 and (prompted or has_text(request.negative))
        return request.guide is not None or (request.settings.guidance != 1 and differs)

    def _guided(self, request: Request, prompted: bool, num_drawn: int | None = None) -> Denoiser:
        """The denoiser of rows, guided by a weaker model or by itself with the negative prompt or none."""
        guide = request.guide
        guided = partial(
            Guided, self.denoiser, request.settings.guidance, num_words=self.words.length, num_drawn=num_drawn
        )
        if not self.guides(request, prompted):
            return self.denoiser
        if guide is None:
            return guided(blank=with_words(self.words.ids(request.negative)))
        if guide.prior.causal:
            raise ConfigError("an autoregressive prior cannot guide an absorbing one")
        if (guide.codec_fingerprint, guide.words.vocabulary) != (
            self.codec_fingerprint,
            self.words.vocabulary,
        ):
            raise ConfigError(
                "a guide must know the same codes and words: it is another checkpoint, or a smaller prior"
            )
        return guided(guide=guide.denoiser)

    def _continuer(self, request: Request, prompted: bool) -> Continuer:
        """The same of an autoregressive prior."""
        if request.guide is not None:
            raise ConfigError("an autoregressive prior takes no guide")
        if not self.guides(request, prompted):
            return self.prior
        return GuidedContinuer(self.prior, request.settings.guidance, self.words.ids(request.negative))
