"""Who may ask, from where, and how much at once."""

import pytest
from fastapi.testclient import TestClient

from unmask.errors import ConfigError
from unmask.studio.guard import Access, Guard, cookie_value, is_loopback
from unmask.studio.limits import MAX_UPLOAD_BYTES
from unmask.studio.server import create_app

TOKEN = "a-token_of.ours~"


def visit(model, access, host="localhost:8000"):
    return TestClient(create_app(model, "model", access=access), base_url=f"http://{host}")


@pytest.fixture
def closed(model):
    """A server that other machines can reach."""
    with visit(model, Access.at("0.0.0.0", TOKEN), "studio.example:8000") as client:
        yield client


class TestOnLoopback:
    @pytest.mark.parametrize(
        "host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"]
    )
    def test_its_own_names_are_answered(self, client, host):
        assert client.get("/api/v1/model", headers={"Host": host}).status_code == 200

    def test_the_name_that_it_was_given_is_one_of_them(self, model):
        with visit(model, Access.at("127.0.0.2", None), "127.0.0.2:8000") as client:
            assert client.get("/api/v1/model").status_code == 200

    @pytest.mark.parametrize(
        "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "[", "10.0.0.1"]
    )
    def test_a_name_that_was_made_to_point_here_is_refused(self, client, host):
        for path in ("/", "/api/v1/model", "/healthz", "/static/js/app.js"):
            assert client.get(path, headers={"Host": host}).status_code == 403

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://localhost:9999"},
            {"Origin": "http://localhost:8000.evil.example"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
            {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
        ],
    )
    def test_requests_from_other_pages_are_refused(self, client, headers):
        assert client.post("/api/v1/sample", json={}, headers=headers).status_code == 403
        assert client.get("/api/v1/model", headers=headers).status_code == 403

    def test_requests_of_the_page_itself_and_links_to_it_are_answered(self, client):
        own = {"Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-origin"}
        assert client.post("/api/v1/sample", json={"steps": 1}, headers=own).status_code == 202
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert client.get("/", headers=link).status_code == 200

    def test_no_site_is_told_that_it_may_read(self, client):
        answer = client.get("/api/v1/model")
        assert "access-control-allow-origin" not in answer.headers
        assert "'self'" in answer.headers["content-security-policy"]

    def test_a_long_request_is_refused_before_it_is_read(self, client):
        long = b"x" * (MAX_UPLOAD_BYTES + 1)
        assert client.post("/api/v1/sample", content=long).status_code == 413
        claimed = client.post("/api/v1/sample", content=b"{}", headers={"Content-Length": "9" * 50})
        assert claimed.status_code == 413
        assert client.post("/api/v1/sample", content=iter([b"{", b"}"])).status_code == 411

    def test_a_token_may_be_wanted_there_too(self, model):
        with visit(model, Access.at("127.0.0.1", TOKEN)) as client:
            assert client.get("/api/v1/model").status_code == 401


class TestElsewhere:
    def test_there_is_always_a_token(self):
        assert Access.at("0.0.0.0", None).token
        assert Access.at("192.168.0.7", None).token != Access.at("192.168.0.7", None).token
        assert Access.at("::1", None).token is None
        with pytest.raises(AssertionError):
            Guard(None, access=Access(hosts=None))

    @pytest.mark.parametrize(
        ("host", "loopback"),
        [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
         ("::", False), ("192.168.1.2", False), ("localhost.evil.example", False)],
    )  # fmt: skip
    def test_what_counts_as_this_machine(self, host, loopback):
        assert is_loopback(host) == loopback

    @pytest.mark.parametrize(
        "headers",
        [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}, {"Authorization": "Bearer"},
         {"Authorization": f"Bearer {cookie_value(TOKEN)}"}, {"Cookie": "=;;,\x7f"},
         {"Cookie": "unmask-8000=wrong"}, {"Cookie": f"unmask-8000={TOKEN}"}],
    )  # fmt: skip
    def test_without_the_token_there_is_nothing(self, closed, headers):
        for path in ("/api/v1/model", "/metrics", "/api", "/api/v1/openapi.json"):
            assert closed.get(path, headers=headers).status_code == 401
        assert closed.post("/api/v1/sample", json={}, headers=headers).status_code == 401

    def test_a_program_brings_the_token_along(self, closed):
        headers = {"Authorization": f"bearer {TOKEN}"}
        assert closed.get("/api/v1/model", headers=headers).status_code == 200

    def test_a_browser_is_asked_for_it_once(self, closed):
        gate = closed.get("/")
        assert gate.status_code == 401
        assert "asks for its token" in gate.text
        assert closed.get("/", params={"token": "wrong"}).status_code == 401
        entered = closed.get("/", params={"token": TOKEN}, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=strict"} <= set(entered.headers["set-cookie"].split("; "))
        assert TOKEN not in entered.headers["set-cookie"]  # other servers of the machine see it, too
        assert closed.get("/api/v1/model").status_code == 200

    def test_cookies_of_others_are_no_hindrance(self, closed):
        """Servers at other ports of a machine share its cookies, those of other Studios included."""
        others = f"{{odd}}=1; =; a,b; unmask-9000=theirs; unmask-8000={cookie_value(TOKEN)}"
        assert closed.get("/api/v1/model", headers={"Cookie": others}).status_code == 200

    @pytest.mark.parametrize("host", ["studio.example", "[fe80::1]", "[fe80::1]:8000", "studio.example:x"])
    def test_a_browser_may_call_it_what_it_likes(self, closed, host):
        answer = closed.get("/", params={"token": TOKEN}, headers={"Host": host}, follow_redirects=False)
        assert answer.status_code == 303

    @pytest.mark.parametrize("token", ["", "two words", "ünlikely", "a;b", "a\n"])
    def test_a_token_that_would_not_survive_an_address_is_refused(self, token):
        with pytest.raises(ConfigError, match="letters, digits"):
            Access.at("127.0.0.1", token)

    def test_anyone_may_see_that_it_lives(self, closed):
        assert closed.get("/healthz").status_code == 200
