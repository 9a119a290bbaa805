"""What the chains of versions before and after a message show of it."""

from collections.abc import Iterable

from brenner.artifact.diff import changes, diff
from brenner.artifact.state import Entry
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.message_types import COMPILED, DELTA
from brenner.session.chain import Chain
from brenner.session.chain_messages import type_of
from brenner.session.rebuild import Filed
from brenner.session.route import NOTHING_MORE, Evidence


def evidence_of(
    message: Filed, before: Chain | None, after: Chain, ledger: Iterable[Entry]
) -> Evidence:
    """What is needed beside the statuses; `before` is None where the message begins the thread.

    The `ledger` says what would become of the unread blocks if the next version were made now.
    """
    name = type_of(message)
    if name == DELTA.name:
        number = message.posted.id
        return Evidence(entries=tuple(each for each in ledger if each.message_id == number))
    if name != COMPILED.name:
        return NOTHING_MORE
    latest = after.latest
    if latest is None or latest.message_id != message.posted.id:
        return Evidence(no_version=_why_not(message, after))
    old = before.state.artifact if before else None
    if old is None or before is None or before.number >= latest.number:
        return NOTHING_MORE
    return Evidence(changes=changes(diff(old, after.state.artifact)))


def _why_not(message: Filed, chain: Chain) -> Diagnostic | None:
    number = message.posted.id
    if chain.broken and chain.broken.candidate.filed.posted.id == number:
        return chain.unsound
    return next((each for each in chain.others() if each.message_id == number), None)
