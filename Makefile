# What can be done, and what each part needs. `make help` lists it; the work itself is in tools/ and in Cargo.
# Building and installing require Rust, a C compiler and make only. Everything is built in target/.

CARGO   ?= cargo
RUSTC   ?= rustc
PYTHON  ?= python3
PREFIX  ?= /usr/local
TARGET  := $(abspath $(or $(CARGO_TARGET_DIR),target))
RELEASE := $(TARGET)/$(if $(CARGO_BUILD_TARGET),$(CARGO_BUILD_TARGET)/)release
BUILT   := $(TARGET)/ctest
VENV    := $(TARGET)/venv
DARWIN  := $(filter Darwin,$(shell uname -s))
LIB     := $(RELEASE)/libplimsoll.$(if $(DARWIN),dylib,so)
SONAME  := $(if $(DARWIN),libplimsoll.0.dylib,libplimsoll.so.0)
TOOL = env CARGO='$(CARGO)' RUSTC='$(RUSTC)' CC='$(CC)' CXX='$(CXX)' TARGET='$(TARGET)' $(PYTHON) tools
RUN  = $(TOOL)/run.py $(BUILT)/run

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build
.NOTPARALLEL:
.SECONDEXPANSION:
.PHONY: test wheel-venv torture-library $(shell awk -F: '/^[a-z -]+:.*## /{ print $$1 }' Makefile)
export PYTHONDONTWRITEBYTECODE := 1
# The directory of the data sets, for programs that run in other directories.
ifdef PLIMSOLL_DATA
export PLIMSOLL_DATA := $(abspath $(PLIMSOLL_DATA))
endif
# CFLAGS of the environment replaces the one in .cargo/config.toml, so its flag is added here.
comma := ,
ifdef CFLAGS
export CFLAGS := $(filter-out -Wa$(comma)--noexecstack,$(CFLAGS)) -Wa,--noexecstack
endif

help: ## prints this list
	@awk -F ':.*## |^## ' '/^## /{ print $$2 } /^[a-z -]+:.*## /{ printf "  make %-19s %s\n", $$1, $$2 }' Makefile

## Build and install
build: ## the library: target/release/libplimsoll.so and libplimsoll.a; the default
	$(CARGO) build --release --features capi
	@ln -sf $(notdir $(LIB)) $(RELEASE)/$(SONAME)
	@RUSTC='$(RUSTC)' tools/native_libs.sh $(NATIVE)
	@touch $(NATIVE)
# The system libraries of the static library. `make install` builds again only if a source is newer: root may have no cargo.
NATIVE := $(RELEASE)/native-static-libs
$(NATIVE): Cargo.toml Cargo.lock build.rs $(shell find src -name '*.rs')
	@$(MAKE) build
demo: $(BUILT)/examples/c/mixture ## compiles examples/c/mixture.c and runs it; EPOCHS=100
	$< $(EPOCHS)
PLACES = BUILT='$(RELEASE)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)'
install: $(NATIVE) ## into PREFIX=/usr/local; also LIBDIR, INCLUDEDIR, DESTDIR; see docs/install.md
	@$(PLACES) packaging/install.sh install
uninstall: ## removes what install wrote; give it the same variables
	@$(PLACES) packaging/install.sh uninstall
WHEELS := $(TARGET)/wheels
wheel: build ## the Python package with the library inside: target/wheels/plimsoll-….whl
	@rm -rf $(WHEELS)
	PLIMSOLL_LIB=$(LIB) $(PYTHON) bindings/python/backend.py $(WHEELS)
docs: ## the reference of the C interface: target/docs/api/index.html
	$(PYTHON) tools/reference.py include/plimsoll.h $(TARGET)/docs/api/index.html
header: ## rewrites include/plimsoll.h, and adds new names to the lists in tests/abi
	PLIM_BLESS=1 $(CARGO) test --release --test header && PLIM_BLESS=1 $(CARGO) test --release --test symbols --test interface
golden: $(VENV)/numpy.installed ## rewrites tests/golden.npz by the oracle in tests/oracle, and checks tests/golden_layers.npz
	$(VENV)/bin/python tests/oracle/golden.py tests/golden.npz
	cd tests/oracle && $(VENV)/bin/python layers.py --check && $(VENV)/bin/python layers.py ../golden_layers.npz
clean: ## removes target/
	$(CARGO) clean

# Programs. plimsoll.h supports C99 and C++11 and later, plimsoll.hpp C++17 and later.
WARNINGS  := -Wall -Wextra -Wpedantic -Wconversion -Werror
CPP_DIRS  := -Iinclude -Ibindings/cpp -Itests/c
HEADERS   := include/plimsoll.h $(wildcard bindings/cpp/*.hpp tests/c/*.h tests/cpp/*.hpp)
LINK      := -L$(RELEASE) -Wl,-rpath,$(RELEASE) -lplimsoll -lpthread -lm
C_TESTS   := $(patsubst tests/c/%.c,$(BUILT)/c/%,$(wildcard tests/c/*.c))
CPP_ALL   := $(patsubst tests/cpp/%.cpp,%,$(wildcard tests/cpp/*.cpp))
CPP_HPP   := $(patsubst tests/cpp/%.cpp,%,$(shell grep -ls '^\#include.*\.hpp[">]' tests/cpp/*.cpp))
CPP_17    := $(CPP_ALL:%=$(BUILT)/c++17/%)
CPP_TESTS := $(addprefix $(BUILT)/c++11/,$(filter-out $(CPP_HPP),$(CPP_ALL))) $(CPP_17) $(CPP_HPP:%=$(BUILT)/c++20/%)
EXAMPLES  := $(patsubst examples/c/%.c,$(BUILT)/examples/c/%,$(wildcard examples/c/*.c))
EXAMPLES_CPP := $(patsubst examples/cpp/%.cpp,$(BUILT)/examples/cpp/%,$(wildcard examples/cpp/*.cpp))
TORMENTS  := concurrency fork soak
$(BUILT)/c/%: tests/c/%.c $(HEADERS) | build
	@mkdir -p $(@D)
	$(CC) -std=c99 -g $(WARNINGS) -Iinclude $< -o $@ $(LINK)
$(BUILT)/c++%: tests/cpp/$$(*F).cpp $(HEADERS) | build
	@mkdir -p $(@D)
	$(CXX) -std=c++$(*D) -g $(WARNINGS) $(CPP_DIRS) $< -o $@ $(LINK)
$(BUILT)/examples/c/%: examples/c/%.c examples/c/check.h include/plimsoll.h | build
	@mkdir -p $(@D)
	$(CC) -std=c99 -g $(WARNINGS) -Iinclude $< -o $@ $(LINK)
$(BUILT)/examples/cpp/%: examples/cpp/%.cpp $(HEADERS) | build
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -g $(WARNINGS) $(CPP_DIRS) $< -o $@ $(LINK)
$(BUILT)/torture/%: tests/torture/%.c tests/torture/torture.h $(HEADERS) | build
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g $(WARNINGS) -Iinclude $< -o $@ $(LINK) -ldl
# The same programs by their relative names.
target/ctest/%: $(BUILT)/% ;

# Python packages, all in one environment. Some are optional: not every machine can have them.
$(VENV)/%.installed: tools/requirements/%.txt
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet -r $< $(if $(filter pkgconf ruff,$*),|| :)
	@touch $@
SCIPY := $(VENV)/numpy.installed
PLOTS := $(SCIPY) $(VENV)/matplotlib.installed
# CMake and pkg-config of the machine, else those of PyPI.
CMAKE      := $(or $(shell command -v cmake 2>/dev/null),$(VENV)/bin/cmake)
PKG_CONFIG := $(or $(shell command -v pkg-config 2>/dev/null || command -v pkgconf 2>/dev/null),$(VENV)/bin/pkgconf)
PACKAGERS  := $(if $(filter $(VENV)/%,$(CMAKE)),$(VENV)/cmake.installed) \
              $(if $(filter $(VENV)/%,$(PKG_CONFIG)),$(VENV)/pkgconf.installed)
CHECK_WITH  = --cc '$(CC)' --cxx '$(CXX)' --cmake $(CMAKE) --pkg-config $(PKG_CONFIG)

## Tests: `make test` runs all of these
# The Rust tests come last: the library is compiled again for them, without the C library's allocator.
test: test-header test-dependencies test-c test-cpp test-isa test-examples test-install test-python test-wheel test-node \
      test-java test-docs test-paper test-torture test-valgrind test-rust test-fuzz
	@echo "make test: all passed"
test-header: ## the headers alone, in every dialect
	@CC='$(CC)' CXX='$(CXX)' tools/check_headers.sh
test-dependencies: ## docs/dependencies.md lists all crates and their licences
	@$(TOOL)/check_dependencies.py
test-c: $(C_TESTS) ## tests/c
	@$(RUN) $^
test-cpp: $(CPP_TESTS) ## tests/cpp, in C++11, 17 and 20
	@$(RUN) $^
test-isa: $(C_TESTS) $(EXAMPLES) ## tests/c and the C examples with the portable kernels
	@$(RUN) --front 'env PLIM_ISA=portable' $^
test-valgrind: $(C_TESTS) $(CPP_17) $(EXAMPLES) $(EXAMPLES_CPP) ## memory errors and leaks in all of these
	@$(RUN) --memcheck $^
test-examples: build $(PACKAGERS) ## the examples, by CMake and CTest
	$(CMAKE) -S examples -B $(TARGET)/examples -DPLIMSOLL_ROOT=$(RELEASE) -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
	$(CMAKE) --build $(TARGET)/examples
	cd $(TARGET)/examples && $(dir $(CMAKE))ctest --output-on-failure --no-tests=error --timeout 300
test-install: build $(PACKAGERS) ## the commands of docs/install.md
	$(TOOL)/check_install.py --out $(TARGET)/install $(CHECK_WITH)
test-python: build $(BUILT)/examples/c/big_graph $(SCIPY) ## tests/python: the library beside the oracle and NumPy
	@PLIMSOLL_LIB=$(LIB) $(RUN) --front $(VENV)/bin/python $(abspath $(wildcard tests/python/*.py))
# The package is tested outside the sources, with the library of the wheel.
WHEEL_VENV := $(TARGET)/wheel-venv
$(WHEEL_VENV)/installed: bindings/python/tests/requirements.txt tools/requirements/numpy.txt
	$(PYTHON) -m venv --clear $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/pip install --quiet -r $<
	@touch $@
wheel-venv: wheel $(WHEEL_VENV)/installed
	@$(WHEEL_VENV)/bin/pip uninstall --quiet --yes plimsoll
	$(WHEEL_VENV)/bin/pip install --quiet $(WHEELS)/*.whl
test-wheel: wheel-venv ## the Python package
	@$(RUN) --front 'env -u PLIMSOLL_LIB $(WHEEL_VENV)/bin/python' \
	  $(abspath $(filter-out %/support.py,$(wildcard bindings/python/tests/*.py)))
test-node test-java: test-%: build $(SCIPY) ## the examples in other languages, and their pages
	PLIMSOLL_LIB=$(LIB) $(VENV)/bin/python tests/languages/run.py $* --lib $(LIB) --out $(TARGET)/$* --cc '$(CC)'
test-docs: build wheel-venv $(PACKAGERS) ## the code in README.md and docs; PAGES=docs/guide.md for one page
	$(TOOL)/check_docs.py --out $(TARGET)/docs/test --library $(LIB) --python $(WHEEL_VENV)/bin/python $(CHECK_WITH) $(PAGES)
test-paper: build $(PLOTS) ## a short form of `make paper`, and checks of its report
	$(VENV)/bin/python paper/test_fetch.py
	$(VENV)/bin/python paper/run.py $(RELEASE) --seeds 1 --fast --no-fetch --out $(TARGET)/paper/report
	$(VENV)/bin/python paper/check.py $(TARGET)/paper/report
PARTS := bad_input guards oom iofault crash malformed numbers $(TORMENTS)
test-torture: ## bad input, panics, no memory, failing disks, kill -9; PART=oom for one part
torture: LONG := --long
test-torture torture: build torture-library $(TORMENTS:%=$(BUILT)/torture/%)
	PLIMSOLL_LIB=$(LIB) PLIMSOLL_TORTURE_LIB=$(TORTURE_LIB) $(TOOL)/torture.py $(LONG) $(BUILT)/torture $(or $(PART),$(PARTS))
# A library that panics on demand, built apart so that nobody takes it for the real one.
TORTURE_LIB := $(TARGET)/torture/debug/$(notdir $(LIB))
torture-library:
	$(CARGO) build --features capi,torture --target-dir $(TARGET)/torture
test-rust: ## unit tests and tests/*.rs
	$(CARGO) test --release
test-fuzz: ## the fuzz targets without libFuzzer; TEST_FUZZ_RUNS=20000 changes of the corpus each
	PLIM_FUZZ_RUNS=$(or $(TEST_FUZZ_RUNS),20000) $(CARGO) test --release --test fuzz -- --nocapture

## Long checks
torture: ## the long form of test-torture; PART=oom for one part
FUZZ_RUNS ?= 10000000
fuzz: ## libFuzzer with AddressSanitizer; FUZZ="npz calls", FUZZ_RUNS=10000000, FUZZ_SANITIZER=none
	$(TOOL)/fuzz.py --runs $(FUZZ_RUNS) --sanitizer $(or $(FUZZ_SANITIZER),address) $(FUZZ)
fuzz-plain: ## without libFuzzer and sanitizer, ten times as fast; FUZZ, FUZZ_RUNS, FUZZ_SEED=1
	$(TOOL)/fuzz.py --plain --runs $(FUZZ_RUNS) --seed $(or $(FUZZ_SEED),1) $(FUZZ)
torture-asan torture-tsan torture-miri: torture-%: ## the tests under AddressSanitizer, ThreadSanitizer, Miri
	$(TOOL)/sanitize.py $*
coverage: ## the share of lines that the tests run, by file
	$(TOOL)/coverage.py $(TARGET)/coverage
lint: $(VENV)/ruff.installed ## cargo fmt, clippy, and ruff for Python
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml && $(CARGO) fmt --check --manifest-path benches/dense/Cargo.toml
	$(CARGO) clippy --release --all-targets -- -D warnings
	$(CARGO) clippy --release --features capi -- -D warnings
	@$(TOOL)/lint.py $(VENV)/bin/ruff

## Measurements
bench: ## beside SciPy, Numba, PyTorch, PyG, MKL, into docs/benchmarks; an hour or two; BENCH="cells --quick"
	$(PYTHON) benches/compare.py $(or $(BENCH),all)
bench-instructions: ## counts instructions and compares them with benches/instructions.csv
	$(PYTHON) benches/instructions.py
bench-turns: ## times the library in the directory BEFORE=… and this one in turn
	$(PYTHON) benches/turns.py $(BEFORE)
theory: $(addprefix $(BUILT)/examples/c/,bounds_hold three_estimators adaptive plimsoll_line) $(PLOTS) ## docs/theory
	$(VENV)/bin/python tools/theory.py
paper: build $(PLOTS) ## the paper's experiments, into report/index.html; SEEDS=5, FAST=1
	$(VENV)/bin/python paper/run.py $(RELEASE) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(FAST),--fast)
