"""The page of a reproduction, from its results alone: the same results give the same page."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unmask.progress import rough_duration
from unmask.reproduce.claims import CLAIMS
from unmask.reproduce.manifest import SCALES, Claim
from unmask.reproduce.verdicts import Arms, Outcome, Test, judge, of_arm, overall

RESULTS = "results.json"
HEAD = """# The paper's claims, tested

The claims of [*Unleashing Transformers*](https://arxiv.org/abs/2111.12701), tested with small models that
anyone can train on a CPU. A verdict says what holds at this scale, not whether the paper is right at its own.

**So far**: {done} of {all} claims{verdicts}.

**Scale**: {about}.

**Repeat**: one thread, {hours} of wall time in all, resumable. Run claims about time on an idle machine.

```
unmask reproduce{options}
```

Without names and options, the command runs all claims with three seeds. It renders this page from `{source}`:
verdicts are computed from the numbers and their standard errors, and none is written by hand.

| verdict | meaning |
| --- | --- |
| confirmed | the paper's direction, beyond chance (95 %) |
| refuted | the opposite direction, beyond chance |
| not at this scale | no difference beyond chance |
| undecided | one seed, of a metric that has no standard error of its own |
| measured | the paper gives nothing that could be compared |

Over several seeds, verdicts are t-tests of paired differences. With one seed, only the metric's own standard
error is known, not the variation between trainings, and the verdict says so. A claim with several tests gets
one verdict for all of them: the first that occurs of *refuted*, *not at this scale*, *undecided*,
*confirmed*. Numbers are means over seeds ± the standard error; with one seed, ± that of the metric. `OUT` is
the folder of `--out`.
"""


def page(results: Mapping[str, Any], source: str = RESULTS, pictures: str = "") -> str:
    """The whole page as Markdown, beside the file ``source``; plots are in the folder ``pictures``."""
    scale = SCALES[results["scale"]]
    seconds = sum(step["found"]["seconds"] for step in results["steps"].values())
    outcomes = {claim.name: _overall(claim, results) for claim in CLAIMS}
    run = [claim for claim in CLAIMS if outcomes[claim.name].seeds]
    counts = Counter(outcomes[claim.name].verdict for claim in run)
    head = HEAD.format(
        options=_options(results),
        done=len(results["arms"]),
        all=len(CLAIMS),
        verdicts=": " * bool(run) + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()),
        source=source,
        about=scale.about,
        hours=rough_duration(seconds),
    )
    rows = [
        [f"[{claim.title}](#{_anchor(claim.title)})", claim.paper, _words(outcomes[claim.name])]
        for claim in run
    ]
    rows += [[claim.title, claim.paper, _words(outcomes[claim.name])] for claim in CLAIMS if claim not in run]
    summary = _table(["claim", "in the paper", "verdict"], rows)
    return "\n".join([head, summary, *(_section(claim, results, pictures) for claim in run)])


def _options(results: Mapping[str, Any]) -> str:
    """What to type behind ``unmask reproduce`` for just these results."""
    done = results["arms"]
    names = [claim.name for claim in CLAIMS if claim.name in done] if len(done) < len(CLAIMS) else []
    quick = ["--quick"] if results["scale"] == "quick" else []
    seeds = ["--seeds", str(max(map(len, done.values())))] if done else []
    return "".join(f" {word}" for word in [*names, *quick, *seeds])


def seeds_of(claim: Claim, results: Mapping[str, Any]) -> list[Arms]:
    """What was found of a claim's arms, by seed."""
    found = (
        {arm: _on_the_way(results, key) for arm, key in arms.items()}
        for arms in results["arms"].get(claim.name, {}).values()
    )
    return [claim.derive(arms) for arms in found]


def _on_the_way(results: Mapping[str, Any], key: str) -> dict[str, Any]:
    """What a step found, and what was found before it: of samples also the bits of their prior.

    ``minutes`` are those of all trainings on the way.
    """
    step = results["steps"][key]
    before = [_on_the_way(results, each) for each in step["inputs"]]
    minutes = sum(each["minutes"] for each in before) + step["found"].get("minutes", 0)
    if "curve" in step["found"]:
        minutes += step["found"]["seconds"] / 60
    merged = {name: found for each in before for name, found in each.items()}
    return {**merged, **step["found"], "minutes": minutes}


def _overall(claim: Claim, results: Mapping[str, Any]) -> Outcome:
    return overall(claim.tests, seeds_of(claim, results))


def _words(outcome: Outcome) -> str:
    seeds = {0: "", 1: ", one seed only"}.get(outcome.seeds, f", {outcome.seeds} seeds")
    return f"**{outcome.verdict}**{seeds}"


def _anchor(title: str) -> str:
    """The name that code hosts and the site give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _section(claim: Claim, results: Mapping[str, Any], pictures: str) -> str:
    seeds, outcome = seeds_of(claim, results), _overall(claim, results)
    parts = [f"## {claim.title}\n", f"In the paper: {claim.paper}. Here: {_words(outcome)}.\n"]
    if claim.tests:
        parts.append(_tests(claim.tests, seeds))
    parts.append(_arms(claim, seeds))
    parts.append(f"![{claim.title}]({pictures}{plot_name(claim)})\n")
    if outcome.verdict in ("refuted", "not at this scale"):
        parts.append(f"**A possible reason, and what would tell.** {claim.otherwise}\n")
    parts.append(_commands(results, claim))
    return "\n".join(parts)


def _tests(tests: Sequence[Test], seeds: Sequence[Arms]) -> str:
    rows = []
    for test in tests:
        outcome = judge(test, seeds)
        sign = {(False, False): "<", (False, True): "≤", (True, False): ">", (True, True): "≥"}[
            test.higher, test.no_worse
        ]
        claimed = f"{test.metric}: {test.better} {sign} {test.worse}"
        rows.append([claimed, test.paper, str(outcome.gain) if outcome.seeds else "–", _words(outcome)])
    return _table(["claimed", "the paper's numbers", "better here by", "verdict"], rows)


def _arms(claim: Claim, seeds: Sequence[Arms]) -> str:
    names = dict.fromkeys(arm for arms in seeds for arm in arms)
    rows = [[name, *(str(of_arm(name, each, seeds) or "–") for each in claim.metrics)] for name in names]
    return _table(["", *claim.metrics], rows)


def _commands(results: Mapping[str, Any], claim: Claim) -> str:
    """The commands of the first seed, in an order in which they can be typed."""
    arms = next(iter(results["arms"][claim.name].values()))
    keys = dict.fromkeys(each for key in arms.values() for each in _with_inputs(results, key))
    lines = [results["steps"][key]["typed"] for key in keys]
    title = "<details><summary>Commands of the first seed</summary>\n"
    return "\n".join([title, "```", *lines, "```", "</details>\n"])


def _with_inputs(results: Mapping[str, Any], key: str) -> Iterator[str]:
    for each in results["steps"][key]["inputs"]:
        yield from _with_inputs(results, each)
    yield key


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def plot_name(claim: Claim) -> str:
    """The file of a claim's plot."""
    return f"paper-{claim.name}.png"
