"""Words and numbers of the page."""

from pathlib import Path

import pytest
from PIL import Image

from unmask.demo.page import duration, inline, section
from unmask.demo.story import Chapter, Command, Figure, ToldChapter


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (4.21, "4.2 s"),
        (9.97, "10.0 s"),
        (37.4, "37 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
    ],
)
def test_times_are_said_as_people_say_them(seconds, said):
    assert duration(seconds) == said


def likelihood(demo):
    """How likely, if a < b, with `--rank`."""


@pytest.fixture
def still(tmp_path):
    Image.new("RGB", (6, 4), "red").save(tmp_path / "a.png")
    return Path(tmp_path / "a.png")


def told(*figures, telling=False):
    command = Command("unmask score 'my model'", "at most 3 bits & more", 1.0)
    return ToldChapter(Chapter("Bits & bytes", likelihood, 2, telling), [command], list(figures))


def test_a_chapter_has_words_commands_and_answers():
    html = section(3, told())
    assert '<section id="likelihood"' in html
    assert "Bits &amp; bytes" in html
    assert "How likely, if a &lt; b, with <code>--rank</code>." in html
    assert '<pre class="shell"><code>unmask score &#x27;my model&#x27;</code></pre>' in html
    assert "<samp>at most 3 bits &amp; more</samp>" in html


@pytest.mark.parametrize("telling", [True, False])
def test_answers_are_open_where_they_tell_something(telling):
    assert ("<details open>" in section(1, told(telling=telling))) == telling


def test_an_image_is_inside_the_page_enlarged_and_described(still):
    html = section(1, told(Figure(path=still, alt='a "red" one', caption="<red>", zoom=3)))
    assert f'src="{inline(still)}" width="18" height="12" alt="a &quot;red&quot; one"' in html
    assert "<figcaption>&lt;red&gt;</figcaption>" in html


def test_who_wants_no_motion_gets_a_still(still, tmp_path):
    Image.new("RGB", (6, 4)).save(tmp_path / "film.gif")
    html = section(1, told(Figure(path=tmp_path / "film.gif", alt="film", still=still)))
    source = f'<source media="(prefers-reduced-motion: reduce)" srcset="{inline(still)}">'
    assert f'<picture>{source}<img src="data:image/gif;' in html
