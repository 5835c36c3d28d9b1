import pytest
from PIL import Image

from unmask.errors import DataError
from unmask.images.pictures import open_picture


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
