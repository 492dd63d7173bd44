# `make` prints what there is. Every target sets the machine up first (scripts/setup.sh); that is quiet and
# quick when done before.

SHELL := /bin/bash
SETUP := scripts/setup.sh
# The workspace has crates that are built by Verilator; tests also simulate and prove the RTL.
SETUP_RUN := scripts/setup.sh --verilator
SETUP_TEST := scripts/setup.sh --rtl --guest --browser
SETUP_PYTHON := scripts/setup.sh --verilator --python
SETUP_LINT := scripts/setup.sh --bare-metal --rtl
# Benches boot a guest.
SETUP_BENCH := scripts/setup.sh --guest
SETUP_COUNT := scripts/setup.sh --valgrind
SETUP_BOOK := scripts/setup.sh --book
SETUP_LIGHTNVM := scripts/setup.sh --rtl --lightnvm

# What `aster` is told by `make run`.
ARGS ?= demo
# In CI the lock file is part of the commit: a stale one is a failure, not an edit.
LOCKED := $(if $(CI),--locked)

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all bench lint doc book

help: ## Print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 18

setup: ## Install what is missing: C linker, pinned Rust, bare-metal target, RTL tools
	@$(SETUP_LINT)

run: ## Build, then run the demo; another command by ARGS="run ideal --job my.fio"
	@$(SETUP_RUN) cargo run $(LOCKED) --release --package aster-cli --features rtl --bin aster -- $(ARGS)

# The same random cases in every run, here and in CI; `test-all` and plain cargo draw new ones.
test: export PROPTEST_RNG_SEED ?= 1
test: lint ## Lint, then all unit, property and whole-device tests, and Python's (minutes)
	@$(SETUP_TEST) cargo test $(LOCKED) --workspace --features aster-cli/rtl
	@LOCKED=$(LOCKED) $(SETUP_PYTHON) scripts/python.sh test

test-all: test doc ## Everything in test, documentation, many more cases, optimised build
	@ASTER_LONG=1 $(SETUP_TEST) cargo test $(LOCKED) --profile optimised \
		--package aster-ftl --package aster-tests --package aster-cli --package aster-lab
	@ASTER_LONG=1 $(SETUP_TEST) cargo test $(LOCKED) --profile optimised --package aster-rtl-cosim
	@ASTER_LONG=1 $(SETUP_TEST) cargo test $(LOCKED) --package aster-rtl-bench
	@ASTER_LIGHTNVM=1 $(SETUP_LIGHTNVM) cargo test $(LOCKED) --profile optimised \
		--package aster-tests --test guest -- lightnvm
	@$(SETUP_PYTHON) scripts/python.sh wheel
	@$(SETUP_COUNT) cargo run $(LOCKED) --profile optimised --package aster-benches --bin events-cost
	@$(SETUP_COUNT) cargo run $(LOCKED) --profile optimised --package aster-benches --bin room-costs

bench: ## Measure codecs, executor, requests and flash operations per CPU second, and live drives
	@$(SETUP) cargo bench $(LOCKED) --package aster-codec
	@$(SETUP_BENCH) cargo run $(LOCKED) --release --package aster-benches --bin bench

lint: ## Format, clippy, who may use whom, no_std for bare metal
	@$(SETUP_LINT) cargo fmt --all --check
	@$(SETUP_LINT) cargo clippy $(LOCKED) --workspace --features aster-cli/rtl --all-targets -- -D warnings
	@$(SETUP) cargo xtask check
	@$(SETUP_LINT) cargo xtask no-std

doc: ## Build the API documentation; warnings are errors
	@RUSTDOCFLAGS="-D warnings" $(SETUP_RUN) cargo doc $(LOCKED) --workspace --no-deps

book: ## Build the book of docs/ into target/book
	@$(SETUP_BOOK) cargo xtask book
