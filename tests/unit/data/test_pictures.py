import io

import pytest
from PIL import Image

from unmask.data.pictures import encoded, open_picture
from unmask.errors import DataError


def test_a_picture_is_the_same_from_a_file_a_name_or_memory(tmp_path):
    path = tmp_path / "a.png"
    image = Image.new("RGBA", (5, 3), (200, 0, 0, 128))
    image.save(path)
    opened = [open_picture(picture) for picture in (path, str(path), image)]
    assert {picture.mode for picture in opened} == {"RGB"}
    assert len({picture.tobytes() for picture in opened}) == 1


@pytest.mark.parametrize("contents", [None, b"", b"text"])
def test_what_is_no_picture_is_named(tmp_path, contents):
    path = tmp_path / "a.png"
    if contents is not None:
        path.write_bytes(contents)
    with pytest.raises(DataError, match=str(path)):
        open_picture(path)


@pytest.mark.parametrize(("kind", "options"), [("PNG", {}), ("WEBP", {"quality": 80})])
def test_an_encoded_picture_is_a_file_of_its_kind(kind, options):
    picture = Image.new("RGB", (5, 3), "orangered")
    with Image.open(io.BytesIO(encoded(picture, kind, **options))) as back:
        assert (back.format, back.size) == (kind, (5, 3))
