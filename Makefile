# `make demo` shows the program, `make test` tests it. Both set up what they need in .venv.
# The tests also start an Agent Mail server. It has its own environment, because its packages take
# half a gigabyte.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AGENT_MAIL := .venv-agent-mail
AGENT_MAIL_VERSION := 0.1.19
# Claude Code, Codex and Gemini, which only `make test-clients` needs: three quarters of a gigabyte.
AGENT_PROGRAMS := .agent-programs
# $(call pip_install,PYTHON,PACKAGES) installs packages and shows progress. The whole output of pip
# goes to a log, and its end is shown if pip fails.
pip_install = \
  $(1) -m pip install --disable-pip-version-check --progress-bar off $(2) 2>&1 | \
  tee $(1).log | $(1) tools/pip_progress.py || \
  { tail -n 30 $(1).log; echo "The set-up failed. All output of pip: $(1).log"; exit 1; }
# Halves of the list for each worker: a browser and a server then serve many tests in a row.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: demo test test-all test-clients record-clients parts bench fuzz kills mutants docs screenshots client-pictures lint format clean agent-mail

# `make demo ARGS=--full` shows every step, `make demo ARGS=--step` waits for Enter.
demo: $(VENV)/.runtime
	@$(BIN)/brenner demo $(ARGS)

test: $(VENV)/.dev parts lint
	$(PYTEST)

# Also long races, kills, soaks, every scene on every store, and more examples of each law.
test-all: $(VENV)/.dev parts lint
	BRENNER_THOROUGH=1 $(PYTEST)

# The agents' real programs with the settings that we print, and a scripted model on loopback.
test-clients: $(VENV)/.dev $(AGENT_PROGRAMS)/.installed
	@echo "$(AGENT_PROGRAMS) has $$(du -sh $(AGENT_PROGRAMS) | cut -f 1)."
	BRENNER_AGENT_PROGRAMS=$(CURDIR)/$(AGENT_PROGRAMS)/node_modules/.bin $(PYTEST) tests/clients

# The calls of the same programs, for tests/serving/test_recorded_clients.py.
record-clients: $(VENV)/.dev $(AGENT_PROGRAMS)/.installed
	BRENNER_AGENT_PROGRAMS=$(CURDIR)/$(AGENT_PROGRAMS)/node_modules/.bin \
	  PYTHONPATH=src:tests $(BIN)/python tests/clients/record.py

# What the tests need besides Python packages.
parts:
	@sh tools/debian_packages.sh
	@$(MAKE) --no-print-directory agent-mail

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/code_pages.py --check
	$(BIN)/python tools/command_pages.py --check

bench: $(VENV)/.dev
	@$(MAKE) --no-print-directory agent-mail
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python benchmarks/run.py

# The laws with a hundred times as many examples. What they find becomes a permanent case.
fuzz: $(VENV)/.dev
	BRENNER_HYPOTHESIS_PROFILE=fuzz $(PYTEST) -m fuzz

# kill -9 at random moments, with figures and seeds; `make test-all` has a few such kills.
kills: $(VENV)/.dev
	BRENNER_THOROUGH=1 BRENNER_KILLS=200 $(BIN)/python -m pytest -q -s tests/session/test_killed_at_random.py -k sqlite
	BRENNER_THOROUGH=1 BRENNER_KILLS=50 $(BIN)/python -m pytest -q -s tests/session/test_killed_at_random.py -k postgresql

# A fixed sample of mutants of the pure core; fails if the tests notice fewer than they once did.
mutants: $(VENV)/.dev
	@nice -n 10 $(BIN)/python tools/mutants.py

# The reference of codes and of commands, and the manual pages, from the program.
docs: $(VENV)/.dev
	$(BIN)/python tools/code_pages.py
	$(BIN)/python tools/command_pages.py

# The pictures of docs/how-to/use-the-web-page.md; look at them before they are committed.
screenshots: $(VENV)/.dev
	@sh tools/debian_packages.sh
	$(BIN)/python tools/screenshots.py

# The pictures of the pages on Claude Code, Codex and Gemini, from the real programs.
client-pictures: $(VENV)/.dev $(AGENT_PROGRAMS)/.installed
	@sh tools/debian_packages.sh
	$(BIN)/python tools/client_pictures.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(AGENT_MAIL) $(AGENT_PROGRAMS) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Without the Agent Mail server, tests that need it skip; with CI=true nothing may be missing.
agent-mail:
	@$(MAKE) --no-print-directory --silent $(AGENT_MAIL)/.$(AGENT_MAIL_VERSION) || { \
	  echo "MISSING: an Agent Mail server (mcp_mail $(AGENT_MAIL_VERSION)). Tests that need it will be skipped."; \
	  [ "$$CI" != true ]; }

# Some systems ship a venv without pip. Then the pip outside fills it.
%/bin/python:
	@echo "Creating the Python environment $* …"
	@$(PYTHON) -m venv $* || \
	  { rm -rf $*; $(PYTHON) -m venv --without-pip $* && \
	    $(PYTHON) -m pip --python $@ install --quiet pip; }

# Bytecode is compiled here because editable installs do not, and it is half of the start-up.
$(VENV)/.runtime: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the program. The first time this takes about a minute."
	@export PIP_CONSTRAINT=constraints.txt; $(call pip_install,$(BIN)/python,--editable .)
	@$(BIN)/python -m compileall -q src
	@touch $@
	@echo

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing the program and its development tools. The first time this takes 2 to 3 minutes."
	@export PIP_CONSTRAINT=constraints.txt; $(call pip_install,$(BIN)/python,--editable '.[dev]')
	@$(BIN)/python -m compileall -q src
	@touch $@

# Not with our constraints: it is another project's program. Without bytecode it starts three times
# as slowly. Some of its files are not Python and do not compile.
$(AGENT_MAIL)/.$(AGENT_MAIL_VERSION): $(AGENT_MAIL)/bin/python
	@echo "Installing an Agent Mail server for the tests. The first time this takes a few minutes."
	@$(call pip_install,$(AGENT_MAIL)/bin/python,mcp_mail==$(AGENT_MAIL_VERSION))
	@echo "Compiling the server …"
	@$(AGENT_MAIL)/bin/python -m compileall -q -j 0 $(AGENT_MAIL)/lib >/dev/null 2>&1 || true
	@touch $@

# Without a lock file, because one would name the registry of the machine that wrote it.
$(AGENT_PROGRAMS)/.installed: tools/clients/package.json
	@for each in node npm; do command -v $$each >/dev/null || { \
	  echo "MISSING: $$each. The agents' programs need Node.js 20 or later and npm."; exit 1; }; done
	@echo "Installing the agents' programs into $(AGENT_PROGRAMS): about 740 MB, some minutes."
	@mkdir -p $(AGENT_PROGRAMS)
	@cp $< $(AGENT_PROGRAMS)/package.json
	@npm install --prefix $(AGENT_PROGRAMS) --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@
