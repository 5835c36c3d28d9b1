"""``unmask studio``, up to the point where it serves."""

import socket

import pytest

from tests.untrained import untrained
from unmask.cli import studio
from unmask.cli.main import main
from unmask.storage import bundles as bundle


def refusal(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(["studio", *words])
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_port_that_is_taken_is_said_at_once(capsys, monkeypatch):
    monkeypatch.setattr("unmask.pipeline.load", lambda name: pytest.fail("loaded a model for nothing"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        error = refusal(capsys, "--port", str(taken.getsockname()[1]))
    assert "Address already in use" in error
    assert "--port 0" in error


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("--port=99999", "port 99999 is none"),
        ("--port=-1", "port -1 is none"),
        ("--host=no.such.host.invalid", "cannot listen at"),
        ("--host=a..b", "'a..b' is no name of a host"),
    ],
)
def test_an_address_that_is_none_is_refused(capsys, word, sentence):
    assert sentence in refusal(capsys, word)


def test_what_is_not_installed_is_named_with_what_to_type(capsys, monkeypatch):
    monkeypatch.setattr(studio, "find_spec", lambda name: None)
    error = refusal(capsys)
    assert "the Studio needs fastapi and uvicorn" in error
    assert "pip install 'unmask[studio]'" in error


def test_a_model_that_is_not_there_is_refused(capsys, tmp_path):
    assert "there is nothing at" in refusal(capsys, str(tmp_path / "model"), "--port", "0")


def test_a_codec_alone_is_refused(capsys, tmp_path):
    bundle.save(bundle.Bundle(untrained().codec, about={"image_size": 16}), tmp_path / "codec")
    assert "no prior" in refusal(capsys, str(tmp_path / "codec"), "--port", "0")


@pytest.mark.parametrize(
    ("host", "token", "address"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:80/"),
        ("::1", None, "http://[::1]:80/"),
        ("0.0.0.0", "a~b", "http://0.0.0.0:80/?token=a~b"),
    ],
)
def test_the_address_can_be_opened_as_it_is_shown(host, token, address):
    assert studio.address(host, 80, token) == address
