# Every target sets up what it needs; a second run is quick.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# What runs the stack and the demo, and what tests, checks and documentation need besides; both in one folder.
READY := $(VENV)/.ready
DEV := $(VENV)/.dev
# Every service is a process: its modules are compiled once and not at every start.
export PYTHONDONTWRITEBYTECODE :=
UV_VERSION := $(shell sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements.lock)

$(READY): requirements-runtime.lock pyproject.toml env_client/pyproject.toml
	@echo "setting up $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13) and "the services need Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION)
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --compile-bytecode --require-hashes -r requirements-runtime.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --no-deps -e . -e ./env_client
	@# Only for the installation: a tenth of the whole.
	@$(BIN)/python -m pip uninstall -q -y --disable-pip-version-check uv
	@touch $@

$(DEV): requirements.lock $(READY)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] > (3, 12) and "the tests need Python 3.11 or 3.12, for the PostgreSQL wheel has no later version: make clean, then make PYTHON=/path/to/python3.11 test")'
	@echo "adding what tests, checks and documentation need to $(VENV) …"
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION)
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --compile-bytecode --require-hashes -r requirements.lock
	@touch $@

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do printf '  \033[1m%-14s\033[0m %s\n' "$$name" "$$text"; done

.PHONY: demo
demo: $(READY) ## start the embedded stack, run a batch of episodes, print verdicts, write the report, stop
	@$(BIN)/python -m services.demo $(if $(FAMILIES),--families)

.PHONY: up
up: worlds ## start every service here and print lines to paste; Ctrl-C stops all
	@$(BIN)/python -m services up $(if $(RESTART),--restart)

.PHONY: test
test: $(DEV) wheels ## run the whole test suite against real parts
	@$(BIN)/python -m fixtures fetch
	@$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

.PHONY: check
check: $(DEV) ## formatter, linter, types, import contracts
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo | tail -n 3

.PHONY: instances
instances: worlds ## find the different instances of every family and split, and compare them with the listed numbers
	@$(BIN)/python -m services instances

.PHONY: load
load: $(DEV) worlds ## 60 s at 200 requests/s against the embedded stack, with consistency checks and a report
	@$(BIN)/python -m loadtests run --shape constant

.PHONY: load-compose
load-compose: $(DEV) ## ten minutes at 200 requests/s against the compose stack
	@$(BIN)/python -m loadtests run --compose --seconds 600 --prompt-p99 50

.PHONY: load-max
load-max: $(DEV) worlds ## raise the load until answers wait or fail, and print the highest rate before
	@$(BIN)/python -m loadtests max

.PHONY: chaos
chaos: $(DEV) worlds ## break one part at a time under load, and see what was lost
	@$(BIN)/python -m loadtests chaos

.PHONY: soak
soak: $(DEV) worlds ## thirty minutes; memory must stay flat
	@$(BIN)/python -m loadtests run --shape soak --seconds 1800 --growth 0.02

.PHONY: bench-peers
bench-peers: $(DEV) worlds ## side by side with OpenEnv's own server
	@$(BIN)/python -m loadtests peers

.PHONY: bench
bench: worlds ## requests/s and CPU per request beside an empty endpoint; forks, resets, memory
	@$(BIN)/python -m services.bench

.PHONY: worlds
worlds: $(READY) wheels ## build the world files that are missing or out of date, and fetch the archives of public packages
	@$(BIN)/python -m fixtures build small standard
	@$(BIN)/python -m fixtures fetch

.PHONY: wheels
wheels: $(READY) ## fetch the wheels that programs in a sandbox install from; DAYSHIFT_WHEELS=0 leaves them out
	@$(BIN)/python -m services.ide.sandbox.wheelhouse
	@# A machine without the programs of a sandbox serves all but the IDE; what is missing has been printed.
	@$(BIN)/python -m services.ide.sandbox.system_files || true

.PHONY: validate
validate: worlds ## try every task family at 20 seeds, without a model
	@$(BIN)/python -m services validate --seeds 20

.PHONY: service-bugs
service-bugs: $(DEV) ## try every bug and every upgrade of the receivables service: as found, with every right way, with every wrong one
	@$(BIN)/python -m fixtures.codebase.service_bugs.try_bugs
	@$(BIN)/python -m fixtures.codebase.service_bugs.upgrades

.PHONY: courier-bugs
courier-bugs: $(DEV) wheels ## try every bug of the courier service: as found, with every right fix, with every wrong one
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q tests/courier/every_bug.py $(if $(BUG),-k $(BUG))

.PHONY: upstream
upstream: $(DEV) ## try every historical fix of public packages: as found, with the reference, in another layout, deleted
	@$(BIN)/python -m pytest -n 2 --dist worksteal -q tests/upstream/every_fix.py $(if $(FIX),-k $(FIX))

.PHONY: redteam
redteam: $(DEV) ## the whole list: every cheat on every family, every honest control; a table
	@DAYSHIFT_REDTEAM=full DAYSHIFT_REDTEAM_SEEDS=$(or $(SEEDS),2) DAYSHIFT_REDTEAM_SUITE_SEEDS=$(or $(SUITE_SEEDS),2) $(BIN)/python -m pytest -n 2 --dist worksteal -p tests.exploits.plugin \
		tests/exploits tests/desk_tasks/test_cheats.py tests/desk_tasks/test_controls.py tests/ide/test_grader.py tests/ide/test_families.py

.PHONY: escapes
escapes: $(DEV) ## every escape from the sandbox, with 200 requests/s served beside it
	@$(BIN)/python -m pytest tests/ide/test_isolation.py

.PHONY: image
image: ## build the image of all services
	@if docker compose version >/dev/null 2>&1; then docker compose build control; else docker-compose build control; fi

.PHONY: sandbox-image
sandbox-image: image ## build the image of sandboxes, for DAYSHIFT_SANDBOX=docker
	@docker build -q -t dayshift-sandbox - < services/ide/sandbox/Dockerfile

.PHONY: compose-test
compose-test: $(DEV) ## build and start the compose stack, exercise it, stop it
	@$(BIN)/python -m pytest tests/e2e -m compose --override-ini addopts="--strict-markers --import-mode=importlib -q"

.PHONY: client-test
client-test: worlds ## install the client for CLIENT_PYTHON=python3.13 (3.11 or later) and play an episode with it
	@.ci/client-test $(or $(CLIENT_PYTHON),$(PYTHON))

.PHONY: integrations
integrations: $(DEV) worlds ## run every trainer of docs/trainers, each installed into build/integrations; JUDGE=trl runs one, JUDGE=light the small ones
	@.ci/integrations $(JUDGE)

.PHONY: docs
docs: $(DEV) ## docs/ as a site in build/site, with a page for each product's API
	@mkdir -p build
	@# Without -q, which drops warnings before `strict` counts them.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build > build/docs.log 2>&1 || { cat build/docs.log; exit 1; }
	@echo build/site/index.html

.PHONY: lock
lock: $(DEV) ## write the locks anew from pyproject.toml and services/ide/wheels, valid for every supported Python
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --extra dev pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url -c requirements.lock pyproject.toml -o requirements-runtime.lock
	@for list in services/ide/wheels/*.in; do \
		$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c requirements.lock $$list -o $${list%.in}.txt; \
	done

.PHONY: clean
clean: ## remove everything that can be made again
	@rm -rf $(VENV) var build env_client/build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
