"""The chain of a thread's versions, from the mailbox; what was worked out before is kept there."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored
from brenner.mail.rules import unknown_thread
from brenner.protocol.thread_ids import check_thread_id
from brenner.session.rebuild import Candidate, Filed, Rebuilt, altered_message, is_altered
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
