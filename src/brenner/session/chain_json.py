"""A chain kept as text, so that the next look at a thread costs what is new in it.

What is kept follows from the mail and from nothing else. A text that is damaged, or that another
release wrote, is no chain: then the thread is replayed.
"""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from brenner import __version__
from brenner.artifact.serialize import decode_state, encode_state
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.protocol.messages import iso
from brenner.session.chain import Chain, Published
from brenner.session.chain_messages import asides_of, candidate_of, declared_by
from brenner.session.rebuild import Candidate, Filed
from brenner.session.status import Refusal

_FORMAT = 4
_DIGEST = 64


class KeptChain(NamedTuple):
    """A chain, and the arrival of the last message that it knows of."""

    chain: Chain
    arrival: int


def encode_chain(kept: KeptChain) -> str:
    """The text to keep. A chain that is broken is not worth keeping: it must be looked at."""
    chain = kept.chain
    document = {
        "format": [_FORMAT, __version__],
        "arrival": kept.arrival,
        "position": chain.position,
        "versions": [_version(each) for each in chain.versions],
        "unread": _ids(chain.unread),
        "unrecorded": _ids(filed for filed, _ in chain.unrecorded),
        "spare": _ids(candidate.filed for candidate in chain.spare),
        "aside": sorted({aside.diagnostic.message_id or 0 for aside in chain.aside}),
        "declared": sorted({each.id for each in chain.declared}),
        "operators": sorted(chain.operators),
        "writers": chain.writers,
        "refused": [_refusal(each) for each in chain.refused],
    }
    # In ASCII: a refused block may hold half of a surrogate pair, which no file can.
    about = json.dumps(document, separators=(",", ":"))
    # One after the other, so that nothing is escaped twice; the state has a checksum of its own.
    return f"{_digest(about)}{about}\n{encode_state(chain.state)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _ids(filed: Iterable[Filed]) -> list[int]:
    return [each.posted.id for each in filed]


def _version(version: Published) -> list[object]:
    return [iso(part) if isinstance(part, datetime) else part for part in version]


def _refusal(refusal: Refusal) -> list[object]:
    return [*refusal[:-1], [[each.id, *each[1:]] for each in refusal.diagnostics]]


def decode_chain(text: str, thread_id: str, message: Callable[[int], Filed]) -> KeptChain:
    """The chain in a text; `message` finds those that it still needs. ValueError: it is none."""
    first, _, state = text.partition("\n")
    digest, about = first[:_DIGEST], first[_DIGEST:]
    if _digest(about) != digest:
        raise ValueError(digest)
    document = json.loads(about)
    if document["format"] != [_FORMAT, __version__]:
        raise ValueError(document["format"])
    compiled = [message(each) for each in document["spare"]]
    operators = frozenset(document["operators"])
    voids = [message(each) for each in document["declared"]]
    chain = Chain(
        thread_id,
        decode_state(state),
        operators,
        versions=tuple(map(_published, document["versions"])),
        unread=tuple(message(each) for each in document["unread"]),
        unrecorded=tuple(_unrecorded(message(each)) for each in document["unrecorded"]),
        spare=tuple(each for each in map(candidate_of, compiled) if isinstance(each, Candidate)),
        aside=tuple(aside for each in document["aside"] for aside in asides_of(message(each))),
        declared=tuple(each for filed in voids for each in declared_by(filed, operators)),
        writers=tuple(document["writers"]),
        position=document["position"],
        refused=tuple(map(_refused, document["refused"])),
    )
    return KeptChain(chain, document["arrival"])


def _published(parts: list[object]) -> Published:
    version = Published(*parts)  # type: ignore[arg-type]
    return version._replace(at=datetime.fromisoformat(str(version.at)))


def _unrecorded(filed: Filed) -> tuple[Filed, Diagnostic]:
    found = candidate_of(filed)
    if isinstance(found, Candidate):
        raise ValueError(filed.posted.id)
    return filed, found


def _refused(parts: list[Any]) -> Refusal:
    refusal = Refusal(*parts)
    return refusal._replace(diagnostics=tuple(map(_diagnostic, parts[-1])))


def _diagnostic(parts: list[Any]) -> Diagnostic:
    from brenner.diagnostics.catalogue import CATALOGUE  # most threads have nothing refused

    code_id, *about = parts
    found = Diagnostic(CATALOGUE[code_id], *about)
    return found._replace(
        also=tuple(found.also),
        readings=tuple(found.readings),
        left_out=Summary(*found.left_out) if found.left_out else None,
    )
