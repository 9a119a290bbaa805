"""Where a mail command sits down: the project, its mailbox, and who is at work."""

import os
import sys

from brenner.cli.failures import place_of
from brenner.cli.options import Settings
from brenner.cli.output import write_diagnostics
from brenner.diagnostics.errors import Refused
from brenner.project import find_project
from brenner.workflows.desk import Desk, desk_in
from brenner.workflows.init_project import about_operator

FINE, CONTENT, UNREADABLE = 0, 1, 2


def desk(settings: Settings, *, create: bool = False) -> Desk:
    """The desk for one command; what is odd in the project's settings is told."""
    project = find_project(settings.project, os.environ, settings.store)
    if not settings.as_json:
        for found in project.diagnostics:
            write_diagnostics([found], place_of(found.id), sys.stderr)
    try:
        return desk_in(project, settings.actor, create=create)
    except Refused as refused:
        raise Refused(about_operator(refused.diagnostic)) from None
