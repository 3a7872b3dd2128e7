# make            the library: target/release/libplimsoll.so and libplimsoll.a
# make demo       compiles examples/c/mixture.c against it and runs it; EPOCHS=… for other than 100 epochs
# make test       every test there is; each test-… below also runs by itself
# make wheel      the Python package with the library inside: target/wheels/plimsoll-…-py3-none-….whl
# make docs       the reference of the C interface, one page: target/docs/api/index.html
# make install    the library, its headers and what pkg-config and CMake find it by, into PREFIX (/usr/local);
#                 LIBDIR, INCLUDEDIR and DESTDIR as everywhere; docs/install.md has more
# make uninstall  takes the same away; it wants the same variables
# make torture    the long forms of what test-torture runs briefly; docs/reliability.md has the list. PART=… for one
# make fuzz       fuzzes the readers of files and sequences of calls under AddressSanitizer, FUZZ_RUNS runs of each target;
#                 FUZZ="npz calls" for some of them, FUZZ_SANITIZER=none for speed. docs/reliability-fuzz.md has more
# make fuzz-plain the same without libFuzzer and AddressSanitizer, more than ten times as fast
# make torture-asan, make torture-tsan, make torture-miri
#                 the tests under AddressSanitizer, ThreadSanitizer and Miri, with the library instrumented too
# make coverage   the share of lines that the tests run, file by file
# make lint       formatting and clippy
# make bench      measures beside SciPy, Numba, PyTorch, PyG and MKL, and writes docs/benchmarks/; an hour or two
#                 BENCH=cells for one section, BENCH="all --quick" for a trial run into target/bench/quick
# make bench-instructions
#                 counts the instructions of fixed workloads and compares them with benches/instructions.csv
# make bench-turns BEFORE=directory
#                 times another build, the libplimsoll.so there, in turn with this one
# make theory     runs the examples of the theory and writes the figures of docs/theory.md
# make header     rewrites include/plimsoll.h, and adds what is new to the lists in tests/abi
# make clean      removes target/, the only place that anything is built in
#
# PLIMSOLL_DATA, the directory of the data sets, is handed on to the tests.

MAKEFLAGS += --no-print-directory
CARGO   ?= cargo
RUSTC   ?= rustc
PYTHON  ?= python3
PREFIX  ?= /usr/local
TARGET  := $(abspath $(or $(CARGO_TARGET_DIR),target))
RELEASE := $(TARGET)/$(if $(CARGO_BUILD_TARGET),$(CARGO_BUILD_TARGET)/)release
ifeq ($(shell uname -s),Darwin)
LIB     := $(RELEASE)/libplimsoll.dylib
SONAME  := libplimsoll.0.dylib
else
LIB     := $(RELEASE)/libplimsoll.so
SONAME  := libplimsoll.so.0
endif
BUILT   := $(TARGET)/ctest
VENV    := $(TARGET)/venv

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Werror
CPP_DIRS := -Iinclude -Ibindings/cpp -Itests/c
HEADERS  := include/plimsoll.h $(wildcard bindings/cpp/*.hpp tests/c/*.h tests/cpp/*.hpp)
LINK     := -L$(RELEASE) -Wl,-rpath,$(RELEASE) -lplimsoll -lpthread -lm

C_TESTS   := $(patsubst tests/c/%.c,$(BUILT)/c/%,$(wildcard tests/c/*.c))
EXAMPLES  := $(patsubst examples/c/%.c,$(BUILT)/examples/c/%,$(wildcard examples/c/*.c))
PY_TESTS  := $(wildcard tests/python/*.py)

# plimsoll.h is for C++11 and later, plimsoll.hpp for C++17 and later.
CPP_ALL   := $(patsubst tests/cpp/%.cpp,%,$(wildcard tests/cpp/*.cpp))
CPP_HPP   := $(patsubst tests/cpp/%.cpp,%,$(shell grep -ls '^\#include.*\.hpp[">]' tests/cpp/*.cpp))
CPP_H     := $(filter-out $(CPP_HPP),$(CPP_ALL))
CPP_TESTS := $(CPP_H:%=$(BUILT)/c++11/%) $(CPP_ALL:%=$(BUILT)/c++17/%) $(CPP_HPP:%=$(BUILT)/c++20/%)
CPP_EXAMPLES := $(patsubst examples/cpp/%.cpp,$(BUILT)/examples/cpp/%,$(wildcard examples/cpp/*.cpp))

ifdef PLIMSOLL_DATA
export PLIMSOLL_DATA := $(abspath $(PLIMSOLL_DATA))
endif

comma := ,
# Lest these replace what .cargo/config.toml says.
ifdef CFLAGS
export CFLAGS := $(filter-out -Wa$(comma)--noexecstack,$(CFLAGS)) -Wa,--noexecstack
endif

.PHONY: build demo install uninstall test test-rust test-header test-dependencies test-c test-cpp test-isa test-examples \
        test-install test-python test-wheel test-node test-java test-docs test-paper test-torture test-fuzz test-valgrind \
        torture torture-library fuzz fuzz-here fuzz-plain torture-asan asan-here torture-tsan tsan-here torture-miri miri-here \
        wheel wheel-venv docs bench bench-instructions bench-turns theory paper coverage lint header clean
.NOTPARALLEL:

build:
	$(CARGO) build --release --features capi
	@ln -sf $(notdir $(LIB)) $(RELEASE)/$(SONAME)
	@test $(NATIVE) -nt $(RELEASE)/libplimsoll.rlib || { $(native-static-libs); }
	@touch $(NATIVE)

# The system's libraries that a static library of this crate and its dependencies needs; rustc tells when it makes one.
NATIVE := $(RELEASE)/native-static-libs
native-static-libs = echo 'extern crate plimsoll;' | \
	  $(RUSTC) --edition 2024 --crate-name native --crate-type staticlib \
	  $(if $(CARGO_BUILD_TARGET),--target $(CARGO_BUILD_TARGET)) --extern plimsoll=$(RELEASE)/libplimsoll.rlib \
	  -L dependency=$(RELEASE)/deps -L dependency=$(TARGET)/release/deps --print native-static-libs=$(NATIVE) \
	  -o $(RELEASE)/native.a - 2> $(RELEASE)/native.txt || { cat $(RELEASE)/native.txt >&2; exit 1; }; \
	  rm -f $(RELEASE)/native.a $(RELEASE)/native.txt

# Made by the build, which `make install` repeats only if a source is newer: root may have no cargo.
$(NATIVE): Cargo.toml Cargo.lock build.rs $(shell find src -name '*.rs')
	@$(MAKE) build

PLACES = BUILT='$(RELEASE)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)'
install: $(NATIVE)
	@$(PLACES) packaging/install.sh install

uninstall:
	@$(PLACES) packaging/install.sh uninstall

demo: $(BUILT)/examples/c/mixture
	$< $(EPOCHS)

# test-fuzz follows test-rust, whose build it uses; that of the C library takes its place.
test: test-rust test-fuzz test-header test-dependencies test-c test-cpp test-isa test-examples test-install test-python \
      test-wheel test-node test-java test-docs test-paper test-torture test-valgrind
	@echo "make test: all passed"

# Optimised, because the statistical tests draw many gradients.
test-rust:
	$(CARGO) test --release

# The headers alone, twice, in every dialect.
test-header:
	@for std in c99 c11; do \
	  printf '#include <plimsoll.h>\n#include <plimsoll.h>\n' | \
	    $(CC) -std=$$std $(WARNINGS) -Wstrict-prototypes -Iinclude -fsyntax-only -x c - || exit 1; \
	  echo "plimsoll.h compiles as $$std"; \
	done
	@for std in c++11 c++14 c++17 c++20; do \
	  printf '#include <plimsoll.h>\n#include <plimsoll.h>\n' | \
	    $(CXX) -std=$$std $(WARNINGS) -Iinclude -fsyntax-only -x c++ - || exit 1; \
	  echo "plimsoll.h compiles as $$std"; \
	done
	@for std in c++17 c++20; do \
	  printf '#include <plimsoll.hpp>\n#include <plimsoll.hpp>\n' | \
	    $(CXX) -std=$$std $(WARNINGS) $(CPP_DIRS) -fsyntax-only -x c++ - || exit 1; \
	  echo "plimsoll.hpp compiles as $$std"; \
	done

$(BUILT)/c/%: tests/c/%.c $(HEADERS) | build
	@mkdir -p $(@D)
	$(CC) -std=c99 -g $(WARNINGS) -Iinclude $< -o $@ $(LINK)

$(BUILT)/c++11/%: tests/cpp/%.cpp $(HEADERS) | build
	@mkdir -p $(@D)
	$(CXX) -std=c++11 -g $(WARNINGS) $(CPP_DIRS) $< -o $@ $(LINK)

$(BUILT)/c++17/%: tests/cpp/%.cpp $(HEADERS) | build
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -g $(WARNINGS) $(CPP_DIRS) $< -o $@ $(LINK)

$(BUILT)/c++20/%: tests/cpp/%.cpp $(HEADERS) | build
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -g $(WARNINGS) $(CPP_DIRS) $< -o $@ $(LINK)

$(BUILT)/examples/c/%: examples/c/%.c include/plimsoll.h | build
	@mkdir -p $(@D)
	$(CC) -std=c99 -g $(WARNINGS) -Iinclude $< -o $@ $(LINK)

$(BUILT)/examples/cpp/%: examples/cpp/%.cpp $(HEADERS) | build
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -g $(WARNINGS) $(CPP_DIRS) $< -o $@ $(LINK)

# $(call run,command in front,programs,arguments): runs all, then fails if one did. What they write lands in target/.
run = @PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/run.py $(BUILT)/run '$(1)' '$(3)' $(2)

test-c: $(C_TESTS)
	$(call run,,$(C_TESTS))

test-cpp: $(CPP_TESTS)
	$(call run,,$(CPP_TESTS))

# The same programs with the kernels that every machine has.
test-isa: $(C_TESTS) $(EXAMPLES)
	$(call run,env PLIM_ISA=portable,$(C_TESTS) $(EXAMPLES))

# CMake and CTest of this machine, or else those of PyPI.
CMAKE := $(shell command -v cmake 2>/dev/null)
ifeq ($(CMAKE),)
CMAKE := $(VENV)/bin/cmake
NEEDS_CMAKE := $(VENV)/cmake.installed
endif

test-examples: build $(NEEDS_CMAKE)
	$(CMAKE) -S examples -B $(TARGET)/examples -DPLIMSOLL_ROOT=$(RELEASE) \
	  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
	$(CMAKE) --build $(TARGET)/examples
	cd $(TARGET)/examples && $(dir $(CMAKE))ctest --output-on-failure --no-tests=error --timeout 300

# The commands of docs/install.md; pkg-config too is the machine's, or else that of PyPI.
PKG_CONFIG := $(shell command -v pkg-config 2>/dev/null || command -v pkgconf 2>/dev/null)
ifeq ($(PKG_CONFIG),)
PKG_CONFIG := $(VENV)/bin/pkgconf
NEEDS_PKG_CONFIG := $(VENV)/pkgconf.installed
endif

test-install: build $(NEEDS_CMAKE) $(NEEDS_PKG_CONFIG)
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/install.py --out $(TARGET)/install \
	  --cc '$(CC)' --cxx '$(CXX)' --cmake $(CMAKE) --pkg-config $(PKG_CONFIG)

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/cmake.installed: tests/requirements-cmake.txt | $(VENV)/bin/pip
	$(VENV)/bin/pip install --quiet -r $<
	@touch $@

$(VENV)/pkgconf.installed: tests/requirements-pkgconf.txt | $(VENV)/bin/pip
	-$(VENV)/bin/pip install --quiet -r $< && touch $@

$(VENV)/python.installed: tests/requirements.txt | $(VENV)/bin/pip
	$(VENV)/bin/pip install --quiet -r $<
	@touch $@

test-python: export PLIMSOLL_LIB := $(LIB)
test-python: export PYTHONDONTWRITEBYTECODE := 1
test-python: build $(BUILT)/examples/c/big_graph $(if $(PY_TESTS),$(VENV)/python.installed)
	$(call run,$(VENV)/bin/python,$(abspath $(PY_TESTS)))

# One wheel for every Python 3; bindings/python/backend.py says how it gets its name.
WHEELS := $(TARGET)/wheels
wheel: build
	@rm -rf $(WHEELS)
	PLIMSOLL_LIB=$(LIB) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) bindings/python/backend.py $(WHEELS)

# The wheel in a new environment; the scripts run outside the sources, with the wheel's own library.
WHEEL_VENV  := $(TARGET)/wheel-venv
WHEEL_TESTS := $(filter-out %/support.py,$(wildcard bindings/python/tests/*.py))
wheel-venv: wheel
	$(PYTHON) -m venv --clear $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/pip install --quiet $(WHEELS)/*.whl -r bindings/python/tests/requirements.txt

test-wheel: export PYTHONDONTWRITEBYTECODE := 1
test-wheel: wheel-venv
	$(call run,env -u PLIMSOLL_LIB $(WHEEL_VENV)/bin/python,$(abspath $(WHEEL_TESTS)))

# The reference of the C interface, from the header's own comments.
docs:
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) docs/reference.py include/plimsoll.h $(TARGET)/docs/api/index.html

# The code in the texts, and the texts themselves; PAGES=docs/guide.md for one page alone.
test-docs: build wheel-venv $(NEEDS_CMAKE) $(NEEDS_PKG_CONFIG)
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/docs.py --out $(TARGET)/docs/test --library $(LIB) \
	  --python $(WHEEL_VENV)/bin/python --cc '$(CC)' --cxx '$(CXX)' --cmake $(CMAKE) --pkg-config $(PKG_CONFIG) $(PAGES)

# The examples for Node.js and Java, and their pages. What they need is fetched: koffi by npm, JNA by apt-get unless it is
# installed or JNA=…/jna.jar names it. Without the tools or a network nothing is run, which is said.
test-node test-java: test-%: build
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/languages/run.py $* --lib $(LIB) --out $(TARGET)/$* --cc '$(CC)'

# The paper's experiments and their report. FAST=1: fewer draws and sizes; SEEDS: runs of each cell.
PAPER := $(TARGET)/paper
$(PAPER)/installed: paper/requirements.txt
	$(PYTHON) -m venv $(PAPER)
	$(PAPER)/bin/pip install --quiet -r $<
	@touch $@

paper: build $(PAPER)/installed
	PYTHONDONTWRITEBYTECODE=1 $(PAPER)/bin/python paper/run.py $(RELEASE) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(FAST),--fast)

test-paper: build $(PAPER)/installed
	PYTHONDONTWRITEBYTECODE=1 $(PAPER)/bin/python paper/test_fetch.py
	PYTHONDONTWRITEBYTECODE=1 $(PAPER)/bin/python paper/run.py $(RELEASE) --seeds 1 --fast --no-fetch --out $(PAPER)/report
	PYTHONDONTWRITEBYTECODE=1 $(PAPER)/bin/python paper/check.py $(PAPER)/report

# Nothing breaks it: bad input, panics, no memory, failing disks, kill -9. docs/reliability.md says what is promised.
PARTS := bad_input guards oom iofault crash malformed numbers
TORTURE_LIB := $(TARGET)/torture/debug/$(notdir $(LIB))
torture test-torture: export PLIMSOLL_LIB := $(LIB)
torture test-torture: export PLIMSOLL_TORTURE_LIB := $(TORTURE_LIB)
torture test-torture: export PYTHONDONTWRITEBYTECODE := 1
# A library that panics on demand; in a place of its own, lest it be taken for the real one.
torture-library:
	$(CARGO) build --features capi,torture --target-dir $(TARGET)/torture

PROGRAMS := concurrency fork soak
$(BUILT)/torture/%: tests/torture/%.c tests/torture/torture.h $(HEADERS) | build
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g $(WARNINGS) -Iinclude $< -o $@ $(LINK) -ldl

# $(call torment,options): each part, or PART alone.
torment = @for part in $(or $(PART),$(PARTS) $(PROGRAMS)); do \
	  case " $(PROGRAMS) " in \
	    *" $$part "*) $(BUILT)/torture/$$part $$(test $$part != fork || echo $(LIB)) $(1);; \
	    *) CC='$(CC)' $(PYTHON) tests/torture/$$part.py $(1);; \
	  esac || { echo "FAILED: $$part" >&2; exit 1; }; \
	done

test-torture: build torture-library $(PROGRAMS:%=$(BUILT)/torture/%)
	$(call torment)

torture: build torture-library $(PROGRAMS:%=$(BUILT)/torture/%)
	$(call torment,--long)

# Memory errors and definite leaks. Valgrind 3.19 does not know AVX-512, so the library steps down to AVX2; the programs
# see PLIM_VALGRIND and repeat things less often.
VALGRIND := $(shell command -v valgrind 2>/dev/null)
ifneq ($(VALGRIND),)
AVX512   := $(shell grep -qs avx512f /proc/cpuinfo && echo yes)
MEMCHECK := env PLIM_VALGRIND=1 $(if $(AVX512),PLIM_ISA=avx2) $(VALGRIND) --quiet --error-exitcode=99 \
            --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
CHECKED  := $(C_TESTS) $(CPP_ALL:%=$(BUILT)/c++17/%) $(EXAMPLES) $(CPP_EXAMPLES)
LONG     := $(BUILT)/examples/c/mixture
test-valgrind: $(CHECKED)
	$(call run,$(MEMCHECK),$(filter-out $(LONG),$(CHECKED)))
	$(call run,$(MEMCHECK),$(LONG),5)
else
test-valgrind:
	@printf '\n*** NOT CHECKED: valgrind is not installed, memory errors and leaks go unseen ***\n\n' >&2
endif

# What is fuzzed, without the fuzzer and without a sanitizer: the corpus, and so many changes of it for each target. A few
# of them run in test-rust too. The harness needs Linux, whose memory files it reads.
TEST_FUZZ_RUNS ?= 20000
ifeq ($(shell uname -s),Linux)
test-fuzz:
	PLIM_FUZZ_RUNS=$(TEST_FUZZ_RUNS) $(CARGO) test --release --test fuzz -- --nocapture
else
test-fuzz:
	@printf '\n*** NOT FUZZED: the harness needs Linux ***\n\n' >&2
endif

# Sanitizers are flags that stable compilers take only when told so; their runtimes come with them.
HOST      = $(shell $(RUSTC) -vV | sed -n 's/^host: //p')
UNSTABLE := RUSTC_BOOTSTRAP=1
runtime   = $(wildcard $(shell $(RUSTC) --print target-libdir)/librustc*_rt.$(1).a)
skipped   = @printf '\n*** NOT CHECKED: $(1) ***\n\n' >&2

# libFuzzer, counting branches. What it finds worth keeping stays in target/fuzz/corpus, and is where the next run begins,
# with the sanitizer or without: FUZZ_SANITIZER=none for many executions, then address for what they found.
FUZZ      ?= npz store safetensors checkpoint edge_list matrix_market letor calls
FUZZ_RUNS ?= 10000000
FUZZ_SANITIZER ?= address
FUZZ_DIR  := $(TARGET)/fuzz
FUZZ_OUT   = $(FUZZ_DIR)/$(FUZZ_SANITIZER)
# All counters are looked at after each input: what is inlined, or not linked, must have none.
COVERAGE  := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=3 inline-8bit-counters pc-table) \
             -Ccodegen-units=1 -Clink-arg=-Wl,-z,start-stop-gc
# What was freed is watched for as long as an input runs, and longer; stacks that are gone are not.
FUZZ_ASAN := ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=8:detect_stack_use_after_return=0
fuzz:
	$(if $(filter-out none address,$(FUZZ_SANITIZER)),$(error FUZZ_SANITIZER is address or none))
	$(if $(or $(filter none,$(FUZZ_SANITIZER)),$(call runtime,asan)),@$(MAKE) fuzz-here,$(call skipped,this compiler has no \
	  runtime of AddressSanitizer))

fuzz-here:
	$(UNSTABLE) RUSTC_WRAPPER=$(abspath fuzz/rustc.sh) \
	  RUSTFLAGS='--cfg fuzzing -Cdebug-assertions $(addprefix -Zsanitizer=,$(filter-out none,$(FUZZ_SANITIZER))) $(COVERAGE)' \
	  $(CARGO) build --release --manifest-path fuzz/Cargo.toml --target-dir $(FUZZ_OUT) --target $(HOST)
	@for target in $(FUZZ); do \
	  mkdir -p $(FUZZ_DIR)/corpus/$$target; dictionary=fuzz/dict/$$target.dict; test -f $$dictionary || dictionary=; \
	  echo "fuzz/$$target: $(FUZZ_RUNS) runs, told in $(FUZZ_OUT)/$$target.log"; \
	  $(FUZZ_ASAN) $(FUZZ_OUT)/$(HOST)/release/$$target $(FUZZ_DIR)/corpus/$$target fuzz/corpus/$$target -runs=$(FUZZ_RUNS) \
	    -max_len=4096 -timeout=5 -rss_limit_mb=2048 -entropic=0 -reload=0 -print_final_stats=1 \
	    $${dictionary:+-dict=$$dictionary} -artifact_prefix=$(FUZZ_DIR)/$$target- > $(FUZZ_OUT)/$$target.log 2>&1 || \
	    { tail -n 40 $(FUZZ_OUT)/$$target.log; echo "FAILED: fuzz/$$target" >&2; exit 1; }; \
	  grep -a '^stat::number_of_executed' $(FUZZ_OUT)/$$target.log; \
	done

# The same harness with neither libFuzzer nor a sanitizer, but with debug assertions and overflow checks: more
# than ten times as fast.
# It changes what is in the corpus and what libFuzzer has found so far.
FUZZ_SEED ?= 1
fuzz-plain:
	RUSTFLAGS='--cfg fuzzing -Cdebug-assertions' $(CARGO) build --release --manifest-path fuzz/Cargo.toml \
	  --no-default-features --bin replay --target-dir $(FUZZ_DIR)-plain --target $(HOST)
	@for target in $(FUZZ); do \
	  mkdir -p $(FUZZ_DIR)/corpus/$$target; \
	  TMPDIR=$(FUZZ_DIR)-plain $(FUZZ_DIR)-plain/$(HOST)/release/replay $(FUZZ_RUNS) $(FUZZ_SEED) $$target fuzz/corpus/$$target \
	    $(FUZZ_DIR)/corpus/$$target || { echo "FAILED: fuzz/$$target" >&2; exit 1; }; \
	done

# $(call sanitized,asan,address,flags of cargo): the static library with a sanitizer in it. Programs are linked with the
# runtime of the Rust compiler, which fits what it instruments; what the C compiler instruments fits it too.
sanitized = $(UNSTABLE) RUSTFLAGS='-Zsanitizer=$(2)' $(CARGO) rustc --release --lib --crate-type staticlib $(3) \
	  --target $(HOST) --target-dir $(TARGET)/$(1)
SANITIZED_FLAGS := -g -O1 -fno-omit-frame-pointer
# $(call link-sanitized,asan): what stands at the end of the compiler's line.
link-sanitized = $(TARGET)/$(1)/$(HOST)/release/libplimsoll.a \
	  -Wl,--whole-archive $(call runtime,$(1)) -Wl,--no-whole-archive -Wl,--export-dynamic -lpthread -lrt -ldl -lm -lgcc_s
# $(call make-sanitized,asan,address): compiles the file $$program into $$out.
make-sanitized = out=$(TARGET)/$(1)/$$(echo $$program | tr / -); case $$program in \
	  *.c) $(CC) -std=c99 $(SANITIZED_FLAGS) -Iinclude -fsanitize=$(2) -c $$program -o $$out.o && \
	    $(CC) $$out.o -o $$out $(call link-sanitized,$(1)) ;; \
	  *) $(CXX) -std=c++17 $(SANITIZED_FLAGS) $(CPP_DIRS) -fsanitize=$(2) -c $$program -o $$out.o && \
	    $(CXX) $$out.o -o $$out $(call link-sanitized,$(1)) ;; esac || exit 1
# $(call run-sanitized,asan,address,environment,programs): compiles and runs all, then fails if one did. A program has some
# 30 MB, and goes once it has passed.
run-sanitized = @mkdir -p $(TARGET)/$(1)/run && failed= TMPDIR=$(TARGET)/$(1)/run && export TMPDIR; for program in $(4); do \
	  echo "$(1): $(3) $$program"; $(call make-sanitized,$(1),$(2)); \
	  if (cd $(TARGET)/$(1)/run && env $(3) $$out > ../output.txt 2>&1); then rm -f $$out $$out.o; \
	  else tail -n 60 $(TARGET)/$(1)/output.txt; echo "FAILED: $$program" >&2; failed=1; fi; \
	done; test -z "$$failed"
# $(call must-find,asan,address,argument,words of the report): tests/sanitizer/wrong.c is wrong, and must not get away with it.
must-find = @mkdir -p $(TARGET)/$(1)/run; program=tests/sanitizer/wrong.c; $(call make-sanitized,$(1),$(2)); \
	if $$out $(3) > $$out.txt 2>&1 || ! grep -q '$(4)' $$out.txt; then \
	  tail -n 20 $$out.txt; echo "FAILED: $(4) was not found" >&2; exit 1; fi; echo "$(1): finds what is wrong: $(4)"

ALL_PROGRAMS := $(wildcard tests/c/*.c tests/cpp/*.cpp)
ALL_EXAMPLES := $(wildcard examples/c/*.c examples/cpp/*.cpp)
# PLIM_VALGRIND makes programs shorter; this one must take its time.
TIMED := tests/c/progress.c
# An allocation that cannot be is to fail, as it does elsewhere.
ASAN  := ASAN_OPTIONS=allocator_may_return_null=1
torture-asan:
	$(if $(call runtime,asan),@$(MAKE) asan-here,$(call skipped,this compiler has no runtime of AddressSanitizer))

asan-here:
	$(call sanitized,asan,address)
	$(call must-find,asan,address,overflow,heap-buffer-overflow)
	$(call must-find,asan,address,leak,detected memory leaks)
	$(call run-sanitized,asan,address,$(ASAN) PLIM_VALGRIND=1,$(filter-out $(TIMED),$(ALL_PROGRAMS) $(ALL_EXAMPLES)))
	$(call run-sanitized,asan,address,$(ASAN),$(TIMED))

# The standard library is instrumented as well, from its source (rustup component add rust-src): its locks and channels
# would be unknown otherwise, and every use of one a report.
THREADED := $(addprefix tests/,c/threads.c c/progress.c c/errors.c c/bad_handles.c c/view.c cpp/callbacks.cpp cpp/error.cpp)
RUST_SRC  = $(wildcard $(shell $(RUSTC) --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml)
torture-tsan:
	$(if $(and $(call runtime,tsan),$(RUST_SRC)),@$(MAKE) tsan-here,$(call skipped,ThreadSanitizer needs its runtime and the \
	  source of the standard library (rustup component add rust-src)))

tsan-here:
	$(call sanitized,tsan,thread,-Zbuild-std)
	$(call must-find,tsan,thread,race,data race)
	$(call run-sanitized,tsan,thread,TSAN_OPTIONS=die_after_fork=0,$(THREADED))
	TSAN_OPTIONS=allocator_may_return_null=1 $(UNSTABLE) RUSTFLAGS='-Zsanitizer=thread' \
	  $(CARGO) test --release --lib -Zbuild-std --target $(HOST) \
	  --target-dir $(TARGET)/tsan -- kernel:: capi::

# Miri runs the unit tests of the modules that hold the unsafe code, but for those that map files.
MIRI := $(CARGO) +nightly miri
torture-miri:
	$(if $(shell $(MIRI) --version 2> /dev/null),@$(MAKE) miri-here,$(call skipped,Miri is missing: rustup component add miri \
	  rust-src --toolchain nightly))

miri-here:
	PLIM_ISA=portable MIRIFLAGS='-Zmiri-disable-isolation' $(MIRI) test --lib --target-dir $(TARGET)/miri -- \
	  kernel::array kernel::pool kernel::threads capi:: --skip mapped --skip too_short

BENCH ?= all
bench:
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) benches/compare.py $(BENCH)

bench-instructions:
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) benches/instructions.py

bench-turns:
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) benches/turns.py $(BEFORE)

THEORY := $(addprefix $(BUILT)/examples/c/,bounds_hold three_estimators adaptive plimsoll_line)
theory: $(THEORY)
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) docs/theory.py

# The crates that the library is built from, and their licences, are those of docs/dependencies.md.
test-dependencies:
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/dependencies.py

# Which lines of src/ the tests run; with LLVM's tools.
coverage:
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/coverage.py $(TARGET)/coverage

lint:
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml
	$(CARGO) clippy --release --all-targets -- -D warnings
	$(CARGO) clippy --release --features capi -- -D warnings

header:
	PLIM_BLESS=1 $(CARGO) test --release --test header
	PLIM_BLESS=1 $(CARGO) test --release --test symbols --test interface

clean:
	$(CARGO) clean
