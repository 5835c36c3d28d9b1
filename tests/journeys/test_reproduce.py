"""``unmask reproduce``: every claim at a tiny scale, and again after a kill."""

import json
import signal
import time


def test_a_reproduction_that_was_killed_goes_on_and_does_nothing_twice(shell, tmp_path):
    words = ["reproduce", "--quick", "--seeds", "1", "--out", "paper", "losses", "autoregressive"]
    killed = shell.start(*words)
    while len(list(tmp_path.glob("paper/train-prior-*/checkpoints/step-*"))) < 2:
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("paper/train-*.json")}
    assert done
    said = shell(*words)
    assert f"plan: {len(done)} steps are done; " in said
    assert said.count("$ unmask train") == 5 - len(done)
    assert done == {path: path.stat().st_mtime_ns for path in done}
    results = json.loads((tmp_path / "paper/results.json").read_text())
    assert results["arms"].keys() == {"losses", "autoregressive"}
    assert len(results["steps"]) == 5
    text = (tmp_path / "paper/paper.md").read_text()
    assert ", one seed only" in text
    assert "**not run yet**" in text
    assert (tmp_path / "paper/paper-losses.png").exists()
    assert (tmp_path / "paper/results.csv").read_text().count("losses,0,") == 3
    assert "$ unmask" not in shell(*words)


def test_a_reproduction_lists_its_claims_and_refuses_others(shell):
    assert "Figure 5" in shell("reproduce", "--list")
    assert "there is no claim 'loses'" in shell("reproduce", "loses", code=2)
