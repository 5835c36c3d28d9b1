import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from unmask import __version__
from unmask.errors import BundleError
from unmask.storage import bundles as bundle
from unmask.storage.bundles import Bundle, Part


def part(fill: float = 1.0, **config: Any) -> Part:
    return Part(
        {"width": 8, "grid": [4, 4]} | config,
        {
            "weight": torch.full((3, 5), fill),
            "scale": torch.tensor(2.0, dtype=torch.bfloat16),
            "usage": torch.arange(4),
            "empty": torch.ones(0, 3),
        },
    )


def whole(fill: float = 1.0) -> Bundle:
    return Bundle(part(fill), part(fill, heads=2), {"licence": "CC0-1.0", "metrics": {"fid": 12.5}})


@pytest.fixture
def folder(tmp_path) -> Path:
    bundle.save(whole(), tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, change: Any) -> None:
    manifest = json.loads((folder / "unmask.json").read_text())
    change(manifest)
    manifest.pop("checksum", None)  # as whoever changes it by hand is told to
    (folder / "unmask.json").write_text(json.dumps(manifest))


def refusal(folder: Path) -> str:
    with pytest.raises(BundleError) as caught:
        bundle.load(folder)
    return str(caught.value)


class TestAFingerprint:
    def test_is_sixteen_hexadecimal_digits_and_always_the_same(self):
        assert part().fingerprint == "296e2c76b3c11e8b"

    def test_is_the_same_in_any_order_layout_and_kind_of_sequence(self):
        one = part()
        other = Part(
            {"grid": (4, 4), "width": 8},
            {
                name: tensor.T.contiguous().T if tensor.ndim == 2 else tensor
                for name, tensor in reversed(one.tensors.items())
            },
        )
        assert other.fingerprint == one.fingerprint

    @pytest.mark.parametrize(
        "change",
        [
            {"weight": torch.full((3, 5), 1.0 + 2**-23)},
            {"weight": torch.full((5, 3), 1.0)},
            {"usage": torch.arange(4, dtype=torch.int32)},
            {"empty": torch.ones(3, 0)},
            {"new": torch.ones(0)},
        ],
        ids=["one bit", "a shape", "a type", "an empty shape", "a name"],
    )
    def test_changes_with(self, change):
        assert Part(part().config, part().tensors | change).fingerprint != part().fingerprint

    def test_changes_with_the_configuration(self):
        assert part(width=9).fingerprint != part().fingerprint

    def test_does_not_confuse_bytes_that_move_from_one_tensor_to_the_next(self):
        ones, two = torch.ones(3), torch.ones(2)
        assert Part({}, {"a": ones, "b": two}).fingerprint != Part({}, {"a": two, "b": ones}).fingerprint


class TestABundle:
    def test_comes_back_as_it_was_saved(self, folder):
        back, original = bundle.load(folder), whole()
        assert back.about == original.about
        for name, its in original.parts.items():
            assert back.parts[name].config == its.config
            assert back.parts[name].tensors.keys() == its.tensors.keys()
            assert all(torch.equal(back.parts[name].tensors[key], its.tensors[key]) for key in its.tensors)
            assert back.parts[name].fingerprint == its.fingerprint

    def test_may_be_a_codec_alone(self, tmp_path):
        bundle.save(Bundle(part()), tmp_path)
        assert bundle.load(tmp_path).prior is None
        assert not (tmp_path / "prior.safetensors").exists()

    def test_takes_the_place_of_the_one_before_whole(self, folder):
        bundle.save(Bundle(part(2.0)), folder)
        assert sorted(path.name for path in folder.iterdir()) == ["codec.safetensors", "unmask.json"]
        assert bundle.load(folder).codec.fingerprint == part(2.0).fingerprint

    def test_says_what_it_is_for_a_person_to_read(self, folder):
        manifest = json.loads((folder / "unmask.json").read_text())
        assert manifest["format"] == bundle.FORMAT
        assert manifest["unmask"] == __version__
        assert manifest["parts"]["prior"]["trained_on"] == manifest["parts"]["codec"]["fingerprint"]
        assert (folder / "codec.safetensors").stat().st_size == manifest["parts"]["codec"]["bytes"]

    def test_holds_tensors_that_shared_memory(self, tmp_path):
        weight = torch.arange(6.0).reshape(2, 3)
        bundle.save(Bundle(Part({}, {"a": weight, "b": weight.T, "c": weight[0]})), tmp_path)
        assert torch.equal(bundle.load(tmp_path).codec.tensors["b"], weight.T)

    def test_is_taken_up_where_a_kill_left_it_between_two_renames(self, folder):
        folder.rename(folder.with_name(".model.previous"))
        bundle.save(whole(2.0), folder.with_name("new"))
        folder.with_name("new").rename(folder.with_name(".model.partial"))
        assert bundle.load(folder).codec.fingerprint == part(2.0).fingerprint

    def test_with_a_readme_beside_it_is_loaded_all_the_same(self, folder):
        (folder / "README.md").write_text("# Emoji")
        bundle.load(folder)


class TestSaving:
    def test_never_replaces_a_folder_of_something_else(self, tmp_path):
        (tmp_path / "holiday.jpg").touch()
        with pytest.raises(BundleError, match="something else"):
            bundle.save(whole(), tmp_path)
        with pytest.raises(BundleError, match="something else"):
            bundle.save(whole(), tmp_path / "holiday.jpg")
        assert (tmp_path / "holiday.jpg").exists()

    def test_onto_a_full_disk_keeps_the_old_one_and_says_how_much_room_it_wants(self, folder, monkeypatch):
        def no_room(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", no_room)
        with pytest.raises(BundleError, match=r"No space left.*it takes 188 bytes") as caught:
            bundle.save(whole(2.0), folder)
        assert "free" in str(caught.value)
        assert bundle.load(folder).codec.fingerprint == part().fingerprint


class TestAPathThatIsNoBundle:
    def test_but_the_best_of_a_very_young_run_says_when_there_will_be_one(self, tmp_path):
        (tmp_path / "config.json").touch()
        (tmp_path / "log.jsonl").touch()
        text = refusal(tmp_path / "best")
        assert "known at its first validation" in text
        assert "until then" not in text

    @pytest.mark.parametrize("nameless", [".", "/", ".."])
    def test_may_have_no_name(self, tmp_path, monkeypatch, nameless):
        (tmp_path / "inner").mkdir()
        monkeypatch.chdir(tmp_path / "inner")
        assert "is not a model" in refusal(Path(nameless))

    def test_but_the_best_of_a_young_run_says_which_there_is(self, tmp_path):
        bundle.save(whole(), tmp_path / "last")
        assert f"until then:  {tmp_path / 'last'}" in refusal(tmp_path / "best")

    def test_says_what_a_model_is(self, tmp_path):
        (tmp_path / "model.th").touch()
        assert "there is nothing at" in refusal(tmp_path / "nowhere")
        assert "is not a model" in refusal(tmp_path)
        assert "a model is a folder with unmask.json" in refusal(tmp_path / "model.th")


class TestADamagedBundle:
    @pytest.mark.parametrize(
        "about",
        [
            {"image_size": "64"},
            {"data": 5},
            {"curve": {"ratio": 1}},
            {"prior_validation": {"bits": "low"}},
            {"prior_training": []},
            {"prior_step": 10**30},
        ],
    )
    def test_that_says_things_of_another_kind_is_refused(self, folder, about):
        edit(folder, lambda manifest: manifest["about"].update(about))
        assert f"about.{next(iter(about))} is" in refusal(folder)

    @pytest.mark.parametrize(
        "uses",
        [
            5,
            {"sample": 5},
            {"sample": [{"steps": 8}]},
            {"budgets": [5]},
            {"budgets": {"steps": 8}},
            {"budgets": [{"temperature": 0.7}]},
            {"budgets": [{"steps": 8.5}]},
            {"budgets": [{"steps": 8}, {"steps": 0}]},
        ],
    )
    def test_that_recommends_things_of_another_kind_is_refused(self, folder, uses):
        edit(folder, lambda manifest: manifest.update(sampling={"recommended": uses}))
        assert "sampling is" in refusal(folder)

    def test_with_settings_by_use_and_as_a_list_is_taken(self, folder):
        sampling = {"recommended": {"sample": {"steps": 8}, "budgets": [{"steps": 8, "temperature": 0.7}]}}
        edit(folder, lambda manifest: manifest.update(sampling=sampling))
        assert bundle.load(folder).sampling == sampling

    @pytest.mark.parametrize("old", ["CC0-1.0", "metrics", "12.5", "checksum", '"about"', __version__])
    def test_whose_description_was_changed_says_so(self, folder, old):
        path = folder / "unmask.json"
        path.write_text(path.read_text().replace(old, old.replace(old[-2], "7"), 1))
        assert "not as it was written" in refusal(folder)

    def test_of_before_there_was_a_checksum_is_taken(self, folder):
        edit(folder, lambda manifest: manifest.update(format=1))
        edit(folder, lambda manifest: manifest.pop("sampling"))
        assert bundle.load(folder).about["licence"] == "CC0-1.0"

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "NaN", "\0"])
    def test_whose_description_is_no_json_is_refused(self, folder, text):
        (folder / "unmask.json").write_text(text)
        assert "unmask.json is damaged" in refusal(folder)

    def test_whose_texts_could_steer_a_terminal_has_them_spelt_out(self, folder):
        edit(folder, lambda manifest: manifest["about"].update(licence="\x1b]0;owned\x07"))
        assert bundle.load(folder).about["licence"] == r"\x1b]0;owned\x07"

    def test_of_a_newer_format_says_how_to_upgrade(self, folder):
        edit(folder, lambda manifest: manifest.update(format=bundle.FORMAT + 1, parts=None))
        assert "pip install --upgrade unmask" in refusal(folder)

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "parts": {}, "about": {}}']
    )
    def test_with_a_manifest_that_describes_nothing_is_refused(self, folder, text):
        (folder / "unmask.json").write_text(text)
        assert "unmask.json" in refusal(folder)

    def test_with_a_part_described_by_half_is_refused(self, folder):
        edit(folder, lambda manifest: manifest["parts"]["prior"].pop("config"))
        assert "does not describe prior.safetensors in full" in refusal(folder)

    def test_names_the_file_it_lacks(self, folder):
        (folder / "prior.safetensors").unlink()
        assert "lacks prior.safetensors" in refusal(folder)

    def test_names_the_file_it_does_not_know(self, folder):
        shutil.copy(folder / "codec.safetensors", folder / "decoder.safetensors")
        assert "decoder.safetensors" in refusal(folder)
        edit(folder, lambda manifest: manifest["parts"].update(decoder=manifest["parts"]["codec"]))
        assert "unknown parts: decoder" in refusal(folder)

    def test_says_how_much_of_a_file_is_there(self, folder):
        path = folder / "codec.safetensors"
        size = path.stat().st_size
        os.truncate(path, size - 8)
        assert f"is {size - 8:,} bytes long, not {size:,}" in refusal(folder)

    def test_that_is_a_pickle_by_another_name_is_never_unpickled(self, folder):
        size = (folder / "codec.safetensors").stat().st_size
        (folder / "codec.safetensors").write_bytes(b"\x80\x04".ljust(size, b"."))
        assert "codec.safetensors is damaged" in refusal(folder)

    def test_notices_one_flipped_bit(self, folder):
        path = folder / "codec.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        assert "have fingerprint" in refusal(folder)

    def test_notices_a_changed_configuration(self, folder):
        edit(folder, lambda manifest: manifest["parts"]["codec"]["config"].update(width=16))
        assert "one of them was changed" in refusal(folder)

    def test_with_a_prior_of_another_codec_says_why_that_matters(self, folder):
        edit(folder, lambda manifest: manifest["parts"]["prior"].update(trained_on="5be77d10"))
        assert "the same numbers would mean different patches" in refusal(folder)

    def test_that_may_not_be_read_is_refused(self, folder, monkeypatch):
        def denied(*_: object) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(bundle, "read_json", denied)
        assert "Permission denied" in refusal(folder)


class TestReadingWhileATrainingWrites:
    def test_gives_the_new_one_when_it_is_replaced_between_two_files(self, folder, monkeypatch):
        read = bundle.tensors.read

        def replaced_before_reading(path: Path) -> dict[str, torch.Tensor]:
            monkeypatch.undo()
            bundle.save(whole(2.0), folder)
            return read(path)

        monkeypatch.setattr(bundle.tensors, "read", replaced_before_reading)
        assert bundle.load(folder).codec.fingerprint == part(2.0).fingerprint

    def test_always_gives_one_of_the_versions(self, folder):
        versions = {whole(fill).codec.fingerprint for fill in (1.0, 2.0)}
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                for fill in (2.0, 1.0):
                    bundle.save(whole(fill), folder)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            seen = [bundle.load(folder).codec.fingerprint for _ in range(60)]
            while set(seen) < versions:  # the writer may not have had its turn
                seen.append(bundle.load(folder).codec.fingerprint)
        finally:
            stop.set()
            writer.join()
        assert set(seen) == versions
