"""Recipes, pages and help texts stay true: every command in them is one that can be typed."""

import functools
import json
import os
import re
import shlex
import signal
import subprocess
import time
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
import tyro

from unmask.cli.main import COMMANDS, run_command
from unmask.cli.weights import Name
from unmask.config import to_json
from unmask.presets import codec_preset, prior_preset
from unmask.prior.config import PriorConfig
from unmask.reproduce.claims import CLAIMS
from unmask.reproduce.manifest import SCALES, Lab
from unmask.reproduce.methods import METHODS, run_method
from unmask.training.config import DiffusionConfig

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "recipes"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *RECIPES.glob("*.md")]
PAGES += ROOT.glob("src/unmask/builtin/*/README.md")
WORDS = {
    "emoji.sh": [],
    "avatars.sh": ["portraits"],
    "fruit.sh": ["photos"],
    "experiments.sh": ["codec"],
    "fashion.sh": [],
    "results.sh": ["model"],
    "paper.sh": ["churches", "photos"],
}
# What each training of docs/experiments.md has that the first one, reweighted, has not.
CHANGES = {
    "reweighted": {},
    "elbo": {"diffusion.loss": "elbo"},
    "mlm": {"diffusion.loss": "mlm"},
    "autoregressive": {"prior.kind": "autoregressive"},
    "gpt2-init": {"prior.init": "gpt2"},
    "stratified": {"diffusion.stratified": True},
    "rotary": {"prior.positions": "rotary"},
    "qk-norm": {"prior.qk_norm": True},
    "label-smoothing": {"diffusion.label_smoothing": 0.1},
    "dropout": {"prior.dropout": 0.1},
    "rotary-gpt2": {"prior.positions": "rotary", "prior.init": "gpt2"},
    "rotary-gpt2-autoregressive": {
        "prior.positions": "rotary",
        "prior.init": "gpt2",
        "prior.kind": "autoregressive",
    },
}
# Stands in for unmask and torchrun: notes its words, makes the folders that the real one would.
STUB = """#!/usr/bin/env python3
import json, pathlib, sys
words = [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]
with open("typed.jsonl", "a") as file:
    print(json.dumps(words), file=file)
if "train" in words and "--out" in words:
    run = pathlib.Path(words[words.index("--out") + 1])
    run.mkdir(parents=True)
    (run / "config.json").touch()
"""


class Parsed(BaseException):
    """What a command line says, when nothing is to be done about it."""


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """The command lines of a recipe, words after ``unmask`` each, without running them."""
    monkeypatch.chdir(tmp_path)
    for name in ("unmask", "torchrun", "python"):
        (tmp_path / name).write_text(STUB)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "docs").mkdir()

    def run(recipe, *words, **environment):
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        (tmp_path / "typed.jsonl").write_text("")
        subprocess.run(
            ["bash", RECIPES / recipe, *words],
            check=True,
            env=os.environ | path | environment,
            capture_output=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run unseen
        )
        return [json.loads(line) for line in (tmp_path / "typed.jsonl").read_text().splitlines()]

    return run


@pytest.fixture
def parse(monkeypatch):
    """The arguments that a command takes from its words; a mistake in them is an error."""
    real = tyro.cli

    def stop(*given, **options):
        raise Parsed(real(*given, **options))

    monkeypatch.setattr(tyro, "cli", stop)

    def arguments(words):
        with pytest.raises(Parsed) as parsed:
            run_command(words)
        result = parsed.value.args[0]
        if hasattr(result, "check"):
            result.check()
        return result

    return arguments


def unmask_words(line):
    """What stands after ``unmask``, in one process or in several; of a tool nothing."""
    if line[0] == "python":
        assert Path(line[1]).is_file()
        return []
    if line[0] == "torchrun":
        assert line[1:6] == ["--standalone", "--nproc-per-node", "8", "-m", "unmask"]
        return line[6:]
    return line[1:]


def flat(settings, prefix=""):
    """Nested settings under dotted names."""
    names = {}
    for key, value in settings.items():
        names |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return names


@pytest.mark.parametrize(
    ("recipe", "words", "gpus"),
    [
        *((name, words, "1") for name, words in WORDS.items()),
        *(("paper.sh", [name, "photos"], gpus) for name in ("bedrooms", "ffhq") for gpus in ("1", "8")),
        ("paper.sh", ["churches", "photos"], "8"),
    ],
)
def test_every_command_of_a_recipe_can_be_typed(recipe, words, gpus, typed, parse):
    lines = [words for line in typed(recipe, *words, GPUS=gpus) if (words := unmask_words(line))]
    assert len(lines) > 4
    for line in lines:
        if line[0] == "weights":
            assert line[1] == "get"
            assert line[2] in get_args(Name)
        else:
            can_be_typed(line, parse)


def shown_commands(text):
    """The words after ``unmask`` of every command in a text; two spaces behind it begins a comment."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if command := re.match(r"\s*(?:\$ )?(?:torchrun .* -m )?unmask (.+)", line):
            yield shlex.split(re.split(r"\s{2,}|>", command[1])[0])


def can_be_typed(words, parse):
    """Parse a command that needs no file to be there for that."""
    if words[0] in ("weights", "import") or {"--resume", "--config", "--help"} & {*words}:
        return
    if "--init" in words:
        at = words.index("--init")
        words = words[:at] + words[at + 2 :]
    parse(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_can_be_typed(page, parse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/results").mkdir(parents=True)  # results.sh makes it for the commands of its page
    (tmp_path / "OUT").mkdir()  # unmask reproduce makes its folder for those of docs/paper.md
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        for words in shown_commands(block) if not language else ():
            can_be_typed(words, parse)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_in_a_help_text_can_be_typed(name, parse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in shown_commands(getattr(import_module(COMMANDS[name][0]), "HELP", "")):
        can_be_typed(words, parse)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_command_of_a_claim_can_be_typed(claim, parse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, method in METHODS.items():
        monkeypatch.setitem(METHODS, name, functools.wraps(method)(lambda *words, **options: None))
    for scale in SCALES.values():
        arms = claim.arms(Lab(scale, "my pictures", 1))
        for step in {step for arm in arms.values() for step in arm.with_inputs()}:
            words = shlex.split(step.typed("."))
            assert step.inputs or "my pictures" in words or scale.colour in words
            if step.kind in METHODS:
                with pytest.raises(Parsed):
                    run_method(words)
            else:
                can_be_typed(words, parse)


def test_every_recipe_is_tried():
    assert {path.name for path in RECIPES.glob("*.sh")} == {*WORDS, "common.sh"}


@pytest.mark.parametrize("name", ["churches", "bedrooms", "ffhq"])
def test_eight_gpus_see_as_many_pictures_as_one(name, typed, parse):
    lines = [unmask_words(line) for line in typed("paper.sh", name, "photos", GPUS="8")]
    for stage, preset, power in (("codec", codec_preset(name), 1), ("prior", prior_preset(name), 0.5)):
        (settings,) = (parse(line).settings for line in lines if line[:2] == ["train", stage])
        assert settings.loop.steps == preset.loop.steps // 8
        assert settings.optim.warmup == preset.optim.warmup // 8
        assert settings.optim.batch == preset.optim.batch
        assert settings.optim.lr == pytest.approx(preset.optim.lr * 8**power)


@pytest.mark.parametrize("name", ["churches", "ffhq"])
def test_one_gpu_runs_the_paper_as_the_preset_has_it(name, typed, parse):
    lines = [unmask_words(line) for line in typed("paper.sh", name, "photos")]
    for stage, preset in (("codec", codec_preset(name)), ("prior", prior_preset(name))):
        (settings,) = (parse(line).settings for line in lines if line[:2] == ["train", stage])
        assert settings == preset


def test_on_several_gpus_every_long_command_of_the_paper_is_shared(typed):
    lines = typed("paper.sh", "churches", "photos", GPUS="8")
    alone = [line[1] for line in lines if line[0] == "unmask"]
    assert set(alone) == {"weights"}
    shared = {unmask_words(line)[0] for line in lines if line[0] == "torchrun"}
    assert shared == {"train", "encode", "score", "evaluate", "neighbours"}


def test_every_experiment_changes_what_its_name_says(typed, parse):
    runs = [parse(unmask_words(line)) for line in typed("experiments.sh", "codec")]
    settings = {run.out.name: flat(to_json(run.settings)) for run in runs}
    base = settings["reweighted"]
    changes = {
        name: {key: value for key, value in one.items() if value != base[key]}
        for name, one in settings.items()
    }
    assert changes == CHANGES


def test_the_first_experiment_is_the_paper_s_prior_but_for_its_size(typed, parse):
    (run,) = (parse(unmask_words(line)) for line in typed("experiments.sh", "codec", "reweighted"))
    assert run.settings.prior == PriorConfig(width=128, depth=4, heads=4)
    assert run.settings.diffusion == DiffusionConfig(validation_draws=4)
    assert run.settings.images.shift == 0


@pytest.mark.parametrize(
    ("words", "run"),
    [(["emoji.sh"], "runs/emoji/prior"), (["experiments.sh", "codec"], "runs/experiments/rotary")],
)
def test_a_recipe_goes_on_where_it_was(typed, tmp_path, words, run):
    first = typed(*words)
    again = typed(*words)
    assert [line for line in first if line not in again] == [line for line in first if line[1] == "train"]
    (tmp_path / run / "finished").unlink()
    third = typed(*words)
    assert [line for line in third if line[1] == "train"] == [["unmask", "train", "prior", "--resume", run]]


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        (["emoji.sh"], "runs/emoji/codec", "runs/emoji/prior-start"),
        (["experiments.sh", "codec"], "runs/experiments/reweighted", "runs/experiments/elbo"),
    ],
)
def test_an_interrupted_training_is_not_taken_for_a_finished_one(typed, tmp_path, words, first, second):
    stub = tmp_path / "unmask"
    stub.write_text(stub.read_text() + 'if "train" in words:\n    import os\n    os.kill(os.getppid(), 2)\n')
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        typed(*words)
    assert stopped.value.returncode == 130
    assert not (tmp_path / first / "finished").exists()
    assert not (tmp_path / second).exists()


def test_an_unknown_recipe_of_the_paper_is_refused(typed):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        typed("paper.sh", "castles", "photos")
    assert refused.value.returncode == 2
    assert b"there are churches, bedrooms and ffhq" in refused.value.stderr


# Stand in for SLURM's commands: they note their words, and a step lasts until it is asked to end.
SLURM = {
    "scontrol": 'echo "scontrol $*" >> typed; [ "$1" = requeue ] || printf "node-3\\nnode-4\\n"',
    "srun": """echo "srun $*" >> typed
trap 'echo asked to end >> typed; exit 143' TERM
sleep ${LASTS:-0} & wait""",
}


class TestSlurm:
    @pytest.fixture
    def job(self, tmp_path):
        """A job on four nodes, of which SLURM's commands are noted in a file."""
        for name, does in SLURM.items():
            (tmp_path / name).write_text(f"#!/usr/bin/env bash\n{does}\n")
            (tmp_path / name).chmod(0o755)
        (tmp_path / "recipes").symlink_to(RECIPES)
        path = f"{tmp_path}:{os.environ['PATH']}"
        about = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node-[3-6]", "SLURM_NNODES": "4"}

        def start(*words, **others):
            environment = os.environ | about | {"PATH": path, "SLURM_GPUS_ON_NODE": "8"} | others
            command = ["bash", RECIPES / "slurm/four-nodes.sbatch", *words]
            return subprocess.Popen(command, cwd=tmp_path, env=environment)

        return start

    def test_every_node_gets_a_torchrun_that_names_the_job_and_says_the_words(self, job, tmp_path, parse):
        assert job("train", "codec", "photos/", "--preset", "churches", MIN_NODES="2").wait() == 0
        looked, started = (tmp_path / "typed").read_text().splitlines()
        assert looked == "scontrol show hostnames node-[3-6]"
        launcher, _, words = started.partition(" -m unmask ")
        assert "--nnodes 2:4 --nproc-per-node 8" in launcher
        assert "--rdzv-endpoint node-3:29400 --rdzv-id unmask-7" in launcher
        assert parse(words.split()).data == "photos/"

    @pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
    def test_before_its_end_a_job_saves_and_is_queued_again(self, job, tmp_path, number):
        running = job("sample", "emoji", LASTS="60")
        while "srun" not in (typed.read_text() if (typed := tmp_path / "typed").exists() else ""):
            assert running.poll() is None
            time.sleep(0.02)
        time.sleep(0.2)  # until both have set their traps
        running.send_signal(number)
        assert running.wait(timeout=60) == 0
        assert (tmp_path / "typed").read_text().splitlines()[2:] == ["asked to end", "scontrol requeue 7"]
