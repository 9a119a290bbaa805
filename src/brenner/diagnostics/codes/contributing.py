"""Codes of contributions that come as structured arguments."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
