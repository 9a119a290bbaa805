"""Compare the sections (§n) that deltas and artifacts cite with the excerpts of the kickoffs.

The linter compares them with the project's source text. Without one, the excerpts are all that the
agents were given. These warnings are no part of a version: they never change its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from brenner.diagnostics.codes.sessions import ANCHORS_NOT_CHECKED, UNKNOWN_CITATION
from brenner.lazy_pattern import lazy_pattern
from brenner.lint.context import SourceText, item_name
from brenner.lint.helpers import cited_sections
from brenner.protocol.delta.parse import line_at
from brenner.session.round_kickoff import excerpts_in
from brenner.text import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.artifact.model import Artifact
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.protocol.messages import StoredMessage

_MOST_LISTED = 5
_EXTERNAL = lazy_pattern(r"\[external:[^\]]*\]")  # it may have sections of its own


def excerpt_sections(messages: Iterable[StoredMessage]) -> SourceText | None:
    """Return the sections in the excerpts of a thread's kickoffs, or None if there are none."""
    excerpts = excerpts_in(messages)
    if not excerpts:
        return None
    ranges = [(first, last) for text in excerpts for _, first, last in cited_sections(text)]
    source = SourceText.of_ranges("", ranges)
    known = list(map(_range_text, source.firsts, source.lasts))
    listed = ", ".join(known[:_MOST_LISTED]) + ", …" * (len(known) > _MOST_LISTED)
    numbers = list(dict.fromkeys(map(str, excerpts.values())))
    place = f"the excerpt of the kickoff (message {numbers[0]}: {listed})"
    if len(numbers) > 1:
        place = f"the excerpts of the kickoffs (messages {joined(numbers)}: {listed})"
    return source._replace(path=place)


def cites_sections(body: str) -> bool:
    """Return whether a message may cite a section. JSON may escape the sign."""
    return "§" in body or "\\u00a7" in body.lower()


def unknown_in_blocks(blocks: Iterable[DeltaBlock], excerpts: SourceText) -> Iterator[Diagnostic]:
    """Yield a warning for each cited section of a message that no excerpt has, once for each."""
    reported: set[str] = set()
    for block in blocks:
        for key, value in block.delta.payload.items() if block.delta else ():
            for written in _unknown(value, excerpts):
                if written not in reported:
                    reported.add(written)
                    words = {"what": f"Block {block.number}", "value": written}
                    line = line_at(block, ("payload", key))
                    found = UNKNOWN_CITATION.at(line, **words, place=excerpts.path)
                    yield found.in_block(block.number)


def artifact_notes(artifact: Artifact, messages: Iterable[StoredMessage]) -> tuple[Diagnostic, ...]:
    """Return warnings for the cited sections of an artifact that no excerpt has.

    Without any excerpt, return one info that the citations were not checked.
    """
    items = [item for _, item in artifact.all_items() if item.killed is None]
    if not any(_citations(item.fields) for item in items):
        return ()
    excerpts = excerpt_sections(messages)
    if excerpts is None:
        return (ANCHORS_NOT_CHECKED.at(),)
    return tuple(
        UNKNOWN_CITATION.at(what=f"`{item_name(item)}`", value=written, place=excerpts.path)
        for item in items
        for written in dict.fromkeys(_unknown(item.fields, excerpts))
    )


def _unknown(value: object, excerpts: SourceText) -> Iterator[str]:
    """Yield the citations in a value that the excerpts do not have, as written."""
    for written, first, last in _citations(value):
        if excerpts.missing(first, last) is not None:
            yield written


def _citations(value: object) -> list[tuple[str, int, int]]:
    """Return the citations in all texts of a value: a text, a list or an object of texts."""
    if isinstance(value, str):
        return list(cited_sections(_EXTERNAL.sub("", value)))
    if isinstance(value, Mapping):
        value = tuple(value.values())
    inner = value if isinstance(value, list | tuple) else ()
    return [each for one in inner for each in _citations(one)]


def _range_text(first: int, last: int) -> str:
    return f"§{first}" if first == last else f"§{first}-{last}"
