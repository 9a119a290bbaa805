"""Mail that stayed in the store inside the project when the project got another home."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote

from brenner.config import OWN_FOLDER, STORE_FILE, Project
from brenner.diagnostics.codes.stores import MAIL_LEFT_BEHIND
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.open import Store, store_of
from brenner.text import grouped, visible
from brenner.workflows.places import place

_INSIDE = f"{OWN_FOLDER}/{STORE_FILE}"


def left_behind(
    project: Project, messages: Callable[[], int], option: str = ""
) -> Diagnostic | None:
    """That the store inside the project holds more messages than its home does.

    `messages` says how many that has, and is asked only where there is such mail; `option` is
    what the command that brings it over must say of the home. What cannot be read is passed over:
    this is a hint, and no reason to fail.
    """
    try:
        home, inside = store_of(project), inside_store(project)
        count = 0 if place(home) == place(inside) else _count(inside)
        there = messages() if count else 0
    except BrennerError:
        return None
    if count <= there:
        return None
    command = f"brenner mail copy{_of(project)} --from {_address(project)}{option}"
    found = MAIL_LEFT_BEHIND.at(
        what=f"{grouped(count, 'message')} {'is' if count == 1 else 'are'}",
        path=_INSIDE,
        there=f"{there:,}",
        where=home.shown,
        command=command,
    )
    whole = visible(command, len(command) + 1)  # one copies it: it is not cut
    return found._replace(fix=MAIL_LEFT_BEHIND.fix.format(command=whole))


def inside_store(project: Project) -> Store:
    """The store inside the project's folder, which is its home unless another one was chosen."""
    return store_of(project._replace(store=None))


def _count(store: Store) -> int:
    if not store.is_there():
        return 0
    with store.open() as mailbox:
        return mailbox.position()


def _of(project: Project) -> str:
    is_named = project.folder_from == "--project"
    return f" --project {quote(str(project.folder))}" if is_named else ""


def _address(project: Project) -> str:
    """As it is typed here: a relative path is relative to the current folder."""
    try:
        is_here = Path.cwd() == project.folder
    except OSError:
        is_here = False
    return quote(f"sqlite:///{_INSIDE if is_here else project.folder / _INSIDE}")
