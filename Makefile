# Two commands are all one needs: `make demo` shows the program, `make test` proves it.
# Both set everything up by themselves in .venv; the tests also start an Agent Mail server, which
# has an environment of its own because it brings half a gigabyte that is none of ours.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AGENT_MAIL := .venv-agent-mail
AGENT_MAIL_VERSION := 0.1.19
PIP_INSTALL := -m pip install --disable-pip-version-check --progress-bar off
# One line for each package that pip looks at: a set-up takes minutes and must not look stuck.
PIP_PROGRESS := sed -unE '/^(Collecting|Installing|Successfully|ERROR|WARNING)/{s/^(.{100}).*/\1 …/;p}'
# Halves of the list for each worker: a browser and a server then serve many tests in a row.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: demo test test-all parts bench fuzz kills mutants docs screenshots lint format clean agent-mail

demo: $(VENV)/.runtime
	@$(BIN)/brenner demo

test: $(VENV)/.dev parts lint
	$(PYTEST)

# Also long races, kills, soaks, every scene on every store, and more examples of each law.
test-all: $(VENV)/.dev parts lint
	BRENNER_THOROUGH=1 $(PYTEST)

# What tests need besides Python packages.
parts:
	@sh tools/debian_packages.sh
	@$(MAKE) --no-print-directory agent-mail

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/code_pages.py --check

bench: $(VENV)/.dev
	@$(MAKE) --no-print-directory agent-mail
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python benchmarks/run.py

# The laws with a hundred times as many examples; what they find becomes a permanent case.
fuzz: $(VENV)/.dev
	BRENNER_HYPOTHESIS_PROFILE=fuzz $(PYTEST) -m fuzz

# kill -9 at random moments, with figures and seeds; `make test-all` has a few such kills.
kills: $(VENV)/.dev
	BRENNER_THOROUGH=1 BRENNER_KILLS=200 $(BIN)/python -m pytest -q -s tests/session/test_killed_at_random.py -k sqlite
	BRENNER_THOROUGH=1 BRENNER_KILLS=50 $(BIN)/python -m pytest -q -s tests/session/test_killed_at_random.py -k postgresql

# A fixed sample of mutants of the pure core; fails if the tests notice fewer than they once did.
mutants: $(VENV)/.dev
	@nice -n 10 $(BIN)/python tools/mutants.py

docs: $(VENV)/.dev
	$(BIN)/python tools/code_pages.py

# The pictures of docs/web.md; look at them before they are committed.
screenshots: $(VENV)/.dev
	@sh tools/debian_packages.sh
	$(BIN)/python tools/screenshots.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(AGENT_MAIL) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Without the Agent Mail server, tests that need it skip; with CI=true nothing may be missing.
agent-mail:
	@$(MAKE) --no-print-directory --silent $(AGENT_MAIL)/.$(AGENT_MAIL_VERSION) || { \
	  echo "MISSING, and tests that need it will not run: an Agent Mail server (mcp_mail $(AGENT_MAIL_VERSION))"; \
	  [ "$$CI" != true ]; }

# Some systems ship a venv without pip: then the pip outside fills it.
%/bin/python:
	@echo "Setting up $* …"
	@$(PYTHON) -m venv $* || \
	  { rm -rf $*; $(PYTHON) -m venv --without-pip $* && \
	    $(PYTHON) -m pip --python $@ install --quiet pip; }

# Bytecode is compiled here because editable installs are not, and it is half of the start-up.
$(VENV)/.runtime: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the packages of the program …"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python $(PIP_INSTALL) --editable . | $(PIP_PROGRESS)
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the packages of the program and its development tools …"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python $(PIP_INSTALL) --editable '.[dev]' | $(PIP_PROGRESS)
	@$(BIN)/python -m compileall -q src
	@touch $@

# Not with our constraints: it is a program of others. Without bytecode it starts thrice as slowly;
# some of the files that come with it are no Python and do not compile.
$(AGENT_MAIL)/.$(AGENT_MAIL_VERSION): $(AGENT_MAIL)/bin/python
	@echo "Installing mcp_mail $(AGENT_MAIL_VERSION) into $(AGENT_MAIL), for the tests …"
	@$(AGENT_MAIL)/bin/python $(PIP_INSTALL) mcp_mail==$(AGENT_MAIL_VERSION) | $(PIP_PROGRESS)
	@echo "Compiling its bytecode …"
	@$(AGENT_MAIL)/bin/python -m compileall -q -j 0 $(AGENT_MAIL)/lib >/dev/null 2>&1 || true
	@touch $@
