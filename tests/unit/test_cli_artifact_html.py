"""The page of an artifact: whole, closed off, and whatever a text says it is only text."""

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from html.parser import HTMLParser
from types import MappingProxyType

from hypothesis import given

from artifacts import artifacts
from brenner.artifact.html import artifact_html
from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    make_fields,
)
from brenner.artifact.state import Conflict, DisplacedValue, Source

VOID = {"meta", "br"}
ELEMENTS = {
    *("html", "title", "style", "main", "header", "nav", "section", "article", "footer", "div"),
    *("h1", "h2", "h3", "p", "span", "a", "s", "dl", "dt", "dd", "ul", "li"),
    *("table", "thead", "tbody", "tr", "th", "td", "strong", "code", *VOID),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "scope"),
    *("tabindex", "role", "aria-label", "title"),
}


# What a reader cannot see, but for lines and tabs
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Page(HTMLParser):
    """What a browser makes of it: elements that are closed in their order, and their texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.struck: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if "s" in self.open:
            self.struck.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


@given(artifacts())
def test_no_text_becomes_markup(artifact: Artifact) -> None:
    """Only our elements and attributes, each ID once, every link to an anchor of the page."""
    text = artifact_html(artifact)
    page = Page(text)
    assert {tag for tag, _ in page.met} <= ELEMENTS
    assert {name for _, attributes in page.met for name in attributes} <= ATTRIBUTES
    ids = [attributes["id"] for _, attributes in page.met if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = {str(attributes["href"]) for tag, attributes in page.met if tag == "a"}
    assert links <= {f"#{each}" for each in ids}
    # Nothing that a reader cannot see, but for lines and tabs
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text
    )


def item(item_id: str, killed: KillRecord | None = None, **values: object) -> Item:
    """An item with some fields."""
    return Item(item_id, make_fields(values), killed)


def artifact(*items: Item) -> Artifact:
    """An artifact with these items, each in the section of its prefix."""
    sections = {
        section.id: tuple(each for each in items if each.id.startswith(section.prefix))
        for section in ITEM_SECTIONS
    }
    metadata = Metadata("RS-20251230-cell-fate", 3, contributors=("opus", "gpt"), status="draft")
    question = item("RT", statement="Lineage or position?", context="Since 1985.\n\nTwo schools.")
    return Artifact(metadata, question, MappingProxyType(sections))


WHOLE = artifact(
    item("H1", name="Lineage", claim="Ancestry <b>alone</b> & time", third_alternative=True),
    item("H2", KillRecord("RedCreek", "2026-01-03T11:12:13Z", "T1 says no."), name="Gradient"),
    item("P1", condition="A cut", predictions={"H1": "heals", "H2": "dies"}),
    item("P2", KillRecord("", "", ""), condition="A burn", predictions={"H1": "heals"}),
    item("T1", name="Transplant", discriminates="H1 vs H2 (not H3K27)", score={"cost": 1}),
    item(
        "T2",
        name="Ablation",
        score={"cost": 3, "speed": 2},
        references=[{"session": "RS-20251230-cell-fate", "item": "H1", "relation": "extends"}],
    ),
    item("X1", name="Odd", conflicts_with=["H1", "T9"]),
)


def test_the_page_stands_alone() -> None:
    """No scripts, nothing loaded, one style, and the policy that allows just that."""
    text = artifact_html(WHOLE)
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">' in text
    assert not re.search(r"<script|javascript:|https?:|url\(|@import|src=| on\w+=| style=", text)
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_items_are_anchors() -> None:
    """Each once; IDs are links where the schema says that they are IDs, and they lead somewhere."""
    text = artifact_html(WHOLE)
    for item_id in ("RT", "H1", "H2", "P1", "P2", "T1", "T2", "X1"):
        assert text.count(f' id="{item_id}"') == 1
    link = '<a class="id" href="#H{0}">H{0}</a>'
    assert f"<p>{link.format(1)} vs {link.format(2)} (not H3K27)</p>" in text
    assert f'<p>{link.format(1)}, <span class="id">T9</span></p>' in text
    assert f"extends {link.format(1)}" in text


def test_an_id_that_stands_twice_is_no_anchor() -> None:
    """Nobody could tell which one is meant."""
    text = artifact_html(artifact(item("H1", name="One"), item("H1", name="Two")))
    assert 'id="H1"' not in text
    assert 'href="#H1"' not in text
    assert "One" in text
    assert "Two" in text


def test_what_is_killed() -> None:
    """Struck through all over, the reason not; tests stand by their score."""
    page = Page(artifact_html(WHOLE))
    assert {"Gradient", "A burn", "H2", "P2"} <= set(page.struck)
    whole = "".join(page.text)
    assert not {"T1 says no.", "RedCreek, 2026-01-03T11:12:13Z", "Lineage"} & set(page.struck)
    assert "T1 says no." in whole
    assert "not stated" in whole
    assert whole.index("Ablation") < whole.index("Transplant")
    assert "Ancestry <b>alone</b> & time" in whole


def test_conflicts_stand_side_by_side() -> None:
    """Each value with its author; a value that was taken away is said to be."""
    sources = [
        Source(number, agent, 1, 2, "EDIT") for number, agent in ((5, "RedSky"), (4, "Blue"))
    ]
    lost = (
        DisplacedValue((Reference("RS-1", "H2", "refines"),), sources[1]),
        DisplacedValue("Two <months>", sources[1]),
    )
    text = artifact_html(WHOLE, [Conflict("T1", ("feasibility",), 2, None, sources[0], lost)])
    assert '<p class="label">Open conflict: Feasibility</p>' in text
    assert '<p class="who">RedSky, message 5 (current value)</p><p>(removed)</p>' in text
    assert '<p class="who">Blue, message 4</p><p>refines RS-1 H2</p>' in text
    assert "<p>Two &lt;months&gt;</p>" in text


def test_an_empty_artifact_is_a_page() -> None:
    """It says what it lacks."""
    text = artifact_html(Artifact(Metadata()))
    assert "None registered." in text
    assert text.count("None yet.") == 6
    assert "no session ID" in text


def test_lines_and_paragraphs_stay() -> None:
    """As they were written, tabs too; what hides is spelled out."""
    text = artifact_html(artifact(item("H1", name="N\nM", claim="a\r\n b\n\n\tc\x07\u202e\u00a0d")))
    assert "<p>a\n b</p><p>\tc\\x07\\u202e\u00a0d</p>" in text
    assert "N\\nM" in text


def test_a_result_is_shown_in_lines() -> None:
    """The outcome, what follows, the evidence: a file is never a link, whatever its name says."""
    digest = "0f" * 32
    result = {
        "outcome": "Both <b>",
        "potency": "passed",
        "contradicts": ["H1"],
        "observed_at": "2026-01-03T11:12:13.456Z",
        "evidence": [f"file:results/RS-20251230-cell-fate/T1 H1.json#sha256={digest}"],
    }
    claimed = {"outcome": "None", "potency": "failed"}
    test = item("T1", name="Transplant", results=[result, claimed])
    page = artifact_html(artifact(item("H1", name="Lineage"), test))
    assert "<strong>Both &lt;b&gt;</strong><br>contradicts <a " in page
    assert "; observed 2026-01-03T11:12:13Z</li>" in page
    assert "<code>results/RS-20251230-cell-fate/T1 H1.json</code>" in page
    assert f'title="SHA-256 {digest}"' in page
    lines = "no verdict; potency failed<br>claimed, without evidence"
    assert f"<strong>None</strong><br>{lines}</li>" in page
