"""Codes of watching sessions live."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
