"""A store with thousands of sessions, made quickly.

Eight sessions are played in memory, by the same workflows as any: kickoffs, ACKs, deltas, versions,
a critique, a question, refused blocks, a last version. All that the store gets are copies of them
under other thread IDs: the IDs, the numbers of the messages and the hashes are written anew
wherever they stand, so that each version of a copy is rebuilt from its own record. Nothing that was
worked out comes along. Every session refers to the one before it, ten in a chain, and every chain
begins at the first session. The kickoffs are shorter than those that `session start` sends.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from brenner.artifact.model import ITEM_SECTIONS
from brenner.config import OPERATOR, Project
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import MessageRecord, Profile
from brenner.protocol.compiled import read_compiled
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, Delta, Operation
from brenner.protocol.messages import Message, StoredMessage, content_hash
from brenner.services.acknowledge import acknowledge
from brenner.services.compile import CompileOptions, CompileStatus, compile_thread
from brenner.services.workspace import Workspace
from brenner.session.rebuild import text_hash
from session_loop import AGENTS, START, add

_PORTION = 500  # sessions that are restored at once
_TEAM = AGENTS[:3]
_MODEL, _BEFORE = "RS-20251230-the-model", "RS-20251230-the-one-before"
_CHAIN, _NONE = 10, 99_999  # sessions in a chain; the very first refers to one that is not there
# Numbers that stand nowhere but where a message is meant
_FIRST_ID = 700_000_001
_QUESTION = "How does a cell find out what to become, when all of them have one genome?"
_CONTEXT = (
    "Cells that are moved early become what their new place asks for; moved late, they don't."
)
_KICKOFF = f"# Cell fate\n\n## Research Question\n{_QUESTION}\n\n## Context\n{_CONTEXT * 8}\n"
_CRITIQUE = "# Critique\n\n## Target\nH1\n\n## Attack\nIt asks too much.\n\n## Evidence\n§3\n"
_ASKED = "# Question\n\n## Question\nWhich embryo?\n\n## Context\nThere are two.\n"
_HYPOTHESES, _PREDICTIONS, _TESTS, _ASSUMPTIONS, _, _CRITIQUES = ITEM_SECTIONS
_SECTIONS = dict(
    zip(
        _TEAM,
        ((_HYPOTHESES, _HYPOTHESES), (_PREDICTIONS, _TESTS), (_ASSUMPTIONS, _CRITIQUES)),
        strict=True,
    )
)
_NOWHERE = Delta(Operation.EDIT, HYPOTHESIS_SLATE.id, "H9", {"claim": "None"}, "A slip")


def thread_of(number: int) -> str:
    """The thread ID of a session."""
    return f"RS-20251230-session-{number:05}"


class Stage:
    """A session that is being played."""

    def __init__(self) -> None:
        self._now = START
        self.mailbox = MemoryMailbox(clock=self._tick)
        for name in (OPERATOR, *_TEAM):
            self.mailbox.register(Profile(name))
        self._number(_FIRST_ID)

    def _tick(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now

    def _number(self, first: int) -> None:
        """Whatever comes next gets the numbers after this one."""
        hello = Message("RS-20251230-elsewhere", OPERATOR, _TEAM, "INFO: Hello", "Hello\n")
        stored = StoredMessage(first, START, hello, content_hash(hello), 1, first)
        self.mailbox.restore((), [MessageRecord(stored)])

    def send(self, sender: str, subject: str, body: str) -> StoredMessage:
        """A message: the operator's to all, the others' to her."""
        to = _TEAM if sender == OPERATOR else (OPERATOR,)
        return self.mailbox.send(Message(_MODEL, sender, to, subject, body)).stored

    def ask(self, answering: int = len(_TEAM), more: str = "") -> None:
        """A kickoff to all; so many acknowledge it."""
        asked = self.send(OPERATOR, "KICKOFF: Cell fate", _KICKOFF + more)
        for name in _TEAM[:answering]:
            acknowledge(self.mailbox, name, asked.id)

    def contribute(self, *names: str, more: tuple[Delta, ...] = ()) -> None:
        """A DELTA from each, with two items."""
        for name in names:
            deltas = [_related(add(each, at)) for at, each in enumerate(_SECTIONS[name])]
            body = "# Delta Contribution\n\n## Deltas\n\n" + "\n".join(
                map(render_delta, (*deltas, *more))
            )
            self.send(name, "DELTA[opus]: News", body)

    def publish(self, *, close: bool = False) -> None:
        """A version."""
        workspace = Workspace(self.mailbox, Project(Path("nowhere")), OPERATOR)
        done = compile_thread(workspace, _MODEL, CompileOptions(close=close))
        assert done.status is CompileStatus.PUBLISHED

    def thread(self) -> tuple[StoredMessage, ...]:
        """What was sent."""
        return self.mailbox.thread(_MODEL).messages


def _related(delta: Delta) -> Delta:
    """A hypothesis comes from that of the session before."""
    if delta.section != HYPOTHESIS_SLATE.id:
        return delta
    reference = {"session": _BEFORE, "item": "H1", "relation": "refines"}
    return delta._replace(payload={**delta.payload, "references": [reference]})


def _asked(stage: Stage) -> None:
    stage.ask(answering=0)


def _acknowledged(stage: Stage) -> None:
    stage.ask(answering=2)
    stage.contribute(_TEAM[0])


def _ready(stage: Stage) -> None:
    stage.ask()
    stage.contribute(*_TEAM)


def _published(stage: Stage) -> None:
    _ready(stage)
    stage.publish()


def _criticised(stage: Stage) -> None:
    _published(stage)
    stage.send(_TEAM[1], "CRITIQUE: H1", _CRITIQUE)


def _second_round(stage: Stage) -> None:
    _published(stage)
    stage.ask(answering=1, more="The second round.\n")
    stage.send(_TEAM[2], "QUESTION: Which embryo?", _ASKED)


def _refused(stage: Stage) -> None:
    stage.ask()
    stage.contribute(*_TEAM, more=(_NOWHERE,))
    stage.publish()


def _complete(stage: Stage) -> None:
    _published(stage)
    stage.publish(close=True)


PLAYS: tuple[Callable[[Stage], None], ...] = (
    *(_published, _criticised, _complete, _second_round),
    *(_refused, _ready, _acknowledged, _asked),
)
READY = PLAYS.index(_ready)  # of every so many sessions that one waits for a compiler


class Model(NamedTuple):
    """A session to be copied: its messages, and a pattern for all that a copy has otherwise."""

    messages: tuple[StoredMessage, ...]
    artifacts: dict[int, str]  # by the id of the COMPILED message
    pattern: re.Pattern[str]


@cache
def models() -> tuple[Model, ...]:
    """The sessions that were played."""
    found = []
    for play in PLAYS:
        stage = Stage()
        play(stage)
        messages = stage.thread()
        artifacts = {each.id: inline for each in messages if (inline := _inline(each))}
        words = {_MODEL, _BEFORE, *(str(each.id) for each in messages)}
        words |= {each.content_hash for each in messages}
        words |= set(map(text_hash, artifacts.values()))
        pattern = re.compile("|".join(sorted(words, key=len, reverse=True)))
        found.append(Model(messages, artifacts, pattern))
    return tuple(found)


def _inline(stored: StoredMessage) -> str | None:
    return read_compiled(stored.message).inline if stored.type == "COMPILED" else None


def _before(number: int) -> int:
    if not number:
        return _NONE
    return number - 1 if number % _CHAIN else 0


def session(number: int, first_id: int) -> Iterator[MessageRecord]:
    """The messages of a session, which get their numbers from that one on."""
    model = models()[number % len(PLAYS)]
    words = {
        _MODEL: thread_of(number),
        _BEFORE: thread_of(_before(number)),
    }
    ids = {each.id: first_id + place for place, each in enumerate(model.messages)}
    words |= {str(old): str(new) for old, new in ids.items()}

    def anew(text: str) -> str:
        return model.pattern.sub(lambda match: words.get(match[0], match[0]), text)

    for each in model.messages:
        if inline := model.artifacts.get(each.id):
            words[text_hash(inline)] = text_hash(anew(inline))
        letter = each.message
        message = letter._replace(
            thread_id=words[_MODEL], subject=anew(letter.subject), body=anew(letter.body)
        )
        words[each.content_hash] = content_hash(message)
        copied = each._replace(
            id=ids[each.id],
            origin_id=ids[each.id],
            message=message,
            content_hash=words[each.content_hash],
            reply_to=ids.get(each.reply_to) if each.reply_to else None,
            acknowledges=tuple(ids[target] for target in each.acknowledges),
        )
        yield MessageRecord(copied)


def fill(mailbox: Mailbox, first: int, last: int) -> None:
    """The sessions from that number up to the other."""
    for start in range(first, last, _PORTION):
        mailbox.restore((), _sessions(start, min(start + _PORTION, last), mailbox.position()))


def _sessions(first: int, last: int, position: int) -> Iterator[MessageRecord]:
    for number in range(first, last):
        for record in session(number, position + 1):
            position += 1
            yield record
