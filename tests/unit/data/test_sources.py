import io
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import lmdb
import numpy as np
import pytest
from PIL import Image

from unmask.data import base
from unmask.data.sources import open_source
from unmask.data.transforms import decode
from unmask.errors import DataError
from unmask.reading import printable


def names(source) -> list[str]:
    return [source.entry(index).name for index in range(len(source))]


@pytest.fixture
def lsun(tmp_path, encode, noise) -> Path:
    """A database of WebP values under 40-digit keys, as LSUN ships it."""
    folder = tmp_path / "church_outdoor_val_lmdb"
    with lmdb.open(str(folder), map_size=1 << 24) as database, database.begin(write=True) as transaction:
        for number in range(5):
            transaction.put(
                f"{number * 7919 % 5:040x}".encode(), encode(noise(number), "WEBP", lossless=True)
            )
    return folder


class TestFolder:
    def test_pictures_at_every_depth_in_the_order_of_their_paths(self, tmp_path, noise):
        for name in ("b.PNG", "a/z.jpg", "a/deep/er/y.webp", "c.tiff"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            noise().save(tmp_path / name)
        assert names(open_source(str(tmp_path))) == ["a/deep/er/y.webp", "a/z.jpg", "b.PNG", "c.tiff"]

    def test_what_is_no_picture_is_counted_by_its_kind(self, folder):
        for name in ("notes.txt", "more.txt", "README"):
            (folder / name).touch()
        source = open_source(str(folder))
        assert len(source) == 12
        assert source.others == {".txt": 2, "README": 1}

    def test_hidden_files_and_folders_do_not_exist(self, folder, noise):
        noise().save(folder / "._00.png")
        (folder / ".thumbnails").mkdir()
        noise().save(folder / ".thumbnails" / "00.png")
        source = open_source(str(folder))
        assert len(source) == 12
        assert not source.others

    def test_links_are_followed_but_not_in_circles(self, folder, tmp_path, noise):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        noise().save(elsewhere / "far.png")
        (folder / "linked").symlink_to(elsewhere)
        (elsewhere / "back").symlink_to(folder)
        assert "linked/far.png" in names(open_source(str(folder)))
        assert len(open_source(str(folder))) == 13

    def test_a_broken_link_has_a_reason(self, folder):
        (folder / "lost.png").symlink_to(folder / "nowhere.png")
        source = open_source(str(folder))
        with pytest.raises(DataError, match="No such file"):
            source.read(names(source).index("lost.png"))

    def test_a_link_to_itself_has_a_reason(self, folder):
        (folder / "ring").symlink_to(folder / "ring")
        source = open_source(str(folder))
        with pytest.raises(DataError, match="symbolic links"):
            source.read(names(source).index("ring"))

    def test_a_pipe_is_not_waited_for(self, folder):
        os.mkfifo(folder / "pipe.png")
        source = open_source(str(folder))
        with pytest.raises(DataError, match="not a regular file"):
            source.read(names(source).index("pipe.png"))

    def test_a_file_that_vanished_has_a_reason(self, folder):
        source = open_source(str(folder))
        assert len(source) == 12
        (folder / "03.png").unlink()
        with pytest.raises(DataError, match="No such file"):
            source.read(3)

    def test_a_file_without_end_is_not_read(self, folder, monkeypatch):
        monkeypatch.setattr(base, "MAX_FILE_BYTES", 100)
        with pytest.raises(DataError, match="more than an image may have"):
            open_source(str(folder)).read(0)

    def test_names_that_are_no_text_can_be_printed(self, folder, noise):
        noise().save(Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.png")))
        noise().save(folder / "two\nlines.png")
        assert {"caf\\udce9.png", "two\\nlines.png"} < set(names(open_source(str(folder))))
        assert printable("Grüße 🙂.png") == "Grüße 🙂.png"


class TestFolderFingerprint:
    """It may change too often, but never too rarely."""

    def test_it_stays_while_nothing_changes(self, folder):
        assert open_source(str(folder)).fingerprint == open_source(str(folder)).fingerprint

    def test_it_does_not_mind_files_that_are_no_pictures(self, folder):
        before = open_source(str(folder)).fingerprint
        (folder / "notes.txt").touch()
        assert open_source(str(folder)).fingerprint == before

    @pytest.mark.parametrize("change", ["added", "removed", "renamed", "rewritten", "swapped", "permitted"])
    def test_it_changes_with_every_picture(self, folder, change):
        before = open_source(str(folder)).fingerprint
        first, second = folder / "00.png", folder / "01.png"
        if change == "added":
            (folder / "new.png").write_bytes(first.read_bytes())
        elif change == "removed":
            first.unlink()
        elif change == "renamed":
            first.rename(folder / "other.png")
        elif change == "rewritten":
            self.rewrite_secretly(first)
        elif change == "swapped":
            first.rename(folder / "third")
            second.rename(first)
            (folder / "third").rename(second)
        else:
            first.chmod(0o640)
        assert open_source(str(folder)).fingerprint != before

    def rewrite_secretly(self, path: Path) -> None:
        """Other content, but the same size and the same time of modification."""
        status = path.stat()
        path.write_bytes(path.read_bytes()[::-1])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert path.stat().st_mtime_ns == status.st_mtime_ns


class TestNpy:
    def test_rows_come_back_pixel_by_pixel(self, tmp_path):
        rows = np.random.default_rng(0).integers(0, 256, (4, 9, 12, 3), dtype=np.uint8)
        np.save(tmp_path / "rows.npy", rows)
        source = open_source(str(tmp_path / "rows.npy"))
        assert len(source) == 4
        assert all((np.asarray(decode(source.read(row))) == rows[row]).all() for row in range(4))

    @pytest.mark.parametrize(
        "wrong",
        [np.zeros((4, 9, 12, 3), np.float32), np.zeros((4, 3, 9, 12), np.uint8), np.zeros(7, np.uint8)],
    )
    def test_another_array_is_refused_by_shape_and_type(self, tmp_path, wrong):
        np.save(tmp_path / "rows.npy", wrong)
        with pytest.raises(DataError, match="wanted uint8 of N×H×W×3"):
            open_source(str(tmp_path / "rows.npy"))

    @pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00"])
    def test_a_file_that_is_no_array_is_refused(self, tmp_path, content):
        (tmp_path / "rows.npy").write_bytes(content)
        with pytest.raises(DataError, match="cannot be read: "):
            open_source(str(tmp_path / "rows.npy"))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"(2, 4, 4, 3)", b"(-2, 4, 4, 3)"),
            (b"(2, 4, 4, 3)", b"(True, 4, 4, 3)"),
            (b"(2, 4, 4, 3)", b"(999999999999999999, 999999999999999999, 4, 3)"),
            (b"(2, 4, 4, 3), }", b"((((((((((((((("),
            (b"'|u1'", b"'|u9'"),
        ],
    )
    def test_a_header_that_cannot_be_true_is_refused(self, tmp_path, old, new):
        file = io.BytesIO()
        np.save(file, np.zeros((2, 4, 4, 3), np.uint8))
        header = file.getvalue()[:128].replace(old, new).rstrip()
        (tmp_path / "rows.npy").write_bytes(header.ljust(127) + b"\n" + file.getvalue()[128:])
        with pytest.raises(DataError, match=r"rows\.npy cannot be read"):
            open_source(str(tmp_path / "rows.npy"))

    def test_an_archive_of_arrays_is_not_one(self, tmp_path):
        np.savez(tmp_path / "rows.npz", np.zeros((2, 4, 4, 3), np.uint8))
        (tmp_path / "rows.npz").rename(tmp_path / "rows.npy")
        with pytest.raises(DataError, match=r"rows\.npy cannot be read"):
            open_source(str(tmp_path / "rows.npy"))

    def test_pickled_objects_are_refused(self, tmp_path):
        np.save(tmp_path / "rows.npy", np.array([{}]), allow_pickle=True)
        with pytest.raises(DataError, match="cannot be read: "):
            open_source(str(tmp_path / "rows.npy"))


class TestLsun:
    def test_values_come_in_the_order_of_their_keys(self, lsun, noise):
        source = open_source(str(lsun))
        assert names(source) == [f"{number:040x}" for number in range(5)]
        numbers = {number * 7919 % 5: number for number in range(5)}
        for key in range(5):
            assert (np.asarray(decode(source.read(key))) == np.asarray(noise(numbers[key]))).all()

    def test_threads_may_read_at_once(self, lsun):
        source = open_source(str(lsun))
        expected = [source.read(index) for index in range(5)]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(source.read, list(range(5)) * 40)) == expected * 40

    def test_reading_leaves_the_folder_alone(self, lsun):
        before = {path.name: path.stat().st_mtime_ns for path in lsun.iterdir()}
        open_source(str(lsun)).read(0)
        assert {path.name: path.stat().st_mtime_ns for path in lsun.iterdir()} == before

    def test_a_damaged_database_is_refused(self, lsun):
        (lsun / "data.mdb").write_bytes(b"not a database" * 1000)
        with pytest.raises(DataError, match="it is no LMDB database"):
            len(open_source(str(lsun)))

    def test_wherever_it_is_cut_off_the_process_lives(self, lsun):
        """The library that LSUN was made with maps the file: what is missing of it ends in SIGBUS."""
        data = (lsun / "data.mdb").read_bytes()
        for length in range(0, len(data) - 1, 512):
            (lsun / "data.mdb").write_bytes(data[:length])
            with pytest.raises(DataError, match=r"cut off|not where it should be"):
                len(open_source(str(lsun)))

    @pytest.mark.parametrize("seed", range(4))
    def test_whatever_is_in_it_there_are_pictures_or_a_sentence(self, lsun, seed):
        whole, rng = (lsun / "data.mdb").read_bytes(), np.random.default_rng(seed)
        for _ in range(100):
            data = np.frombuffer(whole, np.uint8).copy()
            data[rng.integers(0, len(data) // 2, 40)] = rng.integers(0, 256, 40)
            (lsun / "data.mdb").write_bytes(data.tobytes())
            with suppress(DataError):
                source = open_source(str(lsun))
                for index in range(len(source)):
                    source.read(index)

    def test_a_large_database_is_as_its_own_library_says(self, tmp_path):
        rng = np.random.default_rng(0)
        with lmdb.open(str(tmp_path), map_size=1 << 26) as database:
            for _ in range(3):
                with database.begin(write=True) as transaction:
                    for _ in range(600):
                        transaction.put(rng.bytes(20), rng.bytes(int(rng.choice([0, 3, 100, 3000, 9000]))))
            with database.begin() as transaction:
                expected = list(transaction.cursor())
        source = open_source(str(tmp_path))
        assert len(source) == 1800
        assert [source.read(index) for index in range(1800)] == [value for _, value in expected]


class TestOpenSource:
    @pytest.mark.parametrize("name", ["set.zip", "set.tar", "set.tar.gz", "set.npy"])
    def test_a_pipe_is_not_waited_for(self, tmp_path, name):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataError, match="neither a folder nor a file"):
            open_source(str(tmp_path / name))

    def test_a_pipe_beside_pictures_is_not_waited_for(self, folder):
        os.mkfifo(folder / "metadata.jsonl")
        with pytest.raises(DataError, match=r"metadata\.jsonl cannot be read: it is not a regular file"):
            open_source(str(folder)).read_beside("metadata.jsonl")

    def test_what_is_not_there_is_named(self, tmp_path):
        with pytest.raises(DataError, match=r"photos does not exist"):
            open_source(str(tmp_path / "photos"))

    def test_one_picture_is_not_a_set(self, folder):
        with pytest.raises(DataError, match="the folder it is in"):
            open_source(str(folder / "00.png"))

    def test_a_built_in_name_is_not_a_path(self, tmp_path, monkeypatch):
        (tmp_path / "emoji").mkdir()
        Image.new("RGB", (16, 16)).save(tmp_path / "emoji" / "own.png")
        monkeypatch.chdir(tmp_path)
        assert len(open_source("emoji")) > 1000
        assert names(open_source("./emoji")) == ["own.png"]
