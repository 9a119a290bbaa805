"""A file that a person has edited: the refusal, with the message that would bring the edits in."""

from contextlib import suppress
from pathlib import Path
from shlex import quote

from brenner.config import Project
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Diagnostic, Refused, Unavailable
from brenner.persist.artifact_file import Edited, typed
from brenner.persist.files import write_own
from brenner.text import MOST_CHARACTERS
from brenner.workflows.desk import Desk

_OFFERED = "human.md"
_NO_DELTA = "copy them to another place: no delta can make them"
_BY_HAND = (
    "save the message that is given here as FILE, send it with `brenner mail send FILE`, and run "
    "this command again"
)


class EditedByHand(Refused):
    """The file has changes that are in no version. Its diagnostic's `repaired` is the message
    that would bring them in, where a delta can.

    `difference` is what `diff -u` says of the version and the file; `others` are the changes that
    no delta can make, in words.
    """

    def __init__(
        self, diagnostic: Diagnostic, difference: str, others: tuple[str, ...] = ()
    ) -> None:
        super().__init__(diagnostic)
        self.difference = difference
        self.others = others

    @property
    def details(self) -> tuple[str, ...]:
        """What differs, and which of it no delta can bring in."""
        return (
            self.difference,
            *(f"No delta can make this change: {each}" for each in self.others),
        )


def edited_by_hand(desk: Desk, thread_id: str, name: str, found: Edited) -> EditedByHand:
    """The refusal. The message is also written to a file of our own folder, ready to be sent."""
    delta = _human_delta(desk, thread_id, found)
    advice = _advice(desk.project, thread_id, delta) if delta else _NO_DELTA
    diagnostic = codes.ARTIFACT_FILE_EDITED.at(path=name, advice=advice)
    return EditedByHand(diagnostic._replace(repaired=delta), found.difference, found.others)


def _human_delta(desk: Desk, thread_id: str, found: Edited) -> str | None:
    """The message that would bring the changes in, as far as deltas can make them."""
    if not found.edits.deltas:
        return None
    from brenner.artifact.manual_edits import human_delta

    arrived = desk.mailbox.thread_arrivals(thread_id, 0)
    known = {agent.name for agent in desk.mailbox.agents()} - {desk.actor}
    writers = dict.fromkeys(stored.message.sender for stored in arrived)
    others = tuple(name for name in writers if name in known)
    return human_delta(found.edits, thread_id, found.base, desk.actor, others or (desk.actor,))


def _advice(project: Project, thread_id: str, delta: str) -> str:
    """How the message is sent: by one command, if it could be written to a file."""
    with suppress(Unavailable):  # without it the message is still shown
        file = write_own(project, thread_id, _OFFERED, delta.encode())
        advice = f"send them with `{_command(project, file)}`, then run this command again"
        if advice.isprintable() and len(advice) <= MOST_CHARACTERS:  # it is shown as it is
            return advice
    return _BY_HAND


def _command(project: Project, file: Path) -> str:
    """The command that sends a message file from where one is."""
    command = f"brenner mail send {quote(typed(file))}"
    own = project.folder.resolve()
    here = Path.cwd()
    is_here = here == own or own in here.parents
    return command if is_here else f"{command} --project {quote(str(project.folder))}"
