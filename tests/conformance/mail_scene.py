"""The place where a `mail` case is played: a store, or two of one kind, and one clock.

Messages go by number: the first that a store took in is 1, whatever id the store gave it.
"""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from brenner.config import Project, find_project
from brenner.diagnostics.model import Diagnostic
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.protocol.messages import Message, StoredMessage, thread_order_key
from brenner.services.acknowledge import DueAck, pending_acks
from conformance.mail_shorthand import Step
from mail.backends import AGENT_MAILS, SQLITE, Backend, Clock, sqlite_file
from mail.sample_mail import whole

AGENTS = ("Operator", "BlueLake", "RedLake", "GreenDog")
_NUMBER = re.compile(r"\{(?:(home|elsewhere) )?(\d+)\}")
_NO_SUCH_ID = 900_000


class Scene:
    """One or two stores, one of them at hand; the last outcome; all messages as first seen."""

    here = "home"
    found: tuple[Diagnostic, ...] = ()
    corrected: str | None = None

    def __init__(self, case: dict[str, Any], home: Backend, folder: Path) -> None:
        self.clock = Clock()
        self.start = self.clock.now
        self.project = _project(case, folder)
        self._case, self._home = case, home
        self._stores: dict[str, Mailbox] = {}
        self._seen: dict[str, tuple[StoredMessage, ...]] = {}
        self.store(self.here)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name, mailbox in self._stores.items():
            mailbox.close()
            self.leave(name)

    def leave(self, name: str) -> None:
        """Leave nothing of a store behind."""
        if self._home.clear:
            self._home.clear(self.project.folder / name)

    @property
    def is_slow(self) -> bool:
        """Whether every look costs time, so that one looks only where it matters."""
        return self._home in AGENT_MAILS

    def can(self, ability: Capability) -> bool:
        """Whether the home of this scene is able to."""
        return ability not in self._home.lacks

    def comparable(self, message: Message) -> Message:
        """What of a message must be as it was given: all but the wish for an ACK, which the type
        may have filled in, and, where a home does not keep that, the order of recipients.
        """
        names = message.recipients
        if not self.can(Capability.RECIPIENT_ORDER):
            names = tuple(sorted(names))
        return message._replace(recipients=names, ack_required=None)

    def store(self, name: str) -> Mailbox:
        """The store `home` or `elsewhere`, made when it is first needed."""
        if name not in self._stores:
            folder = self.project.folder / name
            self._stores[name] = _opened(self._case, self._home, folder, self.clock)
        return self._stores[name]

    @property
    def mailbox(self) -> Mailbox:
        """The store that the scene is in."""
        return self.store(self.here)

    @property
    def other(self) -> Mailbox:
        """The one that it is not in."""
        return self.store("elsewhere" if self.here == "home" else "home")

    def id_of(self, number: int, store: str | None = None) -> int:
        """The id of a message; one that no message has where there is none of that number."""
        arrived = self.store(store or self.here).arrivals(number - 1, 1)
        return arrived[0].id if arrived else _NO_SUCH_ID + number

    def message(self, number: int) -> StoredMessage:
        """The message of that number."""
        return self.mailbox.message(self.id_of(number))

    def number_of(self, message_id: int) -> int:
        """The number of the message that has this id."""
        return self.mailbox.message(message_id).arrival

    def filled(self, step: Step) -> Step:
        """`{1}` is the id of message 1 here, `{home 1}` that of message 1 at home."""
        if isinstance(step, list):
            return [str(self.filled(line)) for line in step]
        return _NUMBER.sub(lambda found: str(self.id_of(int(found[2]), found[1])), step)

    def pending(self, debtor: str | None = None, thread_id: str | None = None) -> list[DueAck]:
        """Who owes what now."""
        deadline = self.project.ack_deadline
        now = self.clock.now
        return list(pending_acks(self.mailbox, now, deadline, debtor=debtor, thread_id=thread_id))

    def overdue(self) -> list[DueAck]:
        """What of it is overdue."""
        return [each for each in self.pending() if each.is_overdue]

    def snapshot(self) -> object:
        """All that can be seen of the stores."""
        return {name: self.look_at(mailbox) for name, mailbox in self._stores.items()}

    def look_at(self, mailbox: Mailbox) -> object:
        """All that can be seen of a store; where it costs much, what the rest follows from."""
        return (mailbox.agents(), *mailbox.records()) if self.is_slow else whole(mailbox)

    def check_stores(self) -> None:
        """Nothing that was stored has changed; where a look costs little, everything is right."""
        for name, mailbox in self._stores.items():
            stored, seen = mailbox.arrivals(0), self._seen.get(name, ())
            assert stored[: len(seen)] == seen
            self._seen[name] = stored
        if not self.is_slow:
            self.check_thoroughly()

    def check_thoroughly(self) -> None:
        """All ways to look agree, hashes are right, and threads are in order."""
        for mailbox in self._stores.values():
            stored = mailbox.arrivals(0)
            threads = {each.message.thread_id for each in stored}
            assert {each.thread_id for each in mailbox.threads()} == threads
            for each in stored:
                assert each.content_hash == canonical_hash(each)
                assert mailbox.message(each.id) == each
            for thread_id in threads:
                mine = [each for each in stored if each.message.thread_id == thread_id]
                ordered = sorted(mine, key=thread_order_key)
                assert list(mailbox.thread(thread_id).messages) == ordered


def canonical_hash(stored: StoredMessage) -> str:
    """The content hash by the ruling's words; the cases hold two that were made without us."""
    message = stored.message
    parts = [message.thread_id, message.sender, message.subject, message.body]
    canonical = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


def _project(case: dict[str, Any], folder: Path) -> Project:
    """A project with the settings of the case: the operator's name, the deadline."""
    settings = [f'operator = "{case["operator"]}"'] if "operator" in case else []
    hours = case.get("deadline_hours")
    settings += [f"ack_deadline_hours = {hours}"] if hours else []
    (folder / "brenner.toml").write_text("\n".join(settings), "utf-8")
    return find_project(str(folder), {})


def _opened(case: dict[str, Any], home: Backend, folder: Path, clock: Clock) -> Mailbox:
    """A mailbox whose agents are known; the operator is made known by opening it to write."""
    folder.mkdir()
    project = find_project(str(folder.parent), {}, f"sqlite:///{sqlite_file(folder)}")
    if home is SQLITE:
        open_mailbox(project, create=True).close()
    mailbox = home.create(folder, clock)
    if home is not SQLITE:
        mailbox.register(Profile(project.operator))
    for name in case.get("agents", AGENTS):
        if name != project.operator:
            mailbox.register(Profile(name))
    return mailbox
