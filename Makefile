# Every command installs what it needs first (`make setup`; the second time it does nothing).
# `make help` lists them.

SHELL := /bin/bash
ifndef PYTHON
PYTHON := $(or $(shell for one in python3 python3.14 python3.13 python3.12 python3.11 python; do command -v $$one && break; done),python3)
endif
NO_PYTHON := make setup: $(PYTHON) is missing; install Python 3.11 to 3.14, or name one: make setup PYTHON=/path/to/python3.13
SET_UP := command -v "$(PYTHON)" >/dev/null || { echo "$(NO_PYTHON)" >&2; exit 1; }; "$(PYTHON)" -E -X utf8 tools/setup.py
BIN := .venv/bin
# Every program below starts in an environment of this project's own making.
RUN := $(BIN)/python -I -X utf8 isr_pipeline/night/surroundings.py

# Values of a night; empty = the default (tonight, the experiment `operators`, Spark on this machine).
NIGHT ?=
EXPERIMENT ?=
PANEL_SIZE ?=
SPARK_MASTER ?=
PYTEST_ARGS ?=
EXAMPLES ?= 10000
SLOW_EXAMPLES ?= 500
TOGETHER := --dist loadfile --durations 20 --durations-min 5
CONTEST_ARGS ?=
PARTS ?=
BENCH_ARGS ?=
AIRFLOW ?=
COMPOSE_TEST_ARGS ?=
BUILD_ARGS ?=
ENGINE ?= $(or $(shell command -v docker || command -v podman),docker)
NIGHTS ?= 30
SOAK_ARGS ?=
FINDING ?=

.DEFAULT_GOAL := help
.PHONY: help setup simulator finding nightly ui test tests compiled test-slow lint format arch-test soak mutants conform contest bench bench-plot reference docs env airflow-test compose-test soak-nights store-test cluster-test tutorials pictures answers release image clean

help:  ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z_-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  variables: NIGHT=2026-11-19 EXPERIMENT=smoke SPARK_MASTER='local[2]' PYTHON=python3.13"

setup:  ## install everything into this checkout (.venv, .tools, .state)
	@$(SET_UP)

# What is imported is compiled on the way, and kept.
finding: export PYTHONDONTWRITEBYTECODE :=
simulator:
	@$(SET_UP) --simulator

finding: simulator  ## what the lag limit gains and costs, simulated here in minutes (FINDING=stuck-read for the other)
	@$(RUN) $(BIN)/python -m benchmarks.findings $(FINDING)

nightly: setup  ## run an experiment's DAG once: NIGHT=, EXPERIMENT= (operators, load, proposals, history, demo-cluster, smoke), SCENARIOS=, PANEL_SIZE=, REPLACE=1, SPARK_MASTER=
	@$(RUN) $(BIN)/isr-pipeline night run $(if $(NIGHT),--night "$$NIGHT") \
	  $(if $(EXPERIMENT),--experiment "$$EXPERIMENT") \
	  $(if $(SCENARIOS),--scenarios "$$SCENARIOS") $(if $(REPLACE),--replace) \
	  $(if $(PANEL_SIZE),--panel-size "$$PANEL_SIZE") $(if $(SPARK_MASTER),--spark-master "$$SPARK_MASTER")

ui: setup  ## Airflow and MLflow in the browser; Ctrl-C stops both
	@exec $(RUN) $(BIN)/isr-pipeline ui

test: setup compiled  ## lint, types, and all tests but the slow ones (PYTEST_ARGS= to choose)
	@$(MAKE) --no-print-directory --jobs=2 lint tests

# Tests run make as a person does, who is not below another make.
tests: setup
	@unset MAKEFLAGS; $(RUN) $(BIN)/pytest --numprocesses 2 $(TOGETHER) $(PYTEST_ARGS)

compiled: setup
	@$(RUN) $(BIN)/python -m tests.compiled

# Three processes: nights and clusters wait for one another's programs half of the time.
test-slow: setup compiled  ## the tests marked slow, a third of the mutants, and more random scenarios
	@$(RUN) $(BIN)/pytest --numprocesses 3 $(TOGETHER) -m slow $(PYTEST_ARGS)
	@ISR_PIPELINE_EXAMPLES=$(SLOW_EXAMPLES) $(RUN) $(BIN)/pytest --numprocesses 2 \
	  tests/simulation/test_invariants.py tests/simulation/test_cycles.py tests/worlds/test_reuse.py

lint: setup  ## ruff, mypy, sizes and dead declarations, and the prose of README and docs
	@$(RUN) $(BIN)/ruff check .
	@$(RUN) $(BIN)/ruff format --check .
	@$(RUN) $(BIN)/python tools/lint.py
	@$(RUN) $(BIN)/mypy
	@$(RUN) $(BIN)/python tools/prose.py

format: setup  ## let ruff rewrite the files
	@$(RUN) $(BIN)/ruff check --fix --quiet . ; $(RUN) $(BIN)/ruff format .

arch-test: setup  ## the library's scenarios on ARM64, by qemu and Debian's packages: the same bytes? (ten minutes)
	@$(RUN) $(BIN)/python tools/arch_test.py

soak: setup  ## 10 000 random scenarios through the debug build of the kernel, and 10 000 damaged files (EXAMPLES=)
	@ISR_PIPELINE_EXAMPLES=$(EXAMPLES) $(RUN) $(BIN)/pytest tests/simulation/test_invariants.py tests/fuzz

mutants: setup  ## change one rule at a time: every change must fail some test
	@$(RUN) $(BIN)/python -m tests.mutation

conform: setup  ## compare the simulator with what real brokers did
	@$(RUN) $(BIN)/isr-pipeline conform

contest: setup  ## how many planted regressions are found, and by whom else (hours; CONTEST_ARGS=--quick is shorter, --record keeps it)
	@$(RUN) $(BIN)/python -m benchmarks.detection $(CONTEST_ARGS)

bench: setup  ## how fast, beside bounds and other ways; where a night's time goes (PARTS='kernel scale spark night'; BENCH_ARGS=--quick, or --record to keep it)
	@$(RUN) $(BIN)/python -m benchmarks.speed $(if $(PARTS),--parts '$(PARTS)') $(BENCH_ARGS)

bench-plot: setup  ## the recorded speed over commits, a picture
	@$(RUN) $(BIN)/python -m benchmarks.speed.plot

pictures: setup  ## docs/img/night.png and w3b.png and the night that the docs print, anew: two nights, a trace, Chromium (some minutes)
	@$(RUN) $(BIN)/python -m tools.pictures

soak-nights: setup  ## NIGHTS= (30) nights through make ui with restarts and kills: is each there once, do memory and stores stay (half an hour)
	@$(RUN) $(BIN)/python -m tools.soak_nights --nights "$(NIGHTS)" $(SOAK_ARGS)

answers: setup  ## a night of operators, proposals and history each; `python -m tools.answers --show NAME` prints what it answered (a quarter of an hour)
	@$(RUN) $(BIN)/python -m tools.answers

reference: setup  ## write the tables of docs/*-file.md, keys.md, checks.md, command-line.md and config/schemas from the models
	@$(RUN) $(BIN)/python -m tools.reference --write

docs:  ## the documentation as a site that is searched without a network, .state/site/index.html
	@"$(PYTHON)" -E -X utf8 tools/docs.py

airflow-test: setup  ## somebody else's Airflow and Spark: a night, its acceptance, a backfill (ten minutes; AIRFLOW=3.2 for that release)
	@ISR_PIPELINE_FOREIGN_AIRFLOW="$(AIRFLOW)" $(RUN) $(BIN)/pytest -m slow tests/end_to_end/test_foreign_airflow.py

store-test: setup  ## nights in an object store that fails, forgets or refuses, killed, two at once (a quarter of an hour)
	@$(RUN) $(BIN)/pytest -m rehearsal tests/end_to_end/test_object_storage.py

cluster-test: setup  ## a Spark cluster that loses a worker; each service of docker-compose.yaml, without containers (a quarter of an hour)
	@$(RUN) $(BIN)/pytest -m rehearsal tests/end_to_end/test_cluster.py tests/end_to_end/test_services.py

tutorials: setup  ## docs/tutorials, typed in a fresh clone each: what was committed ends and prints as the pages say (a quarter of an hour)
	@unset MAKEFLAGS; $(RUN) $(BIN)/pytest -m rehearsal --durations 0 --durations-min 5 tests/end_to_end/test_tutorials.py

release: setup  ## dist/: wheel, documentation, constraints, SBOM (CycloneDX) and SHA256SUMS
	@$(RUN) $(BIN)/python tools/release.py

image:  ## the container image (ENGINE=podman; BUILD_ARGS='--network host' behind a proxy)
	@$(ENGINE) build --tag "isr-pipeline:$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)" $(BUILD_ARGS) .

env:  ## write .env with random secrets for docker-compose.yaml
	@"$(PYTHON)" -E -X utf8 tools/make_env.py

compose-test: setup  ## rehearse docker-compose.yaml: nights, killed workers, down and up (docker or podman; COMPOSE_TEST_ARGS='--no-build --keep')
	@$(RUN) $(BIN)/python -m tools.compose_test $(COMPOSE_TEST_ARGS)

clean:  ## remove the environment and all state (asks nothing)
	rm -rf .venv .tools .state
