"""Rendering, reading, linting and comparing artifacts, each against the least that it must do."""

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.artifact.model import ITEM_SECTIONS, Artifact, Item, Metadata, make_fields
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.text_diff import word_spans
from brenner.lint.linter import lint
from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import escape
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, SCORE_PARTS, Section
from measure import best_of, heading, row

SIZES = (10, 400, 4_000)
_PROSE = (
    "Cells use the inheritance of chromatin state to settle their fate",
    "Follow H3K27me3 through division in transplanted cells; `p < 0.05` counts as a difference",
    "Histone marks that survive division carry a memory of position (see *Results*, figure 2)",
)
_HYPOTHESES = tuple(f"H{number}" for number in range(1, 7))


class Work(NamedTuple):
    """One thing to do with an artifact, the bound that it is held against, and our aim."""

    name: str
    do: Callable[[], object]
    bound: Callable[[], object]
    purpose: str = ""


def artifact(count: int, salt: str = "", every: int = 1) -> Artifact:
    """An artifact of so many items, six of them hypotheses; one in `every` says something else."""
    sections: dict[str, list[Item]] = {section.id: [] for section in ITEM_SECTIONS}
    others = [section for section in ITEM_SECTIONS if section is not HYPOTHESIS_SLATE]
    for number in range(count):
        section = HYPOTHESIS_SLATE if number < len(_HYPOTHESES) else others[number % len(others)]
        items = sections[section.id]
        words = salt if number % every == 0 else ""
        items.append(_item(section, len(items) + 1, words))
    frozen = {name: tuple(items) for name, items in sections.items()}
    metadata = Metadata("RS-20251230-cell-fate", 3, "2025-12-30T10:00:00Z", status="active")
    thread = Item("RT", make_fields({"statement": "Lineage or position?", "context": _PROSE[1]}))
    return Artifact(metadata, thread, MappingProxyType(frozen))


def _item(section: Section, number: int, words: str) -> Item:
    outcomes = dict.fromkeys(_HYPOTHESES[:3], "The marks go with lineage")
    values: dict[str, object] = {
        "anchors": ["§42", "inference"],
        "third_alternative": number == 1,
        "predictions": outcomes,
        "expected_outcomes": outcomes,
        "score": {part: (number + index) % 4 for index, part in enumerate(SCORE_PARTS)},
        "conflicts_with": ["H1"],
        "scale_check": number == 1,
        "status": "unchecked" if section.prefix == "A" else "active",
        "real_third_alternative": number == 1,
        "references": [],
    }
    for index, name in enumerate(sorted(section.texts)):
        values[name] = f"{_PROSE[index % len(_PROSE)]}{words}"
    values = {name: values[name] for name in section.fields}
    return Item(f"{section.prefix}{number}", make_fields(values))


def run() -> None:
    """Three sizes of each: time per item, how it grows, and the ratio to the bound at the end."""
    sizes = [f"{size:,} items" for size in SIZES]
    heading("Artifacts, µs per item", "", *sizes, "growth", "× bound", "aim")
    measured = {size: _works(size) for size in SIZES}
    for index, work in enumerate(measured[SIZES[0]]):
        per_item = [best_of(measured[size][index].do) / size * 1e6 for size in SIZES]
        bound = best_of(measured[SIZES[-1]][index].bound) / SIZES[-1] * 1e6
        figures = [f"{figure:.1f}" for figure in per_item]
        growth = f"{per_item[-1] / per_item[0]:.2f} ×"
        row(work.name, *figures, growth, f"{per_item[-1] / bound:.2f} ×", work.purpose)
    print("  The bounds: of render, escaping every text once; of parse, finding the blocks of the")
    print("  same Markdown; of lint, render; of diff, comparing every field once;")
    print("  of words, splitting both texts at blanks.")


def _works(size: int) -> tuple[Work, ...]:
    one = artifact(size)
    same, some, all_other = artifact(size), artifact(size, " or not", 10), artifact(size, " or not")
    text, long = render_artifact(one), _long(size)
    assert parse_artifact(text).artifact == one
    render = partial(render_artifact, one)
    return (
        Work("render", render, partial(_escape, one), "3 ×"),
        Work("parse", partial(parse_artifact, text), partial(parse_blocks, text)),
        Work("lint (the model)", partial(lint, one), render, "2 ×"),
        Work("diff, nothing changed", partial(diff, one, same), partial(_compare, one, same)),
        Work("diff, one in ten changed", partial(diff, one, some), partial(_compare, one, some)),
        Work("diff, all changed", partial(diff, one, all_other), partial(_compare, one, all_other)),
        Work("words, 20 to an item", partial(word_spans, *long), partial(_split, *long)),
    )


def _long(size: int) -> tuple[str, str]:
    """Two long texts, one word in twenty another one."""
    words = [f"{_PROSE[0].split()[number % 10]}{number % 997}" for number in range(20 * size)]
    other = [word if number % 20 else f"not {word}" for number, word in enumerate(words)]
    return " ".join(words), " ".join(other)


def _split(one: str, other: str) -> bool:
    return one.split() == other.split()


def _texts(one: Artifact) -> Iterator[str]:
    for _, item in one.all_items():
        for value in item.fields.values():
            if isinstance(value, str):
                yield value


def _escape(one: Artifact) -> list[str]:
    return [escape(text) for text in _texts(one)]


def _compare(one: Artifact, other: Artifact) -> int:
    """How many fields differ, where the items are known to stand in the same places."""
    return sum(
        value != other_item.fields[name]
        for (_, item), (_, other_item) in zip(one.all_items(), other.all_items(), strict=True)
        for name, value in item.fields.items()
    )
