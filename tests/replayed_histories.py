"""Golden histories played into a real store: each step at its time, each version compiled."""

import tomllib
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from brenner.config import Project
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, CompileResult, compile_thread
from brenner.services.workspace import Workspace
from golden.history import HERE, messages
from mail_shell import Shell, store_of

OPERATOR = "Operator"


class Played(NamedTuple):
    """A project with one thread, and its versions as they were compiled."""

    folder: Path
    thread_id: str
    versions: tuple[CompileResult, ...]


def play(name: str, folder: Path) -> Played:
    """The history of that name in a project of its own."""
    history = HERE / name
    sent = messages(history)
    (thread_id,) = {message.thread_id for message in sent.values()}
    versions = []
    for step in tomllib.loads((history / "thread.toml").read_text("utf-8"))["step"]:
        if "message" in step:
            post(folder, step["at"], sent[step["message"]])
            continue
        with _mailbox(folder, step["at"]) as mailbox:
            workspace = Workspace(mailbox, Project(folder), OPERATOR)
            versions.append(compile_thread(workspace, thread_id, CompileOptions()))
    return Played(folder, thread_id, tuple(versions))


def post(folder: Path, at: datetime, *sent: Message) -> None:
    """Put mail into a project as it would have come in then; everybody in it gets registered."""
    with _mailbox(folder, at) as mailbox:
        for message in sent:
            for name in (message.sender, *message.recipients):
                mailbox.register(Profile(name), update=True)
            mailbox.send(message)


def on(shell: Shell, played: Played) -> Shell:
    """The same shell on another project."""
    return Shell(played.folder, shell.patch)


def compiled_ids(played: Played) -> list[int]:
    """The ids of the COMPILED messages of its thread."""
    with SqliteMailbox.open(store_of(played.folder)) as mailbox:
        stored = mailbox.thread(played.thread_id).messages
    return [each.id for each in stored if each.type == "COMPILED"]


def _mailbox(folder: Path, at: datetime) -> SqliteMailbox:
    store_of(folder).parent.mkdir(parents=True, exist_ok=True)
    mailbox = SqliteMailbox.create(store_of(folder), clock=lambda: at)
    mailbox.register(Profile(OPERATOR, task="operator"), update=True)
    return mailbox
