"""Models by the name that they have on the Hugging Face hub: here a server on this machine."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NOBODY = "http://127.0.0.1:9"  # nothing listens there


@pytest.fixture
def hub(model, tmp_path):
    """The address of a hub that has one model, ann/discs, and what it was asked for."""
    contents = {path.name: path.read_bytes() for path in model.iterdir()} | {"README.md": b"# Discs"}
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            path = self.path.partition("?")[0]
            asked.append(path)
            name = Path(path).name
            if path.startswith("/api/models/ann/discs/tree/"):
                self.answer(
                    [{"type": "file", "path": n, "size": len(c), "oid": oid(c)} for n, c in contents.items()]
                )
            elif path.startswith("/api/models/ann/discs"):
                self.answer(
                    {"id": "ann/discs", "sha": COMMIT, "siblings": [{"rfilename": n} for n in contents]}
                )
            elif path.startswith("/ann/discs/resolve/") and name in contents:
                self.send(200, contents[name], {"ETag": f'"{oid(contents[name])}"', "X-Repo-Commit": COMMIT})
            else:
                self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

        def answer(self, value):
            self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

        def send(self, status, content, headers):
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def draw(shell, monkeypatch, tmp_path):
    """A function that samples from a model of some hub."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)

    def sample(endpoint, name, out, code=0):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        return shell("sample", name, "--count", "2", "--steps", "2", "--out", out, code=code)

    return sample


def test_a_model_is_fetched_once_and_then_needs_no_network(hub, draw, tmp_path):
    endpoint, asked = hub
    draw(endpoint, "ann/discs", "first")
    assert [path for path in asked if path.endswith("prior.safetensors")]
    assert not [path for path in asked if path.endswith("README.md")]
    asked.clear()
    draw(NOBODY, "ann/discs", "second")
    assert asked == []
    first, second = ((tmp_path / folder / "000001.png").read_bytes() for folder in ("first", "second"))
    assert first == second


def test_a_name_that_nobody_has_says_so(hub, draw):
    said = draw(hub[0], "ann/circles", "no", code=2)
    assert "there is no folder ann/circles, and no model of that name that you may see on the hub" in said


def test_without_a_network_one_sentence_says_what_to_do(draw):
    said = draw(NOBODY, "ann/discs", "no", code=2)
    assert "the hub is out of reach" in said
    assert "hf download ann/discs" in said
    assert len(said.strip().splitlines()) == 2
