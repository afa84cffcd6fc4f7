# Every command installs what it needs first (`make setup`; the second time it does nothing).
# `make help` lists them.

SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin

# Values of a night; empty = the default (tonight, the experiment `operators`, Spark on this machine).
NIGHT ?=
EXPERIMENT ?=
SPARK_MASTER ?=
PYTEST_ARGS ?=
EXAMPLES ?= 10000
SLOW_EXAMPLES ?= 2000
CONTEST_ARGS ?=
PARTS ?=
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup nightly ui test test-slow lint format soak mutants conform contest bench bench-plot env clean

help:  ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z_-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  variables: NIGHT=2026-11-19 EXPERIMENT=smoke SPARK_MASTER='local[2]' PYTHON=python3.11"

setup:  ## install everything into this checkout (.venv, .tools, .state)
	@command -v $(PYTHON) >/dev/null || { echo "make setup: $(PYTHON) is missing; install Python 3.11 or 3.12, or name one: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) tools/setup.py

nightly: setup  ## run the DAG isr_nightly once: NIGHT=, EXPERIMENT= (operators, proposals, history, smoke), SPARK_MASTER=
	@$(BIN)/isr-pipeline night run $(if $(NIGHT),--night '$(NIGHT)') \
	  $(if $(EXPERIMENT),--experiment '$(EXPERIMENT)') $(if $(SPARK_MASTER),--spark-master '$(SPARK_MASTER)')

ui: setup  ## Airflow and MLflow in the browser; Ctrl-C stops both
	@exec $(BIN)/isr-pipeline ui

test: setup lint  ## lint, types, and all tests but the slow ones (PYTEST_ARGS= to choose)
	@$(BIN)/pytest --numprocesses 2 --dist loadfile $(PYTEST_ARGS)

test-slow: setup  ## the tests marked slow, and thousands of random scenarios (about an hour)
	@$(BIN)/pytest --numprocesses 2 -m slow $(PYTEST_ARGS)
	@ISR_PIPELINE_EXAMPLES=$(SLOW_EXAMPLES) $(BIN)/pytest --numprocesses 2 \
	  tests/simulation/test_invariants.py tests/simulation/test_cycles.py tests/worlds/test_reuse.py

lint: setup  ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: setup  ## let ruff rewrite the files
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

soak: setup  ## 10 000 random scenarios through the debug build of the kernel (EXAMPLES=)
	@ISR_PIPELINE_EXAMPLES=$(EXAMPLES) $(BIN)/pytest tests/simulation/test_invariants.py

mutants: setup  ## change one rule at a time: every change must fail some test
	@$(BIN)/python -m tests.mutation

conform: setup  ## compare the simulator with what real brokers did
	@$(BIN)/isr-pipeline conform

contest: setup  ## how many planted regressions are found, and by whom else (half an hour; CONTEST_ARGS=)
	@$(BIN)/python -m benchmarks.detection $(CONTEST_ARGS)

bench: setup  ## how fast, beside bounds and other ways; where a night's time goes (PARTS='kernel loops spark night' BENCH_ARGS=--quick)
	@$(BIN)/python -m benchmarks.speed $(if $(PARTS),--parts '$(PARTS)') $(BENCH_ARGS)

bench-plot: setup  ## the recorded speed over commits, a picture
	@$(BIN)/python -m benchmarks.speed.plot

env:  ## write .env with random secrets for docker-compose.yaml
	@$(PYTHON) tools/make_env.py

clean:  ## remove the environment and all state (asks nothing)
	rm -rf .venv .tools .state
