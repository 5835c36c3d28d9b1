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
        otherwise="Fewer steps cost quality if codes that are drawn together depend on each other. A small "
        "prior may not have learnt those dependencies, and then loses nothing; and it is behind the "
        "autoregressive one as long as it has learnt less. A prior of 4 times the width would tell.",
    ),
    Claim(
        name="samplers",
        title="A schedule optimised by dynamic programming lowers the FID of few steps",
        paper="Section 4.2.1, which proposes dynamic programming as future work",
        arms=arms.samplers,
        tests=(Test("fid", "optimal schedule", "even, the paper's", "a guess, no numbers"),),
        metrics=("fid", "kid"),
        otherwise="The schedule is optimal for the bound of the chain, not for FID. Tuning by FID itself "
        "would tell: `unmask tune`.",
    ),
    Claim(
        name="autoregressive",
        title="The absorbing prior has a lower NLL than the same Transformer with a causal mask",
        paper="Table 4, here after equally many steps",
        arms=arms.autoregressive,
        tests=(Test("bits", *KINDS, "Churches 6.01 < 6.24, FFHQ 5.96 < 6.18 bits per code"),),
        metrics=("bits", "step", "seconds"),
        otherwise="The autoregressive prior has one order to learn and learns from every code in every pass, "
        "so it is ahead until it overfits; the paper's trained for up to 2M steps and stopped by validation. "
        "Also, the bits of the absorbing prior are an upper bound, the others exact. Training for hundreds "
        "of epochs would tell: 2,000 images, both priors stopped by validation.",
    ),
    Claim(
        name="convergence",
        title="With early stopping, the absorbing prior has a lower FID and NLL than the autoregressive one",
        paper="Table 4",
        arms=arms.convergence,
        tests=(
            Test("fid", *KINDS, "5.58 < 5.93, 7.12 < 8.15"),
            Test("bits", *KINDS, "6.01 < 6.24, 5.96 < 6.18"),
        ),
        metrics=("bits", "step", "fid", "kid"),
        otherwise="The paper's explanation is that its autoregressive prior overfits. On 57,000 images a "
        "prior of 0.2M parameters hardly can. The same on 2,000 images, or a prior of 10M, would tell.",
    ),
    Claim(
        name="losses",
        title="Training with the reweighted loss reaches a lower validation bound than training on the bound",
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
        otherwise="The bound weights an example by T/t, so the nearly unmasked ones of a batch dominate its "
        "gradient. Over 64 codes that noise averages out sooner than over the paper's 256. The same prior "
        "on a grid of 16×16 codes would tell.",
    ),
    Claim(
        name="diversity",
        title="Low temperatures reduce diversity",
        paper="Figure 6",
        arms=arms.diversity,
        tests=tuple(
            Test(metric, "temperature 1.0", "temperature 0.5", "shown", higher=True)
            for metric in ("recall", "code_perplexity")
        ),
        metrics=("precision", "recall", "code_perplexity", "kind_perplexity"),
        otherwise="Samples at temperature 1 may be too poor to be near any image, which recall needs. "
        "A prior trained for longer would tell.",
    ),
    Claim(
        name="adversarial",
        title="DiffAug and a clamp on λ together lower the FID of reconstructions; each alone may not",
        paper="Table 5 (Churches, FFHQ)",
        arms=arms.adversarial,
        tests=(
            Test("fid", "both", "default", "2.70 < 5.25, 3.12 < 3.37"),
            Test("fid", "both", "clamp", "2.70 < 8.67, 3.12 < 4.72"),
            Test("fid", "both", "DiffAug", "2.70 < 5.16, 3.12 < 6.57"),
        ),
        metrics=("fid", "psnr", "lpips", "codes_used"),
        otherwise="The paper's codecs had 470,000 adversarial steps, these have 300. So λ has had no time to "
        "grow, nor the discriminator to overfit, which clamp and augmentation prevent. The same codecs, "
        "trained 100 times as long, would tell.",
    ),
    Claim(
        name="quantisers",
        title="Nearest-neighbour codes reconstruct as well as Gumbel, k-means and recycling, or better",
        paper="Appendix A, Codebook Collapse",
        arms=arms.quantisers,
        tests=tuple(
            Test("lpips", "nearest", worse, "comparable or worse", no_worse=True)
            for worse in arms.QUANTISERS
            if worse not in ("nearest", "fsq")
        ),
        metrics=("lpips", "psnr", "codes_used", "perplexity"),
        otherwise="A codebook that starts from small random vectors collapses, and in a short training does "
        "not recover; the others begin with every code in use. How the gap closes with steps would tell.",
    ),
    Claim(
        name="memorisation",
        title="Samples are not copies of training images",
        paper="Figures 8 to 10 in Appendix C, by inspecting LPIPS neighbours; here `nearer` is the "
        "probability that a sample is nearer to the training images, by pixels, than a validation image is, "
        "a test that samples far from every image pass too; `closest` counts samples nearer than any "
        "validation image",
        arms=arms.memorisation,
        tests=(Test("nearer", "samples", 0.5, "shown, no numbers", no_worse=True),),
        metrics=("nearer", "sample_median", "validation_median", "closest"),
        otherwise="By pixels, a blurred image is close to everything. The same by LPIPS would tell: "
        "`unmask neighbours --by lpips`.",
    ),
    Claim(
        name="likelihood",
        title="The model gives a bound on the likelihood of pixels",
        paper="Section 4.1.1: 2.72 bits per dimension on FFHQ at 5 bits, not comparable across data sets",
        arms=arms.likelihood,
        tests=(),
        metrics=("bits_per_dimension", "bits_per_code"),
        otherwise="Nothing is compared.",
    ),
    Claim(
        name="speed",
        title="Sampling is many times faster than a DDPM",
        paper="Section 4.2.1: 18 times with all steps, 88 times with a fifth of them, on a GPU",
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
        otherwise="A small network may be as fast on pixels as on codes. The paper's size would tell: "
        "`python -m benchmarks sampling`.",
    ),
    Claim(
        name="parallel",
        title="Predicting codes in parallel is faster than autoregressive sampling",
        paper="Section 1, among the contributions; no numbers",
        arms=arms.speed,
        tests=(Test("autoregressive_by_few_steps", "one run", 1.0, "not given", higher=True),),
        metrics=(
            "autoregressive_by_all_steps",
            "autoregressive_by_few_steps",
            *(f"seconds_{name}" for name in (*arms.OURS, "autoregressive")),
        ),
        otherwise="With a KV cache, an autoregressive step computes one code, an absorbing one all of them, "
        "which matters on a CPU. The paper's size would tell: `python -m benchmarks sampling`.",
    ),
    Claim(
        name="inpainting",
        title="Inpainting is consistent with all of its surroundings",
        paper="Figure 7, where an autoregressive prior would see only the codes before the gap",
        arms=arms.inpainting,
        tests=(Test("l1", "around", "above", "shown, no numbers"),),
        metrics=("l1",),
        otherwise="A prior that has learnt little makes little use of its context, on either side. Longer "
        "training would tell.",
    ),
    Claim(
        name="canvases",
        title="Canvases beyond the training size are as good with a stride or with random windows",
        paper="Figure 4 and Section 3.3",
        arms=arms.canvases,
        tests=tuple(
            Test("kid", better, "all windows", "shown, no numbers", no_worse=True)
            for better in ("stride 4", "one random window")
        ),
        metrics=("kid", "fid", *PRDC),
        otherwise="The mean over many windows is smoother than the prediction of one. Images without a "
        "central object would tell: churches, or textures.",
    ),
    Claim(
        name="compute",
        title="Better samples than other methods for the same training time on the same core",
        paper="Table 2, which compares methods at different costs",
        arms=arms.compute,
        tests=(
            Test("fid", "ours", "DDPM", "Bedroom 3.64 < 6.36, Churches 4.07 < 7.89"),
            Test("fid", "ours", "VQ and autoregressive", "3.64 < 6.35, 4.07 < 7.81, FFHQ 6.11 < 9.6"),
            Test("fid", "ours", "VQ and MaskGIT", "not compared"),
        ),
        metrics=("fid", "kid", *PRDC, "minutes"),
        otherwise="Others may be ahead for a while: an autoregressive prior learns faster at first. FID "
        "over several budgets would tell. There is no GAN among them: the small ones in package indexes "
        "need torchvision and experiment trackers.",
    ),
    Claim(
        name="bound",
        title="Our recipe reaches the final bound of the paper's recipe sooner",
        paper="Appendix A: the paper's recipe (learned positions, torch's initialisation); here both are "
        "trained in float32, so bfloat16 is not part of the comparison",
        arms=arms.bound,
        tests=(Test("minutes_to_bound", "ours", "literal", "its own recipe is the baseline"),),
        metrics=("bits", "minutes_to_bound"),
        otherwise="With 64 codes, learned positions are learnt quickly. 256 codes would tell.",
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
