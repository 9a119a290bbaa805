"""Which tests run: `make test` leaves out those marked `thorough`, `make test-all` runs all.

`BRENNER_THOROUGH=1` selects everything; so does naming a test (`FILE::test`) or giving `-m`. Tests
of the agents' real programs run only with `make test-clients`, which names the programs' folder.
"""

import os
import signal
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from effort import IS_THOROUGH, effort

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

# A run that fails must fail again; what only a random run finds is for `make fuzz`.
settings.register_profile(
    "usual",
    max_examples=effort(40, 100),
    derandomize=True,
    **_COMMON,  # type: ignore[arg-type]
)
settings.register_profile("fuzz", max_examples=5_000, **_COMMON)  # type: ignore[arg-type]
# The same examples for `make mutants`; no shrinking, as a failure is enough.
settings.register_profile(
    "mutants",
    settings.get_profile("usual"),
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile(os.environ.get("BRENNER_HYPOTHESIS_PROFILE", "usual"))

# What a shell starts in the background ignores Ctrl-C, what `nohup` starts the end of its terminal,
# and so does all that they start in turn. Some tests send both.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Stores behind a server. The contract of a mailbox is cheap on PostgreSQL, and runs there always.
_SERVERS = ("agent mail", "brenner server", "postgresql")
_CONTRACT = "tests/mail/test_contract_"
collect_ignore_glob = [] if "BRENNER_AGENT_PROGRAMS" in os.environ else ["clients/test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    """Leave out thorough tests, unless they are asked for."""
    is_named = any("::" in each for each in config.args)
    if not (IS_THOROUGH or is_named or config.option.markexpr):
        config.option.markexpr = "not thorough"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with a store behind a server as thorough, but for those marked `every_store`."""
    for item in items:
        stores = _stores(item)
        if item.nodeid.startswith(_CONTRACT):
            stores -= {"postgresql"}
        if stores and not item.get_closest_marker("every_store"):
            item.add_marker("thorough")


def _stores(item: pytest.Item) -> set[str]:
    """Return the servers among the parameters of a test: by name, or a home or housing of it."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    homes = (getattr(each, "home", each) for each in parameters)
    names = (each if isinstance(each, str) else getattr(each, "name", None) for each in homes)
    return {each for each in names if each in _SERVERS}


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say loudly that tests did not run; with CI=true they fail instead (`parts.need`)."""
    if skipped := len(terminalreporter.stats.get("skipped", [])):
        message = f"{skipped} TESTS DID NOT RUN: parts of this machine are missing, as listed above"
        terminalreporter.section(message, sep="!", red=True, bold=True)
