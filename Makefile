# Every target makes its own virtual environment when it is missing. Needs make and Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check

.PHONY: demo test test-slow docs bench lab clean

demo: $(VENV)/demo.stamp  ## train, calibrate, assess: prints three assessments, writes demo.html
	$(BIN)/cwcal demo --html demo.html

test: $(VENV)/dev.stamp  ## export check, notebook tests, pytest
	$(BIN)/python tools/check_export.py
	$(BIN)/nbdev_test --n_workers 2
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/dev.stamp  ## the slow cells and the slow tests
	$(BIN)/nbdev_test --n_workers 2 --flags slow
	$(BIN)/python -m pytest -n 2 -m slow

docs: $(VENV)/dev.stamp  ## the site, in _docs/
	$(BIN)/python tools/build_docs.py

bench: $(VENV)/dev.stamp  ## side-by-side timings against the peers that are installed
	for script in benchmarks/foundation.py benchmarks/comparison_*.py; do $(BIN)/python $$script || exit 1; done

lab: $(VENV)/jupyter.stamp  ## JupyterLab on the notebooks
	$(BIN)/jupyter lab nbs

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cwcal needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: setup.py settings.ini | $(BIN)/python
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/dev.stamp: setup.py settings.ini | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/demo.stamp

$(VENV)/jupyter.stamp: $(VENV)/dev.stamp
	$(PIP) -e '.[dev,jupyter]'
	@touch $@

clean:
	rm -rf $(VENV) _docs _proc build *.egg-info
