"""Commands are shown as they are run."""

from pathlib import Path

import pytest

from unmask.demo.story import Chapter, Demo, Figure


@pytest.fixture
def typed():
    return []


@pytest.fixture
def demo(tmp_path, typed):
    return Demo("my model", "emoji", tmp_path, lambda argv: typed.append(argv) or print("done"), "cpu")


def test_a_chapter_keeps_its_figures_and_what_was_typed_and_answered(demo, typed, capsys):
    def chapter(demo):
        """Words."""
        demo.unmask("sample MODEL --count 4 --out OUT", OUT=demo.folder / "a b")
        yield Figure(path=Path("a.png"), alt="an image")

    demo.tell(Chapter("One", chapter, columns=1, telling=False))
    (told,), (argv,) = demo.told, typed
    out = f"{demo.out}/chapter/a b"
    assert argv == ["sample", "my model", "--count", "4", "--out", out, "--device", "cpu"]
    (command,) = told.commands
    assert command.line == f"unmask sample 'my model' --count 4 --out '{out}' --device cpu"
    assert command.answer == "done"
    assert [figure.alt for figure in told.figures] == ["an image"]
    assert demo.folder.is_dir()
    assert capsys.readouterr().out == f"$ {command.line}\ndone\n"
