# Builds, tests and packages rdmactl. `make help` says what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := build

# A cargo that rustup put there is found without a new login.
export PATH := $(PATH):$(HOME)/.cargo/bin

CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(TARGET_DIR)/release/rdmactl
DOC := $(DESTDIR)$(PREFIX)/share/doc/rdmactl
# The portable binary, as packaging/release leaves it.
NODE_BINARY := $(abspath $(TARGET_DIR))/portable/x86_64/rdmactl
# Two tests run for each processor, because many tests wait for processes and time limits.
TEST_THREADS = $(or $(RUST_TEST_THREADS),$(shell echo $$((2 * $$(nproc)))))
# Binaries of other toolchains for `make soak`; see packaging/soak.
SOAK_BINARIES ?=

.PHONY: help setup build release lint test test-full test-full-steps lab-test-vm demo soak fuzz bench \
	man-pages install clean-room clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## installs what is missing to build and test (Debian 12 or newer)
	@packaging/setup

build: ## target/release/rdmactl for this machine
	$(CARGO) build --release --locked

release: ## portable binaries (glibc 2.17 or newer) under target/portable/
	@packaging/release

lint: ## formatting, clippy, the text of comments and messages, and links
	@packaging/prose
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --test lab --test lab_full --test lab_chaos -- -D warnings
	RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' $(CARGO) doc --locked --no-deps --lib

test: setup ## installs what it needs; lint, and everything but the long tests of the lab itself
	packaging/test-builds
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --locked
	lab/test quick
	RDMACTL_NODE_BINARY=$(NODE_BINARY) packaging/lab-tests lab

test-full: ## make test, the long tests and those of the lab, with the log in target/test-full.log
	@packaging/log $(TARGET_DIR)/test-full.log $(MAKE) --no-print-directory test-full-steps

test-full-steps: lab-test-vm test
	RDMACTL_ABSENCE_CHANGES=1000 $(CARGO) test --locked --test absence
	RDMACTL_HOSTILE_AGENTS=10000 $(CARGO) test --locked --test hostile_agents
	RDMACTL_NODE_BINARY=$(NODE_BINARY) packaging/lab-tests lab_full
	RDMACTL_NODE_BINARY=$(NODE_BINARY) packaging/lab-tests lab_chaos --nocapture

lab-test-vm:
	lab/test vm

demo: setup ## four RDMA nodes without hardware: look, ping, break, ping again
	@packaging/release x86_64
	@packaging/demo $(NODE_BINARY)

soak: setup ## 300 runs on healthy labs, with the log in target/soak.log
	@packaging/release x86_64
	@packaging/soak $(NODE_BINARY) $(SOAK_BINARIES)

fuzz: ## runs each fuzz target up to 15 CPU minutes in FUZZING.md's table
	@fuzz/run

bench: ## measures what is released, against the tools it replaces; see packaging/bench
	@packaging/release --size x86_64
	@packaging/bench $(NODE_BINARY)

man-pages: build ## writes man/ anew from the command line's definition
	$(BINARY) man man

install: ## into $(DESTDIR)$(PREFIX); builds first if nothing is built
	@test -x $(BINARY) || $(MAKE) --no-print-directory build
	install -D -m 0755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/rdmactl
	install -D -m 0644 completions/rdmactl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/rdmactl
	install -D -m 0644 completions/_rdmactl $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_rdmactl
	install -D -m 0644 completions/rdmactl.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/rdmactl.fish
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 0644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -d $(DOC)/docs/pictures $(DOC)/lab
	install -m 0644 README.md SECURITY.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT NOTICE $(DOC)/
	install -m 0644 docs/*.md docs/fields.tsv docs/errors.tsv $(DOC)/docs/
	install -m 0644 docs/pictures/*.svg $(DOC)/docs/pictures/
	install -m 0644 lab/README.md $(DOC)/lab/

clean-room: ## make demo and make test in a fresh Debian root (CLEAN_ROOM_RELEASE=trixie)
	@packaging/clean-room

clean: ## forgets all that was built
	$(CARGO) clean
