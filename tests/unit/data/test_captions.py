import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import lmdb
import numpy as np
import pytest
from PIL import Image

from unmask.data.captions import read_captions
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.errors import ConfigError, DataError

JSONL = '{"file_name": "00.png", "text": "a red house"}\n{"file_name": "01.png", "label": 7}\n'
CSV = 'file_name,text\r\n00.png,"a red\nhouse, old"\r\n01.png,\r\n'


def captions(spec: Path | str, setting: str = "auto") -> list[str | None]:
    return read_captions(open_source(str(spec)), setting).texts


def test_a_folder_without_captions_has_none(folder):
    assert captions(folder) == [None] * 12


class TestMetadata:
    def test_json_lines_give_texts_and_labels(self, folder):
        (folder / "metadata.jsonl").write_text(JSONL)
        assert captions(folder) == ["a red house", "7"] + [None] * 10

    def test_csv_may_quote_and_leave_out(self, folder):
        (folder / "metadata.csv").write_text(CSV)
        assert captions(folder) == ["a red house, old"] + [None] * 11

    def test_names_are_relative_to_the_table(self, folder, noise):
        (folder / "more").mkdir()
        noise(20).save(folder / "more" / "00.png")
        (folder / "more" / "metadata.jsonl").write_text('{"file_name": "00.png", "text": "b"}')
        assert captions(folder) == [None] * 12 + ["b"]

    def test_it_goes_before_text_files_and_json_before_csv(self, folder):
        (folder / "00.txt").write_text("from a text file")
        (folder / "metadata.jsonl").write_text(JSONL)
        (folder / "metadata.csv").write_text(CSV)
        found = read_captions(open_source(str(folder)), "auto")
        assert found.texts[0] == "a red house"
        assert found.ambiguous == ["metadata.jsonl, metadata.csv both stand in ."]

    def test_it_may_stand_elsewhere(self, folder, tmp_path):
        (tmp_path / "mine.jsonl").write_text(JSONL)
        assert captions(folder, str(tmp_path / "mine.jsonl"))[:3] == ["a red house", "7", None]

    @pytest.mark.parametrize(
        ("name", "content", "complaint"),
        [
            ("metadata.jsonl", JSONL + "{", r"metadata.jsonl, line 3 is not JSON: [^:]*: column 2"),
            ("metadata.jsonl", "[1]", r"line 1 is not an object"),
            ("metadata.jsonl", '{"text": "b"}', r"line 1: there is no file_name"),
            ("metadata.jsonl", '{"file_name": "00.png"}', r"line 1: there is neither text nor label"),
            ("metadata.jsonl", '{"file_name": "00.png", "text": ["b"]}', r"line 1: text is neither"),
            ("metadata.jsonl", '\n{"file_name": "99.png", "text": "b"}', r"line 2: .* no image 99.png"),
            ("metadata.jsonl", '{"file_name": "../x.png", "text": "b"}', r"no image ../x.png"),
            ("metadata.jsonl", JSONL + JSONL, r"line 3: 00.png has a caption already, by .*, line 1"),
            ("metadata.jsonl", b"\n\xff", r"metadata.jsonl, line 2 is not UTF-8"),
            ("metadata.csv", "file_name,text\n99.png,b\n", r"metadata.csv, line 2: .* no image 99.png"),
            ("metadata.csv", "name,text\n00.png,b\n", r"line 2: there is no file_name"),
            ("metadata.csv", 'file_name,text\n00.png,"b\n', r"metadata.csv, line 2"),
            ("metadata.csv", "file_name,text\n00.png\n", r"metadata.csv, line 2 ends before text"),
            ("metadata.csv", "file_name,label\n00.png\n", r"metadata.csv, line 2 ends before label"),
            ("metadata.csv", "file_name,words\n00.png,b\n", r"neither text nor label"),
            ("00.txt", b"\xff", r"00.txt, line 1 is not UTF-8"),
            ("00.json", "{", r"00.json is not JSON"),
            ("00.json", '{\n"text"', r"00.json is not JSON: .* line 2 column 7"),
        ],
    )
    def test_what_is_broken_is_named_with_its_line(self, folder, name, content, complaint):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(DataError, match=complaint):
            captions(folder)
        assert captions(folder, "none") == [None] * 12

    def test_a_null_is_no_caption_and_what_captions_need_not_is_left_out(self, folder):
        (folder / "metadata.csv").write_text("file_name,text,width\n00.png,house\n")
        assert captions(folder)[0] == "house"
        (folder / "metadata.jsonl").write_text('{"file_name": "00.png", "text": null}')
        assert captions(folder) == [None] * 12

    def test_names_are_looked_up_once_for_all_tables(self, folder, noise):
        class Listed(list):
            looks = 0

            def __iter__(self):
                Listed.looks += 1
                return super().__iter__()

        looks = []
        for number in range(3):
            (folder / str(number)).mkdir()
            noise(number).save(folder / str(number) / "00.png")
            (folder / str(number) / "metadata.csv").write_text("file_name,text\n00.png,house\n")
            source = open_source(str(folder))
            source.entries, Listed.looks = Listed(source.entries), 0
            assert read_captions(source, "auto").texts.count("house") == number + 1
            looks.append(Listed.looks)
        assert looks == looks[:1] * 3

    def test_an_unreadable_file_is_named(self, folder):
        (folder / "metadata.jsonl").write_text(JSONL)
        source = open_source(str(folder))
        assert len(source) == 12
        (folder / "metadata.jsonl").unlink()
        with pytest.raises(DataError, match=r"metadata\.jsonl cannot be read"):
            read_captions(source, "auto")


class TestFilesBeside:
    def test_a_text_file_captions_the_picture_of_its_name(self, folder):
        (folder / "03.txt").write_text("  a blue\nhouse ")
        (folder / "04.txt").write_text("\n")
        (folder / "README.txt").write_text("Dear diary")
        found = read_captions(open_source(str(folder)), "auto")
        assert found.texts == [None] * 3 + ["a blue house"] + [None] * 8
        assert found.files == {".txt": 2}

    def test_two_pictures_of_one_name_are_told(self, folder, noise):
        noise(30).save(folder / "03.jpg")
        (folder / "03.txt").write_text("house")
        found = read_captions(open_source(str(folder)), "auto")
        assert found.texts.count("house") == 2
        assert found.ambiguous == ["03: 2 images share a caption"]

    @pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
    def test_shards_hold_them_too(self, tmp_path, encode, noise, kind):
        files = {f"{number:03}.jpg": encode(noise(number), "JPEG") for number in range(4)}
        files |= {"000.txt": b"a house", "000.cls": b"3", "001.cls": b"4", "002.json": b'{"text": "a tree"}'}
        files["003.json"] = b'{"width": 3}'
        path = tmp_path / f"shard.{kind}"
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in files.items():
                    archive.writestr(name, data)
        else:
            with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
                for name, data in files.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        found = read_captions(open_source(str(path)), "auto")
        assert found.texts == ["a house", "4", "a tree", None]
        assert found.ambiguous == ["000: .cls, .txt"]


class TestFolders:
    @pytest.fixture
    def classes(self, tmp_path, noise) -> Path:
        for number in range(4):
            folder = tmp_path / "set" / "train" / ["tabby_cat", "dog"][number % 2]
            folder.mkdir(parents=True, exist_ok=True)
            noise(number).save(folder / f"{number}.png")
        return tmp_path / "set"

    def test_one_folder_per_class(self, classes):
        assert captions(classes) == ["dog", "dog", "tabby cat", "tabby cat"]

    def test_a_picture_beside_the_folders_makes_them_no_classes(self, classes, noise):
        noise(9).save(classes / "9.png")
        assert captions(classes) == [None] * 5
        assert captions(classes, "folder") == [None, "dog", "dog", "tabby cat", "tabby cat"]


class TestArrays:
    @pytest.fixture
    def array(self, tmp_path) -> Path:
        np.save(tmp_path / "set.npy", np.zeros((3, 8, 8, 3), np.uint8))
        return tmp_path / "set.npy"

    def test_labels_stand_beside(self, array):
        assert captions(array) == [None] * 3
        array.with_suffix(".labels.txt").write_text("cat\n\ndog\n")
        assert captions(array) == ["cat", None, "dog"]
        np.save(array.with_suffix(".labels.npy"), np.array([4, 0, 4]))
        assert captions(array) == ["4", "0", "4"]

    @pytest.mark.parametrize("labels", [np.zeros(2, int), np.zeros(3), np.zeros((3, 1), int)])
    def test_labels_that_do_not_fit_are_refused(self, array, labels):
        np.save(array.with_suffix(".labels.npy"), labels)
        with pytest.raises(DataError, match=r"set.labels.npy"):
            captions(array)
        assert captions(array, "none") == [None] * 3

    def test_a_list_that_is_absent_or_of_another_kind_is_refused(self, array, tmp_path):
        for path in ("absent.txt", "absent.npy", "absent.jsonl", "absent.doc"):
            with pytest.raises(DataError, match=r"absent"):
                captions(array, str(tmp_path / path))


def idx(array: np.ndarray) -> bytes:
    shape = np.array(array.shape, ">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes()


class TestIdx:
    @pytest.fixture
    def mnist(self, tmp_path) -> Path:
        pixels = np.random.default_rng(0).integers(0, 256, (5, 28, 28))
        for name, part in (("t10k", slice(0, 2)), ("train", slice(2, 5))):
            images, labels = idx(pixels[part]), idx(np.arange(5)[part])
            (tmp_path / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
            (tmp_path / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
        return tmp_path

    def test_a_folder_or_a_file_is_a_source_with_labels(self, mnist):
        assert captions(mnist) == list("01234")
        assert captions(mnist / "train-images-idx3-ubyte.gz") == list("234")
        pixels = open_pixels(open_source(str(mnist)), ImagesConfig(size=28, validation=0), mnist / "cache")
        rows = pixels.split("train").read(range(5))
        assert (rows[..., 0] == np.random.default_rng(0).integers(0, 256, (5, 28, 28))).all()

    def test_plain_files_and_absent_labels_do(self, mnist):
        packed = mnist / "train-images-idx3-ubyte.gz"
        (mnist / "mine-images.idx3-ubyte").write_bytes(gzip.decompress(packed.read_bytes()))
        assert captions(mnist / "mine-images.idx3-ubyte") == [None] * 3

    @pytest.mark.parametrize("what", ["images-idx3", "labels-idx1"])
    @pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b"\1" + b[1:], lambda b: b[:5]])
    def test_damage_is_named(self, mnist, what, damage):
        path = mnist / f"train-{what}-ubyte.gz"
        path.write_bytes(gzip.compress(damage(gzip.decompress(path.read_bytes()))))
        with pytest.raises(DataError, match=f"train-{what}"):
            captions(mnist)

    def test_a_file_cut_off_is_named(self, mnist):
        path = mnist / "train-images-idx3-ubyte.gz"
        path.write_bytes(path.read_bytes()[:40])
        with pytest.raises(DataError, match=r"train-images-idx3-ubyte\.gz cannot be read"):
            captions(mnist)

    def test_labels_of_other_pictures_are_refused(self, mnist):
        (mnist / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.zeros(4))))
        with pytest.raises(DataError, match=r"labels 4 images, but .* holds 3"):
            captions(mnist)


def test_captions_follow_their_pictures_through_the_split(folder, tmp_path):
    lines = [
        json.dumps({"file_name": f"{number:02}.png", "text": f"number {number}"}) for number in range(12)
    ]
    (folder / "metadata.jsonl").write_text("\n".join(lines))
    (folder / "05.png").write_bytes(b"Dear diary")  # unusable: the others keep theirs
    config = ImagesConfig(size=16, validation=0.3, captions="auto")
    pixels = open_pixels(open_source(str(folder)), config, tmp_path / "cache")
    seen = {}
    for part in (pixels.split("train"), pixels.split("validation")):
        seen |= dict(zip(part.names, part.captions, strict=True))
    assert seen == {f"{number:02}.png": f"number {number}" for number in range(12) if number != 5}


@pytest.mark.parametrize("wrong", ["clusters", "clusters:", "clusters:x", "clusters:1", "clusters:-4"])
def test_groups_want_a_number(wrong):
    with pytest.raises(ConfigError, match="how many groups"):
        ImagesConfig(captions=wrong)


def test_pictures_whose_names_are_dots_have_no_captions(tmp_path):
    """An LMDB may have any key."""
    with (
        lmdb.open(str(tmp_path / "odd_lmdb"), map_size=1 << 24) as database,
        database.begin(write=True) as rows,
    ):
        rows.put(b".", b"no picture")
    assert captions(tmp_path / "odd_lmdb") == [None]


def test_lines_end_with_line_feeds_alone(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    text = {"file_name": "a.png", "text": "one\u2028caption"}
    (tmp_path / "metadata.jsonl").write_bytes(json.dumps(text, ensure_ascii=False).encode() + b"\r\n")
    assert captions(tmp_path) == ["one caption"]
