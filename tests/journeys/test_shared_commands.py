"""Long commands under torchrun find what one process finds: encode, evaluate, score and others."""

import json
import os
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.journeys.conftest import write_discs
from tests.untrained import untrained
from unmask.storage import bundles
from unmask.third_party import weights

TORCHRUN = Path(sys.executable).with_name("torchrun")
SCRIPT = """
import contextlib, io, json, os, sys
from unmask.cli.main import run_command

found = {}
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run_command([*words, "--json", "--quiet"])
    if os.environ.get("RANK", "0") == "0":
        found[words[0]] = json.loads(said.getvalue())
    else:
        assert not said.getvalue(), "one process speaks"
if found:
    print(json.dumps(found))
"""
KILLED = """
import os, signal, sys
from unmask.cli.main import run_command
from unmask.data import codes

turns, encode = iter(range(int(sys.argv[1]))), codes._encode

def encode_or_die(*arguments):
    if next(turns, None) is None and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return encode(*arguments)

codes._encode = encode_or_die
run_command(sys.argv[2:])
"""
EVALUATED = ["--batch", "4", "--steps", "2", "--replicates", "2", "--metrics", "fid,kid,prdc,diversity"]
SETTLED = ["--steps", "2", "--remask", "0", "--temperature", "1", "--schedule", "even", "--order", "random"]
COMMANDS = [
    ["encode", "model", "discs.npy", "--out", "discs.codes", "--precision", "32"],
    ["score", "model", "discs.npy", "--split", "all", "--draws", "2", "--pixels", "--fit-steps", "2"],
    ["reconstruct", "model", "discs.npy", "--split", "all", "--no-fid"],
    ["neighbours", "model", "discs.npy", "--by", "pixels", "--samples", "19", "--steps", "2"],
    ["fid", "discs.npy", "few.npy", "--metrics", "fid"],
    ["evaluate", "model", "discs.npy", "--split", "all", "--count", "19", *EVALUATED],
    ["tune", "model", "discs.npy", "--count", "9", "--save", "tuned", *SETTLED],
]


@pytest.fixture(scope="module")
def found(tmp_path_factory, fetched):
    """What each command found, and the folder that it worked in: alone, and by two processes."""
    fetched("inception")

    def run(name, *launcher):
        folder = tmp_path_factory.mktemp(name)
        (folder / "script.py").write_text(SCRIPT)
        discs = np.load(write_discs(folder))
        np.save(folder / "few.npy", discs[:9])
        bundles.save(untrained(), folder / "model")
        (folder / "cache/weights").mkdir(parents=True)
        (folder / "cache/weights/inception.safetensors").symlink_to(weights.path("inception"))
        environment = os.environ | {"OMP_NUM_THREADS": "1", "UNMASK_CACHE": str(folder / "cache")}
        done = subprocess.run(
            [*map(str, launcher), "script.py", json.dumps(COMMANDS)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), folder

    return run("alone", sys.executable), run("two", TORCHRUN, "--standalone", "--nproc-per-node", "2")


def test_codes_are_the_very_same(found):
    (_, alone), (_, two) = found
    for name in ("codes.npy", "index.jsonl"):
        assert (alone / "discs.codes" / name).read_bytes() == (two / "discs.codes" / name).read_bytes()


@pytest.mark.parametrize("command", ["score", "reconstruct", "neighbours"])
def test_numbers_are_the_same(found, command):
    (alone, _), (two, _) = found
    assert numbers(two[command]) == pytest.approx(numbers(alone[command]), rel=1e-6, nan_ok=True)
    assert len(numbers(alone[command])) > 2


def test_metrics_are_the_same_to_a_billionth(found):
    (alone, _), (two, _) = found
    assert two["fid"]["fid"] == pytest.approx(alone["fid"]["fid"], abs=1e-9)
    (row,), (other,) = alone["evaluate"]["results"], two["evaluate"]["results"]
    assert {"fid", "kid", "coverage", "code_perplexity"} <= row.keys()
    assert numbers(other) == pytest.approx(numbers(row), abs=1e-9)


def test_settings_are_tuned_alike_and_kept_once(found):
    (alone, here), (two, there) = found
    rows, others = ([one["tune"]["paper"], *one["tune"]["settings"]] for one in (alone, two))
    for row, other in zip(rows, others, strict=True):
        assert numbers(other) == pytest.approx(numbers(row) | {"seconds": other["seconds"]}, abs=1e-9)
    assert bundles.load(there / "tuned").sampling == bundles.load(here / "tuned").sampling != {}


def test_the_samples_are_the_same(found):
    folders = [folder / "evaluation/samples" for _, folder in found]
    alone, two = ({path.name: path.read_bytes() for path in one.rglob("*.png")} for one in folders)
    assert len(alone) == 19
    assert two == alone


def test_shards_that_two_processes_encode_survive_a_kill_and_need_no_pixels(shell, tmp_path):
    """Two shards of 160 pictures, encoded 32 at a time: two turns of two processes are done when one dies."""
    bundles.save(untrained(), tmp_path / "model")
    draws = np.random.default_rng(0)
    for shard in range(2):
        with tarfile.open(tmp_path / f"noise-{shard}.tar", "w") as archive:
            for number in range(160):
                pixels = draws.integers(0, 256, (16, 16, 3), np.uint8)
                Image.fromarray(pixels).save(path := tmp_path / f"{shard}-{number:03}.png")
                archive.add(path, path.name)
    words = [
        "encode",
        "model",
        "noise-{0..1}.tar",
        "--precision",
        "32",
        "--images.validation",
        "0.1",
        "--out",
    ]
    shell(*words, "alone.codes")
    (tmp_path / "script.py").write_text(KILLED)
    environment = shell.environment | {"UNMASK_CACHE": str(tmp_path / "shared")}

    def run(turns):
        launch = [TORCHRUN, "--standalone", "--nproc-per-node", "2", "script.py", str(turns)]
        command = [*launch, *words, "two.codes"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=300)
        return done.returncode, done.stderr.decode()

    code, said = run(turns=2)
    assert code != 0
    assert "exitcode  : -9" in said
    kept = tmp_path / ".two.codes.partial/codes.npy"
    assert len((kept.parent / "index.jsonl").read_bytes().splitlines()) == 4 * 32
    begun = kept.read_bytes()
    assert run(turns=99)[0] == 0
    whole = (tmp_path / "two.codes/codes.npy").read_bytes()
    assert whole[128:].startswith(begun[128:]), "what was there is gone on with"
    for name in ("codes.npy", "index.jsonl"):
        assert (tmp_path / "alone.codes" / name).read_bytes() == (tmp_path / "two.codes" / name).read_bytes()
    assert {path.suffix for path in tmp_path.glob("shared/*")} == {".index"}, "no pixels"


def numbers(told):
    return {name: value for name, value in told.items() if isinstance(value, int | float)}


def test_a_full_disk_ends_all_processes_and_the_same_command_goes_on(tmp_path, resize_disk):
    bundles.save(untrained(), tmp_path / "model")
    disk = resize_disk("64k")
    words = ["sample", "model", "--count", "24", "--batch", "2", "--steps", "2", "--out", "disk/samples"]
    launch = [TORCHRUN, "--standalone", "--nproc-per-node", "2", "-m", "unmask", *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "UNMASK_CACHE": str(tmp_path / "cache")}
    run = partial(subprocess.run, launch, cwd=tmp_path, env=environment, capture_output=True, text=True)
    ended = run(timeout=300)
    assert ended.returncode != 0
    assert "No space left on device" in ended.stderr
    done = {path.name: path.read_bytes() for path in disk.glob("samples/*.png")}
    assert 0 < len(done) < 24
    resize_disk("4m")
    assert run().returncode == 0
    assert len(list(disk.glob("samples/*.png"))) == 24
    assert all((disk / "samples" / name).read_bytes() == data for name, data in done.items())
