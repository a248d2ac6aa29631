# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Needed: Rust, Python 3.11 or later with pip, a C compiler. The rest goes under target/, a C++
# compiler too where the system has none.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

PYTHON ?= python3
LIBRARY := $(CURDIR)/target/release/libpjrt_tpu_emu.so
VENVS := target/venv
# The JAX of the demo, the linters and the benchmarks: the newest for Python 3.11.
NEWEST := 0.10.2
# Those for Python 3.12 and later, the newest last.
MODERN := 0.11.0 0.11.2 0.12.0.1
# What `make test` runs: the oldest, one between, the newest for Python 3.11, the newest of all.
TESTED := 0.4.38 0.8.3 $(NEWEST) $(lastword $(MODERN))
# A Python for them: the oldest that works. Without one they are skipped, which is said.
MODERN_PYTHON := $(shell $(PYTHON) python-tests/pythons.py 3.12)
# The JAX, and the TensorFlow, that use the libtpu C API. Their wheels end with Python 3.11.
LIBTPU_JAX := 0.4.13
TENSORFLOWS := 2.16.1 2.20.0
LIBTPU_PYTHON ?= $(if $(shell command -v python3.11),python3.11,$(PYTHON))
$(VENVS)/jax-$(LIBTPU_JAX)/ready: private PYTHON := $(LIBTPU_PYTHON)
# torch_xla is tested with Pythons 3.12 and 3.13; the first that runs is taken.
TORCH_XLA := 2.9.0
TORCH_PYTHON ?= $(or $(firstword $(foreach name,python3.12 python3.13 $(PYTHON) $(wildcard $(HOME)/.pyenv/versions/3.1[23].*/bin/python),$(shell $(name) -c 'import sys, venv; sys.version_info[:2] in ((3, 12), (3, 13)) and print("$(name)")' 2> /dev/null))),$(error torch_xla needs Python 3.12 or 3.13: TORCH_PYTHON names none and none was found))
# Of those, the one in which `make test` runs all; in the others it leaves out the files about what
# no client's version changes: the command, the report, the pytest plugin, the trace's file, processes.
WHOLE := $(if $(MODERN_PYTHON),$(lastword $(MODERN)),$(NEWEST))
OF_NO_VERSION := autopsy command guide guidebook metrics planted processes processes_failing pytest_plugin reservations run schemas top trace_faults trace_mapped
# Those of the rest that take longest. Of these each other version runs a part, so that each file is
# run in two versions; `make test-clients` runs all in all.
LONG := pallas_watched decompositions real_compiler recording slices extents training faults numerics told_memory ffi_exceptions ffi_libraries poison pallas threads code_per_device pallas_devices
SHARED_BY = $(filter-out $(WHOLE),$(TESTED))
LEFT_OUT = $(shell printf '%s\n' $(LONG) | awk -v all="$(SHARED_BY)" 'BEGIN { n = split(all, of, " ") } of[NR % n + 1] != "$(1)"')
# As many processes run the tests with JAX, each with a JAX of its own, a whole file in one of them.
WORKERS ?= $(shell cores=$$(nproc); echo $$((cores < 4 ? cores : 4)))
PYTEST_SIDE_BY_SIDE = -m pytest -q -p no:cacheprovider -n $(WORKERS) --dist loadfile
# What `make test-clients` runs.
CLIENTS := 0.4.38 0.5.3 0.6.2 0.7.2 0.8.3 0.9.2 $(NEWEST) $(MODERN)
# Versions of these lists that have no Python here.
SKIPPED = $(if $(MODERN_PYTHON),,$(filter $(MODERN),$(1)))
SKIPS = $(if $(call SKIPPED,$(1)), But for JAX $(call SKIPPED,$(1)): SKIPPED without a Python 3.12 or later.)
NEWEST_PYTHON := $(VENVS)/jax-$(NEWEST)/bin/python
TOOLS := $(CURDIR)/$(VENVS)/jax-$(NEWEST)/bin
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := target/tools/bin/cargo-deny
MDBOOK_VERSION := 0.5.4
MDBOOK := target/tools/bin/mdbook
CARGO_FUZZ_VERSION := 0.13.2
CARGO_FUZZ := target/tools/bin/cargo-fuzz
TARGET := x86_64-unknown-linux-gnu
OTHER_TARGET := aarch64-unknown-linux-gnu

export TPU_EMU_LIBRARY := $(LIBRARY)
export PYTHONPATH := $(CURDIR)/pjrt-plugin/python
export PYTHONDONTWRITEBYTECODE := 1
unexport TPU_LIBRARY_PATH JAX_PLATFORMS

# The crates of the machine.
MACHINE := -p tpu-base -p tpu-topology -p tpu-kernels -p tpu-ops -p tpu-program -p tpu-emu

.PHONY: picture report-page test-report build wheel demo walkthrough guide readers test test-compiled test-readers test-clients test-wheel test-libtpu test-tensorflow test-torch test-tpu-info test-mpi test-rust test-portable test-docs test-python test-no-jax conform checks ecosystem ecosystem-full lint deny deny-checked bench bench-all bench-growth bench-slices bench-kernels bench-suite bench-ecosystem compile-cost bench-page bench-parts memcheck memcheck-address memcheck-valgrind needs-valgrind racecheck random sweep walks fuzz fuzz-readers fuzz-readers-proof fidelity clean

build:
	cargo build --release

# The Python package, with the plugin and the command in it, in target/wheel: a file for each Python
# from 3.11 on, and for glibc 2.28 and later, which maturin and auditwheel both look at.
wheel: $(VENVS)/wheel/ready
	rm -f target/wheel/*.whl
	$(VENVS)/wheel/bin/python pjrt-plugin/wheel/backend.py
	PATH=$(CURDIR)/$(VENVS)/wheel/bin:$$PATH maturin build --compatibility manylinux_2_28 --compression-level 9 --out target/wheel
	$(VENVS)/wheel/bin/auditwheel show target/wheel/*.whl
	ls -l target/wheel/*.whl

$(VENVS)/wheel/ready: python-tests/requirements/wheel.txt
	$(PYTHON) -m venv $(VENVS)/wheel
	$(VENVS)/wheel/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/wheel.txt
	touch $@

# The wheel as a user has it: installed in a clean environment, under each JAX that is there.
test-wheel: wheel $(patsubst %,$(VENVS)/jax-%/ready,$(NEWEST))
	rm -f target/wheel/*.tar.gz
	PATH=$(CURDIR)/$(VENVS)/wheel/bin:$$PATH $(VENVS)/wheel/bin/python pjrt-plugin/wheel/backend.py sdist target/wheel
	$(NEWEST_PYTHON) python-tests/wheel/check.py target/wheel/*.whl target/wheel/*.tar.gz

# jax.device_put(1) and friends on the emulated TPU, and every allocation with its stack.
demo: build $(VENVS)/jax-$(NEWEST)/ready
	TPU_LIBRARY_PATH=$(LIBRARY) JAX_PLATFORMS=tpu $(NEWEST_PYTHON) pjrt-plugin/python/examples/device_put.py

# The stack of jax.device_put(1) down to TpuExecutor_Allocate, in a JAX that still calls it.
walkthrough: build $(VENVS)/jax-$(LIBTPU_JAX)/ready
	TPU_LIBRARY_PATH=$(LIBRARY) $(VENVS)/jax-$(LIBTPU_JAX)/bin/python pjrt-plugin/python/examples/walkthrough.py

# The user guide as a book, in target/guide.
guide: $(MDBOOK)
	$(MDBOOK) build docs/guide

# The picture of a report, for README.md and the guide. It needs Chromium.
picture: build $(VENVS)/jax-$(NEWEST)/ready
	VIRTUAL_ENV=$(CURDIR)/$(VENVS)/jax-$(NEWEST) $(NEWEST_PYTHON) docs/guide/picture.py target/release/tpu-emu docs/guide/report.png

$(MDBOOK):
	cargo install mdbook --version $(MDBOOK_VERSION) --no-default-features --features search --locked --root target/tools --target-dir target/tools/build
	rm -rf target/tools/build

# What compiles goes side by side, for either leaves a processor idle at times; then the parts that run,
# one by one. After each part stands how long all took so far.
COMPILED := lint deny-checked test-rust test-docs
PARTS := test-no-jax $(patsubst %,test-jax-short-%,$(filter-out $(WHOLE),$(TESTED))) $(WHOLE:%=test-jax-%) test-tpu-info test-libtpu test-wheel conform compile-cost ecosystem random fuzz
test:
	@mkdir -p target
	@$(MAKE) build > target/build.txt 2>&1 & built=$$!; \
	$(MAKE) test-compiled || { kill $$built; exit 1; }; \
	wait $$built || { cat target/build.txt; exit 1; }
	@for part in $(PARTS); do $(MAKE) $$part; echo "make test: the parts up to $$part: $$SECONDS s"; done
	@echo "make test: all of it passed.$(call SKIPS,$(TESTED))"

test-compiled:
	@for part in $(COMPILED); do $(MAKE) $$part; echo "make test: $$part, of what compiles: $$SECONDS s"; done

test-clients: test-no-jax $(CLIENTS:%=test-jax-%) conform
	@echo "make test-clients: all of it passed.$(call SKIPS,$(CLIENTS))"

lint: $(VENVS)/jax-$(NEWEST)/ready
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(TOOLS)/ruff check pjrt-plugin/python pjrt-plugin/wheel python-tests
	$(TOOLS)/ruff format --check pjrt-plugin/python pjrt-plugin/wheel python-tests
	cd pjrt-plugin/python && $(TOOLS)/mypy
	cd python-tests && $(TOOLS)/mypy
	@if [ -d "$$(rustc --print target-libdir --target $(OTHER_TARGET))" ]; then \
	echo "cargo check -p pjrt-plugin -p libtpu-abi --target $(OTHER_TARGET)"; \
	RUSTFLAGS="-D warnings" cargo check -p pjrt-plugin -p libtpu-abi --target $(OTHER_TARGET); \
	else echo "skipped: cargo check --target $(OTHER_TARGET): its standard library is not installed"; fi

# The script of the HTML report, from its sources: needs Node and npm. What is built is in git, so that
# nothing else needs them.
REPORT_PAGE := target/report-page
report-page: $(REPORT_PAGE)/ready
	cp -r tpu-emu/report/web/. $(REPORT_PAGE)
	cd $(REPORT_PAGE) && npm run --silent check && node build.mjs $(CURDIR)/tpu-emu/report/built

$(REPORT_PAGE)/ready: tpu-emu/report/web/package-lock.json tpu-emu/report/web/package.json
	mkdir -p $(REPORT_PAGE)
	cp tpu-emu/report/web/package.json tpu-emu/report/web/package-lock.json $(REPORT_PAGE)
	cd $(REPORT_PAGE) && npm ci --silent --no-audit --no-fund
	touch $@

# The report in Debian's Chromium, clicked through. What is not installed is skipped, by name.
test-report: build $(VENVS)/jax-$(NEWEST)/ready
	if command -v npm > /dev/null; then $(MAKE) $(REPORT_PAGE)/ready; fi
	$(NEWEST_PYTHON) -m pytest -q -rs -p no:cacheprovider python-tests/report

# Licences, sources and duplicates. Advisories need a database from the network and are left to
# `cargo deny check advisories` by hand.
deny: $(CARGO_DENY)
	$(CARGO_DENY) --offline check bans licenses sources
	git ls-files Cargo.lock deny.toml '*Cargo.toml' | xargs sha256sum > $(DENY_CHECKED)

# What that says depends on these files alone, and cargo-deny takes minutes to build: the files that
# passed are noted in git, and only others are checked.
DENY_CHECKED := .ci/deny-checked.sha256
deny-checked:
	@if sha256sum --check --status $(DENY_CHECKED) && [ "$$(git ls-files Cargo.lock deny.toml '*Cargo.toml' | wc -l)" = "$$(wc -l < $(DENY_CHECKED))" ]; then \
	echo "cargo deny: Cargo.lock, deny.toml and all manifests are those that passed it ($(DENY_CHECKED))."; \
	else $(MAKE) deny; fi

# Unoptimized: that is for building it, for its work takes six seconds then.
$(CARGO_DENY):
	CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --debug --version $(CARGO_DENY_VERSION) --locked --root target/tools --target-dir target/tools/build
	rm -rf target/tools/build

# The Rust tests also look at the Python's stacks, at the header that a wheel brings, and at the
# headers of XLA FFI that jaxlibs install, of all its versions.
test-rust: $(patsubst %,$(VENVS)/jax-%/ready,$(filter-out $(call SKIPPED,$(TESTED)),$(TESTED)))
	TPU_EMU_TEST_PYTHONS=$(CURDIR)/$(NEWEST_PYTHON) \
	TPU_EMU_TEST_PJRT_HEADER=$$(ls $(CURDIR)/$(VENVS)/jax-$(NEWEST)/lib/python*/site-packages/xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h) \
	TPU_EMU_TEST_FFI_HEADERS=$$(ls $(CURDIR)/$(VENVS)/jax-*/lib/python*/site-packages/jaxlib/include/xla/ffi/api/c_api.h | paste -sd:) \
	cargo test --workspace

# What stands for the parts that are for x86-64 alone, tested on it: plain loops, no machine code,
# stacks by the system's unwinder. No part of `make test`.
test-portable:
	RUSTFLAGS="--cfg tpu_emu_portable" cargo test $(MACHINE) -p tpu-host --lib --target-dir target/portable

test-docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

test-no-jax: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) -m pytest -q -p no:cacheprovider python-tests/no_jax

test-jax-%: build $(VENVS)/jax-%/ready
	$(VENVS)/jax-$*/bin/python $(PYTEST_SIDE_BY_SIDE) python-tests/jax

test-jax-short-%: build $(VENVS)/jax-%/ready
	$(VENVS)/jax-$*/bin/python $(PYTEST_SIDE_BY_SIDE) $(patsubst %,--ignore=python-tests/jax/test_%.py,$(OF_NO_VERSION) $(call LEFT_OUT,$*)) python-tests/jax

ifeq ($(MODERN_PYTHON),)
$(MODERN:%=test-jax-%) $(MODERN:%=checks-%):
	@echo
	@echo "SKIPPED: $@ needs a Python 3.12 or later; none of those on the path or in pyenv works."
	@echo
else
$(MODERN:%=$(VENVS)/jax-%/ready): private PYTHON := $(MODERN_PYTHON)
# One of them on a later Python, where there is one.
$(VENVS)/jax-0.11.2/ready: private PYTHON = $(or $(shell $(MODERN_PYTHON) python-tests/pythons.py 3.13),$(MODERN_PYTHON))
endif

# The tpu-info of PyPI, which asks a program for its metrics and looks for chips on the bus.
test-tpu-info: build $(VENVS)/tpu-info/ready $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) -m pytest -q -rs -p no:cacheprovider python-tests/tpu_info

$(VENVS)/tpu-info/ready: python-tests/requirements/tpu-info.txt
	$(PYTHON) -m venv $(VENVS)/tpu-info
	$(VENVS)/tpu-info/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/tpu-info.txt
	touch $@

# Hosts of a slice under mpiexec, over the network and not through memory that they share; no part of
# `make test`.
test-mpi: build $(VENVS)/mpi/ready $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) -m pytest -q -rs -p no:cacheprovider python-tests/mpi

$(VENVS)/mpi/ready: python-tests/requirements/mpi.txt
	$(PYTHON) -m venv $(VENVS)/mpi
	$(VENVS)/mpi/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/mpi.txt
	touch $@

# The libtpu C API under the last JAX that calls it.
test-libtpu: build $(VENVS)/jax-$(LIBTPU_JAX)/ready
	$(VENVS)/jax-$(LIBTPU_JAX)/bin/python -m pytest -q -p no:cacheprovider python-tests/libtpu_jax

# The same under two TensorFlows of 1.5 GB each; no part of `make test`.
test-tensorflow: $(TENSORFLOWS:%=test-tensorflow-%)

test-tensorflow-%: build $(VENVS)/tensorflow-%/ready
	$(VENVS)/tensorflow-$*/bin/python -m pytest -q -p no:cacheprovider python-tests/libtpu_tensorflow

# torch_xla on one chip and on eight, each chip a device and all of them one. torch's wheel brings
# CUDA, which takes 7 GB with it; no part of `make test`.
test-torch: build $(VENVS)/torch-xla-$(TORCH_XLA)/ready
	for chips in 1 8; do for tests in torch_xla torch_xla_spmd; do \
	echo "$$tests, chips: $$chips"; \
	TORCH_CHIPS=$$chips $(VENVS)/torch-xla-$(TORCH_XLA)/bin/python -m pytest -q -p no:cacheprovider python-tests/$$tests; \
	done; done

# A conformance checker of others for PJRT plugins. What it may fail is in the script.
conform: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/conform/run.py $(LIBRARY)

# Every export, read by the program that it is for. They weigh 700 MB, so this is no part of
# `make test`; a reader that is missing skips its tests by name. Chromium and node are the system's.
test-readers: build readers $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) -m pytest -q -p no:cacheprovider python-tests/readers

readers:
	python-tests/readers/install.sh target/readers $(PYTHON)

# What a new user tries, in some JAXs of today; `make checks-0.11.2` in one. No part of `make test`.
checks: $(NEWEST:%=checks-%) $(MODERN:%=checks-%)

checks-%: build $(VENVS)/jax-%/ready
	TPU_LIBRARY_PATH=$(LIBRARY) $(VENVS)/jax-$*/bin/python python-tests/clients/checks.py

# The test files of Chex, Optax and Flax that python-tests/ecosystem/files.toml lists: each test ends
# as on XLA's CPU backend, or passes.
ecosystem: FILES := short
ecosystem-full: FILES := full
ecosystem ecosystem-full: build $(VENVS)/ecosystem/ready
	$(VENVS)/ecosystem/bin/python python-tests/ecosystem/run.py $(FILES) $(VENVS)/ecosystem/sources target/ecosystem

# What docs/performance.md shows, of workloads: about a quarter of an hour. WORKLOADS="--quick" is a
# subset, WORKLOADS=softmax those of the name; neither touches the page.
WORKLOADS ?=
bench: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/bench/run.py $(WORKLOADS)
	$(if $(WORKLOADS),,$(NEWEST_PYTHON) python-tests/bench/slices.py)

# Pallas kernels beside the same as arrays, and beside Pallas' interpreters; KERNELS=matmul those of
# the name.
bench-kernels: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/bench/kernels.py $(KERNELS)

# The training step on 8, 64 and 256 devices.
bench-slices: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/bench/slices.py $(SLICES)

# All that the page shows but Optax and Flax; the test files where JAX_TESTS is set.
bench-all: bench bench-growth $(if $(JAX_TESTS),bench-suite)

# Time by size: of data, and of programs.
bench-growth: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/bench/growth.py

# Test files of JAX on both backends: JAX_TESTS is the folder `tests` of JAX's sources at $(NEWEST),
# SUITE_PYTHON another Python that has it and what its tests import.
bench-suite: build $(if $(SUITE_PYTHON),,$(VENVS)/ecosystem/ready)
	$(or $(SUITE_PYTHON),$(VENVS)/ecosystem/bin/python) python-tests/bench/suites.py jax $(or $(JAX_TESTS),$(error JAX_TESTS is not set))

# Optax's and Flax's suites on both backends.
bench-ecosystem: build $(VENVS)/ecosystem/ready
	$(VENVS)/ecosystem/bin/python python-tests/bench/suites.py ecosystem $(VENVS)/ecosystem/sources

# docs/performance.md out of the last runs.
bench-page: $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/bench/page.py

# The instructions that compiling takes, beside those of python-tests/compile_cost/counts.json: over 5 %
# more is an error. UPDATE=1 writes the counts. Without valgrind it is skipped, which is said.
compile-cost: build $(VENVS)/jax-$(NEWEST)/ready
	TPU_LIBRARY_PATH=$(LIBRARY) JAX_PLATFORMS=tpu TPU_EMU_TOPOLOGY=v5e:2x4 $(NEWEST_PYTHON) python-tests/compile_cost/count.py

# What docs/fidelity.md shows: memory as it is planned here, and as the user's own libtpu says it. It
# needs the package libtpu, or LIBTPU=path/to/libtpu.so, and says so where there is none; FIDELITY_PYTHON
# is another Python with JAX and libtpu. PROGRAMS="--quick" is a subset, and leaves the page;
# PROGRAMS="--plan" needs no libtpu, and keeps what the page has of it; PROGRAMS="--drawn 7 10" is ten
# programs of each kind, drawn at random.
FIDELITY_PYTHON ?= $(NEWEST_PYTHON)
PROGRAMS ?=
fidelity: build $(VENVS)/jax-$(NEWEST)/ready
	$(FIDELITY_PYTHON) python-tests/fidelity/compare.py $(PROGRAMS)

# The parts: the heap, the ledger, a capture; recorded stacks; custom calls.
bench-parts: build $(VENVS)/jax-$(NEWEST)/ready
	cargo bench -p tpu-emu -p tpu-host
	$(NEWEST_PYTHON) python-tests/bench/device_put.py
	$(NEWEST_PYTHON) python-tests/bench/custom_calls.py

# The tests of the machine and of both doors under AddressSanitizer with its leak check, then those
# through the C tables of both doors under valgrind. AddressSanitizer is behind a switch that stable
# Rust hides, and the library that the tests load takes its functions from their programs, which a
# program in C does not have; heap_memory counts the memory of the process, to which the sanitizer adds
# its own. Valgrind scans what is reserved, so it gets little HBM and leaves out the tests of the host's
# 256 GiB spaces and of real sizes.
SANITIZED = RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$(1) $(2) -Zexport-executable-symbols -Clink-arg=-Wl,--export-dynamic"
VALGRIND := valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
ADDRESSCHECK = ASAN_OPTIONS=allocator_may_return_null=1 $(call SANITIZED,address) cargo test --target $(TARGET) --target-dir target/asan
memcheck: needs-valgrind memcheck-address memcheck-valgrind

# Said before the sanitizer's hour, not after it.
needs-valgrind:
	@command -v valgrind > /dev/null || { echo "make memcheck needs valgrind, which is not on the path (Debian: apt-get install valgrind)"; exit 1; }

memcheck-address:
	$(ADDRESSCHECK) $(MACHINE) --lib --test heap_model --test history --test hostile_programs --test programs
	$(ADDRESSCHECK) -p libtpu-abi --tests
	$(ADDRESSCHECK) -p pjrt-plugin --tests -- --skip a_c_program_

memcheck-valgrind: needs-valgrind
	TPU_EMU_HBM_BYTES=256MiB CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$(VALGRIND)" \
	cargo test -p pjrt-plugin --test '[!hft]*' --test 't[ao]*' --test threads --test 'ffi_*' -- \
	--test-threads=1 --skip host_memor --skip a_copy_ --skip memory_stats_set
	TPU_EMU_HBM_BYTES=256MiB CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$(VALGRIND)" \
	cargo test --workspace --test driver -- --test-threads=1

# Threads at the machine, the trace writer and the doors under ThreadSanitizer, then a race that is
# planted, which it must report in one of ten runs: one run finds it about every second time. The
# standard library is built for it: docs/decisions/0039.
RACECHECK = $(call SANITIZED,thread) TPU_EMU_SIMD=avx2 TPU_EMU_THREADS=3 cargo test -Zbuild-std --target $(TARGET) --target-dir target/tsan
RACES := races programs driver threads event async_transfer ffi_future
racecheck:
	[ -e "$$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ] || rustup component add rust-src
	$(RACECHECK) -p tpu-host -p tpu-emu -p libtpu-abi -p pjrt-plugin $(addprefix --test ,$(RACES))
	for run in 1 2 3 4 5 6 7 8 9 10; do \
	if ! TPU_EMU_TEST_RACE=1 $(RACECHECK) -p tpu-host --test races > target/tsan/planted.txt 2>&1; then break; fi; \
	if [ $$run = 10 ]; then echo "the planted race was not found"; exit 1; fi; done
	grep "ThreadSanitizer: data race" target/tsan/planted.txt
	grep "races::planted" target/tsan/planted.txt

# Random JAX programs, compared with themselves and with XLA's CPU backend: those of fixed numbers,
# about a minute, or with SECONDS=600 others for so long; SEED=4711 is the first one's number.
SECONDS ?=
SEED ?=
random: build $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) -m pytest -q -p no:cacheprovider python-tests/random
	$(NEWEST_PYTHON) python-tests/random/search.py $(SECONDS) $(SEED)

# Operations by element types and extents, and programs of whole numbers on eight devices, beside
# XLA's CPU backend: as long as SECONDS say, from the number SEED on. No part of `make test`. The sweep
# needs the newest JAX for types of four bits and fewer.
SWEPT = $(VENVS)/jax-$(if $(MODERN_PYTHON),$(lastword $(MODERN)),$(NEWEST))
sweep: build $(SWEPT)/ready
	$(SWEPT)/bin/python python-tests/sweep/sweep.py $(or $(SECONDS),600) $(or $(SEED),0)

walks: build $(SWEPT)/ready
	$(SWEPT)/bin/python python-tests/random/walks.py $(or $(SECONDS),600) $(or $(SEED),0)

# Damaged programs, compiled and run: for a minute, or SECONDS=3600 SEED=7 by hand. Unoptimized code
# has the checks for numbers that overflow. It is the program that `test-rust` builds: by its package's
# name cargo would build all of it once more, with other features of what packages share.
fuzz:
	cargo test --workspace --no-run --test proof
	target/debug/tpu-fuzz $(or $(SECONDS),60) $(or $(SEED),1)

# The readers under libFuzzer with AddressSanitizer, and the search of damaged traces in Python: a minute each,
# or SECONDS=600. What is found lies in target/fuzz/readers, what was learned in target/fuzz/corpus.
READERS := bytecode text hlo_proto hlo_text compile_options mosaic trace
READER = RUSTC_BOOTSTRAP=1 $(CARGO_FUZZ) run --dev --fuzz-dir tpu-emu/fuzz/cargo-fuzz --target-dir target/cargo-fuzz
fuzz-readers: $(READERS:%=fuzz-reader-%) $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) python-tests/no_jax/trace_damage.py $(or $(SECONDS),60) $(or $(SEED),1)

fuzz-reader-%: $(CARGO_FUZZ)
	rm -rf target/fuzz/seeds/$*
	cargo run -p tpu-fuzz -- seeds target/fuzz/seeds
	mkdir -p target/fuzz/corpus/$* target/fuzz/readers
	$(READER) $* target/fuzz/corpus/$* target/fuzz/seeds/$* -- -artifact_prefix=$(CURDIR)/target/fuzz/readers/$*- -timeout=60 -max_total_time=$(or $(SECONDS),60)

# Each of them finds the fault that is planted in its reader, from the seeds alone.
fuzz-readers-proof: $(READERS:%=fuzz-reader-proof-%) $(VENVS)/jax-$(NEWEST)/ready
	$(NEWEST_PYTHON) -m pytest -q -p no:cacheprovider python-tests/no_jax/test_trace_damage.py -k planted

fuzz-reader-proof-%: PROOF = target/fuzz/proof/$*
fuzz-reader-proof-%: $(CARGO_FUZZ)
	rm -rf $(PROOF) target/fuzz/seeds/$*
	cargo run -p tpu-fuzz -- seeds target/fuzz/seeds
	mkdir -p $(PROOF)/corpus
	if TPU_EMU_TEST_PLANTED=1 $(READER) $* $(PROOF)/corpus target/fuzz/seeds/$* -- -artifact_prefix=$(CURDIR)/$(PROOF)/ -max_total_time=$(or $(SECONDS),300) > $(PROOF)/said 2>&1; then echo "the fault planted in $* was not found"; exit 1; fi
	grep "the planted fault" $(PROOF)/said

$(CARGO_FUZZ):
	cargo install cargo-fuzz --version $(CARGO_FUZZ_VERSION) --locked --root target/tools --target-dir target/tools/build
	rm -rf target/tools/build

$(VENVS)/jax-%/ready: python-tests/requirements/jax-%.txt python-tests/requirements/tools.txt
	$(PYTHON) -m venv $(VENVS)/jax-$*
	$(VENVS)/jax-$*/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/jax-$*.txt
	if [ $* = $(NEWEST) ]; then $(VENVS)/jax-$*/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/tools.txt; fi
	if ! command -v $${CXX:-g++} clang++ c++ > /dev/null; then $(VENVS)/jax-$*/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/compiler.txt; fi
	touch $@

# The wheel asks for a libtpu of its own, which is no part of this.
$(VENVS)/tensorflow-%/ready: python-tests/requirements/tensorflow-%.txt
	$(LIBTPU_PYTHON) -m venv $(VENVS)/tensorflow-$*
	$(VENVS)/tensorflow-$*/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/tensorflow-$*.txt
	$(VENVS)/tensorflow-$*/bin/pip install --quiet --disable-pip-version-check --no-deps tensorflow-tpu==$*
	touch $@

$(VENVS)/torch-xla-%/ready: python-tests/requirements/torch-xla-%.txt
	$(TORCH_PYTHON) -m venv $(VENVS)/torch-xla-$*
	$(VENVS)/torch-xla-$*/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/torch-xla-$*.txt
	touch $@

# Kept between runs.
.PRECIOUS: $(VENVS)/jax-%/ready $(VENVS)/tensorflow-%/ready $(VENVS)/torch-xla-%/ready

# The projects' source archives have their tests.
$(VENVS)/ecosystem/ready: python-tests/requirements/ecosystem.txt python-tests/requirements/ecosystem-sources.txt
	rm -rf $(VENVS)/ecosystem
	$(PYTHON) -m venv $(VENVS)/ecosystem
	$(VENVS)/ecosystem/bin/pip install --quiet --disable-pip-version-check -r python-tests/requirements/ecosystem.txt
	$(VENVS)/ecosystem/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --require-hashes --dest $(VENVS)/ecosystem/archives -r python-tests/requirements/ecosystem-sources.txt
	mkdir $(VENVS)/ecosystem/sources
	for archive in $(VENVS)/ecosystem/archives/*.tar.gz; do tar -xzf $$archive -C $(VENVS)/ecosystem/sources; done
	touch $@

clean:
	cargo clean
