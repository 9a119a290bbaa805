"""How much the tests do: `make test` what shows most per second, `make test-all` everything."""

import os
from typing import Any, TypeVar

import pytest

Value = TypeVar("Value")
IS_THOROUGH = os.environ.get("BRENNER_THOROUGH") == "1"


def effort(quick: Value, thorough: Value) -> Value:
    """Return the first in `make test` and the second in `make test-all`."""
    return thorough if IS_THOROUGH else quick


def thorough(*values: Any) -> Any:
    """Return parameters with which a test runs in `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.thorough)
