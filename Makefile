# Everything a developer does, each by one command; `make` lists them.
PYTHON ?= python3
BIN := .venv/bin
NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt) CMakeLists.txt
PACKAGE := pyproject.toml constraints.txt $(NATIVE)
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet --constraint constraints.txt

.PHONY: help demo test test-fast lint types format stub bench docs wheel sanitize fuzz clean

help:  ## list these commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/made-install  ## install into .venv and take the tour
	$(BIN)/weft demo

test: .venv/made-test  ## run the whole suite
	$(BIN)/pytest -n 2

test-fast: .venv/made-test  ## run all but the slow tests
	$(BIN)/pytest -n 2 -m "not slow"

lint: .venv/made-check  ## check style, formatting and import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $(filter %.cpp %.hpp,$(NATIVE)) tests/*/*.?pp
	$(BIN)/lint-imports

types: .venv/made-check  ## check types with mypy and pyright
	$(BIN)/mypy
	$(BIN)/pyright

format: .venv/made-check  ## format Python and C++
	$(BIN)/ruff format
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/clang-format -i $(filter %.cpp %.hpp,$(NATIVE)) tests/*/*.?pp

stub: .venv/made-install  ## write the type stub of the native module
	$(BIN)/python -m nanobind.stubgen -q -m weft._native -p native/bindings/stub.pat -o src/weft/_native.pyi

bench: .venv/made-install  ## measure, against this machine's own speed; ROUNDS=--short for a look
	for file in benchmarks/*.py; do $(BIN)/python $$file $(ROUNDS) || exit 1; done

docs: .venv/made-docs  ## write the generated pages and build the site
	$(BIN)/python scripts/reference_pages.py
	$(BIN)/python scripts/algorithm_pages.py
	$(BIN)/zensical build --clean --strict

fuzz: .venv/made-test  ## look for input that breaks the core or the readers, for FUZZ_SECONDS=60
	@mkdir -p build
	@command -v clang++ > /dev/null || { apt-get update && apt-get install --yes clang; } > build/apt.log 2>&1 \
	  || { echo "make fuzz needs clang++: install the package clang as root; see build/apt.log"; exit 1; }
	PYTHONPATH=tests $(BIN)/python -m fuzz.driver $(FUZZ_SECONDS)

FUZZ_SECONDS ?= 60

wheel: .venv/made-test  ## build the wheel and test it where there is no source
	rm -rf dist
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	$(call test-elsewhere,wheel)

sanitize: .venv/made-test  ## run the suite under the address and undefined behaviour sanitizers, threads under theirs
	rm -rf dist
	$(BIN)/pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist -Cbuild-dir=build/sanitize \
	  -Ccmake.build-type=Debug -Ccmake.define.WEFT_SANITIZE=address,undefined .
	$(call test-elsewhere,sanitize,$(SANITIZED),and not memory)
	$(BIN)/pytest tests/runtime/test_wire.py

SANITIZED := LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1

# Install the wheel in dist/ into an environment of its own, and test it in a folder without src/.
define test-elsewhere
	rm -rf build/$(1)-venv build/$(1)-tests
	$(PYTHON) -m venv build/$(1)-venv
	$(subst $(BIN),build/$(1)-venv/bin,$(PIP)) pip
	$(subst $(BIN),build/$(1)-venv/bin,$(PIP)) --group test dist/*.whl
	mkdir -p build/$(1)-tests
	cp -r tests pyproject.toml build/$(1)-tests
	cd build/$(1)-tests && $(2) ../$(1)-venv/bin/pytest -n 2 -m "not tree $(3)"
endef

clean:  ## remove all that these commands made
	rm -rf .venv build dist site

.venv/made-venv: constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) pip
	touch $@

.venv/made-install: .venv/made-venv $(PACKAGE)
	$(PIP) --group build
	$(PIP) --no-build-isolation --editable .
	touch $@

.venv/made-test: .venv/made-install
	$(PIP) --group test
	touch $@

.venv/made-check: .venv/made-test
	$(PIP) --group check
	touch $@

.venv/made-docs: .venv/made-install
	$(PIP) --group docs
	touch $@
