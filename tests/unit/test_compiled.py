"""Write the COMPILED message: the content of each section and the size limits."""

import re

import pytest

from brenner.artifact.diff import Diff, FieldChange, diff
from brenner.artifact.model import Artifact, Item, KillRecord, Metadata, make_fields
from brenner.artifact.state import BlockOutcome, Conflict, DisplacedValue, Entry, Source
from brenner.diagnostics.codes import lint_sections as lint_sections_codes
from brenner.diagnostics.codes import lint_structure as lint_structure_codes
from brenner.diagnostics.codes.deltas import MISSING_REQUIRED_FIELD
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.model import Code
from brenner.limits import MOST_BODY_BYTES, MOST_INLINE_ARTIFACT_BYTES, MOST_MESSAGES_OF_A_VERSION
from brenner.lint.linter import LintReport
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.body import parse_sections
from brenner.protocol.compiled import read_compiled
from brenner.protocol.validate import check_stored
from brenner.session.compiled_message import (
    CompiledVersion,
    Contributor,
    compose_compiled,
    contributors_of,
    describe_changes,
)
from brenner.session.model import MessageRef, render_record
from compiled_samples import compose, golden

FIRST, SECOND = golden("three_agents")
REFUSED = golden("two_agents_at_once")[1]
DISPUTED = golden("conflict")[1]


def section(of: CompiledVersion, name: str) -> str:
    """The text of one section of the message."""
    body = compose(of).body
    match = re.search(rf"^## {re.escape(name)}\n(.*?)(?=\n## |\Z)", body, re.DOTALL | re.MULTILINE)
    assert match, name
    return match[1].rstrip("\n")


def names(of: CompiledVersion) -> list[str]:
    """The sections of the message."""
    return [each.name for each in parse_sections(parse_blocks(compose(of).body))]


def test_the_body_is_the_documents() -> None:
    """All sections of the extended schema, in its order; then our record."""
    message = compose(SECOND)
    assert message.body.startswith("# Compiled Artifact v2\n\n## Metadata\n")
    assert names(SECOND) == [
        *("Metadata", "Summary", "Contributors", "Changes from v1", "Statistics"),
        *("Validation Status", "Persistence", "Full Artifact", "Record"),
    ]
    assert message.recipients == ("BlueLake",)
    assert message.ack_required is None


def test_metadata() -> None:
    """The previous version is named where there is one."""
    assert section(SECOND, "Metadata") == (
        "- **Thread ID**: RS-20260105-drug-tolerance\n- **Version**: v2\n"
        "- **Previous Version**: v1\n- **Compiled At**: 2026-01-05T10:00:00Z\n"
        "- **Compiler**: Operator"
    )
    assert "Previous" not in section(FIRST, "Metadata")


def test_contributors() -> None:
    """A row for each agent: how many blocks were applied, and the items in artifact order."""
    assert section(SECOND, "Contributors").split("\n")[2:] == [
        "| BlueLake | 3 | RT, H1, P1 |",
        "| RedSky | 2 | P2, T2 |",
        "| GreenHill | 4 | A2, X1, C1, C2 |",
    ]


def test_unverified_contributors_are_listed() -> None:
    """A long list is cut, and names the command that shows all."""
    plain = compose(SECOND)
    assert "nverified" not in plain.body
    first, second = dict.fromkeys(each.message_id for each in SECOND.ledger[:4])
    of = SECOND._replace(unverified=(first, second))
    line = (
        f"Unverified (any client may have sent it): message {first} (BlueLake), message {second} "
        "(RedSky)."
    )
    assert section(of, "Contributors").endswith(f"|\n\n{line}")
    assert compose(of).body.replace(f"\n{line}\n", "") == plain.body
    assert [found.id for found in check_stored(compose(of)).violations] == []
    name = "A `b` | c](d) <i> *e* [[fill in: x]] \n## Record\n```delta\n"
    ledger = tuple(
        Entry(number, 1, 1, name, "ADD", "x", None, BlockOutcome.APPLIED)
        for number in range(1, 200)
    )
    many = SECOND._replace(ledger=ledger, unverified=tuple(range(1, 200)))
    message = compose(many)
    command = f"`brenner artifact ledger {many.thread_id}@v2`"
    assert section(many, "Contributors").endswith(f" and 149 more: {command}.")
    assert [found.id for found in check_stored(message).violations] == []
    assert names(many) == names(SECOND)
    assert (read_compiled(message).inline, read_compiled(message).record) == (
        *(SECOND.text, render_record(SECOND.record)),
    )


def test_contributors_of_a_version_that_applies_nothing() -> None:
    """Those of the versions before it; else the compiler, so that there always is one."""
    known = Artifact(Metadata(contributors=("opus", " ", "gpt"), compiled_by="Operator"))
    assert contributors_of((), known) == (Contributor("opus", 0, ()), Contributor("gpt", 0, ()))
    entries = tuple(
        Entry(1, number, 1, "Ann", "EDIT", "x", "H1", outcome)
        for number, outcome in enumerate((BlockOutcome.REFUSED, BlockOutcome.DUPLICATE))
    )
    nobody = Artifact(Metadata(compiled_by="BlueLake"))
    assert contributors_of(entries, nobody) == (Contributor("BlueLake", 0, ()),)
    assert contributors_of((), Artifact(Metadata())) == (Contributor("Operator", 0, ()),)
    of = SECOND._replace(contributors=contributors_of((), nobody))
    assert [found.id for found in check_stored(compose(of)).violations] == []


def test_changes_of_the_first_version() -> None:
    """They are told from v0, the empty artifact; the question is new, too."""
    lines = section(FIRST, "Changes from v0").split("\n")
    assert lines[0].startswith("- **Added** RT: ")
    assert lines[1] == "- **Added** H1: Dilution"
    assert all(line.startswith("- **Added** ") for line in lines)


def test_changes_of_a_later_version() -> None:
    """New items first, then modified ones with their fields, then killed ones with the reason."""
    old, new = _pair()
    of = SECOND._replace(diff=diff(old, new))
    assert section(of, "Changes from v1").split("\n") == [
        "- **Added** H3: New \\*one\\*",
        "- **Modified** H1: Kept (claim, anchors)",
        "- **Killed** H2: Gone (reason: refuted by T1)",
    ]


def _pair() -> tuple[Artifact, Artifact]:
    kept, gone = (
        Item("H1", make_fields({"name": "Kept"})),
        Item("H2", make_fields({"name": "Gone"})),
    )
    changed = kept._replace(fields=make_fields({"name": "Kept", "claim": "c", "anchors": ["§1"]}))
    killed = gone._replace(killed=KillRecord("Ann", "2025-12-30T10:00:00Z", "refuted by T1"))
    added = Item("H3", make_fields({"name": "New *one*"}))
    return _with_hypotheses(kept, gone), _with_hypotheses(changed, killed, added)


def _with_hypotheses(*items: Item) -> Artifact:
    empty = Artifact(Metadata())
    return empty._replace(sections={**empty.sections, "hypothesis_slate": items})


def test_version_without_changes_says_so() -> None:
    closed = FieldChange(("status",), "active", "closed")
    of = SECOND._replace(diff=Diff((), (closed,), 12), ledger=())
    assert section(of, "Changes from v1") == "No item changed. Metadata: status."
    assert compose(of).subject == "COMPILED: v2 session closed"


def test_statistics_count_active_items() -> None:
    """The seven of the document; a thread without a question has none."""
    _, new = _pair()
    of = SECOND._replace(artifact=new)
    assert section(of, "Statistics") == (
        "- Research Thread: 0\n- Hypotheses: 2\n- Predictions: 0\n- Tests: 0\n- Assumptions: 0\n"
        "- Anomalies: 0\n- Critiques: 0"
    )
    assert section(SECOND, "Statistics").startswith("- Research Thread: 1\n- Hypotheses: 3\n")


@pytest.mark.parametrize(
    ("codes", "schema"),
    [
        ((), "PASS"),
        ((lint_sections_codes.EH_001,), "PASS"),
        ((lint_structure_codes.WM_001,), "PASS"),
        ((lint_structure_codes.EM_003,), "FAIL"),
        ((lint_structure_codes.ES_002,), "FAIL"),
    ],
)
def test_schema(codes: tuple[Code, ...], schema: str) -> None:
    """It fails where the front matter or the structure has errors, and only there."""
    found = [code.at(1, **dict.fromkeys(_words(code), "x")) for code in codes]
    of = SECOND._replace(lint=LintReport(tuple(found)))
    assert section(of, "Validation Status").startswith(f"- Schema: {schema}\n")


def _words(code: Code) -> list[str]:
    return re.findall(r"{(\w+)}", code.message + code.fix)


def test_validation_status() -> None:
    """The linter is counted, its errors are named, and the third alternative is looked for."""
    lines = section(SECOND, "Validation Status").split("\n")
    assert lines[:2] == ["- Schema: PASS", "- Linter: 6 warnings, 2 errors"]
    assert lines[2].startswith(
        "  - EP-001 (too few predictions): Too few active predictions: 2 (minimum: 3)."
    )
    assert lines[-1] == "- Third Alternative: Present"
    without = SECOND._replace(artifact=_pair()[1])
    assert section(without, "Validation Status").endswith("- Third Alternative: MISSING")


def test_persistence() -> None:
    """At publication the status is Draft (R19)."""
    assert section(SECOND, "Persistence") == (
        "- **Artifact Path**: `artifacts/RS-20260105-drug-tolerance.md`\n- **Status**: Draft"
    )


def test_refused_blocks() -> None:
    """Message, block, line, author, what the block says, the code, what is wrong and the fix."""
    text = section(REFUSED, "Rejected Blocks")
    assert text.startswith(
        "- Message 7, block 1, BlueLake: KILL, hypothesis_slate, H4\n"
        "  - AMBIGUOUS_TARGET (line 11): The target `H4` is “Epigenetic memory” in v1, but "
    )
    assert "If both readings are shown, send the one that you mean." in text
    assert names(REFUSED)[-3:] == ["Rejected Blocks", "Full Artifact", "Record"]


def test_open_conflicts() -> None:
    """Both values with their authors."""
    assert section(DISPUTED, "Open Conflicts").split("\n")[:3] == [
        "- H1 anchors, since v2",
        "  - current: §31, §35 (RedSky)",
        "  - displaced: §32 (BlueLake)",
    ]


def test_not_contributed() -> None:
    """Which message, which line."""
    found = DELTA_NOT_CONTRIBUTED.at(7, type="CRITIQUE")._replace(message_id=12)
    text = section(SECOND._replace(not_contributed=(found,)), "Not Contributed")
    assert text.startswith("- DELTA_NOT_CONTRIBUTED (message 12, line 7): ")


def test_lint_warning_of_the_merge_is_not_repeated() -> None:
    assert [found.id for found in SECOND.warnings] == ["BELOW_MINIMUM"] * 2
    assert "Warnings" not in names(SECOND)
    unlinted = SECOND._replace(lint=LintReport(()))
    assert section(unlinted, "Warnings").count("BELOW_MINIMUM") == 2


# The subject


@pytest.mark.parametrize(
    ("of", "subject"),
    [
        (FIRST, "COMPILED: v1 initial artifact with 3 hypotheses"),
        (SECOND, "COMPILED: v2 added P2, A2, C2; modified RT, H1, P1, T2, X1, C1"),
        (DISPUTED, "COMPILED: v2 changed H1 (anchors), P1 (H1, H2) and T1 (feasibility, score)"),
    ],
)
def test_subjects(of: CompiledVersion, subject: str) -> None:
    """In a few words what is new; where that is too long, only the items."""
    assert compose(of).subject == subject


def test_descriptions() -> None:
    """Of a long change only counts are left; a version without any says so, too."""
    first = FieldChange(("version",), 0, 1)
    assert describe_changes(Diff((), (first,)), ()) == "initial artifact"
    many = [Item(f"H{number}") for number in range(1, 40)]
    added = diff(_with_hypotheses(), _with_hypotheses(*many))
    assert describe_changes(added, ()) == "added H1, H2, H3, H4, H5 and 34 others"
    edited = [item._replace(fields=make_fields({"claim": "c", "mechanism": "m"})) for item in many]
    changed = diff(_with_hypotheses(*many), _with_hypotheses(*edited))
    assert describe_changes(changed, ()) == "39 modified"
    reopened = FieldChange(("status",), "closed", "active")
    assert describe_changes(Diff((), (reopened,)), ()) == "session reopened"
    assert describe_changes(Diff(), ()) == "no item changed"
    assert describe_changes(Diff(), SECOND.ledger) == "no item changed, 9 deltas applied"


@pytest.mark.parametrize(
    "thread_id", ["bb-5so.1", "_a_", "__init__.x", "-x", "www.a_b", "0", "a" * 250]
)
def test_any_thread_id(thread_id: str) -> None:
    """Engineering threads have odd names; each comes back as it is."""
    text = SECOND.text.replace(SECOND.thread_id, thread_id)
    of = SECOND._replace(thread_id=thread_id, text=text)
    message = compose(of)
    body = read_compiled(message)
    assert (body.thread_id, body.path) == (thread_id, f"artifacts/{thread_id}.md")
    assert [found.id for found in check_stored(message).violations] == []


# The limits


def large(size: int) -> CompiledVersion:
    """A version whose artifact has so many bytes."""
    rest = size - len(SECOND.text.encode())
    return SECOND._replace(text=SECOND.text + "x" * (rest - 1) + "\n")


def test_artifact_up_to_the_limit_is_inline() -> None:
    of = large(MOST_INLINE_ARTIFACT_BYTES)
    assert compose_compiled(of, ("BlueLake",))[1] is None
    assert read_compiled(compose(of)).inline == of.text


def test_a_larger_artifact_is_a_link() -> None:
    """With the hash (R22); the record stays."""
    of = large(MOST_INLINE_ARTIFACT_BYTES + 1)
    message = compose(of)
    body = read_compiled(message)
    assert (body.inline, body.has_link, body.record) == (None, True, render_record(of.record))
    path = f"artifacts/{of.thread_id}.md"
    assert section(of, "Full Artifact").startswith(
        f"[{path}]({path}), SHA-256 `{of.record.artifact_sha256}`\n\nThe artifact has 1048577 "
        "bytes, and"
    )
    assert [found.id for found in check_stored(message).violations] == []
    note = compose_compiled(of, ("BlueLake",))[1]
    assert note is not None
    assert note.id == "ARTIFACT_TOO_LARGE_TO_INLINE"


def test_any_version_fits_into_a_message() -> None:
    """Whatever the ledger: lists are cut, and say how many more there are and what shows them."""
    fault = MISSING_REQUIRED_FIELD.at(3, **dict.fromkeys(_words(MISSING_REQUIRED_FIELD), "*" * 999))
    fault = fault._replace(message="\u202e" * 999, fix="[[" * 999, message_id=10**6)
    entries = tuple(
        Entry(number, 1, 1, "A" * 64, "&" * 999, "|" * 999, "H1", state, item_id="H" * 99)._replace(
            diagnostics=(fault,) * 20
        )
        for state in (BlockOutcome.REFUSED, BlockOutcome.APPLIED)
        for number in range(1000)
    )
    source = Source(1, "A" * 64, 1, 1, "EDIT")
    clash = Conflict(
        "H1", ("claim",), 1, "`" * 999, source, (DisplacedValue("~" * 999, source),) * 20
    )
    read = MessageRef("0" * 64, 10**6, "2026-01-05T10:00:00.000000Z")
    of = large(MOST_INLINE_ARTIFACT_BYTES)._replace(
        ledger=entries,
        contributors=tuple(Contributor("&;" * 99, 1, ("*" * 99,) * 99) for _ in range(1000)),
        lint=LintReport((lint_sections_codes.EH_001.at(1, count=1, least=3),) * 999),
        conflicts=(clash,) * 1000,
        not_contributed=(fault,) * 1000,
        warnings=(fault,) * 1000,
        record=SECOND.record._replace(messages=(read,) * MOST_MESSAGES_OF_A_VERSION),
    )
    composed = compose(of)
    assert len(composed.body.encode()) <= MOST_BODY_BYTES
    assert read_compiled(composed).inline == of.text
    assert [found.id for found in check_stored(composed).violations] == []
    command = f"`brenner artifact ledger {of.thread_id}@v2`"
    assert section(of, "Rejected Blocks").endswith(f"- and 950 more: {command}")
    assert section(of, "Contributors").endswith(f"And 950 more: {command}.")
    assert section(of, "Not Contributed").endswith(f"`brenner check --thread={of.thread_id}`")


def test_a_large_record_displaces_the_artifact() -> None:
    """What the version depends on comes first: the artifact can be rebuilt from it."""
    of = large(MOST_INLINE_ARTIFACT_BYTES)._replace(
        record=SECOND.record._replace(operator="x" * (3 << 20))
    )
    composed = compose(of)
    assert len(composed.body.encode()) <= MOST_BODY_BYTES
    body = read_compiled(composed)
    assert (body.inline, body.has_link, body.record) == (None, True, render_record(of.record))
