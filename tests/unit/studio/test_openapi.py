"""Whatever is sent, in whatever shape the description allows or forbids: never a 5xx but "busy"."""

import json

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from unmask.studio.limits import JobLimits
from unmask.studio.server import create_app

pytestmark = pytest.mark.slow

PATHS = ["sample", "canvas", "inpaint", "vary", "extend", "reconstruct", "caption", "score"]
FEW = settings(max_examples=30, suppress_health_check=list(HealthCheck))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def app(model, folder, tmp_path_factory):
    """A Studio in which no job takes long."""
    keep = tmp_path_factory.mktemp("gallery")
    return create_app(model, str(folder), limits=JobLimits(run_seconds=0.05), keep=keep)


@pytest.fixture(scope="module")
def address(app, serve):
    with serve(app) as address:
        yield address


@pytest.fixture(scope="module")
def description(address):
    return schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json")


def sound(status, text):
    return status < 500 or (status == 503 and "busy" in text)


def post(address, body, kind):
    return requests.post(address, data=body, headers={"Content-Type": kind}, timeout=60)


PLAIN = [
    ("GET", path) for path in ("/api/v1/models", "/api/v1/trainings", "/healthz", "/metrics")
]  # nothing to get wrong
OPERATIONS = [
    *PLAIN,
    ("GET", "/api/v1/model"),
    ("GET", "/api/v1/training"),
    ("GET", "/api/v1/training/picture"),
    *(("POST", f"/api/v1/{path}") for path in PATHS),
    ("GET", "/api/v1/jobs/{job_id}"),
    ("DELETE", "/api/v1/jobs/{job_id}"),
    ("GET", "/api/v1/jobs/{job_id}/events"),
    ("GET", "/api/v1/jobs/{job_id}/pictures/{number}"),
    ("POST", "/api/v1/origin"),
    ("GET", "/api/v1/gallery"),
    ("GET", "/api/v1/gallery/{kept_id}"),
    ("PUT", "/api/v1/gallery/{kept_id}"),
    ("DELETE", "/api/v1/gallery/{kept_id}"),
]


MODES = [
    (*operation, mode)
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or operation not in PLAIN
]


@pytest.mark.parametrize(("verb", "path", "mode"), MODES)
def test_what_the_description_allows_and_forbids(description, verb, path, mode):
    strategy = description[path][verb].as_strategy(generation_mode=mode)

    @FEW
    @given(strategy)
    def send(case):
        answer = case.call()
        assert sound(answer.status_code, answer.text)
        if mode is GenerationMode.POSITIVE and answer.status_code != 503:
            case.validate_response(answer, checks=[response_schema_conformance, status_code_conformance])

    send()


@pytest.mark.parametrize("path", PATHS)
@FEW
@given(st.data())
def test_any_json_at_all(app, address, path, data):
    body = json.dumps(data.draw(json_values))
    with_fields = data.draw(st.booleans())
    if with_fields:
        fields = app.openapi()["components"]["schemas"][path.capitalize()]["properties"]
        body = json.dumps(data.draw(st.dictionaries(st.sampled_from(sorted(fields)), json_values)))
    answer = post(f"{address}/api/v1/{path}", body.encode(), "application/json")
    assert sound(answer.status_code, answer.text)
    assert "error" in answer.json() or answer.status_code == 202


@FEW
@given(st.binary(), st.sampled_from(["application/json", "text/plain", "multipart/form-data", ""]))
def test_any_bytes_at_all(address, body, kind):
    answer = post(f"{address}/api/v1/sample", body, kind)
    assert sound(answer.status_code, answer.text)


def test_the_description_has_these_routes_and_no_others(app):
    described = {(verb.upper(), path) for path, verbs in app.openapi()["paths"].items() for verb in verbs}
    assert described == set(OPERATIONS)
