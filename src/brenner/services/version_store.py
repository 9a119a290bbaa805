"""The chain of a thread's versions, from the mailbox; what was worked out before is kept there."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import Conflict, Entry
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored
from brenner.mail.rules import unknown_thread
from brenner.persist.artifact_file import VersionText
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject
from brenner.protocol.thread_ids import check_thread_id
from brenner.services.workspace import Desk
from brenner.session.rebuild import (
    Candidate,
    Filed,
    Rebuilt,
    altered_message,
    is_altered,
    local_ledger,
    text_hash,
)
from brenner.session.versions import (
    Chain,
    KeptChain,
    Watch,
    advance,
    decode_chain,
    encode_chain,
    replay,
    unwatched,
)


def filed(stored: Stored) -> Filed:
    """A message as a session needs it."""
    return Filed(
        stored.posted,
        stored.content_hash,
        stored.origin_id,
        stored.arrival,
        stored.is_local,
        stored.acknowledges,
        stored.reply_to,
        stored.decides,
    )


def check_usable(thread_id: str) -> None:
    """Refuse an ID that is no thread's: it is a file name, too."""
    for found in check_thread_id(thread_id):
        if found.severity is ERROR:
            raise Refused(found)


def load_chain(mailbox: Mailbox, thread_id: str, operator: str) -> KeptChain:
    """The chain as it stands; a thread that nobody has written to is refused."""
    kept = _kept(mailbox, thread_id, operator)
    if kept is not None:
        news = mailbox.thread_arrivals(thread_id, kept.arrival)
        chain = advance(kept.chain, list(map(filed, news))) if news else kept.chain
        if chain is not None:
            return KeptChain(chain, _last(news, kept.arrival))
    stored = mailbox.thread_arrivals(thread_id, 0)
    if not stored:
        raise unknown_thread(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return KeptChain(replay(thread_id, list(map(filed, stored)), operator), _last(stored, 0))


def grown_chain(
    chain: Chain,
    messages: Sequence[Filed],
    news: Sequence[Filed],
    operator: str,
    watch: Watch = unwatched,
) -> Chain:
    """The chain with messages that came in since; `messages` are all of them, with the new ones.

    `watch` sees the versions that are new, or all, where everything is replayed: each as it is
    known in the end.
    """
    seen: list[tuple[Candidate, Rebuilt]] = []
    after = advance(chain, news, lambda *version: seen.append(version))
    # The first version names an operator who is heard from then on, also in what came before it.
    has_first = after is not None and bool(after.versions) and not chain.versions
    if after is None or has_first:
        return replay(chain.thread_id, messages, operator, watch)
    for version in seen:
        watch(*version)
    return after


def load_quickly(mailbox: Mailbox, thread_id: str, operator: str, most: int) -> Chain | None:
    """The chain, if no more than so many messages have to be read for it."""
    kept = _kept(mailbox, thread_id, operator)
    known = kept.chain.position if kept else 0
    if mailbox.thread(thread_id, limit=1).position - known > most:
        return None
    chain = load_chain(mailbox, thread_id, operator).chain
    return chain if len(chain.unread) <= most else None


def replay_chain(mailbox: Mailbox, thread_id: str, operator: str, watch: Watch) -> Chain:
    """The chain worked out from the mail alone; `watch` sees every version that is rebuilt."""
    stored = mailbox.thread_arrivals(thread_id, 0)
    if not stored:
        raise unknown_thread(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return replay(thread_id, list(map(filed, stored)), operator, watch)


def altered_in_thread(mailbox: Mailbox, thread_id: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every message of a thread whose content does not match its hash."""
    found = map(filed, mailbox.thread_arrivals(thread_id, 0))
    return tuple(altered_message(each.posted.id) for each in found if is_altered(each))


def keep_chain(mailbox: Mailbox, known: KeptChain, operator: str) -> None:
    """Keep a chain for the next time. Where that fails, the next time only takes longer."""
    if known.chain.stopped or not known.chain.versions:
        return
    with suppress(BrennerError):
        mailbox.keep({_name(known.chain.thread_id, operator): encode_chain(known)})


def _kept(mailbox: Mailbox, thread_id: str, operator: str) -> KeptChain | None:
    text = mailbox.kept(_name(thread_id, operator))
    if text is None:
        return None
    altered: dict[int, Filed] = {}

    def message(number: int) -> Filed:
        found = filed(mailbox.message(number))
        if is_altered(found):
            altered[number] = found
        return found

    try:
        known = decode_chain(text, thread_id, message)
    except (ValueError, LookupError, TypeError, BrennerError):  # damaged, or of another release
        return None
    return known._replace(chain=known.chain._replace(altered=tuple(altered.values())))


def _name(thread_id: str, operator: str) -> str:
    """Who may void a version is part of what was worked out."""
    return f"chain of {operator} for {thread_id}"


def _last(stored: Iterable[Stored], before: int) -> int:
    return max((each.arrival for each in stored), default=before)


# The text of any version of a thread, from its COMPILED message or else rebuilt; and what of it is
# persisted.


def version_texts(mailbox: Mailbox, chain: Chain, operator: str) -> Callable[[int], str | None]:
    """A function from the number of a version to its text; None for one that does not exist."""
    ids = {version.number: version for version in chain.versions}

    def text_of(number: int) -> str | None:
        version = ids.get(number)
        if version is None:
            return None
        inline = read_compiled(mailbox.message(version.message_id).message).inline
        if inline is not None and text_hash(inline) == version.artifact_sha256:
            return inline
        return rebuilt_texts().get(number)

    found: dict[int, str] = {}

    def rebuilt_texts() -> dict[int, str]:
        """All of them: a version too large for its message is seldom looked at."""
        if not found:

            def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
                found[candidate.number] = rebuilt.text

            replay_chain(mailbox, chain.thread_id, operator, watch)
        return found

    return text_of


def version_text(
    chain: Chain, number: int, message_id: int, text: str, message: Message
) -> VersionText:
    """What is persisted of a version; the commit says of it what the subject of its message says.

    A message that is not posted yet has no id (0).
    """
    subject = parse_subject(message.subject)
    said = (subject.description if subject else "").removeprefix(f"v{number}").strip()
    spare = [each for each in chain.spare if chain.is_void(each)]
    void = tuple(each.inline for each in spare if each.inline)
    return VersionText(chain.thread_id, number, message_id, text, said, void)


# What became of every block of a thread, version by version.


class VersionLedger(NamedTuple):
    """The blocks that one version has read, the artifact after them, and what is in conflict in it.

    An adopted one has read none.
    """

    number: int
    entries: tuple[Entry, ...]
    artifact: Artifact | None = None
    conflicts: tuple[Conflict, ...] = ()


def ledgers(desk: Desk, thread_id: str) -> tuple[VersionLedger, ...]:
    """The ledger of every version, in order; all of them are rebuilt once."""
    check_usable(thread_id)
    found: list[VersionLedger] = []
    replay_chain(desk.mailbox, thread_id, desk.project.operator, gathered(found))
    return tuple(found)


def ledgers_in(
    thread_id: str, messages: Sequence[Filed], operator: str
) -> tuple[VersionLedger, ...]:
    """The same of messages that are at hand."""
    found: list[VersionLedger] = []
    replay(thread_id, messages, operator, gathered(found))
    return tuple(found)


def gathered(found: list[VersionLedger]) -> Watch:
    """What looks on while versions are rebuilt, and gathers their ledgers."""

    def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
        entries = local_ledger(candidate, rebuilt)
        conflicts = tuple(rebuilt.state.conflicts)
        found.append(VersionLedger(candidate.number, entries, rebuilt.artifact, conflicts))

    return watch


def ledger_of(desk: Desk, thread_id: str, number: int) -> tuple[Entry, ...]:
    """What became of every block that one version has read."""
    found = {each.number: each.entries for each in ledgers(desk, thread_id)}
    return found.get(number, ())
