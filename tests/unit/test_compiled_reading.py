"""Parse COMPILED messages of other programs and apply the rules AP-001 to AP-010."""

import pytest

from brenner.diagnostics.codes.messages import MISSING_VERSION
from brenner.diagnostics.model import ERROR, WARNING
from brenner.protocol.compiled import read_compiled, subject_version
from brenner.protocol.messages import Message, parse_message_file
from brenner.protocol.validate import check_message, check_stored

COMPILED_MESSAGE = MISSING_VERSION.example.right
HEADERS = "Thread: RS-20251230-cell-fate-dichotomy\nFrom: BlueLake\nTo: Operator\n"
THREAD_ID = "RS-20251230-cell-fate-dichotomy"
BODY = f"""\
# Compiled Artifact v3

## Metadata
- **Thread ID**: {THREAD_ID}
- **Version**: v3
- **Previous Version**: v2
- **Compiled At**: 2025-12-30T14:00:00Z
- **Compiler**: BlueLake

## Contributors
| Agent | Delta Count | Items Added/Modified |
|-------|-------------|---------------------|
| RedSky | 2 | T2 |

## Statistics
- Hypotheses: 3

## Validation Status
- Linter: 0 warnings, 0 errors

## Persistence
- **Artifact Path**: `artifacts/{THREAD_ID}.md`

## Full Artifact
```markdown
---
version: 3
---

# Brenner Protocol Artifact: x
```
"""
ARTIFACT = "---\nversion: 3\n---\n\n# Brenner Protocol Artifact: x\n"
RECORD = "## Record\n```brenner-record\n{}\n```\n"


def message(body: str = BODY, subject: str = "COMPILED: v3 added T2") -> Message:
    """A COMPILED message as it is stored."""
    return Message(THREAD_ID, "BlueLake", ("Operator",), subject, body)


def found(body: str = BODY, subject: str = "COMPILED: v3 added T2") -> list[tuple[str, int | None]]:
    """The codes and lines of what is wrong with it."""
    return [(each.id, each.line) for each in check_stored(message(body, subject)).violations]


def changed(old: str, new: str) -> str:
    """The body with a change."""
    assert old in BODY
    return BODY.replace(old, new)


def test_documented_form_is_parsed_completely() -> None:
    body = read_compiled(message(BODY + "\n" + RECORD))
    assert body[:11] == (
        *(3, THREAD_ID, 3, 2, "2025-12-30T14:00:00Z", "BlueLake"),
        *(f"artifacts/{THREAD_ID}.md", ARTIFACT, False, "{}", 34),
    )
    assert found() == []


@pytest.mark.parametrize(
    "line",
    [
        f"Thread ID: {THREAD_ID}",
        f"**Thread ID:** {THREAD_ID}",
        f"* __Thread ID__: `{THREAD_ID}`",
        f"- thread id : **{THREAD_ID}**",
        f'- **Thread ID**: "{THREAD_ID}" (this one)',
        f"| Thread ID | {THREAD_ID} |",
        f"Thread ID | {THREAD_ID}",
        f"- **Thread ID**: [{THREAD_ID}](https://example.org/thread)",
    ],
)
def test_fields_in_other_notations(line: str) -> None:
    """The notations are plain, quoted, backticks, a table and a link."""
    assert found(changed(f"- **Thread ID**: {THREAD_ID}", line)) == []


def test_a_field_in_another_place() -> None:
    """It counts where its own section does not have it; and only what is said, not an example."""
    line = f"- **Thread ID**: {THREAD_ID}\n"
    elsewhere = changed(line, "").replace("## Contributors", f"{line}\n## Contributors")
    assert found(elsewhere) == []
    both = BODY.replace("# Compiled Artifact v3\n", "# Compiled Artifact v3\nThread ID: other\n")
    assert found(both) == []
    for quoted in (f"> {line}", f"```\n{line}```\n", f"<!--\n{line}-->\n"):
        assert [code for code, _ in found(changed(line, f"\n{quoted}\n"))] == ["AP-003"]
    inside = changed(line, "").replace("Artifact: x\n", f"Artifact: x\n{line}")
    assert [code for code, _ in found(inside)] == ["AP-003"]


@pytest.mark.parametrize(
    ("subject", "version"),
    [
        ("COMPILED: v3 added T4", 3),
        ("COMPILED: v3", 3),
        ("COMPILED:v12: added T4", 12),
        ("COMPILED: v3, added T4", 3),
        ("COMPILED: v03 added T4", None),
        ("COMPILED: v0 nothing", None),
        ("COMPILED: v3.1 added", None),
        ("COMPILED: v3a", None),
        ("COMPILED: V3 added", None),
        ("COMPILED: v٣ added", None),
        ("COMPILED: artifact v3", None),
        ("COMPILED: v1234567890 added", None),
        ("INFO: v3 added", None),
        ("compiled: v3 added", None),
    ],
)
def test_versions_in_subjects(subject: str, version: int | None) -> None:
    """`COMPILED: v`, a number from 1 on, then something else."""
    assert subject_version(subject) == version


@pytest.mark.parametrize(
    ("subject", "codes"),
    [
        ("COMPILED: third artifact", ["AP-001"]),
        ("COMPILED: v3", ["AP-001"]),
        ("COMPILED:", ["EMPTY_SUBJECT_DESCRIPTION"]),
        ("compiled: v3 added T2", ["INVALID_SUBJECT_PREFIX"]),
        ("Compiled: third", ["INVALID_SUBJECT_PREFIX"]),
    ],
)
def test_subject_fault_is_reported_once(subject: str, codes: list[str]) -> None:
    """AP-001 is omitted beside a wrong prefix or an empty description."""
    assert [code for code, _ in found(subject=subject)] == codes


def test_lines_of_a_file() -> None:
    """In a file the subject's fault stands in its header, and the body's further down."""
    text = HEADERS + COMPILED_MESSAGE
    assert [each.id for each in check_message(text).violations] == []
    wrong = text.replace("COMPILED: v1 initial", "COMPILED: initial").replace("14:00", "25:00")
    places = {each.id: each.line for each in check_message(wrong).violations}
    assert places == {"AP-001": 4, "INVALID_COMPILED_AT": 10}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (f"**Thread ID**: {THREAD_ID}", "**Thread ID**: RS-20251228-initial", ("AP-003", 4)),
        (f"- **Thread ID**: {THREAD_ID}\n", "", ("AP-003", 1)),
        ("| RedSky | 2 | T2 |\n", "", ("AP-004", 10)),
        (f"`artifacts/{THREAD_ID}.md`", "`artifacts/x.md`", ("AP-005", 22)),
        (f"- **Artifact Path**: `artifacts/{THREAD_ID}.md`\n", "", ("AP-005", 1)),
        ("- Hypotheses: 3\n", "", ("AP-007", 15)),
        ("- Linter: 0 warnings, 0 errors\n", "", ("AP-008", 18)),
    ],
)
def test_each_rule(old: str, new: str, expected: tuple[str, int]) -> None:
    """One fault, one violation, on its line."""
    assert found(changed(old, new)) == [expected]


@pytest.mark.parametrize(
    ("rows", "is_listed"),
    [
        ("", False),
        ("|  |  |  |\n", False),
        ("| RedSky | 2 | T2 |\n", True),
        ("RedSky | 2 | T2\n", True),
    ],
)
@pytest.mark.parametrize("edge", ["|", ""])
def test_contributors_in_a_table(rows: str, is_listed: bool, edge: str) -> None:
    """AP-004: a head alone lists nobody, with or without pipes at its edges."""
    table = f"{edge} Agent | Delta Count | Items {edge}\n{edge}---|---|---{edge}\n{rows}\n"
    start, end = BODY.index("| Agent"), BODY.index("## Statistics")
    codes = [code for code, _ in found(BODY[:start] + table + BODY[end:])]
    assert codes == ([] if is_listed else ["AP-004"])


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("noon", "it is `noon`"),
        ("2025-02-30T10:00:00Z", "`2025-02-30T10:00:00Z` is not a calendar date"),
        ("30/12/2025", "it is `30/12/2025`"),
        ("", "it is missing"),
    ],
)
def test_compiled_at(written: str, reason: str) -> None:
    """Missing, not in ISO 8601, or no day of the calendar."""
    body = changed("**Compiled At**: 2025-12-30T14:00:00Z", f"**Compiled At**: {written}")
    (wrong,) = check_stored(message(body)).violations
    assert (wrong.id, wrong.line) == ("INVALID_COMPILED_AT", 7 if written else 1)
    assert reason in wrong.message


@pytest.mark.parametrize("written", ["2025-12-30", "20251230T140000Z", "2025-12-30 14:00+01:00"])
def test_other_times(written: str) -> None:
    """Every form of ISO 8601 that the linter takes."""
    assert found(changed("2025-12-30T14:00:00Z", written)) == []


# The artifact


def full(text: str) -> str:
    """The body with this under `## Full Artifact`."""
    return BODY.partition("## Full Artifact\n")[0] + "## Full Artifact\n" + text


@pytest.mark.parametrize(
    "text",
    [
        f"~~~~\n{ARTIFACT}~~~~\n",
        f"Here it is:\n\n```md\n{ARTIFACT}```\n",
        f"<details>\n\n```markdown\n{ARTIFACT}```\n\n</details>\n",
        f"{ARTIFACT}",
        f"\n{ARTIFACT}\n\n",
        f"{ARTIFACT}\n{RECORD}",
        f"---\n\n```markdown\n{ARTIFACT}```\n",
        f"```markdown\n{ARTIFACT}```\n\n{RECORD}",
        f"{RECORD}\n```markdown\n{ARTIFACT}```\n".removeprefix("## Record\n"),
    ],
)
def test_an_artifact_in_other_forms(text: str) -> None:
    """In any fence, after other words, or as it is: the same artifact."""
    assert read_compiled(message(full(text))).inline == ARTIFACT
    assert found(full(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        f"[the file](artifacts/{THREAD_ID}.md)\n",
        f"See artifacts/{THREAD_ID}.md.\n",
        f"`artifacts/{THREAD_ID}.md`\n",
        "<https://example.org/artifact/3>\n",
        "- [artifact](https://example.org/artifact/3)\n",
    ],
)
def test_links(text: str) -> None:
    """A link, an address, or the name of the file."""
    body = read_compiled(message(full(text)))
    assert (body.inline, body.has_link) == (None, True)
    assert found(full(text)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nor a link to it."),
        ("see above\n", "nor a link to it."),
        ("```markdown\n```\n", "nor a link to it."),
        ("```markdown\n\n```\n", "nor a link to it."),
        (f"```markdown\n{ARTIFACT}", "nor a link to it: its fence is not closed."),
        (RECORD.removeprefix("## Record\n"), "nor a link to it."),
        ("> ```markdown\n> # Artifact\n> ```\n", "nor a link to it."),
        ("> ```markdown\n> # Artifact\n", "nor a link to it."),
    ],
)
def test_missing_artifact(text: str, words: str) -> None:
    """AP-006. The artifact may be truncated in a fence without an end."""
    (wrong,) = check_stored(message(full(text))).violations
    assert (wrong.id, wrong.line) == ("AP-006", 24)
    assert wrong.message.endswith(words)
    without = BODY.partition("## Full Artifact\n")[0]
    assert found(without) == [("AP-006", 1)]


# AP-010


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("\nversion: 3", "\nversion: 2", 27, "The front matter says version 2, but"),
        ("\nversion: 3", "\nversion: 'v2'", 27, "The front matter says version `v2`, but"),
        ("\nversion: 3", "\nname: x", 26, "The front matter says no version, but"),
        ("\nversion: 3", "\nversion: [3]", 27, "The front matter says version `[3]`, but"),
        ("\nversion: 3", "\n[", 26, "The front matter says nothing readable ("),
        ("# Compiled Artifact v3", "# Compiled Artifact v2", 1, "The title says v2, but"),
        ("**Version**: v3", "**Version**: v2", 5, "The metadata says `v2`, but"),
        ("**Version**: v3", "**Version**: three", 5, "The metadata says `three`, but"),
    ],
)
def test_versions_that_disagree(old: str, new: str, line: int, words: str) -> None:
    """Each place that gives another version than the subject."""
    (wrong,) = check_stored(message(changed(old, new))).violations
    assert (wrong.id, wrong.line) == ("AP-010", line)
    assert wrong.message.startswith(words)
    assert wrong.message.endswith("but the COMPILED message is v3.")


def test_versions_that_disagree_without_the_subject() -> None:
    """Then the first place counts; several faults are told each."""
    body = changed("\nversion: 3", "\nversion: 2")
    assert found(body, "COMPILED: new") == [("AP-001", None), ("AP-010", 27)]
    assert found(BODY, "COMPILED: v4 added T2") == [("AP-010", line) for line in (1, 5, 27)]


@pytest.mark.parametrize("written", ["version: 3", "version: v3", "version: '3'", "version: 'V03'"])
def test_versions_that_agree(written: str) -> None:
    """A number or a text; and no front matter at all says nothing wrong."""
    assert found(changed("\nversion: 3", f"\n{written}")) == []
    assert found(changed("---\nversion: 3\n---\n\n", "")) == []
    assert found(changed("- **Version**: v3\n", "- **Version**: 3\n")) == []


def test_severities() -> None:
    """As in the document's table."""
    wrong = check_stored(message("# Compiled Artifact v3\n\nHere.\n")).violations
    severities = {each.id: each.severity for each in wrong}
    errors = ("AP-003", "AP-004", "AP-005", "AP-006", "INVALID_COMPILED_AT")
    assert severities == dict.fromkeys(errors, ERROR) | dict.fromkeys(("AP-007", "AP-008"), WARNING)


# The record


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("```brenner-record\n{}\n```\n", "{}"),
        ("~~~ brenner-record json\n{}\n~~~\n", "{}"),
        ("```brenner-record\n```\n", ""),
        ("```brenner-record\n{}\n\n```\n", "{}\n"),
        ("> ```brenner-record\n> {}\n> ```\n", None),
        ("- ```brenner-record\n  {}\n  ```\n", None),
        ("````markdown\n```brenner-record\n{}\n```\n````\n", None),
        ("```brenner-record\n{}\n", None),
        ("```brenner-record\n{}\n```\n\n```brenner-record\n{}\n```\n", None),
        ("```json\n{}\n```\n", None),
        ("```brenner-records\n{}\n```\n", None),
    ],
)
def test_records(text: str, record: str | None) -> None:
    """One closed fence of its own. A quoted, nested or second one is none."""
    assert read_compiled(message(text)).record == record


def test_line_endings_and_marks() -> None:
    """A body with CR LF or a byte order mark reads the same."""
    for body in (BODY.replace("\n", "\r\n"), "\ufeff" + BODY):
        assert found(body) == []
        assert read_compiled(message(body)).inline == ARTIFACT
    bare = full(ARTIFACT).replace("\n", "\r\n")
    assert read_compiled(message(bare)).inline == ARTIFACT


def test_the_template_is_read() -> None:
    """The example of the catalogue, as a file."""
    body = read_compiled(parse_message_file(HEADERS + COMPILED_MESSAGE).message)
    assert (body.subject_version, body.title_version, body.has_link) == (1, 1, True)


@pytest.mark.parametrize(
    "line",
    [
        "Thread ID: " + "`" * 10**6,
        "Thread ID" + " " * 10**6,
        "Thread ID: " + " (" * 10**5,
        "[" * 10**6,
        "# v" + "v1" * 10**5,
        "x\n" * 10**5,
    ],
    ids=["marks", "blanks", "remarks", "brackets", "versions", "lines"],
)
def test_long_lines_are_parsed_in_linear_time(line: str) -> None:
    body = changed("## Contributors", f"{line}\n\n## Contributors")
    assert read_compiled(message(body)).thread_id == THREAD_ID
    assert read_compiled(message(f"# Compiled Artifact\n\n{line}\n")).record is None
