"""Every citation of the protocol leads to a heading of docs/protocol.md."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "protocol.md"
TEXTS = frozenset({".css", ".html", ".js", ".md", ".py", ".sql", ".toml", ".txt"})

# How a source is cited, and the chapter (a heading of level 2) that has its topics
SOURCES = {
    "companion": "The companion",
    "Companion": "The companion",
    "rulings": "Rulings",
    "design": "design",
    "look": "look",
    "agent_mail": "agent_mail",
    "Agent Mail": "agent_mail",
    "thread_subject_conventions": "thread_subject_conventions",
    "conventions document": "thread_subject_conventions",
    "delta_output_format": "delta_output_format",
    "message_body_schema": "message_body_schema",
    "message document": "message_body_schema",
    "message body": "message_body_schema",
    "artifact_publish_spec": "artifact_publish_spec",
    "publish document": "artifact_publish_spec",
    "agent_roster_schema": "agent_roster_schema",
    "roster document": "agent_roster_schema",
}
EXTERNAL = ("RFC ", "Model Context Protocol")

# These are words of their own as well: they are citations only in a field of citations
AMBIGUOUS = ("Agent Mail", "message body")


def _any_of(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


# In a field that holds nothing but citations, separated by semicolons
_CITED = re.compile(rf"({_any_of(SOURCES)})(?:_v0\.1)?(?:$|[,:]? (?:part )?(.+))")
# In prose a topic begins with a capital letter or is a number, so that "look, then" is none
_IN_PROSE = re.compile(
    rf"(?<![\w./-])({_any_of(set(SOURCES) - set(AMBIGUOUS))})(?:_v0\.1)?"
    r"(?:, (?=[A-Z][a-z]|[A-Z]{2}|[0-9]|part [0-9])| (?=[0-9]|part [0-9]))"
    r"(?:part )?([0-9]+|[^:;.()\"|\]\n]+)"
)
_RULING = re.compile(r"\bR([0-9]+)\b")
_EXAMPLE = re.compile(r"^(~~~+|```+).*?^\1", re.DOTALL | re.MULTILINE)


class Citation(NamedTuple):
    """A source and what is cited of it; an empty topic is the source as a whole."""

    chapter: str
    topic: str


def headings(page: str) -> dict[str, list[str]]:
    """Return the topics of each chapter, in lower case. All rulings are one chapter."""
    topics: dict[str, list[str]] = {}
    chapter = ""
    for level, title in re.findall(r"^(##+) (.+)$", _EXAMPLE.sub("", page), re.MULTILINE):
        names = title
        if level == "##":
            chapter, _, names = title.partition(": ")
            topics.setdefault(chapter, [])
        for name in names.lower().split(" · "):
            number, dot, text = name.partition(". ")
            topics[chapter] += [number, text] if dot and number.isdigit() else [name]
    return topics


def cited_rulings(text: str) -> set[Citation]:
    """Return the rulings that a text names anywhere."""
    return {Citation("Rulings", f"R{number}") for number in _RULING.findall(text)}


def cited_in_prose(text: str) -> set[Citation]:
    """Return the citations in a docstring, a comment or a page, whose lines may be wrapped."""
    unwrapped = re.sub(r"[ \t]*\n[ \t]*(?:# ?)?(?=\S)", " ", text)
    found = _IN_PROSE.findall(unwrapped)
    return {Citation(SOURCES[source], topic) for source, topic in found} | cited_rulings(text)


def cited_in_field(field: str) -> Iterator[Citation]:
    """Yield each citation of a field. A part without a source goes on with the one before it."""
    chapter = ""
    for part in field.split("; "):
        match = _CITED.fullmatch(part)
        if match:
            chapter = SOURCES[match[1]]
            yield Citation(chapter, match[2] or "")
        elif _RULING.search(part):
            yield from cited_rulings(part)
        elif not part.startswith(EXTERNAL):
            yield Citation(chapter, part)


def leads_somewhere(citation: Citation, topics: dict[str, list[str]]) -> bool:
    """Whether a heading begins what is cited, or contains its first words."""
    if citation.chapter not in topics:
        return False
    cited = citation.topic.lower()
    first = re.split(r"[,:;]| and ", cited)[0].strip()
    whole = re.compile(rf"(?<![\w-]){re.escape(first)}(?![\w-])")
    return not cited or any(
        re.match(re.escape(topic) + r"(?![\w-])", cited) or (first and whole.search(topic))
        for topic in topics[citation.chapter]
        if topic
    )


def broken(citations: Iterable[Citation], page: str) -> list[Citation]:
    """Return the citations without a heading."""
    topics = headings(page)
    return sorted(each for each in set(citations) if not leads_somewhere(each, topics))


def texts(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text file below a folder, wherever it is."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in TEXTS and path != PAGE:
            yield path, path.read_text("utf-8")


def requirements() -> list[dict[str, str]]:
    """Return all requirements of the conformance tests."""
    folder = ROOT / "tests" / "conformance" / "requirements"
    files = [tomllib.loads(path.read_text("utf-8")) for path in folder.glob("*.toml")]
    return [each for file in files for each in file["requirement"]]


def specifications() -> list[str]:
    """Return what the codes cite, from the page that is generated from their catalogue."""
    page = (ROOT / "docs" / "reference" / "codes.md").read_text("utf-8")
    return re.findall(r"^- Specification: (.+)$", page, re.MULTILINE)


@pytest.mark.parametrize("folder", ["src", "docs", "tests/conformance"])
def test_citations_in_texts_lead_somewhere(folder: str) -> None:
    """Comments, docstrings and pages cite only what the page has."""
    page = PAGE.read_text("utf-8")
    found = {path: cited_in_prose(text) for path, text in texts(ROOT / folder)}
    assert sum(map(len, found.values())) >= 50  # else the search finds nothing any more
    assert {path: wrong for path, cited in found.items() if (wrong := broken(cited, page))} == {}


def test_citations_of_codes_lead_somewhere() -> None:
    """`brenner explain CODE` cites only what the page has."""
    fields = specifications()
    assert len(fields) >= 300
    cited = [each for field in fields for each in cited_in_field(field)]
    assert broken(cited, PAGE.read_text("utf-8")) == []


def test_citations_of_requirements_lead_somewhere() -> None:
    """The requirements of the conformance tests come from what the page has."""
    fields = [each["source"] for each in requirements()]
    fields += [f"rulings, {each}" for row in requirements() for each in split_rulings(row)]
    assert len(fields) >= 500
    cited = [each for field in fields for each in cited_in_field(field)]
    assert broken(cited, PAGE.read_text("utf-8")) == []


def split_rulings(requirement: dict[str, str]) -> list[str]:
    """Return the rulings that bear on a requirement; one of them has a comma in its name."""
    return re.findall(r"One fault, one violation|[^,\s][^,]*", requirement.get("ruling", ""))


SMALL_PAGE = """\
## Rulings: Names
### R1 Thread IDs
### One fault, one violation
## Rulings: Small decisions
### Content hash
## The companion
### 2. Merging
## delta_output_format
### Parsing Rules · Error Handling
### Failure Mode 4: Invalid JSON
~~~markdown
### R98 Only an example
~~~
"""


@pytest.mark.parametrize(
    "text",
    [
        "Whether it is valid (ruling R1).",
        "How it is merged (companion, Merging).",
        "How it is merged (companion,\n    # Merging: lists; R1).",
        "How it is merged (companion 2), and (companion, part 2).",
        "What the companion's layout is; look, then decide.",
        "# delta_output_format, Error Handling",
        'spec = "delta_output_format_v0.1, Failure Mode 4; R1"',
        "(rulings, Small decisions)",
    ],
)
def test_a_good_citation_in_prose(text: str) -> None:
    """Each of them has its heading."""
    assert broken(cited_in_prose(text), SMALL_PAGE) == []


@pytest.mark.parametrize(
    "text",
    [
        "Whether it is valid (R99).",
        "An example is not a heading (R98).",
        "How it is merged (companion, Mending).",
        "How it is merged (companion,\n    # Mending: lists).",
        "Companion 7 has it.",
        "# delta_output_format, Failure Mode 44",
        "(message document, ACK Workflow)",
        "(rulings, Large decisions)",
    ],
)
def test_a_broken_citation_in_prose(text: str) -> None:
    """The test can fail: none of them has a heading."""
    assert len(broken(cited_in_prose(text), SMALL_PAGE)) == 1


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("companion 2; R1", 0),
        ("rulings, R1 and Small decisions: content hash; One fault, one violation", 0),
        ("delta_output_format_v0.1, Parsing Rules; Error Handling; RFC 9110, 404 Not Found", 0),
        ("companion 2; R99", 1),
        ("rulings, R1; Two faults", 1),
        ("delta_output_format, Parsing", 0),
        ("delta_output_format, Pars", 1),
        ("unheard_of, Parsing Rules", 1),
    ],
)
def test_a_field_of_citations(field: str, wrong: int) -> None:
    """A field is read strictly: what no source has is broken."""
    assert len(broken(cited_in_field(field), SMALL_PAGE)) == wrong
