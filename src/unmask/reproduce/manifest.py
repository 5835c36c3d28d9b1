"""What a claim is made of: a scale, commands of one seed at that scale, arms and tests. Free of torch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from unmask.reproduce.steps import Step
from unmask.reproduce.verdicts import Arms, Test

DEBIAN = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
"""Where the package dataset-fashion-mnist puts the images."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large everything is."""

    name: str
    about: str
    """One sentence on it, for the page."""
    codec: str
    """The settings of every codec."""
    colour: str | None
    """Images for what needs colour. None: the same as for all else."""
    adversarial: str
    """The settings of every codec with a discriminator."""
    prior: str
    """The settings of every prior."""
    long: str
    """The settings of a prior that is trained until validations bring nothing new."""
    codes: int
    """N, codes of an image."""
    size: int
    """Edge of an image in pixels."""
    count: int
    """Samples that metrics are computed from."""
    few: int
    """Images of what takes longer: edits, and windows of canvases."""
    budget: float
    """Minutes that codec and prior take together on one quiet core, and so what another method gets."""
    minutes: Mapping[str, float]
    """That a command takes on one quiet core, about; others take less."""

    def seconds(self, kind: str) -> float:
        """An estimate for a command."""
        return 60 * self.minutes.get(kind, 0.1)


FULL = Scale(
    name="full",
    about="Fashion-MNIST at 32×32 pixels, 57,000 images for training and 3,000 for validation; 8×8 codes "
    "of 256; codecs of 600 steps, priors of 0.2M parameters and 1,500 steps; 1,000 samples against the "
    "validation split",
    codec="--preset emoji --images.size 32 --images.no-flip --engine.threads 1 --codec.width 16 "
    "--codec.multipliers 1 2 4 "
    "--codec.groups 8 --codec.code-width 32 --codec.quantizer.codebook-size 256 --loss.perceptual alex "
    "--loss.discriminator-width 16 --loss.discriminator-layers 2 --optim.batch 16 --optim.lr 1e-3 "
    "--optim.warmup 50 --optim.cooldown 200 --loop.steps 600 --loop.validate-every 300",
    colour="emoji",
    adversarial="--loss.adversarial hinge --loss.adversarial-start 300",
    prior="--preset emoji --images.no-flip --images.captions none --engine.threads 1 --engine.precision 32 "
    "--prior.width 64 --prior.depth 4 --prior.heads 4 --prior.dropout 0 --diffusion.validation-draws 1 "
    "--optim.batch 32 --optim.lr 2e-3 --optim.warmup 50 --optim.cooldown 300 "
    "--loop.steps 1500 --loop.validate-every 250",
    long="--optim.cooldown 0 --loop.steps 20000 --loop.validate-every 500 --loop.patience 4",
    codes=64,
    size=32,
    count=1000,
    few=200,
    budget=6,
    minutes={"train codec": 3, "train prior": 3, "evaluate": 2, "ddpm": 9, "windows": 6},
)
QUICK = Scale(
    name="quick",
    about="a smoke test, whose verdicts mean nothing: 300 generated discs of 16×16 pixels, a few steps",
    codec="--preset tiny --images.size 16 --images.validation 0.2 --images.no-flip --engine.threads 1 "
    "--codec.width 8 --codec.multipliers 1 2 2 --codec.groups 4 --codec.attention --codec.code-width 4 "
    "--codec.quantizer.codebook-size 16 --loss.discriminator-width 8 --loss.discriminator-layers 1 "
    "--optim.batch 8 --loop.steps 12 --loop.validate-every 6 --loop.log-every 3",
    colour=None,
    adversarial="--loss.adversarial hinge --loss.adversarial-start 6",
    prior="--preset tiny --images.no-flip --images.captions none --engine.threads 1 --prior.width 16 "
    "--prior.depth 2 --prior.heads 2 --optim.batch 8 --loop.steps 16 --loop.validate-every 8 "
    "--loop.log-every 4",
    long="--loop.steps 24 --loop.patience 1",
    codes=16,
    size=16,
    count=16,
    few=8,
    budget=0.05,
    minutes={"train codec": 0.05, "train prior": 0.05, "evaluate": 0.1},
)
SCALES = {scale.name: scale for scale in (FULL, QUICK)}


@dataclass(frozen=True)
class Lab:
    """Writes the commands of one seed at one scale."""

    scale: Scale
    pictures: str
    seed: int

    @property
    def data(self) -> str:
        """The images, as they stand in a line with places for folders."""
        return quote(self.pictures).replace("{", "{{").replace("}", "}}")

    @property
    def colour(self) -> str:
        """Those for what needs colour."""
        return self.scale.colour or self.data

    def codec(self, words: str = "", *, data: str = "", seed: int | None = None) -> Step:
        """A training of stage 1."""
        seed = self.seed if seed is None else seed
        line = f"train codec {data or self.data} {self.scale.codec} {words} --loop.seed {seed} --out {{out}}"
        return Step(line)

    def prior(self, words: str = "") -> Step:
        """A training of stage 2; all seeds have the codec of the first, and so the same codes."""
        line = (
            f"train prior {{0}} {self.data} {self.scale.prior} {words} --loop.seed {self.seed} --out {{out}}"
        )
        return Step(line, (self.codec(seed=0),))

    def samples(self, prior: Step, words: str = "", metrics: str = "fid,kid,prdc") -> Step:
        """Metrics of samples against the validation split."""
        line = f"evaluate {{0}} {self.data} --split validation --settings paper --count {self.scale.count}"
        return Step(f"{line} --metrics {metrics} --seed {self.seed} {words} --out {{out}}", (prior,))

    def reconstructions(self, codec: Step, data: str) -> Step:
        """The FID of reconstructions of the validation split, by the last weights.

        The best ones, by L1 and LPIPS, may be from before the discriminator began.
        """
        line = f"evaluate {{0}}/last {data} --what reconstructions --metrics fid --out {{out}}"
        return Step(line, (codec,))

    def steps(self, share: float) -> int:
        """A share of the steps of the whole chain, which has one for each code."""
        return max(1, round(share * self.scale.codes))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something the paper says, and how it is put to the test."""

    name: str
    title: str
    paper: str
    """Where the paper says so: a table, a figure or a section."""
    arms: Callable[[Lab], Mapping[str, Step]]
    """What is compared, by name."""
    tests: Sequence[Test]
    metrics: Sequence[str]
    """What the page shows of every arm."""
    otherwise: str
    """Why the paper's direction may not be found here, and an experiment that could tell."""
    derive: Callable[[Arms], Arms] = lambda arms: arms
    """What follows from several arms together."""

    def is_told_by(self, arms: Collection[str]) -> bool:
        """Whether the arms suffice for one of the tests; or, where there is none, whether there are any."""
        if not self.tests:
            return bool(arms)
        wanted = ((test.better, test.worse) for test in self.tests)
        return any(better in arms and (worse in arms or isinstance(worse, float)) for better, worse in wanted)
