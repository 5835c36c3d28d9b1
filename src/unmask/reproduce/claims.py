"""The claims of the paper, a few lines each: what is compared, and what the paper says. Free of torch."""

from collections.abc import Sequence

from unmask.errors import ConfigError
from unmask.reproduce import arms
from unmask.reproduce.manifest import Claim
from unmask.reproduce.verdicts import Test

PRDC = ("precision", "recall", "density", "coverage")
COOLER = ("temperature 0.9", "temperature 1.0")
KINDS = ("absorbing", "autoregressive")


CLAIMS = (
    Claim(
        name="temperature",
        title="Sampling at temperature 0.9 instead of 1.0 improves all metrics but recall",
        paper="Tables 1 and 2 (Churches, Bedroom, FFHQ)",
        arms=arms.temperature,
        tests=(
            Test("fid", *COOLER, "4.07 < 5.58, 3.64 < 5.07, 6.11 < 7.12"),
            Test("precision", *COOLER, "0.71 > 0.70, 0.67 > 0.64, 0.73 > 0.69", higher=True),
            Test("density", *COOLER, "1.07 < 1.12 (the exception), 1.51 > 1.27, 1.20 > 1.06", higher=True),
            Test("coverage", *COOLER, "0.74 > 0.73, 0.83 > 0.81, 0.80 > 0.77", higher=True),
        ),
        metrics=("fid", "kid", *PRDC),
        otherwise="A lower temperature helps a prior that spreads too much probability over unlikely codes. "
        "One that has not learnt the rare codes yet loses diversity instead, and FID counts both. Longer "
        "training would tell: if the sign changes within 4 times the steps, it was the prior.",
    ),
    Claim(
        name="steps",
        title="Fewer steps cost little: half of them are as good as an autoregressive prior",
        paper="Table 3 (Churches, Bedroom, FFHQ)",
        arms=arms.steps,
        tests=(
            Test("fid", "all steps", "1/5 of the steps", "5.58 < 6.86, 5.42 < 6.85, 7.12 < 9.60"),
            Test(
                "fid",
                "half of the steps",
                "autoregressive",
                "about 5.9 and 7.7 at half of the steps, 5.93 and 8.15 autoregressively",
                no_worse=True,
            ),
        ),
        metrics=("fid", "kid"),
        otherwise="Steps cost quality where codes that are drawn together depend on each other. A small "
        "prior may not see those dependences, and then has nothing to lose; and it is behind the "
        "autoregressive one for as long as it has learnt less. A prior of 4 times the width would tell.",
    ),
    Claim(
        name="samplers",
        title="A better choice of steps lowers the FID of few steps",
        paper="Section 4.2.1, which proposes dynamic programming as future work",
        arms=arms.samplers,
        tests=(Test("fid", "optimal schedule", "even, the paper's", "a guess, no numbers"),),
        metrics=("fid", "kid"),
        otherwise="The schedule is optimal for the bound of the chain, not for FID. Tuning by FID itself "
        "would tell: `unmask tune`.",
    ),
    Claim(
        name="autoregressive",
        title="The absorbing prior reaches a lower NLL than the same Transformer made autoregressive",
        paper="Table 4, here after equally many steps",
        arms=arms.autoregressive,
        tests=(Test("bits", *KINDS, "Churches 6.01 < 6.24, FFHQ 5.96 < 6.18 bits per code"),),
        metrics=("bits", "step", "seconds"),
        otherwise="The autoregressive prior has one order to learn and learns from every code in every pass, "
        "so it is ahead until it overfits; the paper's trained for up to 2M steps and stopped by validation. "
        "Also, the bits of the absorbing prior are a bound, the others exact. A training set that is passed "
        "hundreds of times would tell: 2,000 pictures, both priors stopped by validation.",
    ),
    Claim(
        name="convergence",
        title="Trained until validation stops them, the absorbing prior has the lower FID and NLL",
        paper="Table 4",
        arms=arms.convergence,
        tests=(
            Test("fid", *KINDS, "5.58 < 5.93, 7.12 < 8.15"),
            Test("bits", *KINDS, "6.01 < 6.24, 5.96 < 6.18"),
        ),
        metrics=("bits", "step", "fid", "kid"),
        otherwise="The paper's explanation is that its autoregressive prior overfits. On 57,000 pictures a "
        "prior of 0.2M parameters hardly can. The same on 2,000 pictures, or a prior of 10M, would tell.",
    ),
    Claim(
        name="losses",
        title="The reweighted loss trains to a lower validation bound than the bound itself",
        paper="Figure 5",
        arms=arms.losses,
        tests=(
            Test(
                "bits",
                "reweighted",
                "elbo",
                "the curve of the reweighted loss is the lower one throughout, on Churches and FFHQ",
            ),
        ),
        metrics=("bits",),
        otherwise="The bound weighs a row by T/t: the almost clean ones of a batch dominate its gradient. "
        "Over 64 codes that noise averages out sooner than over the paper's 256. The same prior on a grid of "
        "16×16 codes would tell.",
    ),
    Claim(
        name="diversity",
        title="Low temperatures take diversity away",
        paper="Figure 6",
        arms=arms.diversity,
        tests=tuple(
            Test(metric, "temperature 1.0", "temperature 0.5", "shown", higher=True)
            for metric in ("recall", "code_perplexity")
        ),
        metrics=("precision", "recall", "code_perplexity", "kind_perplexity"),
        otherwise="Samples at temperature 1 may be so poor that none is near a picture, which recall needs. "
        "A prior trained for longer would tell.",
    ),
    Claim(
        name="adversarial",
        title="DiffAug and a clamp on λ together lower the FID of reconstructions, alone they may not",
        paper="Table 5 (Churches, FFHQ)",
        arms=arms.adversarial,
        tests=(
            Test("fid", "both", "default", "2.70 < 5.25, 3.12 < 3.37"),
            Test("fid", "both", "clamp", "2.70 < 8.67, 3.12 < 4.72"),
            Test("fid", "both", "DiffAug", "2.70 < 5.16, 3.12 < 6.57"),
        ),
        metrics=("fid", "psnr", "lpips", "codes_used"),
        otherwise="The paper's codecs had 470,000 adversarial steps, these have 300: λ has had no time to "
        "grow, nor the discriminator to overfit, which is what clamp and augmentation are against. The same "
        "codecs for 100 times as long would tell.",
    ),
    Claim(
        name="quantisers",
        title="Nearest codes reconstruct as well as Gumbel, k-means start and recycling, or better",
        paper="Appendix A, Codebook Collapse",
        arms=arms.quantisers,
        tests=tuple(
            Test("lpips", "nearest", worse, "comparable or worse", no_worse=True)
            for worse in arms.QUANTISERS
            if worse not in ("nearest", "fsq")
        ),
        metrics=("lpips", "psnr", "codes_used", "perplexity"),
        otherwise="A codebook that starts from small random codes collapses, and in a short training does "
        "not recover: the others begin with every code in use. How the gap closes with steps would tell.",
    ),
    Claim(
        name="memorisation",
        title="Samples are no copies of training pictures",
        paper="Figures 8 to 10 in Appendix C, by looking at LPIPS neighbours; here by pixels, a test that "
        "samples pass too if they are far from every picture",
        arms=arms.memorisation,
        tests=(Test("nearer", "samples", 0.5, "shown, no numbers", no_worse=True),),
        metrics=("nearer", "sample_median", "validation_median", "closest"),
        otherwise="By pixels, what is blurred is near to everything. The same by LPIPS would tell: "
        "`unmask neighbours --by lpips`.",
    ),
    Claim(
        name="likelihood",
        title="The model gives a bound on the likelihood of pixels",
        paper="Section 4.1.1: 2.72 bits per dimension on FFHQ at 5 bits; another set does not compare",
        arms=arms.likelihood,
        tests=(),
        metrics=("bits_per_dimension", "bits_per_code"),
        otherwise="Nothing is compared.",
    ),
    Claim(
        name="speed",
        title="Sampling is many times faster than a DDPM",
        paper="Section 4.2.1: 18 times in all steps, 88 times in a fifth of them, on a GPU",
        arms=arms.speed,
        tests=(
            Test("ddpm_by_all_steps", "one run", 1.0, "18", higher=True),
            Test("ddpm_by_few_steps", "one run", 1.0, "88", higher=True),
        ),
        metrics=(
            "ddpm_by_all_steps",
            "ddpm_by_few_steps",
            *(f"seconds_{name}" for name in (*arms.OURS, "ddpm")),
        ),
        otherwise="A small network in few steps may be as fast in pixels as in codes. The paper's size would "
        "tell: `python -m benchmarks sampling`.",
    ),
    Claim(
        name="parallel",
        title="Predicting codes in parallel samples faster than one after the other",
        paper="Section 1, among the contributions; no numbers",
        arms=arms.speed,
        tests=(Test("autoregressive_by_few_steps", "one run", 1.0, "not given", higher=True),),
        metrics=(
            "autoregressive_by_all_steps",
            "autoregressive_by_few_steps",
            *(f"seconds_{name}" for name in (*arms.OURS, "autoregressive")),
        ),
        otherwise="With a cache of keys and values an autoregressive step costs one code, an absorbing one "
        "all of them: on a CPU that counts. The paper's size would tell: `python -m benchmarks sampling`.",
    ),
    Claim(
        name="inpainting",
        title="An edit anywhere is consistent with all that surrounds it",
        paper="Figure 7, where an autoregressive prior would know the upper left alone",
        arms=arms.inpainting,
        tests=(Test("l1", "around", "above", "shown, no numbers"),),
        metrics=("l1",),
        otherwise="A prior that has learnt little makes little of what it knows, on whichever side it lies. "
        "Longer training would tell.",
    ),
    Claim(
        name="canvases",
        title="Canvases beyond the trained size are as good by a stride or by random windows",
        paper="Figure 4 and Section 3.3",
        arms=arms.canvases,
        tests=tuple(
            Test("kid", better, "all windows", "shown, no numbers", no_worse=True)
            for better in ("stride 4", "one random window")
        ),
        metrics=("kid", "fid", *PRDC),
        otherwise="The mean over many windows is smoother than what one window says. Pictures without a "
        "centre, which clothes have, would tell: churches, or textures.",
    ),
    Claim(
        name="compute",
        title="For the same minutes on the same core, better samples than other methods",
        paper="Table 2, which compares methods at whatever they cost",
        arms=arms.compute,
        tests=(
            Test("fid", "ours", "DDPM", "Bedroom 3.64 < 6.36, Churches 4.07 < 7.89"),
            Test("fid", "ours", "VQ and autoregressive", "3.64 < 6.35, 4.07 < 7.81, FFHQ 6.11 < 9.6"),
            Test("fid", "ours", "VQ and MaskGIT", "not compared"),
        ),
        metrics=("fid", "kid", *PRDC, "minutes"),
        otherwise="Others may be ahead for a while: an autoregressive prior learns faster at first. FID "
        "over several budgets would tell. No GAN is among them: the small ones in package indexes need "
        "torchvision and trackers of experiments.",
    ),
    Claim(
        name="bound",
        title="Our recipe reaches the bound of the paper's sooner",
        paper="Appendix A: the paper's recipe (learned positions, torch's initialisation, float32)",
        arms=arms.bound,
        tests=(Test("minutes_to_bound", "ours", "literal", "its own recipe is the baseline"),),
        metrics=("bits", "minutes_to_bound"),
        otherwise="On 64 codes learned positions are soon learnt. 256 codes would tell.",
        derive=arms.to_equal_bound,
    ),
)


def claims_named(names: Sequence[str]) -> Sequence[Claim]:
    """Those of the claims, or all."""
    known = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no claim {name!r}", hint=f"one of {', '.join(known)}")
    return [known[name] for name in names] or CLAIMS
