"""Codes of the programs beside ours: ntm, tmux, bd, and those of the agents."""

from brenner.diagnostics.model import Code

CODES: tuple[Code, ...] = ()
