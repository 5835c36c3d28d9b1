"""When a command that torchrun types again goes on with the run that it began."""

import pytest

from unmask.training.resume import is_restart
from unmask.training.runs import Run


@pytest.mark.parametrize(
    ("begun", "now", "restarts", "goes_on"),
    [
        ("job-7", "job-7", 1, True),
        ("job-7", "job-7", 0, True),  # on a machine where nothing failed, or queued again
        ("job-7", "job-8", 0, False),
        ("job-7", "job-8", 1, False),
        ("none", "none", 1, True),
        ("none", "none", 0, False),  # another launch, which has no name either
        (None, None, 0, False),
    ],
)
def test_a_run_goes_on_in_the_launch_that_began_it(tmp_path, monkeypatch, begun, now, restarts, goes_on):
    Run.create(tmp_path / "run", {"launch": begun})
    for name, value in {"TORCHELASTIC_RUN_ID": now, "TORCHELASTIC_RESTART_COUNT": now and restarts}.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, str(value))
    assert is_restart(tmp_path / "run") == goes_on
    assert not is_restart(tmp_path / "nothing")
