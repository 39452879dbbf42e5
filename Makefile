# make demo    show podium's main job on real data
# make test    run the library's tests except the long ones
# make docs    build the documentation site in build/docs
# make check   run all checks of a change: all tests, lint, types, layers, docs, wheel, lines
# make bench   compare podium's speed with other libraries
#
# The targets need Python >= 3.11 and make, but no compiler. The first target that needs .venv
# creates it. A change of pyproject.toml or constraints.txt causes a new installation. To use
# another Python, run make PYTHON=... test

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
RECTOOLS := .venv-rectools
# -qq prints errors only. With wheels only, a package without a wheel fails here and pip does not
# look for a compiler.
PIP := -m pip --disable-pip-version-check install -qq --only-binary :all:
INSTALL := $(BIN)/python $(PIP) -c constraints.txt
# The build tools are pinned too, so podium itself is built without pip's isolation.
INSTALL_PODIUM = $(INSTALL) hatchling editables && $(INSTALL) --no-build-isolation -e
# If `make bench` has created RecTools' environment, the parity tests run RecTools in it.
export PODIUM_RECTOOLS_PYTHON ?= $(wildcard $(RECTOOLS)/bin/python)

check: test-all studies lint types layers docs wheel budget
.DELETE_ON_ERROR:

help:
	@sed -n '1,5s/^# //p' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.demo
	$(BIN)/podium demo --out demo-report

# One process per processor, so that each has one thread; byte code is kept, which saves half of
# the time to collect the tests.
test test-all studies coverage: export OMP_NUM_THREADS = 1
test test-all studies coverage: export OPENBLAS_NUM_THREADS = 1
unexport PYTHONDONTWRITEBYTECODE

# In random order, with fewer examples per law.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n auto -m "not long" --hypothesis-profile=quick

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n auto

# The tests of the papers' studies, a package of its own.
studies: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n auto studies

# All tests, slower: the share of lines and branches that they run.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -q -n auto --cov --cov-report=
	@echo "coverage of lines and branches: $$($(BIN)/python -m coverage report --format=total) %"

check: test-all studies lint types layers docs wheel budget

lint: $(VENV)/.dev
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet

types: $(VENV)/.dev
	$(BIN)/basedpyright --pythonpath $(BIN)/python

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-logo

# The lines of each room beside their budget.
budget: $(VENV)/.dev
	$(BIN)/python tools/budget.py

# Strict: a warning, such as of a link that leads nowhere, is an error.
docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs
	@echo "The site is in build/docs/index.html"

# The wheel is built from the sdist, installed without extras into a new environment, and used.
wheel: $(VENV)/.dev
	rm -rf dist && mkdir dist
	$(BIN)/python -m build --no-isolation . > dist/build.log 2>&1 || { cat dist/build.log; exit 1; }
	$(BIN)/python -m venv dist/bare
	dist/bare/bin/python $(PIP) -c constraints.txt dist/*.whl
	dist/bare/bin/python -I tools/check_wheel.py src/podium
	rm -rf dist/bare

bench: $(VENV)/.bench $(RECTOOLS)/.installed
	PODIUM_RECTOOLS_PYTHON=$(RECTOOLS)/bin/python $(BIN)/python -m benchmarks

format: $(VENV)/.dev
	$(BIN)/ruff check --quiet --fix
	$(BIN)/ruff format --quiet

clean:
	rm -rf $(VENV) $(RECTOOLS) build dist docs/_generated demo-report .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src studies tests benchmarks tools docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.demo: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing podium into $(VENV) (about a minute) ..."
	@$(INSTALL_PODIUM) '.[report]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml studies/pyproject.toml constraints.txt
	@echo "Installing podium and its tools into $(VENV) (about two minutes) ..."
	@$(INSTALL_PODIUM) '.[dev]'
	@$(INSTALL_PODIUM) './studies[rivals]'
	@$(BIN)/python -m pip check
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.dev
	@$(INSTALL_PODIUM) '.[bench]'
	@touch $@

$(RECTOOLS)/.installed: benchmarks/constraints-rectools.txt | $(VENV)/.python
	@echo "Installing RecTools into $(RECTOOLS) ..."
	@$(BIN)/python -m venv --clear $(RECTOOLS)
	@$(RECTOOLS)/bin/python $(PIP) -c $< RecTools
	@touch $@

$(VENV)/.python:
	@sh tools/make_venv.sh $(VENV) $(PYTHON)
	@touch $@
