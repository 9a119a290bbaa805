# Two commands are all one needs: `make demo` shows the program, `make test` proves it.
# Both set everything up by themselves in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test bench fuzz docs lint format clean

demo: $(VENV)/.runtime
	@$(BIN)/brenner demo

test: $(VENV)/.dev
	@sh tools/debian_packages.sh
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n auto -q

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/code_pages.py --check

bench: $(VENV)/.dev
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python benchmarks/run.py

# The laws with a hundred times as many examples; what they find becomes a permanent case.
fuzz: $(VENV)/.dev
	BRENNER_HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n auto -q -m fuzz

docs: $(VENV)/.dev
	$(BIN)/python tools/code_pages.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Some systems ship a venv without pip: then the pip outside fills it.
$(BIN)/python:
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); $(PYTHON) -m venv --without-pip $(VENV) && \
	    $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

# Bytecode is compiled here because editable installs are not, and it is half of the start-up.
$(VENV)/.runtime: $(BIN)/python pyproject.toml constraints.txt
	@PIP_CONSTRAINT=constraints.txt $(PIP) install --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@PIP_CONSTRAINT=constraints.txt $(PIP) install --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@
