"""What processes tell each other: two of them, started by torchrun, each write down what they were told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from unmask.distributed import Processes
from unmask.errors import ConfigError

SCRIPT = """
import json, pathlib, sys, torch
from unmask.errors import ConfigError
from unmask.distributed import Processes

here, out = Processes("cpu"), pathlib.Path(sys.argv[1])
part, common = torch.tensor([1.0, 10.0]) * (here.rank + 1), torch.tensor([here.rank + 5])
told = {"world": here.world, "sum": here.sum(part).tolist(), "own": part.tolist()}
here.broadcast(common)
told |= {"common": common.tolist(), "largest": here.largest(15 * here.rank)}
with here.first_goes_first():
    told["found"] = (out / "made").exists()
    (out / "made").touch()
here.barrier()
(out / f"{here.rank}.json").write_text(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each of two processes was told by the other."""
    folder = tmp_path_factory.mktemp("processes")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    torchrun = [Path(sys.executable).with_name("torchrun"), "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*torchrun, script, folder], check=True, capture_output=True, env=environment, timeout=120)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def test_a_sum_is_everywhere_the_same_and_leaves_its_parts_alone(told):
    assert [process["world"] for process in told] == [2, 2]
    assert [process["sum"] for process in told] == [[3, 30], [3, 30]]
    assert [process["own"] for process in told] == [[1, 10], [2, 20]]


def test_what_is_broadcast_is_the_first_processs(told):
    assert [process["common"] for process in told] == [[5], [5]]


def test_what_one_process_was_asked_all_of_them_know(told):
    assert [process["largest"] for process in told] == [15, 15]


def test_the_others_find_done_what_the_first_does(told):
    assert [process["found"] for process in told] == [False, True]


def test_a_process_alone_needs_nobody():
    alone = Processes("cpu")
    assert (alone.rank, alone.world, alone.is_first) == (0, 1, True)
    assert alone.largest(15) == 15
    assert alone.sum(torch.ones(2)).tolist() == [1, 1]


def test_each_process_of_a_machine_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert Processes("auto").device == torch.device("cuda:1")
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ConfigError, match="no device cuda:2"):
        Processes("cuda")
