"""Where a store's times come from."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """The time now."""
    return datetime.now(UTC)
