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


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_run_of_two_machines_survives_a_kill_with_the_weights_of_one(nodes, shell, pictures, tmp_path):
    codec = ["-m", "unmask", "train", "codec", pictures, *TRAINING]
    environment = shell.environment | {"GLOO_SOCKET_IFNAME": "cable"}

    def launch(name):
        """The same command on each machine, but for its address."""
        address = ["--local-addr", ADDRESSES[name], "--rdzv-conf", f"is_host={name == 'one'}"]
        words = ["--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "3", *MEETING, *address]
        command = ["ip", "netns", "exec", nodes[name], TORCHRUN, *words, *codec, "--out", "apart"]
        with (tmp_path / f"{name}.log").open("w") as said:
            return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=said, stderr=said)

    launched = {name: launch(name) for name in ADDRESSES}
    try:
        while not list(tmp_path.glob("apart/checkpoints/step-*")):
            assert all(agent.poll() is None for agent in launched.values()), said(tmp_path)
            time.sleep(0.05)
        (worker,) = children(launched["two"].pid)
        os.kill(worker, signal.SIGKILL)
        assert [agent.wait(timeout=600) for agent in launched.values()] == [0, 0], said(tmp_path)
    finally:
        for agent in launched.values():
            agent.kill()
    here = [TORCHRUN, "--standalone", "--nproc-per-node", "2", *codec, "--out", "together"]
    subprocess.run(here, cwd=tmp_path, env=shell.environment, check=True, capture_output=True)
    (step, apart), (_, together) = (Run.open(tmp_path / name).restore() for name in ("apart", "together"))
    assert step == 120
    weights, same = (state["task"]["codec"] for state in (apart, together))
    assert weights.keys() == same.keys()
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert "exitcode: -9" in said(tmp_path), "it was killed, and did not merely end"


def said(folder):
    return "".join((folder / f"{name}.log").read_text() for name in ADDRESSES)
