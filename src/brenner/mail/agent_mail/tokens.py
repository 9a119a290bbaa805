"""Tokens that a server gave to who registered from here, and wants to see when she sends.

They are secrets: each lies in a file of its own, for its owner alone, in a folder that git
ignores. Where no folder is given they last as long as the mailbox.
"""

import os
from hashlib import sha256
from pathlib import Path

from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.model import Unavailable

_OWNER_ONLY = 0o600
_IGNORE_EVERYTHING = "*\n"


class Tokens:
    """The tokens of the agents of one project on one server."""

    def __init__(self, folder: Path | None, server: str, project: str) -> None:
        self._known: dict[str, str] = {}
        place = sha256(f"{server}\n{project}".encode()).hexdigest()
        self._folder = folder / "agent-mail" / place if folder else None

    def of(self, name: str) -> str | None:
        """The token of an agent, if one was given."""
        if name not in self._known and self._folder:
            file = self._folder / name
            try:
                self._known[name] = file.read_text("utf-8")
            except FileNotFoundError:
                return None
            except (OSError, UnicodeDecodeError) as error:
                raise _unusable(file, error) from error
        return self._known.get(name)

    def keep(self, name: str, token: str) -> None:
        """Remember it for whoever acts under that name here later."""
        self._known[name] = token
        if not self._folder:
            return
        file = self._folder / name
        new = file.with_name(f"{name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder.parent / ".gitignore").write_text(_IGNORE_EVERYTHING, "utf-8")
            number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
            with os.fdopen(number, "w", encoding="utf-8") as opened:
                opened.write(token)
            new.replace(file)
        except OSError as error:
            raise _unusable(file, error) from error


def _unusable(file: Path, error: Exception) -> Unavailable:
    reason = getattr(error, "strerror", None) or "it is not UTF-8"
    return Unavailable(STORE_UNUSABLE.at(path=str(file), reason=f"a token of it: {reason}"))
