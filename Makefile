# Everything starts here, also on a bare Debian 12 with Python 3.11 and make: each target makes .venv first, if need be.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# What fails fast comes first, and the tests' summary last, also under make -j.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Two at a time: enough to hide waiting, and small machines stay honest. Tests marked serial still run alone.
WORKERS ?= 2
TESTS ?= tests
PYTEST_FLAGS ?=
# Seconds that `make test` looks for bodies which the WhatsApp parser cannot bear.
FUZZ_SECONDS ?= $(if $(CI),60,10)
# What `make test` asks of `procession selftest`, one run a word, commas for blanks: simulate,--seeds,50
SELFTEST ?=

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "HYPOTHESIS_PROFILE=ci|nightly   longer properties        TESTS=tests/unit     a part of the tests"
	@echo "PYTHON=python3.12               for a new .venv          WORKERS=4            tests at a time"

.PHONY: demo
demo: runtime ## see it work: a simulated WhatsApp, four shops, a kill -9, a live view
	@$(BIN)/procession demo

.PHONY: test
test: static selftest fuzz pytest ## everything: format, lint, types, layers, selftest, fuzzing, all tests

.PHONY: check
check: static ## before each commit, about two minutes: static checks, tidy, unit, conformance, 200 seeds
	@$(PYTEST) -q -n $(WORKERS) tests/tidy $(wildcard tests/unit tests/conformance) $(PYTEST_FLAGS)
	@$(BIN)/procession selftest simulate --seeds 200

.PHONY: static
static: format-check lint types layers

.PHONY: format
format: dev ## put the source into its one format
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format --quiet .

.PHONY: format-check
format-check: dev
	@echo "· format"
	@$(BIN)/ruff format --quiet --check . || { $(BIN)/ruff format --check .; echo "make format puts it right"; exit 1; }

.PHONY: lint
lint: dev ## ruff
	@echo "· lint"
	@$(BIN)/ruff check --quiet .

.PHONY: types
types: dev ## mypy everywhere, basedpyright on core and ports, both strict
	@echo "· types"
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/basedpyright --level error

.PHONY: layers
layers: dev ## who may import whom
	@echo "· layers"
	@said=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$said"; exit 1; }

.PHONY: pytest
pytest: dev ## the tests alone
	@echo "· tests"
	@$(PYTEST) -q -n $(WORKERS) $(TESTS) $(PYTEST_FLAGS)

.PHONY: selftest
selftest: dev
	@for run in $(SELFTEST); do echo "· selftest $${run//,/ }"; $(BIN)/procession selftest $${run//,/ }; done

.PHONY: fuzz
fuzz: dev ## bodies that nobody has thought of, for the WhatsApp parser (FUZZ_SECONDS=600: longer)
	@echo "· fuzz for $(FUZZ_SECONDS) s"
	@said=$$($(BIN)/python -m tests.fuzz.whatsapp_parse --seconds $(FUZZ_SECONDS) 2>&1) || { echo "$$said"; exit 1; }

.PHONY: lock
lock: dev ## remake requirements/*.lock from pyproject.toml (LOCK_FLAGS=--upgrade: newer versions)
	@requirements/lock.sh $(LOCK_FLAGS)

.PHONY: dev runtime
dev runtime:
	@requirements/install.sh $@

.PHONY: clean
clean: ## remove what was made, .venv too
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
