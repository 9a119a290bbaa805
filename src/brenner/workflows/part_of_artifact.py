"""A version of an artifact, or a part of it: one section, one item, or what changed since."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from brenner.artifact.diff import Diff, FieldChange, ItemChange, diff
from brenner.artifact.model import LAYOUT, Artifact, Item
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import artifact_json, diff_json, plain
from brenner.artifact.state import Blame, Change, empty_state
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.codes.deltas import INVALID_SECTION
from brenner.diagnostics.model import Refused
from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS, Section, section_named
from brenner.text import nearest, perhaps
from brenner.workflows.desk import Desk
from brenner.workflows.versions import LoadedVersion, Target, load_version

_HEADING = "\n## "


class Part(NamedTuple):
    """What to show; nothing given is everything."""

    section: Section | None = None
    item_id: str = ""


class Changed(NamedTuple):
    """What changed in an item, and which messages did it: ids and authors, field by field."""

    change: ItemChange
    by: tuple[tuple[FieldChange, Change | None], ...]


def part_of(artifact: Artifact, thread_id: str, section: str, item_id: str) -> Part:
    """The part that somebody names; what the artifact does not have is refused."""
    wanted = _section(section) if section else None
    if not item_id:
        return Part(wanted)
    known = {item.id: (where, item) for where, item in artifact.all_items()}
    meant = item_id.strip().upper()
    found = known.get(item_id) or known.get(meant)
    if found is None or (wanted and found[0] is not wanted):
        near = perhaps(nearest(meant, list(known)))
        refused = NO_SUCH_ITEM.at(name=thread_id, item=item_id, or_field="", suggestion=near)
        if wanted:
            message = f"`{wanted.id}` of {thread_id} has no `{item_id}`."
            refused = refused._replace(message=message)
        raise Refused(refused)
    return Part(found[0], found[1].id)


def _section(name: str) -> Section:
    found = section_named(name)
    if found is None:
        known = ", ".join(f"`{each}`" for each in SECTIONS)
        near = perhaps(nearest(name, SECTIONS))
        raise Refused(INVALID_SECTION.at(value=name, known=known, suggestion=near))
    return found


def items_in(artifact: Artifact, part: Part) -> Iterator[Item]:
    """The items that are shown."""
    for section, item in artifact.all_items():
        if part.section in (None, section) and part.item_id in ("", item.id):
            yield item


def as_markdown(loaded: LoadedVersion, part: Part) -> str:
    """The whole as it was published, or the part as it stands there."""
    if part.section is None:
        return loaded.text
    artifact = loaded.artifact
    if part.item_id and part.section is not RESEARCH_THREAD:
        shown = tuple(items_in(artifact, part))
        artifact = artifact._replace(sections={**artifact.sections, part.section.id: shown})
    # No text of an item can make a heading (R16), so that a section ends where the next begins.
    place = [layout.section for layout in LAYOUT].index(part.section)
    text = render_artifact(artifact).split(_HEADING)[place + 1].rstrip("\n")
    return f"{_HEADING.lstrip()}{text}\n"


def as_json(loaded: LoadedVersion, part: Part) -> str:
    """The same as JSON, with the keys of `artifact show --json`."""
    document: dict[str, Any] = artifact_json(loaded.artifact)
    if part.section:
        found = document[part.section.id]
        items = found if isinstance(found, list) else [found]
        one = [item for item in items if item["id"] == part.item_id]
        document = {part.section.id: one[0] if part.item_id else found}
    return json.dumps(document, ensure_ascii=False)


# What changed


def earlier(desk: Desk, thread_id: str, number: int) -> Artifact:
    """An earlier version; v0 is the empty artifact before the first (R11)."""
    if number == 0:
        return empty_state(thread_id).artifact
    return load_version(desk, Target(thread_id, number)).artifact


def changes_since(old: Artifact, new: LoadedVersion, part: Part) -> Diff:
    """What changed in that part."""
    found = diff(old, new.artifact)
    if part.section is None:
        return found
    kept = [
        change
        for change in found.items
        if change.section == part.section.id and part.item_id in ("", change.id)
    ]
    return Diff(tuple(kept))


def who_changed(found: Diff, blame: Blame) -> tuple[Changed, ...]:
    """Each item that changed, with the change of every field; None where the mail does not say."""
    return tuple(Changed(item, tuple(_by(item, blame))) for item in found.items)


def _by(item: ItemChange, blame: Blame) -> Iterator[tuple[FieldChange, Change | None]]:
    changes = blame.get(item.id, {})
    for field in item.fields:
        inside = [each for path, each in changes.items() if path[:1] == field.path[:1]]
        exact = changes.get(field.path) or changes.get(field.path[:1])
        latest = max(inside, key=lambda each: each.source.message_id, default=None)
        yield field, exact or latest


def changes_markdown(changed: tuple[Changed, ...]) -> str:
    """Item by item and field by field: what it was, what it is, who has changed it."""
    lines = []
    for item, by in changed:
        kinds = ", ".join(kind.value for kind in item.kinds)
        lines.append(f"{item.id} ({item.section}): {kinds}{_rank(item)}")
        for field, change in by:
            source = change.source if change else None
            who = f" [{source.agent}, message {source.message_id}]" if source else ""
            was = "" if field.old is None else f"\n    was: {_shown(field.old)}"
            lines.append(f"  {field.field}{who}: {_shown(field.new)}{was}")
    return "\n".join(lines)


def changes_json(found: Diff, old: Artifact, new: Artifact) -> str:
    """The same as JSON, with the keys of `artifact diff --json`."""
    return json.dumps(diff_json(found, old.metadata, new.metadata), ensure_ascii=False)


def _rank(item: ItemChange) -> str:
    return f", rank {item.rank[0]} → {item.rank[1]}" if item.rank else ""


def _shown(value: object) -> str:
    if value is None:
        return "(taken away)"
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
