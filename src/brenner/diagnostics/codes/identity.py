"""Codes about who is who: names, and the secrets that belong to them."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
