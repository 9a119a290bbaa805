"""Parts of the machine that a test talks to."""

import os

import pytest


def need(present: object, message: str) -> None:
    """Skip loudly where a part is missing; where everything must be there (CI=true), fail."""
    if present:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
