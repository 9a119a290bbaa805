"""A thread as the kickoff of a session finds it: what it asks already, and whom that has reached.

Of two who start the same session at once nobody sends two questions; see `asking_thread`.
"""

from collections.abc import Iterator
from datetime import date

from brenner.artifact.merge.resolve import Kickoff, read_posted
from brenner.diagnostics.codes import sessions as codes
from brenner.diagnostics.model import Diagnostic
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.thread_ids import generate_thread_id
from brenner.session.kickoff_text import one_line
from brenner.workflows.asking_thread import Asked, AskingThread

_END_MARKS = " ?!.…"


class KickoffThread(AskingThread):
    """A thread, read as far as it went; `question` is the one that is to be asked in it."""

    def __init__(self, mailbox: Mailbox, thread_id: str, question: str) -> None:
        super().__init__(mailbox, thread_id)
        self._question = question
        self._asked: list[Asked] = []
        self.read()

    def _hear(self, news: tuple[Stored, ...]) -> None:
        self._asked += asked_in(news)

    @property
    def is_new(self) -> bool:
        """Whether nobody has written to it yet."""
        return self._position == 0

    @property
    def has_the_question(self) -> bool:
        """Whether it is about the question that is to be asked."""
        return bool(self._asked) and is_same_question(self._first.question, self._question)

    @property
    def has_its_words(self) -> bool:
        """Whether it asks in the very words in which the question is to be asked."""
        return bool(self._asked) and one_line(self._first.question) == one_line(self._question)

    @property
    def other_words(self) -> str | None:
        """The question in the thread's words, where it has the question in others."""
        is_respelt = self.has_the_question and not self.has_its_words
        return self._first.question if is_respelt else None

    @property
    def first(self) -> Stored | None:
        """The kickoff with which the session began."""
        return self._first.stored if self._asked else None

    def conflict(self) -> Diagnostic | None:
        """That it is about another question; None where it is not."""
        if not self._asked or self.has_the_question:
            return None
        first = self._first
        return codes.OTHER_QUESTION.at(
            thread_id=self.thread_id, id=first.stored.id, question=one_line(first.question)
        )

    def respelt(self) -> Diagnostic | None:
        """That its question is the one that is to be asked, in other letters; None where not."""
        words = self.other_words
        if words is None:
            return None
        return codes.QUESTION_RESPELT.at(
            thread_id=self.thread_id, id=self._first.stored.id, question=one_line(words)
        )

    def reached(self) -> dict[str, Asked]:
        """Who has been asked the question, and in which kickoff."""
        return {
            name: each
            for each in reversed(self._asked)
            if is_same_question(each.question, self._question)
            for name in each.stored.message.recipients
        }

    @property
    def _first(self) -> Asked:
        """The first kickoff with a question decides what the thread is about (R15)."""
        return min(self._asked, key=lambda each: (each.stored.at, each.stored.id))


def thread_of_today(mailbox: Mailbox, question: str, asked: str, today: date) -> KickoffThread:
    """A thread of today that has this question, best in these words; else a new one.

    `asked` is the question as the kickoff says it. A new thread is named after it.
    """
    threads = [each.thread_id for each in mailbox.threads()]
    alike: KickoffThread | None = None
    for thread_id in threads:
        if thread_id.startswith(f"RS-{today:%Y%m%d}-"):
            thread = KickoffThread(mailbox, thread_id, asked)
            if thread.has_its_words:
                return thread
            alike = alike or (thread if thread.has_the_question else None)
    if alike is not None:
        return alike
    return KickoffThread(mailbox, generate_thread_id(question, today, set(threads)), asked)


def is_same_question(one: str, other: str) -> bool:
    """Whether they have the same words; case, blanks and the marks at the end do not count."""
    return _compared(one) == _compared(other)


def _compared(question: str) -> str:
    words = one_line(question)
    return (words.rstrip(_END_MARKS) or words).casefold()


def asked_in(messages: tuple[Stored, ...]) -> Iterator[Asked]:
    """Those of the messages that ask a question."""
    for stored in messages:
        if stored.type == KICKOFF.name:
            brought = read_posted(stored.posted)
            if isinstance(brought, Kickoff) and brought.question:
                yield Asked(stored, brought.question, brought.roster)
