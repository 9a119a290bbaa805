"""The author's view in the reference merge: what each ID of a message means (R11).

A view says what each ID means: an item by its number for ever, or the block of this message, by its
number, that adds the item.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from brenner.protocol.delta.schema import SECTIONS, Delta, DeltaBlock, FieldKind
from brenner.protocol.grammar import ITEM_ID

Meaning = str | int
View = dict[str, Meaning]
REFUSED = "refused"
# Reading: an ID in a text stands alone, not inside a longer word (`H3K27me3`).
_LOCAL = r"(?<![\w@])@[A-Za-z][A-Za-z0-9_-]{0,63}"
_HYPOTHESIS = re.compile(rf"{_LOCAL}|(?<![\w@])H[1-9][0-9]{{0,8}}(?!\w)")
_ANY_ID = re.compile(r"(?<!\w)[HPTAXC][1-9][0-9]{0,8}(?!\w)")


class Views(NamedTuple):
    """Both views of a message, its local names, and which view holds for all of it."""

    thread_id: str
    base: View
    thread: View
    is_stated: bool
    names: dict[str, int]
    by_thread: bool

    @classmethod
    def of(
        cls, thread_id: str, base: View, thread: View, is_stated: bool, read: list[DeltaBlock]
    ) -> "Views":
        """The base view holds, unless the message names an ID that only the thread view has."""
        deltas = [block.delta for block in read if block.delta is not None]
        only_thread = [
            token
            for delta in deltas
            for token in named(delta, thread_id)
            if token not in base and token in thread
        ]
        names = {
            f"@{block.delta.local_id}": block.number
            for block in read
            if block.delta is not None and block.delta.local_id
        }
        return cls(thread_id, base, thread, is_stated, names, bool(only_thread))

    @property
    def chosen(self) -> View:
        """The view that holds for the whole message."""
        return self.thread if self.by_thread else self.base

    def meaning(self, token: str) -> Meaning | None:
        """What an ID or a local name means in it."""
        return self.names.get(token) if token[0] == "@" else self.chosen.get(token)


def named(delta: Delta, thread_id: str) -> list[str]:
    """Every ID that a delta names."""
    found: list[str] = []

    def note(_where: str, token: str) -> str:
        found.append(token)
        return token

    rebuilt(delta, thread_id, note)
    return found


def rebuilt(delta: Delta, thread_id: str, say: Callable[[str, str], str]) -> Delta:
    """The delta with `say(where, token)` in the place of every ID, wherever IDs live.

    Two keys of a map that come out the same are both kept, the later one marked.
    """
    known = SECTIONS[delta.section].fields
    payload: dict[str, object] = {}
    for name, content in delta.payload.items():
        kind = known[name].kind if name in known else None
        each: Any = content
        if kind is FieldKind.OUTCOMES:
            new: dict[str, object] = {}
            for key, text in each.items():
                key_now = say(name, key)
                new[key_now + COLLIDING if key_now in new else key_now] = text
            payload[name] = new
        elif kind is FieldKind.ITEMS:
            payload[name] = [say(name, item) for item in each]
        elif kind is FieldKind.REFERENCES:
            payload[name] = [
                {**ref, "item": say(name, ref["item"])} if _is_ours(ref, thread_id) else ref
                for ref in each
            ]
        elif kind is FieldKind.RESULTS:
            payload[name] = [
                {
                    key: [say(name, item) for item in value]
                    if key in ("contradicts", "supports")
                    else value
                    for key, value in result.items()
                }
                for result in each
            ]
        elif name == "discriminates":
            payload[name] = _HYPOTHESIS.sub(lambda match: say("discriminates", match[0]), each)
        else:
            payload[name] = content
    target = say("target_id", delta.target_id) if delta.target_id else None
    return delta._replace(target_id=target, payload=payload)


def _is_ours(reference: dict[str, str], thread_id: str) -> bool:
    """A reference to this thread; what is no ID at all (`Test 3`) is kept as it is (R21)."""
    item = reference["item"]
    return reference["session"] == thread_id and bool(item[0] == "@" or ITEM_ID.fullmatch(item))


COLLIDING = " twice"


@dataclass
class Translated:
    """A delta in the numbers finally given, or why it cannot be.

    `mentions` says whether its prose mentions an ID that was rewritten: surely, and perhaps.
    """

    delta: Delta
    errors: set[str] = field(default_factory=set)
    warnings: set[str] = field(default_factory=set)
    rewrites: list[tuple[str, str, str]] = field(default_factory=list)
    mentions: tuple[bool, bool] = (False, False)


def translate(number: int, delta: Delta, views: Views, guess: dict[int, str]) -> Translated:
    """Every ID as the chosen view means it; `guess` says what became of each ADD of the message."""
    found = Translated(delta)
    view = views.chosen

    def final(meant: Meaning) -> str:
        return guess[meant] if isinstance(meant, int) else meant

    def say(where: str, token: str) -> str:
        meant = views.meaning(token)
        if meant is None:
            # Reading: this holds for a reference to this thread, too. R21 keeps a reference to an
            # unknown item, but one of this thread would fall to whatever gets that number later.
            found.errors.add("INVALID_TARGET" if where == "target_id" else "UNKNOWN_ITEM")
            return token
        now = final(meant)
        if now == REFUSED and meant == number:
            return token  # that it is refused has another reason than that it names itself
        if now == REFUSED:
            found.errors.add("DEPENDS_ON_REFUSED")
        other = views.thread.get(token)
        if not views.is_stated and other is not None and final(other) != now:
            is_target = where == "target_id"
            (found.errors if is_target else found.warnings).add(
                "AMBIGUOUS_TARGET" if is_target else "AMBIGUOUS_ID"
            )
        # Reading: a local name was never a number, so it is not one that was rewritten.
        if now != token and token[0] != "@":
            found.rewrites.append((where, token, now))
            found.warnings.add("ID_REWRITTEN")
        return now

    found.delta = rebuilt(delta, views.thread_id, say)
    if any(COLLIDING in key for key in _keys(found.delta)):
        found.errors.add("COLLIDING_KEYS")
    found.mentions = _mentions(delta, view, final, {old for _, old, _ in found.rewrites})
    return found


def _keys(delta: Delta) -> list[str]:
    return [
        key for content in delta.payload.values() if isinstance(content, dict) for key in content
    ]


def _mentions(
    delta: Delta, view: View, final: Callable[[Meaning], str], rewritten: set[str]
) -> tuple[bool, bool]:
    """Whether the payload's texts mention an ID that was rewritten in this very block; and whether
    any text of the block mentions one that has another number now.
    """
    texts = [
        content
        for name, content in delta.payload.items()
        if isinstance(content, str) and name != "discriminates"
    ]
    surely = any(token in rewritten for text in texts for token in _ANY_ID.findall(text))
    moved = {
        token
        for token in _ANY_ID.findall(repr((delta.payload, delta.rationale)))
        if (meant := view.get(token)) is not None and final(meant) != token
    }
    return surely, bool(moved)
