"""What is looked at in every home that can be opened: the mail, who is known there, the clock."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.config import OPERATOR, SETTINGS_FILE, Project
from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.codes.stores import NAME_ELSEWHERE, OPERATOR_NEEDS_NAME
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused
from brenner.mail.mailbox import Ability, Mailbox
from brenner.mail.open import store_option
from brenner.mail.rules import name_refusal
from brenner.protocol.messages import iso
from brenner.text import grouped
from brenner.workflows.doctor_serve import Endpoint
from brenner.workflows.init_project import about_operator
from brenner.workflows.pending import pending
from brenner.workflows.surroundings import OK, WARNING, Check

CLOCKS_DIFFER = timedelta(minutes=1)
_MOST_PROBLEMS = 5
_TASK = "operator"  # of whom a mailbox knew as such when it was opened for writing
NOT_YET = "is not there yet; `brenner init` or the first message makes it"

Look = Callable[[], Check]
Explain = Callable[[str, Diagnostic], Check]


class Visit(NamedTuple):
    """Whose project is looked at, for whom, and when; and where a server of it may be."""

    project: Project
    actor: str | None
    now: datetime
    endpoint: Endpoint | None = None


def looked_at(looks: Mapping[str, Look], explain: Explain = Check.of) -> Iterator[Check]:
    """Every check; one that fails does not stop the others, and one fault is told once."""
    told: set[str] = set()
    for name, look in looks.items():
        try:
            yield look()
        except BrennerError as error:
            found = error.diagnostic
            yield _same(name, found) if found.id in told else explain(name, found)
            told.add(found.id)


def _same(name: str, found: Diagnostic) -> Check:
    return Check(name, WARNING, "It could not be looked at, for the same reason.", id=found.id)


def of_mail(mailbox: Mailbox, visit: Visit, where: str) -> dict[str, Look]:
    """What is looked at wherever the mail is; `where` is how its home is called."""
    return {
        "mail": lambda: _amount(mailbox),
        "operator": lambda: _operator(mailbox, visit.project, where),
        "identity": lambda: identity(visit, tuple(agent.name for agent in mailbox.agents())),
        "clock": lambda: clock(mailbox, visit.now),
        "acks": lambda: _acks(mailbox, visit),
    }


def integrity(problems: tuple[str, ...], where: str, sound: str) -> Check:
    """What is wrong with the mail itself."""
    if not problems:
        return Check("integrity", OK, sound)
    words = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    reason = f"{words}; and {more} more" if more > 0 else words
    found = codes.STORE_CORRUPT.at(path=where, reason=reason)
    return Check.of("integrity", found)._replace(is_content=True)


def _amount(mailbox: Mailbox) -> Check:
    messages, agents = mailbox.position(), len(mailbox.agents())
    return Check("mail", OK, f"{grouped(messages, 'message')}, {grouped(agents, 'agent')}")


def _operator(mailbox: Mailbox, project: Project, where: str) -> Check:
    """Whether the operator can be known here, and is the only one."""
    name, agents = project.operator, mailbox.agents()
    known = {agent.name for agent in agents}
    if name not in known and Ability.OWN_NAMES in mailbox.lacks:
        taken = None if name == OPERATOR else _elsewhere(mailbox, name)
        return taken or new_operator(project, where)
    found = None if name in known else name_refusal(name, known)
    if found:
        return Check.of("operator", about_operator(found))
    others = [agent.name for agent in agents if agent.task == _TASK and agent.name != name]
    if others:
        return Check(
            "operator",
            WARNING,
            f"The operator of this folder is `{name}`; {_quoted(others)} "
            f"{'is' if len(others) == 1 else 'are'} known as operator here, too. Each folder that "
            "shares the mail may have an operator of its own; but mail to a name that nobody uses "
            "is read by nobody.",
            f"If somebody works under that name, nothing is wrong. If it is yours, write it into "
            f'`{SETTINGS_FILE}`: `operator = "{others[0]}"`. If it was yours, tell the agents that '
            f"it is `{name}` now.",
        )
    state = "is registered" if name in known else "will be registered by the first message"
    return Check("operator", OK, f"`{name}` {state}")


def _elsewhere(mailbox: Mailbox, name: str) -> Check | None:
    """An operator whose name another project of the server has."""
    try:
        mailbox.agent(name)
    except Refused as refused:
        if refused.diagnostic.code == NAME_ELSEWHERE:
            return Check.of("operator", refused.diagnostic)
    return None


def new_operator(project: Project, where: str) -> Check:
    """An operator whom a server does not know yet, and that may keep names for all its projects."""
    name = project.operator
    found = (
        OPERATOR_NEEDS_NAME.at(where=where, name=name, option=store_option(project))
        if name == OPERATOR
        else name_refusal(name, ())
    )
    if found:
        return Check.of("operator", found)
    return Check("operator", OK, f"`{name}` will be registered by the first message")


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def identity(visit: Visit, known: tuple[str, ...] | None) -> Check:
    """Who acts; `known` are the registered names, None where they cannot be had."""
    name, operator = visit.actor, visit.project.operator
    if name is None:
        words = f"neither --as nor AGENT_NAME; you act as the operator, `{operator}`"
        return Check("identity", OK, words)
    found = name_refusal(name, known or ())
    if found:
        return Check.of("identity", found)._replace(status=WARNING)
    if known is None or name in known or name == operator:
        return Check("identity", OK, f"`{name}`")
    return Check(
        "identity",
        WARNING,
        f"`{name}` is not registered here, and can neither send nor get mail.",
        f"`brenner mail register {name}`, or correct --as or AGENT_NAME.",
    )


def clock(mailbox: Mailbox, now: datetime) -> Check:
    """Mail from the future stays behind all later mail until its time comes (R9)."""
    now = now.replace(microsecond=0)
    ahead = [thread for thread in mailbox.threads() if thread.last_at > now + CLOCKS_DIFFER]
    if not ahead:
        return Check("clock", OK, f"{iso(now)}; no message is dated later")
    newest = mailbox.thread(ahead[0].thread_id, limit=1).messages[0]
    return Check(
        "clock",
        WARNING,
        f"It is {iso(now)} here, and messages of a later time are in "
        f"{grouped(len(ahead), 'thread')}; the latest is #{newest.id}, "
        f"{iso(newest.at.replace(microsecond=0))}.",
        "Set this machine's clock right. If it is right, they were sent when a clock was wrong: "
        "until their time comes they stand behind whatever is sent now.",
    )


def _acks(mailbox: Mailbox, visit: Visit) -> Check:
    owed = pending(mailbox, visit.now, visit.project.ack_deadline)
    overdue = sum(each.is_overdue for each in owed)
    if not overdue:
        words = f"{grouped(len(owed), 'ACK')} owed, none overdue" if owed else "none is owed"
        return Check("acks", OK, words)
    return Check(
        "acks",
        WARNING,
        f"{grouped(overdue, 'ACK')} overdue, {len(owed)} owed in all.",
        "`brenner mail pending` says by whom; `--resend` and `--escalate` remind them.",
    )
