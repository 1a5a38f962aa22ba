# Every target sets up what it needs in .venv, once: a stamp file marks what is installed already.
# Python 3.11 or newer and make are all that must be there before.

PYTHON ?= python3
# The version is fixed because a looser one may pull in gigabytes of accelerator libraries.
TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-spark test-integrations fuzz benchmark experiments docs dist matrix lint format clean

demo: $(VENV)/.demo
	@echo "== Handwritten digits by different people =="
	@$(BIN)/python examples/digits.py demo
	@echo
	@echo "== Credit applications, month by month =="
	@rm -rf demo/applications
	@$(BIN)/nammd demo --keep demo/applications

# What Python compiles is kept: else every program that a test starts would compile all modules anew.
# Types are checked beside the tests; either fails the target.
test: $(VENV)/.test
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy & types=$$!; \
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder; tests=$$?; \
	wait $$types && exit $$tests

# On a real Spark, in an environment of its own; Java 17 or newer must be there.
SPARK ?= pyspark>=4.0,<4.1
test-spark: $(VENV)-spark/.test
	$(VENV)-spark/bin/python -m pytest tests/data/test_spark_tables.py

# Orchestrators and registries, each in a local run, in environments of their own: Airflow excludes what others need.
# The packages are imported first, since tests of those that are missing would be skipped.
INTEGRATIONS := .venv-integrations
RUN_INTEGRATIONS := -m pytest -W default -p no:cacheprovider -rs tests/integrations/test_gates.py
test-integrations: $(INTEGRATIONS)/pipelines/.done $(INTEGRATIONS)/airflow/.done
	$(INTEGRATIONS)/pipelines/bin/python -c "import dagster, great_expectations, mlflow"
	$(INTEGRATIONS)/pipelines/bin/python $(RUN_INTEGRATIONS) tests/integrations/test_dagster.py \
		tests/integrations/test_mlflow.py tests/integrations/test_great_expectations.py docs/integrations
	$(INTEGRATIONS)/airflow/bin/python -c "import airflow"
	$(INTEGRATIONS)/airflow/bin/python $(RUN_INTEGRATIONS) tests/integrations/test_airflow.py

# Hostile inputs; INPUTS=1000000 for a night. What is found is told by its number.
INPUTS ?= 100000
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS)
	$(BIN)/python -m tests.monitor.flood

benchmark: $(VENV)/.test
	$(BIN)/python -m benchmarks

# Real data are looked for in the folder NAMMD_DATA, or data/; what needs data that are not there is skipped.
experiments: $(VENV)/.test
	$(BIN)/python -m experiments run
	$(BIN)/python -m experiments page

# One folder for each version; those of earlier versions stay, and index.html leads to the newest.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html/$$($(BIN)/python -c "import nammd; print(nammd.__version__)")
	$(BIN)/python docs/_ext/versions.py docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

# What would be uploaded: built from the sources, checked, and used in an empty environment.
dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	PYTHON=$(PYTHON) .ci/smoke dist/*.whl

# On every supported Python that is here, with the oldest and the newest versions of what the package needs.
matrix: dist
	.ci/matrix

lint: $(VENV)/.lint
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: $(VENV)/.lint
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

clean:
	rm -rf $(VENV) $(VENV)-spark $(VENV)-matrix $(INTEGRATIONS) dist demo docs/_build docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

# pip 25.1 is the first that installs dependency groups.
$(VENV)/.base: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --editable .
	touch $@

$(VENV)/.demo: $(VENV)/.base
	$(PIP) install --group demo
	touch $@

$(VENV)/.lint: $(VENV)/.base
	$(PIP) install --group lint
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) install "$(TORCH)"
	$(PIP) install --group test
	touch $@

$(VENV)-spark/.test: pyproject.toml
	test -x $(VENV)-spark/bin/python || $(PYTHON) -m venv $(VENV)-spark
	$(VENV)-spark/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	$(VENV)-spark/bin/python -m pip --quiet install --editable ".[spark]" "$(SPARK)" pytest hypothesis sybil
	touch $@

$(VENV)/.dist: $(VENV)/.base
	$(PIP) install --group dist
	touch $@

$(VENV)/.docs: $(VENV)/.base
	$(PIP) install --group docs
	touch $@

# What is installed may be anything that Airflow allows, but the versions were tried together.
$(INTEGRATIONS)/airflow/.done: CONSTRAINTS := --constraint tests/integrations/airflow-constraints.txt
$(INTEGRATIONS)/airflow/.done: EXTRAS := airflow
$(INTEGRATIONS)/airflow/.done: tests/integrations/airflow-constraints.txt
$(INTEGRATIONS)/pipelines/.done: EXTRAS := dagster,great-expectations,mlflow
$(INTEGRATIONS)/%/.done: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade "pip>=25.1"
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install $(CONSTRAINTS) --editable ".[$(EXTRAS)]" --group integrations
	touch $@
