import gzip
import io
import json
import struct
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unmask.data import archives
from unmask.data.archives import BuiltinSource
from unmask.data.captions import read_captions
from unmask.data.sources import open_source
from unmask.errors import DataError
from unmask.training.inputs import lasting_data

KINDS = ["zip", "tar", "tar.gz", "tgz"]


def pack(path: Path, files: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path
    with tarfile.open(path, "w:gz" if path.suffix in (".gz", ".tgz") else "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


@pytest.fixture
def files(encode, noise) -> dict[str, bytes]:
    return {f"{'ab'[number % 2]}/{number:02}.png": encode(noise(number)) for number in range(12)}


@pytest.mark.parametrize("kind", KINDS)
class TestAnyArchive:
    def test_it_gives_the_files_in_the_order_of_their_names(self, tmp_path, files, kind):
        source = open_source(str(pack(tmp_path / f"set.{kind}", files)))
        assert {source.entry(index).name: source.read(index) for index in range(len(source))} == files
        assert [source.entry(index).name for index in range(len(source))] == sorted(files)

    def test_threads_may_read_at_once(self, tmp_path, files, kind):
        source = open_source(str(pack(tmp_path / f"set.{kind}", files)))
        with ThreadPoolExecutor(8) as pool:
            read = list(pool.map(source.read, list(range(12)) * 40))
        assert read == [files[name] for name in sorted(files)] * 40

    def test_folders_hidden_files_and_others_are_left_aside(self, tmp_path, files, kind):
        clutter = {"__MACOSX/a/._00.png": b"", ".DS_Store": b"", "a/notes.txt": b""}
        source = open_source(str(pack(tmp_path / f"set.{kind}", files | clutter)))
        assert len(source) == 12
        assert source.others == {".txt": 1}

    def test_a_truncated_archive_is_an_error(self, tmp_path, files, kind):
        path = pack(tmp_path / f"set.{kind}", files)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(DataError, match=r"set\..*cannot be (read|unpacked)"):
            len(open_source(str(path)))

    def test_a_text_is_not_an_archive(self, tmp_path, kind):
        (tmp_path / f"set.{kind}").write_text("Dear diary")
        with pytest.raises(DataError, match=r"set\..*cannot be (read|unpacked)"):
            len(open_source(str(tmp_path / f"set.{kind}")))

    def test_other_contents_have_another_fingerprint(self, tmp_path, files, kind):
        before = open_source(str(pack(tmp_path / f"set.{kind}", files))).fingerprint
        assert open_source(str(tmp_path / f"set.{kind}")).fingerprint == before
        name = next(iter(files))
        after = open_source(
            str(pack(tmp_path / f"set.{kind}", files | {name: files[name][::-1]}))
        ).fingerprint
        assert after != before


class TestZip:
    def test_a_copy_has_the_same_fingerprint(self, tmp_path, files):
        path = pack(tmp_path / "set.zip", files)
        (tmp_path / "copy.zip").write_bytes(path.read_bytes())
        assert open_source(str(path)).fingerprint == open_source(str(tmp_path / "copy.zip")).fingerprint

    def test_a_damaged_member_costs_no_other(self, tmp_path, files):
        path = pack(tmp_path / "set.zip", files)
        data = bytearray(path.read_bytes())
        place = data.index(b"b/01.png") + 60
        data[place] ^= 255
        path.write_bytes(data)
        source = open_source(str(path))
        with pytest.raises(DataError, match="cannot be read"):
            source.read(6)
        assert source.read(7) == files["b/03.png"]

    def test_an_encrypted_member_has_a_reason(self, tmp_path, files):
        path = pack(tmp_path / "set.zip", files)
        data = bytearray(path.read_bytes())
        for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            place = data.index(signature) + offset
            struct.pack_into("<H", data, place, 1)
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"cannot be read: .*encrypted"):
            open_source(str(path)).read(0)

    @pytest.mark.parametrize(
        ("method", "before", "after"),
        [
            (zipfile.ZIP_LZMA, b"a.png\t\x04\x05\x00]", b"a.png\t\x04\x05\x00\xff"),  # LZMAError
            (zipfile.ZIP_BZIP2, b"1AY&SY", b"1AY&SX"),
        ],
    )
    def test_a_stream_that_its_decoder_refuses_costs_that_picture(self, tmp_path, method, before, after):
        path = tmp_path / "set.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("a.png", bytes(1000))
            archive.writestr("b.png", b"whole")
        data = path.read_bytes()
        assert before in data
        path.write_bytes(data.replace(before, after, 1))
        source = open_source(str(path))
        with pytest.raises(DataError, match="cannot be read"):
            source.read(0)
        assert source.read(1) == b"whole"

    def test_a_name_that_is_no_utf8_is_a_sentence(self, tmp_path):
        path = pack(tmp_path / "set.zip", {"ä.png": b""})  # whose name is marked as UTF-8
        path.write_bytes(path.read_bytes().replace("ä".encode(), b"\xff\xff"))
        with pytest.raises(DataError, match=r"set\.zip cannot be read: .*utf-8"):
            open_source(str(path))

    def test_a_member_whose_name_begins_with_nul_is_no_picture(self, tmp_path, files):
        path = pack(tmp_path / "set.zip", files | {"N.png": b""})
        path.write_bytes(path.read_bytes().replace(b"N.png", b"\0.png"))
        assert len(open_source(str(path))) == 12

    def test_a_member_larger_than_any_picture_is_not_unpacked(self, tmp_path, monkeypatch):
        path = pack(tmp_path / "set.zip", {"metadata.jsonl": bytes(10_000), "a.png": b""})
        monkeypatch.setattr(archives, "MAX_FILE_BYTES", 9_999)
        with pytest.raises(DataError, match="10,000 bytes are more than 9,999"):
            open_source(str(path)).read_beside("metadata.jsonl")


class TestTar:
    def test_what_would_fill_the_disk_is_not_unpacked(self, tmp_path, monkeypatch):
        path = tmp_path / "bomb.tar.gz"
        path.write_bytes(gzip.compress(bytes(1 << 24)))
        monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 20)
        with pytest.raises(DataError, match=r"bomb\.tar\.gz cannot be unpacked"):
            len(open_source(str(path)))
        monkeypatch.setattr(archives, "MAX_UNPACKED", 1 << 24)
        assert len(open_source(str(path))) == 0

    def test_links_are_left_aside(self, tmp_path, files):
        path = pack(tmp_path / "set.tar", files)
        with tarfile.open(path, "a") as archive:
            link = tarfile.TarInfo("evil.png")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        assert len(open_source(str(path))) == 12

    def test_without_room_to_unpack_the_error_says_where(self, tmp_path, files, monkeypatch):
        path = pack(tmp_path / "set.tar.gz", files)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(archives, "_unpack", full)
        with pytest.raises(DataError, match=r"No space left(.|\n)*tar xf"):
            len(open_source(str(path)))


class TestBuiltin:
    def test_names_and_groups_come_from_the_index(self, tmp_path, monkeypatch, encode, noise):
        index = [
            {"file": "z.webp", "style": "oil", "name": "wave", "group": "wave", "caption": "a", "pair": True},
            {
                "file": "a.webp",
                "style": "ink",
                "name": "wave: dark",
                "group": "wave",
                "caption": "b",
                "pair": False,
            },
        ]
        styles = {style: ["Waves", "A. Painter", "MIT", "https://example.org"] for style in ("oil", "ink")}
        pictures = {"a.webp": encode(noise(1), "WEBP"), "z.webp": encode(noise(2), "WEBP")}
        (tmp_path / "builtin").mkdir()
        texts = {"index.json": json.dumps(index).encode(), "styles.json": json.dumps(styles).encode()}
        pack(tmp_path / "builtin" / "tiny.zip", pictures | texts)
        monkeypatch.setattr(archives.resources, "files", lambda _: tmp_path)
        source = BuiltinSource("tiny")
        assert [(entry.name, entry.group, entry.caption, entry.pair) for entry in source.entries] == [
            ("oil/wave", "wave", "a", True),
            ("ink/wave: dark", "wave", "b", False),
        ]
        assert [source.read(0), source.read(1)] == [pictures["z.webp"], pictures["a.webp"]]
        assert source.about == {
            "styles": "oil 1, ink 1",
            "licences": "Waves by A. Painter, MIT: https://example.org",
        }
        (entry,) = BuiltinSource("tiny-oil").entries
        assert (entry.name, entry.pair) == ("wave", False)

    def test_the_emoji_that_come_with_the_package_are_whole(self):
        source = open_source("emoji")
        entries = [source.entry(index) for index in range(len(source))]
        assert len(entries) > 1000
        assert all(entry.group for entry in entries)
        assert len({entry.group for entry in entries}) < len(entries)
        assert source.read(0)[:4] == b"RIFF"


class TestShards:
    @pytest.fixture
    def shards(self, tmp_path, encode, noise):
        """Three shards of four pictures, each with its caption."""
        for shard in range(3):
            keys = [f"{number:04}" for number in range(4 * shard, 4 * shard + 4)]
            pictures = {f"{key}.png": encode(noise(int(key))) for key in keys}
            pack(tmp_path / f"x-{8 + shard:03}.tar", pictures | {f"{key}.txt": key.encode() for key in keys})
        return str(tmp_path / "x-{008..010}.tar")

    def test_they_are_one_source_with_the_captions_of_all(self, shards, encode, noise):
        source = open_source(shards)
        assert [source.entry(number).name for number in range(12)] == [f"{n:04}.png" for n in range(12)]
        assert [source.read(number) for number in (0, 5, 11)] == [encode(noise(n)) for n in (0, 5, 11)]
        assert source.others == {".txt": 12}
        assert read_captions(source, "auto").texts == [f"{number:04}" for number in range(12)]

    def test_labels_that_are_beside_a_shard_come_too(self, tmp_path):
        for shard in range(2):
            pixels, labels = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 7, 7]), bytes([shard, 9])
            (tmp_path / f"part{shard}-images-idx3-ubyte").write_bytes(pixels)
            (tmp_path / f"part{shard}-labels-idx1-ubyte").write_bytes(
                bytes([0, 0, 8, 1, 0, 0, 0, 2]) + labels
            )
        source = open_source(str(tmp_path / "part{0..1}-images-idx3-ubyte"))
        assert read_captions(source, "auto").texts == ["0", "9", "1", "9"]

    def test_what_changes_one_of_them_changes_the_source(self, shards, tmp_path):
        before = open_source(shards).fingerprint
        assert open_source(shards.replace("010", "009")).fingerprint != before
        pack(tmp_path / "x-009.tar", {})
        assert open_source(shards).fingerprint != before

    def test_a_long_one_is_listed_once(self, shards, tmp_path, monkeypatch):
        monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(archives, "LONG", 4)
        source = open_source(shards)
        expected = [source.entries, [source.read(number) for number in range(12)], source.others]
        monkeypatch.setattr(tarfile, "open", None)
        again = open_source(shards)
        assert [again.entries, [again.read(number) for number in range(12)], again.others] == expected
        (known, *_) = (tmp_path / "cache").glob("*.tar.json")
        known.write_bytes(known.read_bytes().replace(b"png", b"jpg"))
        monkeypatch.undo()
        monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
        assert list(open_source(shards).entries) == list(expected[0]), "what is damaged is listed again"

    def test_a_shard_that_is_absent_is_named(self, shards):
        with pytest.raises(DataError, match=r"x-011\.tar does not exist"):
            open_source(shards.replace("010", "012"))
        with pytest.raises(DataError, match="008 is beyond 007"):
            open_source(shards.replace("010", "007"))

    def test_a_name_in_two_of_them_is_an_error(self, shards, tmp_path, encode, noise):
        pack(tmp_path / "x-010.tar", {"0001.png": encode(noise(0))})
        with pytest.raises(DataError, match=r"x-008\.tar and .*x-010\.tar both hold 0001\.png"):
            len(open_source(shards))

    def test_they_are_found_from_any_folder(self, shards, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert lasting_data("x-{008..010}.tar") == shards
