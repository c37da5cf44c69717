# tidegate: one core, six languages. `make help` says what can be done here.
#
# Everything is built inside this folder: target/ (cargo), build/ (what we assemble from it), .venv/, node/node_modules/,
# java/target/. Only `make install` writes elsewhere. LANGS narrows any target: make test LANGS="rust c".

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

LANGS   ?= rust c cpp python node java
PYTHON  ?= python3
CC      ?= cc
CXX     ?= c++
PREFIX  ?= /usr/local
QUICK   ?=
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
MSRV    := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# One target folder and one interpreter for every cargo call: another PYO3_PYTHON would compile pyo3 again.
VENV := .venv
export CARGO_TARGET_DIR := $(CURDIR)/target
export PYO3_PYTHON := $(CURDIR)/$(VENV)/bin/python
export PYO3_BUILD_EXTENSION_MODULE := 1
export LANGS PYTHON CC CXX QUICK

has = $(filter $(1),$(LANGS))
sources = $(shell find $(1) -type f -not -path '*/node_modules/*' -not -path 'java/target/*' -not -path 'java/frameworks/*' -not -name '*.node' 2>/dev/null)
MVN := mvn --batch-mode --no-transfer-progress -Dstyle.color=never -Dmaven.repo.local=$(CURDIR)/build/m2
# Even without colour Maven ends by resetting it.
export MAVEN_OPTS := $(MAVEN_OPTS) -Djansi.noreset=true
STAGES := MAKE="$(MAKE)" scripts/stages.sh

BUILD_STAGES := build-native $(addprefix build-,$(call has,python node java))
PACKAGES := $(if $(call has,rust),test_rust) $(if $(call has,c cpp),test_c) $(if $(call has,python),test_pip) $(if $(call has,node),test_npm)
PACKAGES += $(if $(call has,java),test_maven)
# Their budgets are of this kind of machine.
INSTRUCTIONS := $(if $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m)),$(call has,c python node))
TEST_STAGES := $(call has,rust) $(if $(call has,c cpp),c) $(call has,python node java) $(if $(INSTRUCTIONS),instructions)
TEST_STAGES += conformance readme $(if $(call has,python),scenarios) $(if $(call has,python node java),moving) $(if $(PACKAGES),packaging) repo
# Where rustup has the oldest Rust, which it would else download.
TEST_MSRV := $(if $(and $(call has,rust),$(shell rustup toolchain list 2>/dev/null | grep '^$(MSRV)\.0')),msrv)

# ---------------------------------------------------------------------------------------------------- what to type

.PHONY: help build demo test release-check bench pictures fmt lint header schema public-api msrv install uninstall clean
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
	@echo
	@echo 'LANGS="$(LANGS)" narrows every target; PYTHON=python3.12 chooses the interpreter; QUICK=1 shortens make bench.'

build: ## build the libraries, the wheel, the Node addon and the jar
	@scripts/toolchain.sh require $(LANGS)
	@$(STAGES) build $(BUILD_STAGES)

demo: ## guard a real server in each language, fire real requests at it, show one table
	@langs=$$(scripts/toolchain.sh available $(LANGS)); \
	test -n "$$langs" || { echo 'demo: no language can be built here; what is missing is named above' >&2; exit 1; }; \
	$(MAKE) --no-print-directory demo-available LANGS="$$langs" ASKED="$(LANGS)"

test: ## run every test, end with a table of stages and seconds
	@scripts/toolchain.sh require $(LANGS)
	@$(if $(INSTRUCTIONS),scripts/toolchain.sh require-valgrind)
	@$(STAGES) test $(BUILD_STAGES) $(addprefix test-,$(TEST_STAGES)) $(TEST_MSRV)

release-check: ## what a release needs: new random scripts, each package installs into a fresh folder, one version is everywhere
	@scripts/toolchain.sh require $(LANGS)
	@SEED=$$(date +%s) $(STAGES) release-check $(BUILD_STAGES) test-conformance test-packaging test-repo msrv
	@echo 'Not run: other platforms than this one, and free-threaded CPython; see .github/workflows/release.yml.'

bench: build build/pictures/.ready ## measure against the peers of each language, side by side
	$(PYTHON) bench/run.py

# Until it is interrupted.
PORT := 8000
.PHONY: serve-python serve-node
serve-python: build-python ## an example server in Python behind the file RULES, on PORT (8000)
	$(VENV)/bin/python python/examples/server.py $(PORT) $(RULES)
serve-node: build-node ## the same in Node
	cd node && node examples/server.mjs $(PORT) $(abspath $(RULES))

pictures: build-python build/pictures/.ready ## measure and draw the pictures of docs/ anew
	PYTHONPATH=build/pictures $(VENV)/bin/python docs/pictures/keyed.py
	PYTHONPATH=build/pictures $(VENV)/bin/python docs/pictures/admitted.py

fmt: $(VENV)/.ready ## format all sources
	cargo fmt --all
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .
	$(if $(call has,node),npm --prefix node run fmt)

lint: $(addprefix lint-,$(call has,rust python node)) ## format check, clippy, ruff, stubtest, tsc

header: ## write include/tidegate.h anew from the Rust sources, and docs/c-api.md from it
	UPDATE_HEADER=1 cargo test -p tidegate-ffi --test header
	$(PYTHON) scripts/c_manual.py > docs/c-api.md

schema: ## write docs/rules.schema.json anew from the Rust sources
	UPDATE_SCHEMA=1 cargo test -p tidegate --test gate_schema

public-api: ## write core/public-api.txt anew from the pages of `cargo doc`
	rm -rf target/doc/tidegate
	cargo doc --no-deps -p tidegate
	$(PYTHON) scripts/public_api.py target/doc/tidegate > core/public-api.txt

msrv: ## check that the oldest Rust that is promised builds the crate and the C library (rustup gets it)
	cargo +$(MSRV).0 check --locked -p tidegate -p tidegate-ffi --target-dir target/msrv

install: override LANGS := c
install: build-native ## install the C library, its headers and its packages for pkg-config and CMake under PREFIX (DESTDIR is honoured)
	@scripts/install.sh install "$(PREFIX)" "$(DESTDIR)" "$(VERSION)"

uninstall: ## remove what `make install` with the same PREFIX and DESTDIR installed
	@scripts/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

clean: ## remove everything that was built
	rm -rf target build .venv .ruff_cache .mypy_cache .pytest_cache node/node_modules node/*.node java/target java/frameworks/*/target bench/java/target bench/node/node_modules
	find . -name __pycache__ -prune -exec rm -rf {} +

# ----------------------------------------------------------------------------------------------- tools inside the tree

$(VENV)/.ready: python/requirements-dev.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Beside the venv and not in it, so that the tests of the project never see what only pictures need.
build/pictures/.ready: docs/pictures/requirements.txt $(VENV)/.ready
	rm -rf $(@D)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --target $(@D) -r $<
	@touch $@

# What a machine may lack is had from pip, and looked for after its own.
build/packaging/tools/.ready: tests/packaging/requirements.txt
	@mkdir -p $(@D)
	{ command -v cmake && command -v pkg-config; } > /dev/null || \
		{ $(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<; }
	@touch $@

# Who docs/moving is about. Each finds tidegate as its users would: in Python in the venv, in Node among the packages.
build/moving/python/.ready: tests/moving/requirements.txt $(VENV)/.ready
	rm -rf $(@D)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(@D) -r $<
	@touch $@

build/moving/node/.ready: tests/moving/package.json tests/moving/package-lock.json
	rm -rf $(@D)
	mkdir -p $(@D)
	cp $^ $(@D)
	cd $(@D) && npm ci --no-audit --no-fund --no-update-notifier
	ln -s ../../../../node $(@D)/node_modules/tidegate
	@touch $@

node/node_modules/.ready: node/package.json node/package-lock.json
	cd node && npm ci --no-audit --no-fund --no-update-notifier
	@mkdir -p $(@D)
	@touch $@

# --------------------------------------------------------------------------------------------------------------- build

.PHONY: build-native build-python build-node build-java build-test-panic cargo-release
build-native: cargo-release build/lib/libtidegate.so.1 build/lib/libtidegate.a
build-python: $(VENV)/.tidegate
build-node: cargo-release node/node_modules/.ready
	cd node && node scripts/build.mjs
build-java: java/target/.ready

# Cargo knows best what is out of date, so it is always asked; what is made from its files looks at their times.
# The Python crate is left to maturin, whose own settings for pyo3 would make cargo compile pyo3 a second time.
# One call for each: together cargo would choose other features of what they depend on, and `make install`, which needs no more
# than the first, would compile nearly all of it anew.
cargo-release:
	cargo build --release -p tidegate-ffi
	$(if $(call has,node),cargo build --release -p tidegate-node)

target/release/libtidegate.so target/release/libtidegate.a: cargo-release
	@:

build/lib/libtidegate.so.1: target/release/libtidegate.so
	@mkdir -p $(@D)
	cp $< $@
	ln -sf $(@F) $(@D)/libtidegate.so

build/lib/libtidegate.a: target/release/libtidegate.a
	@mkdir -p $(@D)
	cp $< $@

$(VENV)/.tidegate: $(VENV)/.ready Cargo.toml Cargo.lock $(call sources,core/src core/Cargo.toml python/src python/python python/Cargo.toml python/pyproject.toml)
	rm -rf build/wheels
	$(VENV)/bin/maturin build --release -m python/Cargo.toml -o build/wheels
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall build/wheels/*.whl
	@touch $@

java/target/.ready: target/release/libtidegate.a include/tidegate.h $(call sources,java)
	java/build-native.sh
	$(MVN) -q -f java/pom.xml package -DskipTests
	@touch $@

# The same libraries with a door to panic through, for the tests that show that no panic crosses a border.
PANIC := build/test-panic
PANIC_CRATES := tidegate-ffi $(addprefix tidegate-,$(call has,python node))
build-test-panic: $(if $(call has,python),$(VENV)/.ready)
	cargo build $(addprefix -p ,$(PANIC_CRATES)) $(foreach crate,$(PANIC_CRATES),--features $(crate)/test-panic)
	@mkdir -p $(PANIC)/lib
	@cp target/debug/libtidegate.so $(PANIC)/lib/libtidegate.so.1
	@cp target/debug/libtidegate.a $(PANIC)/lib/
	@ln -sf libtidegate.so.1 $(PANIC)/lib/libtidegate.so
ifneq ($(call has,python),)
	@rm -rf $(PANIC)/python
	@mkdir -p $(PANIC)/python
	@cp -r python/python/tidegate $(PANIC)/python/
	@cp target/debug/lib_tidegate.so $(PANIC)/python/tidegate/_tidegate.abi3.so
endif
ifneq ($(call has,node),)
	@mkdir -p $(PANIC)/node
	@cp target/debug/libtidegate_node.so $(PANIC)/node/tidegate.node
endif
ifneq ($(call has,java),)
	@mkdir -p $(PANIC)/java
	java/build-native.sh $(PANIC)/lib/libtidegate.a $(PANIC)/java/libtidegate_jni.so
endif

# ---------------------------------------------------------------------------------------------------------------- test

.PHONY: lint-rust lint-python lint-node
CRATES := -p tidegate -p tidegate-ffi $(addprefix -p tidegate-,$(call has,python node))
lint-rust: $(if $(call has,python),$(VENV)/.ready)
	cargo fmt $(CRATES) --check
	cargo fmt --manifest-path bench/rust/Cargo.toml --check
	cargo clippy $(CRATES) --all-targets -- -D warnings

lint-python: build-python
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/stubtest tidegate

lint-node: node/node_modules/.ready
	npm --prefix node run lint
	node/node_modules/.bin/biome ci --config-path node --error-on-warnings bench/node tests/moving

.PHONY: test-rust test-c test-python test-node test-java test-instructions test-conformance test-readme test-scenarios test-moving test-packaging test-repo
# What is optimized takes long to compile, so the gate is left out there: it has no part in those tests.
test-rust: lint-rust
	cargo test --no-fail-fast -p tidegate -p tidegate-ffi
	cargo test --release --no-default-features -p tidegate --test one_shot_keys
	RUSTFLAGS='--cfg loom' cargo test -p tidegate --release --no-default-features --test loom --test loom_table --test loom_wait \
		--target-dir target/loom

test-c: build-native build-test-panic
	tests/c/run.sh build

test-python: lint-python build-test-panic
	$(VENV)/bin/pytest -c python/pyproject.toml python/tests

test-node: build-node lint-node build-test-panic
	cd node && npm test

# Javadoc that was made before is left as it is while only its options are looked at: a stale page would pass.
test-java: build-java build-test-panic
	rm -f java/target/maven-javadoc-plugin-stale-data.txt
	$(MVN) -f java/pom.xml install
	$(MVN) -q -f java/frameworks/pom.xml verify

test-instructions: $(if $(call has,c),build-native) $(if $(call has,python),build-python) $(if $(call has,node),build-node)
	$(PYTHON) -m unittest discover -s tests/instructions
	$(PYTHON) tests/instructions/run.py $(INSTRUCTIONS)

DRIVER_rust   := target/debug/examples/conformance
DRIVER_c      := build/c/conformance_c
DRIVER_cpp    := build/c/conformance_cpp
DRIVER_python := $(VENV)/bin/python python/tests/conformance_driver.py
DRIVER_node   := node node/test/conformance-driver.cjs
DRIVER_java   := java -cp java/target/classes:java/target/test-classes io.github.tidegate.ConformanceDriver
# Who answers the vectors of the gate.
GATE_DRIVER_rust   := target/debug/examples/gate_conformance
GATE_DRIVER_c      := build/c/gate_conformance_c
GATE_DRIVER_cpp    := build/c/gate_conformance_cpp
GATE_DRIVER_python := $(VENV)/bin/python python/tests/gate_driver.py
GATE_DRIVER_node   := node node/test/gate-driver.cjs
GATE_DRIVER_java   := java -cp java/target/classes:java/target/test-classes io.github.tidegate.GateDriver
# Rust's is the one that checks for overflow; that is also what `test-rust` has compiled most of.
# The same random scripts each time, so that what fails is the change; a release is tested with others.
SEED ?= 1
test-conformance: $(BUILD_STAGES)
	$(if $(call has,rust),cargo build -p tidegate -p tidegate-ffi --examples)
	$(PYTHON) -m unittest discover -s tests/conformance
	$(PYTHON) tests/conformance/run.py --seed $(SEED) $(foreach lang,$(LANGS),--driver '$(lang)=$(DRIVER_$(lang))')
	$(PYTHON) tests/conformance/gate.py $(foreach lang,$(LANGS),--driver '$(lang)=$(GATE_DRIVER_$(lang))')

test-readme: $(BUILD_STAGES)
	$(PYTHON) tests/readme/run.py $(LANGS)

# With the servers and waiting threads of Python's own tests.
test-scenarios: build-python $(if $(call has,node),build-node)
	$(VENV)/bin/pytest -c python/pyproject.toml -o pythonpath=tests tests/scenarios \
		$(if $(call has,node),,--ignore tests/scenarios/test_url_rules_node.py)

# Against the libraries themselves; that of nginx against what its documentation says.
test-moving: $(addprefix build-,$(call has,python node java)) $(addsuffix /.ready,$(addprefix build/moving/,$(call has,python node)))
ifneq ($(call has,python),)
	$(VENV)/bin/pytest -c python/pyproject.toml -o pythonpath='tests ../tests/scenarios ../build/moving/python' tests/moving
endif
ifneq ($(call has,node),)
	node --test --test-reporter=spec tests/moving/*.test.mjs
endif
ifneq ($(call has,java),)
	$(MVN) -q org.apache.maven.plugins:maven-install-plugin:3.2.0:install-file -Dfile=java/target/tidegate-$(VERSION).jar -DpomFile=java/pom.xml
	$(MVN) -q -Dtidegate.version=$(VERSION) -f tests/moving/java/pom.xml test
endif

# Each installed into a fresh folder, from what was built before.
test-packaging: $(BUILD_STAGES) $(if $(call has,c cpp),build/packaging/tools/.ready)
	cd tests/packaging && PATH="$$PATH:$(CURDIR)/build/packaging/tools/bin" $(PYTHON) -m unittest $(PACKAGES)

test-repo:
	$(PYTHON) -m unittest discover -s tests/repo
	$(PYTHON) -m unittest discover -s bench/tests

# ---------------------------------------------------------------------------------------------------------------- demo

.PHONY: demo-available build-demo examples
demo-available:
	@$(STAGES) demo $(BUILD_STAGES) build-demo
	@$(PYTHON) demo/run.py --skipped "$(filter-out $(LANGS),$(ASKED))" $(LANGS)

build-demo: $(if $(call has,rust),examples) $(addprefix build/demo/demo_,$(call has,c cpp))

examples:
	cargo build --release -p tidegate --examples

DEMO_FLAGS := -O2 -Wall -Wextra -Wpedantic -Werror -pthread -Iinclude -Lbuild/lib -Wl,-rpath,'$$ORIGIN/../lib'
build/demo/demo_c: demo/demo.c include/tidegate.h build/lib/libtidegate.so.1
	@mkdir -p $(@D)
	$(CC) -std=c11 $(DEMO_FLAGS) $< -ltidegate -o $@

build/demo/demo_cpp: demo/demo.cpp include/tidegate.hpp include/tidegate.h build/lib/libtidegate.so.1
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(DEMO_FLAGS) $< -ltidegate -o $@
