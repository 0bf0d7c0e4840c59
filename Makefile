# Every target makes its own virtual environment when it is missing. Needs make and Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -qq --disable-pip-version-check

.PHONY: demo test test-slow docs bench lab clean experiments-synthetic experiments-real

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

experiments-synthetic: $(VENV)/dev.stamp  ## the synthetic tables at full size, in results/synthetic_*/tables (a few minutes)
	for e in calibrated sensitivity cwauc; do $(BIN)/cwcal run synthetic_$$e -f params/synthetic_$${e}_paper.yaml -p n_jobs=2 -o results/synthetic_$$e || exit 1; done

# data set:parameter file, the longest first
REAL := cifar10:standard_images covertype:standard mnist:standard_images wine:standard obesity:standard accelerometer:standard adult_income:standard bank_marketing:standard \
        credit:standard naticusdroid:standard higgs_boson:standard phishing:standard breast_cancer:standard diabetes:standard liver:standard

experiments-real: $(VENV)/dev.stamp  ## fifteen data sets at standard size, two at a time (an hour), in results/real; needs CWCAL_DATA_HOME or a network
	printf '%s\n' $(REAL) | xargs -P 2 -I{} sh -c 'r={}; OMP_NUM_THREADS=1 exec $(BIN)/cwcal run real_fit -q -f params/real_fit_$${r#*:}.yaml -p dataset=$${r%:*} -o results/real/$${r%:*}'
	$(BIN)/cwcal run real_tables -o results/real/tables
	$(BIN)/cwcal run real_roc -o results/real/roc

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
