"""Two machines, here two network namespaces, train one model; a process that is killed costs nothing."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from unmask.training.runs import Run

TORCHRUN = Path(sys.executable).with_name("torchrun")
ADDRESSES = {"one": "10.77.0.1", "two": "10.77.0.2"}
MEETING = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES['one']}:29400", "--rdzv-id", "job-7"]
# Processes agree anew where they meet after a restart; else one may find where another was before.
FRESH = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
TRAINING = [
    "--preset",
    "tiny",
    "--config",
    "codec.yaml",
    "--loop.steps",
    "120",
    "--loop.save-every",
    "2",
    "--loop.validate-every",
    "120",
]


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def nodes():
    """Namespaces by name, with a cable between them and nothing else."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces are made by root, with ip")
    names = {name: f"unmask-{os.getpid()}-{name}" for name in ADDRESSES}
    for space in names.values():
        ip("netns", "add", space)
    try:
        one, two = names.values()
        ip("link", "add", "cable", "netns", one, "type", "veth", "peer", "name", "cable", "netns", two)
        for name, space in names.items():
            ip("-n", space, "address", "add", f"{ADDRESSES[name]}/24", "dev", "cable")
            ip("-n", space, "link", "set", "cable", "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield names
    finally:
        for space in names.values():
            ip("netns", "del", space)


@pytest.fixture
def launch(nodes, shell, pictures, tmp_path):
    """A training on a machine, the same command on each but for its address; agents that last are ended."""
    agents = []

    def start(name, *options):
        address = ["--local-addr", ADDRESSES[name], "--rdzv-conf", f"is_host={name == 'one'}"]
        words = ["--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "3", *MEETING, *address]
        training = ["-m", "unmask", "train", "codec", pictures, *TRAINING, *options, "--out", "apart"]
        environment = shell.environment | {"GLOO_SOCKET_IFNAME": "cable"} | FRESH
        command = ["ip", "netns", "exec", nodes[name], TORCHRUN, *words, *training]
        with (tmp_path / f"{name}.log").open("w") as log:
            agents.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log))
        return agents[-1]

    yield start
    for agent in agents:
        agent.kill()


def begun(agents, folder):
    """Wait for the first checkpoint."""
    while not list(folder.glob("apart/checkpoints/step-*")):
        assert all(agent.poll() is None for agent in agents), said(folder)
        time.sleep(0.05)


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_run_of_two_machines_survives_a_kill_with_the_weights_of_one(launch, shell, pictures, tmp_path):
    agents = [launch(name) for name in ADDRESSES]
    begun(agents, tmp_path)
    (worker,) = children(agents[1].pid)
    os.kill(worker, signal.SIGKILL)
    assert [agent.wait(timeout=600) for agent in agents] == [0, 0], said(tmp_path)
    here = [TORCHRUN, "--standalone", "--nproc-per-node", "2", "-m", "unmask", "train", "codec", pictures]
    here += [*TRAINING, "--out", "together"]
    subprocess.run(here, cwd=tmp_path, env=shell.environment, check=True, capture_output=True)
    (step, apart), (_, together) = (Run.open(tmp_path / name).restore() for name in ("apart", "together"))
    assert step == 120
    weights, same = (state["task"]["codec"] for state in (apart, together))
    assert weights.keys() == same.keys()
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert "exitcode: -9" in said(tmp_path), "it was killed, and did not merely end"


def test_a_machine_that_is_lost_for_good_leaves_the_other_to_finish_alone(launch, tmp_path):
    """Agent and worker are killed, and nobody starts them again."""
    agents = one, two = [launch(name, "--loop.steps", "40") for name in ADDRESSES]
    begun(agents, tmp_path)
    for pid in (two.pid, *children(two.pid)):
        os.kill(pid, signal.SIGKILL)
    assert one.wait(timeout=600) == 0, said(tmp_path)
    assert "trained by 2 processes so far, now by 1: a step has 1/2 of the images" in said(tmp_path)
    assert Run.open(tmp_path / "apart").last_step() == 40


def said(folder):
    return "".join((folder / f"{name}.log").read_text() for name in ADDRESSES)
