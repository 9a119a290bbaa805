"""Codes of references between the items of sessions (delta document, Cross-Session References)."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
