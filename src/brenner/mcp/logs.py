"""What the SDK writes to its log: only where something went wrong, never what was in it.

Its words may quote a request, and with it a message, a session or a secret.
"""

import logging
import sys

_LOGGER = "mcp"


class Places(logging.Handler):
    """Writes the place in the program, and the kind of exception, to the standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        kind = record.exc_info[0] if record.exc_info else None
        what = f" {kind.__name__}" if kind else ""
        level = record.levelname.lower()
        sys.stderr.write(f"brenner: {record.name}:{record.lineno} {level}{what}\n")
        sys.stderr.flush()


def tell_places_only() -> None:
    """From now on; warnings, which clients cause, are not told at all."""
    logger = logging.getLogger(_LOGGER)
    logger.handlers = [Places(logging.ERROR)]
    logger.setLevel(logging.ERROR)
    logger.propagate = False
