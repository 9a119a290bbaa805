"""Pages of a version: nothing is lost between them, and none divides an item without need."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts import artifacts
from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import artifact_json
from brenner.protocol.grammar import ITEM_ID
from brenner.services import artifact_pages
from brenner.services.artifact_pages import (
    Page,
    bytes_in_result,
    json_pages,
    markdown_pages,
    outline,
)

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*/v*.artifact.md"))


def without_repeated_heads(pages: tuple[Page, ...]) -> str:
    """The text, the heads of tables that go on being left out."""
    lines = chain.from_iterable(re.split(r"(?<=\n)", each.text) for each in pages)
    kept = []
    left = 0
    for line in lines:
        left = 4 if line.endswith("(continued)\n") else left
        if not left:
            kept.append(line)
        left = max(0, left - 1)
    return "".join(kept)


def divided(pages: tuple[Page, ...]) -> list[str]:
    """The items that are on more than one page."""
    counts = Counter(chain.from_iterable(each.items for each in pages))
    return [item for item, count in counts.items() if count > 1]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.name[:2]}")
@pytest.mark.parametrize("most", [700, 1_500])
def test_pages_of_golden_versions(path: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have no more than they may; what lies on two pages is longer than one, or a row whose
    notes are below the table.
    """
    text = path.read_text("utf-8")
    monkeypatch.setattr(artifact_pages, "MOST_PAGE_BYTES", most)
    pages = markdown_pages(text)
    assert without_repeated_heads(pages) == text
    assert all(bytes_in_result(each.text) <= most for each in pages)
    for item in divided(pages):
        own = "".join(each.text for each in pages if item in each.items)
        assert item.startswith("P") or bytes_in_result(own) > most
    continued = [each for each in pages if each.text.split("\n")[0].endswith("(continued)")]
    assert all(each.text.split("\n")[2].startswith("| ID ") for each in continued)


@given(artifacts(), st.integers(200, 3_000))
def test_json_pages_have_everything(artifact: Artifact, most: int) -> None:
    """Each page is a document; put together they are the whole one."""
    document: dict[str, Any] = artifact_json(artifact)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact_pages, "MOST_PAGE_BYTES", most)
        pages = json_pages(document)
    whole = json.dumps(document, ensure_ascii=False)
    if len(pages) == 1:
        assert pages[0].text == whole
        return
    longest = max(bytes_in_result(json.dumps(each, ensure_ascii=False)) for each in parts(document))
    if longest > most:  # it is cut, and its pages are no documents
        assert len(divided(pages)) <= len(list(parts(document)))
        return
    found: dict[str, Any] = {}
    for each in pages:
        for key, value in json.loads(each.text).items():
            found[key] = found[key] + value if isinstance(found.get(key), list) else value
    assert found == document
    assert not divided(pages)


def parts(document: Mapping[str, Any]) -> list[Any]:
    """What is not divided."""
    found: list[Any] = []
    for value in document.values():
        found += [[each] for each in value] if isinstance(value, list) and value else [value]
    return found


@given(artifacts(), st.integers(50, 3_000))
def test_markdown_pages_have_everything(artifact: Artifact, most: int) -> None:
    """Put together they are the text, and every item is on one; a short text is one page."""
    text = render_artifact(artifact)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact_pages, "MOST_PAGE_BYTES", most)
        pages = markdown_pages(text)
    assert without_repeated_heads(pages) == text
    if bytes_in_result(text) <= most:
        assert len(pages) == 1
    found = set(chain.from_iterable(each.items for each in pages))
    ids = {item.id for _, item in artifact.all_items() if ITEM_ID.fullmatch(item.id)}
    assert ids - {"RT"} <= found


def test_one_long_item_is_cut() -> None:
    """At its end, or within its lines; the rest of the version is on pages of its own."""
    text = f"## 2. Hypothesis Slate\n\n### H1: a\n\n{'x§' * 40_000}\n\n### H2: b\n\nshort\n"
    pages = markdown_pages(text)
    assert "".join(each.text for each in pages) == text
    assert [each.items for each in pages] == [("H1",)] * (len(pages) - 1) + [("H2",)]
    assert all(bytes_in_result(each.text) <= artifact_pages.MOST_PAGE_BYTES for each in pages)


def test_outline() -> None:
    pages = (Page(("RT", "H1", "H2", "H3", "P1", "P3"), ""), Page((), ""), Page(("P9", "P10"), ""))
    assert outline(pages) == [
        {"page": 1, "items": ["RT", "H1-H3", "P1", "P3"]},
        {"page": 2, "items": []},
        {"page": 3, "items": ["P9-P10"]},
    ]
