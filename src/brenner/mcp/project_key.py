"""The key of the project: a server has one, and mail for another one is refused."""
# Where one may not look, os.path says no and pathlib raises.
# ruff: noqa: PTH117

import os
import re
from datetime import UTC, datetime

from brenner.config import Project
from brenner.diagnostics.codes.serving import OTHER_PROJECT
from brenner.diagnostics.model import Refused
from brenner.mcp.tool import Call

PROJECT_ID = 1
_MARKS = re.compile(r"[^a-z0-9]+")
_UNNAMED = "project"


def check(call: Call, key: str) -> None:
    """Refuse the key of another project.

    Ours are the folder, one in it (an agent starts wherever it works), and the slug. Who names none
    means the one that there is.
    """
    project = call.desk.project
    if key and key != slug(project) and not _is_in(str(project.folder), key):
        raise Refused(OTHER_PROJECT.at(key=key, folder=key_of(project)))


def key_of(project: Project) -> str:
    """The key that answers show, whichever was used."""
    return str(project.folder).encode("utf-8", "replace").decode()


def slug(project: Project) -> str:
    """The folder as one word, as Agent Mail makes it."""
    return _MARKS.sub("-", str(project.folder).lower()).strip("-") or _UNNAMED


def shape(call: Call) -> dict[str, object]:
    """The project as tools and resources answer it. It began when the first agent came, or now."""
    project = call.desk.project
    times = [agent.registered_at for agent in call.desk.mailbox.agents()]
    return {
        "id": PROJECT_ID,
        "slug": slug(project),
        "human_key": key_of(project),
        "created_at": min(times, default=datetime.now(UTC)).isoformat(timespec="microseconds"),
    }


def _is_in(folder: str, key: str) -> bool:
    """Whether a key is the path of a folder or of what is in it, links followed."""
    if not os.path.isabs(key):
        return False
    try:
        path, home = os.path.realpath(key), os.path.realpath(folder)
        return os.path.commonpath((path, home)) == home
    except (ValueError, OSError):  # what cannot be a path is none
        return False
