"""`kill -9` of a compile on PostgreSQL, whenever it ends a transaction; the same command finishes.

Before the end gets through nothing of the transaction is there, after it all of it: whether or not
the one who asked for it lives to hear so. Files and git are for `test_compile_killed`.
"""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from brenner.artifact.parse import parse_artifact
from brenner.protocol.messages import StoredMessage
from brenner.services.versions import verify
from brenner.services.workspace import workspace_in
from mail.processes import Child, kill, start
from program import git
from servers import postgresql
from servers.proxy import Proxy
from session.backends import postgresql_store
from session.crash_work import compile_all
from session.workspaces import (
    ANN,
    BEA,
    THREAD,
    add,
    contribute,
    edit,
    kickoff,
    new_workspace,
    project_in,
)

pytestmark = pytest.mark.thorough

END = b"INSERT INTO turns VALUES"  # with these words a transaction of ours ends
VERSION, INFO, REPLY = "COMPILED: v1", "INFO: Artifact", "INFO: Validation"
# What the thread has before and after the end of each transaction: of the version, of what is kept
# for the next one, of the INFO about the commit, of the reply to whom something was refused
POSTED: tuple[tuple[list[str], list[str]], ...] = (
    ([], [VERSION]),
    ([VERSION], [VERSION]),
    ([VERSION], [VERSION, INFO]),
    ([VERSION, INFO], [VERSION, INFO, REPLY]),
)
_PATIENCE = 60.0


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """What stands between a compiler and its database."""
    with Proxy(postgresql.running().port) as between:
        yield between


@pytest.fixture
def folder(tmp_path: Path, proxy: Proxy) -> Path:
    """A project in a repository, on PostgreSQL, with mail that is unread."""
    port = postgresql.running().port
    store = postgresql_store(tmp_path).replace(f":{port}/", f":{proxy.port}/")
    (tmp_path / "brenner.toml").write_text(f'store = "{store}"\n', "utf-8")
    git("init", "-q", "-b", "main", cwd=tmp_path)
    git("config", "user.name", "Operator", cwd=tmp_path)
    git("config", "user.email", "operator@example.org", cwd=tmp_path)
    with new_workspace(tmp_path) as workspace:
        kickoff(workspace)
        contribute(workspace, ANN, add("Gradient"), add("Lineage"))
        contribute(workspace, BEA, edit("H9", claim="Of nothing"), edit("H1", claim="Steep"))
    return tmp_path


def kill_at(proxy: Proxy, number: int, children: list[Child], *, is_done: bool) -> None:
    """Kill the process at its n-th end of a transaction, before that gets through or just after."""

    def end() -> None:
        kill(children[0])

    if number > 1:
        after = partial(kill_at, proxy, number - 1, children, is_done=is_done)
        proxy.on_request(END, then=after)
    elif is_done:
        proxy.cut_before_answer(END, then=end)
    else:
        proxy.cut_before_request(END, then=end)


def thread(folder: Path) -> list[StoredMessage]:
    with workspace_in(project_in(folder), None, create=False) as workspace:
        assert verify(workspace, THREAD).ok
        return list(workspace.mailbox.thread(THREAD).messages)


@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize(("number", "subjects"), [*enumerate(POSTED, 1)])
def test_killed_at_the_end_of_a_transaction(
    proxy: Proxy,
    folder: Path,
    number: int,
    subjects: tuple[list[str], list[str]],
    is_done: bool,
) -> None:
    children: list[Child] = []
    kill_at(proxy, number, children, is_done=is_done)
    children.append(start(compile_all, folder))
    assert children[0].wait(_PATIENCE) == -signal.SIGKILL
    half_way = thread(folder)
    assert posted(half_way) == subjects[is_done]
    compile_all(folder)
    whole = thread(folder)
    assert whole[: len(half_way)] == half_way  # what was posted stays
    assert posted(whole) == POSTED[-1][True]  # each once
    written = (folder / "artifacts" / f"{THREAD}.md").read_text("utf-8")
    assert parse_artifact(written).artifact.metadata.agent_mail_message_id == whole[3].id
    assert len(git("log", "--format=%s", cwd=folder).splitlines()) == 1
    again = compile_all(folder)
    assert (again.status.value, again.persistence.status) == ("nothing_to_compile", "Persisted")
    assert thread(folder) == whole


def posted(messages: list[StoredMessage]) -> list[str]:
    """What the compiler has posted, in short."""
    return [" ".join(each.message.subject.split()[:2]) for each in messages[3:]]
