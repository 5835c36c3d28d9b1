"""In a process of its own each time: the switch is the whole process's."""

import subprocess
import sys

import pytest

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


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has the switch")
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


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has the switch")
def test_a_block_within_a_block_ends_with_the_outer_one():
    done = subprocess.run([sys.executable, "-c", COUNT_NESTED], check=True, capture_output=True, text=True)
    within, after = map(int, done.stdout.split())
    assert within < after / 4


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


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has the switch")
def test_gaps_between_tensors_are_given_back():
    code = subprocess.run([sys.executable, "-c", COUNT_RESIDENT], check=True, capture_output=True, text=True)
    assert int(code.stdout) > 80 * 2**20, "of 100 MB in gaps"
