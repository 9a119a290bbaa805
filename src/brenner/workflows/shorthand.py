"""The shorthand of an agent's model in the subjects of her contributions."""

from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.protocol.roster import RosterEntry
from brenner.session.kickoff import shorthand_of
from brenner.workflows.chains import filed
from brenner.workflows.round_roster import Earlier, earlier_kickoffs

UNKNOWN_MODEL = "agent"


def certain_shorthand(mailbox: Mailbox, name: str, thread_id: str) -> str | None:
    """The one that the table of models has: as she registered, else as the thread's roster says."""
    program, model = _registered(mailbox, name)
    told = shorthand_of(RosterEntry(name, "", program or None, model or None))
    return told or shorthand_of(_listed(mailbox, name, thread_id))


def shorthand(mailbox: Mailbox, name: str, thread_id: str) -> str:
    """The same; of a model that is not in the table the model's own first word.

    With that goes a warning; nobody is made out to be another one.
    """
    program, model = _registered(mailbox, name)
    found = certain_shorthand(mailbox, name, thread_id)
    return found or _first_word(model) or _first_word(program) or UNKNOWN_MODEL


def kickoffs_of(mailbox: Mailbox, thread_id: str) -> Earlier:
    """What the kickoffs of a thread have said."""
    return earlier_kickoffs(map(filed, mailbox.thread_arrivals(thread_id, 0)))


def _listed(mailbox: Mailbox, name: str, thread_id: str) -> RosterEntry | None:
    roster = kickoffs_of(mailbox, thread_id).roster
    return roster.entry(name) if roster else None


def _registered(mailbox: Mailbox, name: str) -> tuple[str, str]:
    try:
        known = mailbox.agent(name)
    except Refused:
        return "", ""
    return known.program, known.model


def _first_word(name: str) -> str:
    letters = "".join(each if "a" <= each <= "z" else " " for each in name.lower())
    return next(iter(letters.split()), "")
