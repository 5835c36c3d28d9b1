# Every target sets itself up on a fresh machine; a stamp file makes the second start instant.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo
# Works for root on Debian and its kin, and fails elsewhere.
CHROMIUM := apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null

.PHONY: demo quick test check bench clean

demo: $(VENV)/.ready            ## look at what Unmask does, on the built-in data
	$(BIN)/unmask demo --out $(OUT)

quick: $(VENV)/.ready-test      ## the tests to run while working, under two minutes
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test: $(VENV)/.ready-test       ## every test
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.ready-test      ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxfmt --check src/unmask/studio/static/js src/unmask/studio/static/css
	$(BIN)/mypy

bench: $(VENV)/.ready-bench     ## every benchmark; rows go to benchmarks/results.jsonl
	$(BIN)/python -m benchmarks

clean:                          ## forget the environment
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[studio,plot]'
	touch $@

$(VENV)/.ready-test: pyproject.toml requirements-oracles.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-oracles.txt
	command -v chromium || ($(CHROMIUM)) || echo "no Chromium, and none to be had: tests in a browser will be skipped"
	touch $(VENV)/.ready $@

$(VENV)/.ready-bench: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --editable '.[benchmarks]'
	touch $@
