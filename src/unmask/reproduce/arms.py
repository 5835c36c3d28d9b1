"""What each claim compares: the commands of one seed, by the name of the arm. Free of torch."""

from collections.abc import Sequence

from unmask.reproduce.manifest import Lab
from unmask.reproduce.steps import Step
from unmask.reproduce.verdicts import Arms

QUANTISERS = {
    "nearest": "--codec.quantizer.kmeans-batches 0 --codec.quantizer.recycle-after 0",
    "k-means start": "--codec.quantizer.kmeans-batches 16 --codec.quantizer.recycle-after 0",
    "recycling": "--codec.quantizer.kmeans-batches 0 --codec.quantizer.recycle-after 50",
    "gumbel": "--codec.quantizer.kind gumbel --codec.quantizer.anneal-steps 400",
    "fsq": "--codec.quantizer.kind fsq --codec.quantizer.codebook-size 240 --codec.quantizer.levels 8 6 5",
}
ADVERSARIAL = {
    "default": "--loss.no-augment --loss.adaptive-max inf",
    "clamp": "--loss.no-augment",
    "DiffAug": "--loss.adaptive-max inf",
    "both": "",
}
LITERAL = "--prior.positions learned --prior.init torch --diffusion.no-stratified"
"""The paper's recipe, as far as it can be set; logits at masked codes alone are computed either way."""
OURS, SLOWER = ("all_steps", "few_steps"), ("ddpm", "autoregressive")
SHARES = {"1/5 of the steps": 0.2, "2/5": 0.4, "3/5": 0.6, "4/5": 0.8, "all steps": 1.0}
SAMPLERS = {
    "even, the paper's": "",
    "optimal schedule": "--schedule optimal",
    "Halton order": "--order halton",
    "confidence order": "--order confidence",
    "remasking": "--remask 1",
    "temperature 0.9": "--temperature 0.9",
    "temperature 0.8": "--temperature 0.8",
}


def temperature(lab: Lab) -> dict[str, Step]:
    """Samples at two temperatures."""
    return {f"temperature {t}": lab.samples(lab.prior(), f"--temperature {t}") for t in (1.0, 0.9)}


def steps(lab: Lab) -> dict[str, Step]:
    """Samples in shares of the steps, and code after code."""
    prior = lab.prior()
    chains = {
        name: lab.samples(prior, f"--steps {lab.steps(share)}", "fid,kid") for name, share in SHARES.items()
    }
    half = lab.samples(prior, f"--steps {lab.steps(0.5)}", "fid,kid")
    other = lab.samples(lab.prior("--kind autoregressive"), metrics="fid,kid")
    return chains | {"half of the steps": half, "autoregressive": other}


def samplers(lab: Lab) -> dict[str, Step]:
    """Samples in few steps, drawn in several ways."""
    few = f"--steps {lab.steps(0.2)}"
    return {name: lab.samples(lab.prior(), f"{few} {words}", "fid,kid") for name, words in SAMPLERS.items()}


def losses(lab: Lab) -> dict[str, Step]:
    """Priors by what they are trained for."""
    return {"reweighted": lab.prior()} | {loss: lab.prior(f"--loss {loss}") for loss in ("elbo", "mlm")}


def autoregressive(lab: Lab) -> dict[str, Step]:
    """Both kinds of prior after equally many steps."""
    return {"absorbing": lab.prior(), "autoregressive": lab.prior("--kind autoregressive")}


def convergence(lab: Lab) -> dict[str, Step]:
    """Both kinds of prior, trained until validations bring nothing new."""
    kinds = ("absorbing", "autoregressive")
    return {kind: lab.samples(lab.prior(f"--kind {kind} {lab.scale.long}"), "", "fid,kid") for kind in kinds}


def adversarial(lab: Lab) -> dict[str, Step]:
    """Codecs with a discriminator, with and without each of two modifications."""
    codecs = {
        name: lab.codec(f"{lab.scale.adversarial} {words}", data=lab.colour)
        for name, words in ADVERSARIAL.items()
    }
    return {name: lab.reconstructions(codec, lab.colour) for name, codec in codecs.items()}


def quantisers(lab: Lab) -> dict[str, Step]:
    """Codecs by how latents become codes."""
    return {name: lab.codec(words) for name, words in QUANTISERS.items()}


def diversity(lab: Lab) -> dict[str, Step]:
    """Samples at four temperatures."""
    return {
        f"temperature {t}": lab.samples(lab.prior(), f"--temperature {t}", "prdc,diversity")
        for t in (0.5, 0.7, 0.9, 1.0)
    }


def memorisation(lab: Lab) -> dict[str, Step]:
    """How near samples are to training pictures."""
    line = f"neighbours {{0}} {lab.data} --settings paper --seed {lab.seed} --samples {lab.scale.count}"
    return {"samples": Step(f"{line} --by pixels --out {{out}}.png", (lab.prior(),))}


def likelihood(lab: Lab) -> dict[str, Step]:
    """Bits of codes and pixels."""
    return {
        f"{bits} bits": Step(f"score {{0}} {lab.data} --draws 2 --pixels --bits {bits}", (lab.prior(),))
        for bits in (5, 8)
    }


def bound(lab: Lab) -> dict[str, Step]:
    """Two recipes of a prior."""
    return {"ours": lab.prior(), "literal": lab.prior(LITERAL)}


def speed(lab: Lab) -> dict[str, Step]:
    """Seconds of samples, all in one run."""
    priors = (lab.prior(), lab.prior("--kind autoregressive"))
    return {"one run": Step(f"speed {{0}} {{1}} --steps {lab.steps(0.2)}", priors)}


def inpainting(lab: Lab) -> dict[str, Step]:
    """Edits that know all around them, or only what is above."""
    line = f"inpainting {{0}} {lab.data} --count {lab.scale.few} --seed {lab.seed} --known"
    return {known: Step(f"{line} {known}", (lab.prior(),)) for known in ("around", "above")}


def canvases(lab: Lab) -> dict[str, Step]:
    """Canvases by how many windows make them."""
    line = f"windows {{0}} {lab.data} --count {lab.scale.few} --seed {lab.seed}"
    ways = {"all windows": "", "stride 4": "--stride 4", "one random window": "--some 1"}
    return {name: Step(f"{line} {words}", (lab.prior(),)) for name, words in ways.items()}


def compute(lab: Lab) -> dict[str, Step]:
    """Samples of several methods."""
    scale = lab.scale
    validation = "--validation 0.2" if scale.name == "quick" else ""
    other = f"ddpm {lab.data} --size {scale.size} --minutes {scale.budget} --count {scale.count} {validation}"
    return {
        "ours": lab.samples(lab.prior(), "--temperature 0.9"),
        "VQ and MaskGIT": lab.samples(lab.prior("--loss mlm"), "--order confidence --schedule cosine"),
        "VQ and autoregressive": lab.samples(lab.prior("--kind autoregressive")),
        "DDPM": Step(f"{other} --seed {lab.seed}"),
    }


def to_equal_bound(arms: Arms) -> Arms:
    """Each arm with ``minutes_to_bound``: those after which its bits were as few as all arms reach."""
    target = max(found["bits"] for found in arms.values())
    return {
        name: {**found, "minutes_to_bound": _first_below(found["curve"], target)}
        for name, found in arms.items()
    }


def _first_below(curve: Sequence[dict[str, float]], target: float) -> float:
    """Minutes at which a curve comes down to ``target``, between validations linearly."""
    before = None
    for point in curve:
        if point["bits"] <= target:
            if before is None:
                return point["seconds"] / 60
            share = (before["bits"] - target) / (before["bits"] - point["bits"])
            return (before["seconds"] + share * (point["seconds"] - before["seconds"])) / 60
        before = point
    raise AssertionError("every arm comes down to the highest of the lowest")
