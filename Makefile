# Every target sets up what it needs; a second run is quick.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Every service is a process: its modules are compiled once and not at every start.
export PYTHONDONTWRITEBYTECODE :=
UV_VERSION := $(shell sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements.lock)

$(READY): requirements.lock pyproject.toml env_client/pyproject.toml
	@echo "setting up $(VENV) …"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "the services need Python 3.11: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION)
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --compile-bytecode --require-hashes -r requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --no-deps -e . -e ./env_client
	@touch $@

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do printf '  \033[1m%-14s\033[0m %s\n' "$$name" "$$text"; done

.PHONY: demo
demo: $(READY) ## start the embedded stack, run a batch of episodes, print verdicts, write the report, stop
	@$(BIN)/python -m services.demo

.PHONY: up
up: worlds ## start every service here and print lines to paste; Ctrl-C stops all
	@$(BIN)/python -m services up $(if $(RESTART),--restart)

.PHONY: test
test: $(READY) ## run the whole test suite against real parts
	@$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

.PHONY: check
check: $(READY) ## formatter, linter, types, import contracts
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo | tail -n 3

.PHONY: instances
instances: worlds ## find the different instances of every family and split, and compare them with the listed numbers
	@$(BIN)/python -m services instances

.PHONY: load
load: worlds ## 60 s at 200 requests/s against the embedded stack, with consistency checks and a report
	@$(BIN)/python -m loadtests run --shape constant

.PHONY: load-compose
load-compose: $(READY) ## ten minutes at 200 requests/s against the compose stack
	@$(BIN)/python -m loadtests run --compose --seconds 600 --prompt-p99 50

.PHONY: load-max
load-max: worlds ## raise the load until it no longer holds: the knee
	@$(BIN)/python -m loadtests max

.PHONY: chaos
chaos: worlds ## break one part at a time under load, and see what was lost
	@$(BIN)/python -m loadtests chaos

.PHONY: soak
soak: worlds ## thirty minutes; memory must stay flat
	@$(BIN)/python -m loadtests run --shape soak --seconds 1800 --growth 0.02

.PHONY: bench-peers
bench-peers: worlds ## side by side with OpenEnv's own server
	@$(BIN)/python -m loadtests peers

.PHONY: bench
bench: worlds ## requests/s and CPU per request beside an empty endpoint; forks, resets, memory
	@$(BIN)/python -m services.bench

.PHONY: worlds
worlds: $(READY) ## build the world files that are missing or out of date
	@$(BIN)/python -m fixtures build small standard

.PHONY: validate
validate: worlds ## try every task family at 20 seeds, without a model
	@$(BIN)/python -m services validate --seeds 20

.PHONY: redteam
redteam: $(READY) ## the whole list: every cheat on every family, every honest control; a table
	@DAYSHIFT_REDTEAM=full DAYSHIFT_REDTEAM_SEEDS=$(or $(SEEDS),2) $(BIN)/python -m pytest -n 2 --dist worksteal -p tests.exploits.plugin \
		tests/exploits tests/desk_tasks/test_cheats.py tests/desk_tasks/test_controls.py tests/ide/test_grader.py tests/ide/test_families.py

.PHONY: escapes
escapes: $(READY) ## every escape from the sandbox, with 200 requests/s served beside it
	@$(BIN)/python -m pytest tests/ide/test_isolation.py

.PHONY: image
image: ## build the image of all services
	@if docker compose version >/dev/null 2>&1; then docker compose build control; else docker-compose build control; fi

.PHONY: compose-test
compose-test: $(READY) ## build and start the compose stack, exercise it, stop it
	@$(BIN)/python -m pytest tests/e2e -m compose --override-ini addopts="--strict-markers --import-mode=importlib -q"

.PHONY: client-test
client-test: worlds ## install the client for CLIENT_PYTHON=python3.13 (3.11 or later) and play an episode with it
	@.ci/client-test $(or $(CLIENT_PYTHON),$(PYTHON))

.PHONY: integrations
integrations: worlds ## train in Stable-Baselines3, Tianshou and RLlib, each installed into build/integrations; JUDGE=sb3 runs one
	@.ci/integrations $(JUDGE)

.PHONY: docs
docs: $(READY) ## docs/ as a site in build/site, with a page for each product's API
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q
	@echo build/site/index.html

.PHONY: lock
lock: $(READY) ## write requirements.lock anew from pyproject.toml
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url --extra dev pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url pyproject.toml -o requirements-runtime.lock

.PHONY: clean
clean: ## remove everything that can be made again
	@rm -rf $(VENV) var build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
