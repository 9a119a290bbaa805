"""A session with three versions, a refused block, a kill, and a COMPILED message that is none."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from brenner.config import OPERATOR, find_project
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.server.app import site_of
from brenner.server.settings import ServeSettings
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace
from brenner.web.rendering import render_html
from brenner.web.request import Page, PageFunction, PageResult, RequestContext
from mail_shell import store_of
from session import session_mail as mail
from session.workspaces import ANN, BEA, THREAD, add, contribute, edit, write

HOSTILE = '<b onclick="x()">"quoted" & \u202eturned</b>'


def kill(target: str) -> dict[str, object]:
    """A KILL of a hypothesis."""
    return {
        "operation": "KILL",
        "section": "hypothesis_slate",
        "target_id": target,
        "payload": {"reason": "It predicts nothing"},
        "rationale": "Nothing follows",
    }


def a_session(folder: Path) -> Workspace:
    """The desk of a project with that session."""
    store_of(folder).parent.mkdir(parents=True)
    workspace = Workspace(
        SqliteMailbox.create(store_of(folder)), find_project(str(folder), {}), OPERATOR
    )
    mail.introduce(workspace.mailbox)
    mail.ask(workspace.mailbox, THREAD, "What tells a cell where it is?")
    claim = "The gradient of one substance decides"
    contribute(workspace, ANN, add("Gradient", claim=claim), add(HOSTILE), add("Clock"))
    contribute(workspace, BEA, edit("H77", claim="Nobody knows that one"))
    compiled(workspace)
    contribute(workspace, ANN, edit("H1", claim="The gradient of two substances decides"))
    compiled(workspace)
    contribute(workspace, BEA, kill("H3"))
    compiled(workspace)
    write(workspace, OPERATOR, "COMPILED: v9 by hand", "# Compiled\n\nNothing of ours.\n")
    return workspace


def compiled(workspace: Workspace) -> None:
    """The next version."""
    compile_thread(workspace, THREAD, CompileOptions())


def a_visit(
    workspace: Workspace,
    path: str = "",
    *,
    cookie: str = "",
    later: timedelta = timedelta(),
    **asked: str,
) -> RequestContext:
    """Somebody who asks for a page of the session; `from_` stands for `from`."""
    return RequestContext(
        site_of(workspace, ServeSettings()),
        path or f"/sessions/{THREAD}",
        datetime.now(UTC) + later,
        MappingProxyType({"thread": THREAD, "form": path.rpartition("/")[2]}),
        MappingProxyType({name.rstrip("_"): value for name, value in asked.items()}),
        MappingProxyType({"look": cookie} if cookie else {}),
    )


def shown(function: PageFunction, visit: RequestContext) -> tuple[dict[str, Any], str]:
    """The document of a page, and the page."""
    page: PageResult = function(visit)
    assert isinstance(page, Page)
    return dict(page.document), render_html(page, visit)
