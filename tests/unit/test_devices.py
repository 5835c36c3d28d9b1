"""The device that is taken; and the allocator, in a process of its own each time: its switch is the whole
process's."""

import os
import subprocess
import sys

import pytest
import torch

import unmask
from unmask.devices import require_device
from unmask.errors import ConfigError
from unmask.training.config import EngineConfig
from unmask.training.engine import Engine


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many GPUs, or with Apple's."""

    def machine(cuda=0, mps=False):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return machine


def test_auto_is_the_fastest_that_is_there(machine):
    for there, best in (({"cuda": 1}, "cuda"), ({"mps": True}, "mps"), ({}, "cpu")):
        machine(**there)
        assert require_device("auto") == torch.device(best)


def test_a_device_that_is_there_is_taken_by_kind_or_number(machine):
    machine(cuda=2)
    assert [str(require_device(name)) for name in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda", "cuda:1"]


@pytest.mark.parametrize("name", ["cuda:2", "mps", "gpu", "meta", "", "cuda:one"])
def test_one_that_is_not_there_is_refused_with_those_that_are(machine, name):
    machine(cuda=2)
    with pytest.raises(ConfigError, match=rf"no device {name} .*\n.*--device auto .* cuda, cpu"):
        require_device(name)


def test_models_and_trainings_refuse_it_before_anything_else(machine):
    machine()
    with pytest.raises(ConfigError, match="no device cuda "):
        unmask.load("no such model", "cuda")
    with pytest.raises(ConfigError, match="no device cuda "):
        Engine(EngineConfig(device="cuda"))


linux = pytest.mark.skipif(sys.platform != "linux", reason="only glibc has the switch")
COUNT_FAULTS = """
import resource, torch
from contextlib import nullcontext
from unmask.devices import tuned_allocator
with {block}:
    for _ in range(60):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(40 * 2**20, dtype=torch.uint8)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(block: str) -> list[int]:
    """Pages that the system had to hand out for a block of 40 MB, time after time."""
    code = COUNT_FAULTS.format(block=block)
    lines = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return [int(line) for line in lines.split()]


@linux
@pytest.mark.slow
def test_freed_memory_is_used_again_instead_of_asked_for_anew():
    kept, returned = page_faults("tuned_allocator()"), page_faults("nullcontext()")
    assert sum(kept[30:]) < sum(returned[30:]) / 4, (kept, returned)


COUNT_NESTED = """
import resource, torch
from unmask.devices import tuned_allocator

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(80 * 2**20, dtype=torch.uint8)  # more than glibc keeps by itself
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

with tuned_allocator():
    with tuned_allocator():
        pass
    faults()
    print(faults())
print(faults())
"""


@linux
@pytest.mark.slow
def test_a_block_within_a_block_ends_with_the_outer_one():
    done = subprocess.run([sys.executable, "-c", COUNT_NESTED], check=True, capture_output=True, text=True)
    within, after = map(int, done.stdout.split())
    assert within < after / 4


COUNT_PASSES = """
import resource, torch
from unmask.diffusion.fill import fill
from unmask.diffusion.settings import Settings

class Large:
    mask_id = 2

    def __call__(self, codes, where):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(80 * 2**20, dtype=torch.uint8)  # more than glibc keeps by itself
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        return torch.zeros(int(where.sum()), 2)

fill(Large(), torch.full((1, 9), 2), torch.arange(1, 10)[None], Settings(), seed=0)
"""


@linux
@pytest.mark.slow
def test_a_pass_of_drawing_uses_the_memory_of_the_last():
    done = subprocess.run([sys.executable, "-c", COUNT_PASSES], check=True, capture_output=True, text=True)
    first, *later = map(int, done.stdout.split())
    assert len(later) == 8
    assert sum(later[4:]) < first / 4, (first, later)


COUNT_RESIDENT = """
import resource, torch
from pathlib import Path
from unmask.devices import tuned_allocator, release_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

with tuned_allocator():
    blocks = [torch.ones(2**20, dtype=torch.uint8) for _ in range(200)]
    del blocks[::2]  # every other one, so that no gap is at the end
    before = resident()
    release_memory()
    print(before - resident())
"""


@linux
@pytest.mark.slow
def test_gaps_between_tensors_are_given_back():
    code = subprocess.run([sys.executable, "-c", COUNT_RESIDENT], check=True, capture_output=True, text=True)
    assert int(code.stdout) > 80 * 2**20, "of 100 MB in gaps"


@pytest.mark.parametrize("own", [None, "ACTIVE"])
def test_threads_sleep_while_they_wait_unless_the_user_says_otherwise(own):
    """Before torch is imported, which is when OpenMP looks."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    code = "import os, sys, unmask; print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)"
    given = environment | ({"OMP_WAIT_POLICY": own} if own else {})
    done = subprocess.run([sys.executable, "-c", code], env=given, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [own or "PASSIVE", "False"]
