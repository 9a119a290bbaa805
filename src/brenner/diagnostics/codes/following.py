"""Codes of following a session: where it stands, what was refused in it, its rounds."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
