"""What is raised. A wrong text is never raised but returned, as diagnostics beside what was read.

The tree:
    BrennerError            carries the diagnostic that says what, where and how to mend it
    ├── Refused             the request cannot be granted as things stand: nothing was done
    │   └── Altered         it was done, but not as it was asked for
    └── Unavailable         the world is broken: no store, no disk, no server, no permission
        └── Uncertain       the answer got lost: it may have been done, or not
"""

from brenner.diagnostics.model import Diagnostic


class BrennerError(Exception):
    """Something that a command, page or tool shows as a diagnostic, never as a traceback."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.id}: {diagnostic.message}")
        self.diagnostic = diagnostic

    @property
    def details(self) -> tuple[str, ...]:
        """Texts of several lines that belong to it, for people to read."""
        return ()


class Refused(BrennerError):
    """The request contradicts what is stored: an unknown name, a thread that has moved."""


class Altered(Refused):
    """A server stored a message otherwise than it was sent; it is there, and stays."""


class Unavailable(BrennerError):
    """Something outside cannot be used now."""


class Uncertain(Unavailable):
    """A server was lost after it was asked to store something, and cannot be asked any more."""
