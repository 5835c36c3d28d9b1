# Every target sets itself up on a fresh machine; a stamp file makes the second start instant.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo
SITE   := $(BIN)/sphinx-build --quiet --fail-on-warning --conf-dir docs
# torch's default build for Linux brings gigabytes of CUDA. Without a GPU its CPU build is taken, where it can be reached.
TORCH     := $(shell sed -n 's/.*"\(torch>=[^"]*\)".*/\1/p' pyproject.toml)
TORCH_CPU := https://download.pytorch.org/whl/cpu
REACH     := import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)
# Works for root on Debian and its kin, and fails elsewhere.
CHROMIUM := apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null

.PHONY: demo quick test check bench site links torture clean

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

site: $(VENV)/.ready-site       ## the pages with examples, notebooks and a reference: open site/index.html
	$(SITE) . site

links: $(VENV)/.ready-site      ## ask every address that the pages name
	$(SITE) --builder linkcheck --define plot_gallery=0 . site/links

torture: $(VENV)/.ready-torture ## hostile inputs for HOURS (half an hour), and a table of what came of them
	$(BIN)/python -m tests.torture --hours $(or $(HOURS),0.5)

clean:                          ## forget the environment
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.torch: | $(BIN)/python
	@if [ "$$(uname)" != Linux ] || command -v nvidia-smi >/dev/null; then :; \
	elif $(BIN)/python -c '$(REACH)' $(TORCH_CPU)/torch/ 2>/dev/null \
		&& $(BIN)/python -m pip install --quiet --no-deps --index-url $(TORCH_CPU) '$(TORCH)'; then :; \
	else echo "no GPU, and no CPU build from $(TORCH_CPU): torch will be the build that pip finds"; fi
	touch $@

$(VENV)/.ready: pyproject.toml | $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --editable '.[studio,plot]'
	touch $@

$(VENV)/.ready-test: pyproject.toml requirements-oracles.txt | $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-oracles.txt
	command -v chromium || ($(CHROMIUM)) || echo "no Chromium, and none to be had: tests in a browser will be skipped"
	touch $(VENV)/.ready $@

$(VENV)/.ready-bench: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --editable '.[benchmarks]'
	touch $@

$(VENV)/.ready-torture: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --editable '.[torture]'
	touch $@

$(VENV)/.ready-site: pyproject.toml | $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@
