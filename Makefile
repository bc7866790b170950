# Hiroba. `make` lists the targets; each installs what it needs first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Arguments for the program that a target starts: make demo ARGS="--listen 127.0.0.1:9000"
ARGS ?=
# Seconds each fuzz target runs, and kills `make crash` deals out on each database.
FUZZ_SECONDS ?= 60
CRASH_KILLS ?= 50

SOURCES := Package.swift Sources Tests Examples Fuzz
PYTHON := .venv/bin/python
# Line tables are kept, the rest of the debug information is not: nearly half of the build's time.
DEBUG := -Xswiftc -gnone
# With Swift's libraries inside: the program runs where no Swift is installed, and a little faster.
RELEASE := -c release --static-swift-stdlib
# All tests at once would have each wait for the others, and their deadlines with them.
WIDTH := --experimental-maximum-parallelization-width 4

say = @printf '\n== %s\n' "$(1)"

# The programs that tests start are taken plain: decoders run in a limited address space, where the sanitizers' shadow memory
# does not fit. What is still in use when the tests end is no leak. The runtime's own backtraces hang under a sanitizer.
define sanitized
	@printf '\n== Swift tests under the %s sanitizer\n' $(1)
	swift build --build-tests --sanitize=$(1) --scratch-path .build-$(1) $(DEBUG)
	cp --remove-destination .build/debug/hiroba-thumbnailer .build/debug/marvel .build-$(1)/debug/
	ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no \
		swift test --skip-build --sanitize=$(1) --scratch-path .build-$(1) $(DEBUG) $(WIDTH)
endef

.PHONY: help demo marvel test build release format format-check docs bench bench-push fuzz sanitize crash clean \
	dependencies test-dependencies test-build test-swift test-running

help: ## Lists the targets.
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: release ## Builds Hiroba, starts it with an example community and prints the one address to open.
	$(call say,Starting the example community: ends with Control-C)
	exec .build/release/hiroba demo $(ARGS)

marvel: dependencies ## Runs the typed client's example against its small local server.
	$(call say,Building the example)
	swift build $(DEBUG) --product marvel-server
	swift build $(DEBUG) --product marvel
	$(call say,Twenty lines against a foreign API)
	.build/debug/marvel-server & server=$$!; trap "kill $$server" EXIT; \
	for try in {1..50}; do (: </dev/tcp/127.0.0.1/8091) 2>/dev/null && break; sleep 0.1; done; \
	.build/debug/marvel

test: test-build test-swift test-running ## Runs every test: units, HTTP conformance, the real program with curl and a browser.
	$(call say,All tests passed)

build: dependencies ## Builds everything for debugging.
	$(call say,Building)
	swift build $(DEBUG)

release: dependencies ## Builds hiroba and hiroba-thumbnailer to run, and to copy together to other machines, in .build/release.
	$(call say,Building for release: some minutes the first time)
	swift build $(RELEASE) --product hiroba-thumbnailer
	swift build $(RELEASE) --product hiroba

format: ## Lays out all Swift files as .swift-format says.
	swift format --in-place --parallel --recursive $(SOURCES)

format-check: ## Tells which Swift files are not laid out so, and changes none.
	swift format lint --strict --parallel --recursive $(SOURCES)

docs: dependencies ## Writes the reference of the public libraries to .build/docs.
	scripts/documentation

bench: release ## Measures CPU per request and per push, memory and start beside nginx, PocketBase and others.
	@scripts/install-dependencies --bench
	@scripts/python-environment Bench/requirements.txt .venv-bench
	.venv-bench/bin/python Bench/bench.py --hiroba .build/release/hiroba --pocketbase .venv-bench/bin/pocketbase $(ARGS)
	@$(MAKE) --no-print-directory bench-push ARGS=

bench-push: dependencies ## Measures only CPU per push of the sender, beside a C program and h2load.
	@scripts/install-dependencies --bench
	swift build $(RELEASE) --product apns-bench
	python3 Bench/push.py --sender .build/release/apns-bench $(ARGS)

fuzz: dependencies ## Feeds the HTTP/1.1 reader and JSON with random input, FUZZ_SECONDS (60) each.
	FUZZ_SECONDS=$(FUZZ_SECONDS) Fuzz/run

sanitize: test-build ## Runs the Swift tests under the address and the thread sanitizer: slow.
	$(call sanitized,address)
	$(call sanitized,thread)

crash: test-build ## Kills the server CRASH_KILLS (50) times under load, on both databases, and looks for lost writes.
	$(call say,Killing the server $(CRASH_KILLS) times on each database)
	HIROBA_TEST_KILLS=$(CRASH_KILLS) $(PYTHON) -m pytest -s Tests/Crash
	$(call say,Cutting the power at every fsync)
	DURABILITY_POINTS=all $(PYTHON) -m pytest Tests/Durability

clean: ## Deletes what was built, and the Python environment.
	rm -rf .build .build-address .build-thread .venv .venv-bench .bench

dependencies:
	@scripts/install-dependencies

test-dependencies:
	@scripts/install-dependencies --tests
	@scripts/python-environment

test-build: test-dependencies
	$(call say,Building the program and the Swift tests)
	swift build --build-tests $(DEBUG)

test-swift: test-build
	$(call say,Swift tests)
	swift test --skip-build $(DEBUG) $(WIDTH)

test-running: test-swift
	$(call say,Tests of the running program)
	$(PYTHON) -m pytest Tests/Durability Tests/Clients Tests/EndToEnd Tests/Browser Tests/Crash
