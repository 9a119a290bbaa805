"""The page `/sessions/T/agents`: who takes part, what each has contributed, what stands, what each
owes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from brenner.artifact.state import Outcome
from brenner.mail.model import Agent, Trust
from brenner.protocol.messages import iso
from brenner.protocol.roster import Roster, RosterEntry
from brenner.protocol.roster_config import read_roster
from brenner.session.model import Participant, Turn
from brenner.session.overview import open_ack_json
from brenner.session.status import Contribution, Survival, contributions
from brenner.session.status_text import turn_words
from brenner.web import links
from brenner.web.charts import MOST_BARS
from brenner.web.frame import session_document
from brenner.web.frame_card import deltas_sent
from brenner.web.page import Answer, Document, Page
from brenner.web.paging import in_session, part, part_json
from brenner.web.reading import Session
from brenner.web.visit import Visit

_TAB = "agents"
_ON_A_PAGE, _MOST_ITEMS, _MOST_ROUNDS, _MOST_OWED = 50, 60, 8, 20
_NOBODY = RosterEntry("", "")


def page(visit: Visit) -> Answer:
    """Those of the roster, in its order, then others who take part."""
    session = visit.session
    sent = session.once(_sent)
    names = _names(session, sent)
    shown = part(visit, len(names), _ON_A_PAGE)
    known = _Known(visit, sent)
    last = max([number for each in sent.values() for number, *_ in each.rounds], default=0)
    document = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "version": session.chain.number or None,
        "mode": known.roster.mode if known.roster.entries else None,
        "agents": [known.agent(name) for name in shown.of(names)],
        "rounds": list(range(max(1, last - _MOST_ROUNDS + 1), last + 1)),
        "following": session.chain.number + 1,
        "most_charted": MOST_BARS,
        **part_json(shown, in_session(session.thread_id, _TAB, {})),
    }
    return Page("pages/agents.html", "Agents", document)


def _sent(session: Session) -> Mapping[str, Contribution]:
    read = {number: each.entries for number, each in session.ledgers.items()}
    return contributions(read, session.expected)


def _names(session: Session, sent: Mapping[str, Contribution]) -> Sequence[str]:
    """The participants, who else owes something, and who else has a hand in the artifact."""
    participants = (each.name for each in session.status.participants)
    debtors = (each.debtor for each in session.status.open_acks)
    return list(dict.fromkeys((*participants, *debtors, *sent, *session.survivals)))


class _Known:
    """What is known of everybody, put together once."""

    def __init__(self, visit: Visit, sent: Mapping[str, Contribution]) -> None:
        self._visit, self._session, self._sent = visit, visit.session, sent
        self._participants = {each.name: each for each in self._session.status.participants}
        self._registered: dict[str, Agent] = {
            each.name: each for each in self._session.desk.mailbox.agents()
        }
        found = read_roster(dict(self._session.merged.artifact.metadata.roster), "the session")
        self.roster = found if isinstance(found, Roster) else Roster(())
        self._entries = {each.agent_name: each for each in reversed(self.roster.entries)}
        stored = self._session.stored
        self._messages = Counter(each.message.sender for each in stored)
        self._last = {each.message.sender: each.posted.at for each in stored}
        self._unverified = Counter(
            each.message.sender for each in stored if each.envelope.trust is Trust.UNVERIFIED
        )

    def agent(self, name: str) -> Document:
        """One agent as the page has her."""
        participant = self._participants.get(name)
        last = participant.last_at if participant else self._last.get(name)
        return {
            **self._who(name, participant),
            **_sent_json(self._sent.get(name, Contribution(name)), self._session.thread_id, name),
            **_survival_json(self._session.survivals.get(name, Survival())),
            "deltas": self._session.once(deltas_sent).get(name, 0),
            "owes": self._owes(name, participant),
            "messages": self._messages[name],
            "unverified": self._unverified[name],
            "last_at": iso(last) if last else None,
        }

    def _who(self, name: str, participant: Participant | None) -> Document:
        entry = self._entries.get(name, _NOBODY)
        registered = self._registered.get(name)
        return {
            "name": name,
            "role": (participant.role if participant else None) or entry.role or None,
            "in_roster": name in self._entries,
            "operator": name in self._session.chain.operators,
            "program": entry.program or (registered.program if registered else "") or None,
            "model": entry.model or (registered.model if registered else "") or None,
            "registered_at": iso(registered.registered_at) if registered else None,
        }

    def _owes(self, name: str, participant: Participant | None) -> Document:
        """What somebody waits for."""
        status, now = self._session.status, self._visit.now
        deadline = self._visit.site.desk.project.ack_deadline
        acks = [each for each in status.open_acks if each.debtor == name]
        refusals = [each for each in status.refusals if each.agent == name]
        words = turn_words(participant, status, now) if participant else None
        return {
            "turn": participant.turn.value if participant else None,
            "says": words._asdict() if words else None,
            "delta": bool(participant and participant.turn is Turn.OWES_DELTA),
            "acks": [open_ack_json(each, now, deadline) for each in acks[:_MOST_OWED]],
            "overdue": sum(each.due(deadline) < now for each in acks),
            "corrections": [
                {"message_id": each.message_id, "block": each.block}
                for each in refusals[:_MOST_OWED]
            ],
            "number_of_acks": len(acks),
            "number_of_corrections": len(refusals),
        }


def _sent_json(sent: Contribution, thread_id: str, name: str) -> Document:
    """What she has sent, and what became of it."""
    refused = links.session(thread_id, "ledger", outcome=Outcome.REFUSED.value, agent=name)
    return {
        "blocks": sent.blocks,
        **{outcome.value: sent.count(outcome) for outcome in Outcome},
        "added": _bounded(sent.added),
        "edited": _bounded(sent.edited),
        "killed": _bounded(sent.killed),
        "refused_for": [{"code": code, "blocks": count} for code, count in sent.codes],
        "refused_at": refused,
        "rounds": [each._asdict() for each in sent.rounds[-_MOST_ROUNDS:]],
    }


def _survival_json(stands: Survival) -> Document:
    return {
        "active": _bounded(stands.active),
        "lost": _bounded(stands.killed),
        "fields_set": stands.fields_set,
        "fields_standing": stands.fields_standing,
    }


def _bounded(ids: Sequence[str]) -> Document:
    """Items: how many, and the first of them."""
    return {"number": len(ids), "ids": list(ids[:_MOST_ITEMS])}
