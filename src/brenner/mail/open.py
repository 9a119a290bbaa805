"""The mailbox of a project, wherever its mail lives."""

import os
from pathlib import Path

from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.mail.sqlite.database import check_no_log, flush_folder, translated
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.project import OWN_FOLDER, Project, store_path

_IGNORE_EVERYTHING = "*\n"


def open_mailbox(project: Project, *, create: bool) -> Mailbox:
    """The project's mailbox.

    Only who is going to write makes a store; who reads where there is none finds no mail. A
    mailbox for writing knows the operator.
    """
    path = store_path(project)
    if not create and not _is_there(path):
        with translated(path):
            check_no_log(path)
        from brenner.mail.memory import MemoryMailbox  # only a project without mail needs it

        return MemoryMailbox()
    if not create:
        return SqliteMailbox.open(path)
    if not _is_there(path):
        _make_folder(path, project)
    mailbox = SqliteMailbox.create(path)
    try:
        if all(agent.name != project.operator for agent in mailbox.agents()):
            mailbox.register(Profile(project.operator, task="operator"), update=True)
    except BaseException:
        mailbox.close()
        raise
    return mailbox


def _is_there(path: Path) -> bool:
    """Whether something has that name; a link that leads nowhere counts.

    Where one may not look, that is said: nobody knows then whether there is mail.
    """
    with translated(path):
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


def _make_folder(path: Path, project: Project) -> None:
    """The folder of the store; our own one tells git to leave it alone."""
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        flush_folder(path.parent.parent)
        own = project.folder / OWN_FOLDER
        ignore = own / ".gitignore"
        if path.parent == own and not ignore.exists():
            ignore.write_text(_IGNORE_EVERYTHING, "utf-8")
