"""Words and numbers of the page."""

import pytest
from PIL import Image

from unmask.demo.page import block, duration, inline, prose
from unmask.demo.story import Figure, Picture, Typed


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


def test_backticks_are_code_and_the_rest_is_text():
    assert prose("a < b with `--rank`") == "a &lt; b with <code>--rank</code>"


@pytest.fixture
def picture(tmp_path):
    Image.new("RGB", (6, 4), "red").save(tmp_path / "a.png")
    return Picture(path=tmp_path / "a.png", alt='a "red" one', caption="<red>", zoom=3)


def test_a_picture_is_inside_the_page_enlarged_and_described(picture):
    html = block(Figure(pictures=[picture], commands=[], python="1 < 2"))
    assert f'src="{inline(picture.path)}" width="18" height="12" alt="a &quot;red&quot; one"' in html
    assert "<figcaption>&lt;red&gt;</figcaption>" in html
    assert "<code>1 &lt; 2</code>" in html


def test_who_wants_no_motion_gets_a_still(picture, tmp_path):
    Image.new("RGB", (6, 4)).save(tmp_path / "film.gif")
    film = Picture(path=tmp_path / "film.gif", alt="film", still=picture.path)
    html = block(Figure(pictures=[film], commands=[], python=""))
    still = f'<source media="(prefers-reduced-motion: reduce)" srcset="{inline(picture.path)}">'
    assert f'<picture>{still}<img src="data:image/gif;' in html


def test_a_chart_takes_the_colours_of_the_page(tmp_path):
    (tmp_path / "a.svg").write_text('<svg viewBox="0 0 1 1"><path/></svg>')
    html = block(Figure(pictures=[Picture(path=tmp_path / "a.svg", alt="falls")], commands=[], python=""))
    assert '<svg role="img" aria-label="falls" viewBox="0 0 1 1"><path/></svg>' in html


@pytest.mark.parametrize("telling", [True, False])
def test_answers_are_open_where_they_tell_something(telling):
    typed = Typed("unmask score", "at most 3 bits & more\n", 1.0)
    html = block(Figure(pictures=[], commands=[typed], python="", telling=telling))
    assert '<pre class="shell"><code>unmask score</code></pre>' in html
    assert ("<details open>" in html) == telling
    assert "<samp>at most 3 bits &amp; more</samp>" in html
