"""Codes of the server for agents and browsers: where it listens, and whom it lets in."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
