"""Codes of the tools that agents call: their arguments, and what became of what they sent."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
