"""`brenner mcp`: the MCP server for one agent, on the standard input and output."""

from __future__ import annotations

import os
import sys

import click

from brenner.cli.options import Command, Settings, common_options, examples, identity_options
from brenner.cli.output import note_changes_made, write_diagnostics
from brenner.cli.terminal import print_message
from brenner.cli.workspace import project_of, workspace_of
from brenner.mail.open import require_project
from brenner.program_settings import SECRET
from brenner.services.init_project import new_mailbox_notes

_TERMINAL_NOTICE = (
    "Serving MCP on standard input and output, for an agent's program. Press Ctrl-D to stop."
)


@click.command(
    "mcp",
    epilog=examples(
        "brenner mcp",
        "brenner mcp --project ~/lab --strict-identity",
        "brenner agent config --client codex --stdio",
    ),
    cls=Command,
)
@identity_options
@common_options
def command(settings: Settings, *, strict_identity: bool, open_identity: bool) -> int:
    """Serve one agent over standard input and output (Model Context Protocol).

    The agent's program starts this command. `brenner agent config --client codex --stdio` prints
    its settings. Set BRENNER_SECRET to the agent's secret. The command ends when its input ends.
    """
    project = require_project(project_of(settings))
    found = new_mailbox_notes(project)
    with workspace_of(settings._replace(actor=None), project=project, create=True) as here:
        write_diagnostics(found, "brenner", sys.stderr)
        from brenner.mcp.server import build  # takes most of a second
        from brenner.mcp.stdio import serve
        from brenner.mcp.tool import Bindings, Caller

        secret = os.environ.get(SECRET) or None
        known = Caller(Bindings(), secret=secret, is_strict=strict_identity, is_open=open_identity)
        if sys.stdin is not None and sys.stdin.isatty():
            print_message(_TERMINAL_NOTICE, sys.stderr)
        note_changes_made()
        code, lost = serve(build(here, known))
    if lost is not None:
        raise lost
    return code
