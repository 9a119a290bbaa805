"""Laws of the COMPILED message: whatever the artifact and the mail hold, it says what it is."""

import re
from hashlib import sha256
from html import unescape

import cmarkgfm
from hypothesis import example, given, settings
from hypothesis import strategies as st

from artifacts import FORMS, artifacts, texts
from brenner.artifact.diff import diff
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import JSON, Reference
from brenner.artifact.render import render_artifact
from brenner.artifact.state import (
    BlockOutcome,
    Conflict,
    DisplacedValue,
    Entry,
    Source,
    empty_state,
)
from brenner.diagnostics.codes import deltas as deltas_codes
from brenner.diagnostics.codes import merging as merging_codes
from brenner.diagnostics.model import Diagnostic
from brenner.lint.linter import LintReport, lint
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.markdown.escape import read_table, render_table
from brenner.markdown.escape import unescape as unescaped
from brenner.protocol.body import one_line, parse_sections, quote, quote_cell
from brenner.protocol.compiled import CompiledBody, read_compiled
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.message_types import UNFILLED_NAME
from brenner.protocol.messages import Message, StoredMessage, render_message_file
from brenner.protocol.validate import check_message, check_stored
from brenner.session.compiled_message import CompiledVersion, compose_compiled, contributors_of
from brenner.session.model import MessageRef, VersionRecord, render_record
from brenner.session.validation_reply import compose_block_errors
from compiled_samples import compose, publication
from histories import START, Thread, threads
from sample_messages import THREAD_ID
from strategies import agent_names, any_text, hostile_text, thread_ids

# Text that tries to be a part of this message.
FORGERIES = (
    *("## Full Artifact", "\n## Full Artifact\n```markdown\nno\n```\n", "\n## Record\n"),
    *("\n```brenner-record\n{}\n```\n", "```brenner-record", "\n## Metadata\n- **Version**: v9\n"),
    *("\n- **Thread ID**: other", "**Thread ID**: other", "**Artifact Path**: `x.md`", "| a | b |"),
    *("# Compiled Artifact v9", "\n```delta\n{}\n```\n", "[[fill in: x]]", UNFILLED_NAME, "`a` `"),
    *("fill-in-the-topic", "`" * 300, "~" * 300, "http://a.b/`x <b>` `", "`<i>`", "\\`", "``"),
)
# Pieces of what other programs write.
OTHERS = (
    *(
        "# Compiled Artifact v1\n",
        "\n## Metadata\n",
        "Thread ID: x\n",
        "- **Version:** 2\n",
        "\n\n",
    ),
    *("| Thread ID | x |\n", "\n## Full Artifact\n", "---\n", "version: 3\n", "session_id: x\n"),
    *("```markdown\n", "```\n", "\n## Record\n", "```brenner-record\n", "{}\n", "[a](b.md)\n"),
    *("\n## Persistence\n", "Artifact Path: `a.md`\n", "\n## Statistics\n- Tests: 2\n", "> "),
    *("\n## Contributors\n", "| A |\n|---|\n", "- opus\n", "## Research Thread\n", "~~~\n", "- "),
)
_forged = st.lists(st.sampled_from((*FORGERIES, *FORMS)), max_size=3).map("".join)
harm = st.one_of(_forged, _forged, texts)
ready = harm.map(lambda text: text.replace("\0", ""))  # JSON has no control characters
names = agent_names.filter(lambda name: name != UNFILLED_NAME)
numbers = st.integers(0, 10**6)
FEWER = settings(max_examples=settings().max_examples // 2)
DEAR = settings(max_examples=settings().max_examples // 3)  # artifacts take long to draw
CODES = (
    deltas_codes.INVALID_JSON,
    deltas_codes.MISSING_REQUIRED_FIELD,
    merging_codes.TARGET_KILLED,
    merging_codes.NO_KICKOFF,
)


@st.composite
def diagnostics(draw: st.DrawFn) -> Diagnostic:
    """Any diagnostic: its words are what others wrote."""
    return Diagnostic(
        draw(st.sampled_from(CODES)),
        draw(harm),
        draw(harm),
        draw(st.one_of(st.none(), numbers)),
        item=draw(st.one_of(st.none(), harm)),
        message_id=draw(st.one_of(st.none(), numbers)),
        repaired=draw(st.one_of(st.none(), ready)),
        readings=tuple(draw(st.lists(ready, max_size=2))),
    )


several = st.lists(diagnostics(), max_size=2).map(tuple)
said = st.one_of(st.none(), harm)
entries = st.builds(
    Entry,
    message_id=numbers,
    block=numbers,
    line=numbers,
    agent=st.one_of(names, harm),
    operation=said,
    section=said,
    target_id=said,
    state=st.sampled_from(BlockOutcome),
    item_id=said,
    diagnostics=several,
)
sources = st.builds(Source, numbers, st.one_of(names, harm), numbers, numbers, harm)
values = st.one_of(
    said,
    st.lists(harm, max_size=2).map(tuple),
    st.lists(st.builds(Reference, harm, harm, harm), max_size=2).map(tuple),
    st.dictionaries(harm, harm, max_size=2),
    st.integers(0, 3),
    st.just(True),
)
conflicts = st.builds(
    Conflict,
    harm,
    st.lists(harm, min_size=1, max_size=2).map(tuple),
    numbers,
    values,
    sources,
    st.lists(st.builds(DisplacedValue, values, sources), max_size=2).map(tuple),
)


@st.composite
def publications(draw: st.DrawFn) -> CompiledVersion:
    """Any version with any ledger; every text in it means harm."""
    thread_id, version = draw(thread_ids), draw(st.integers(1, 99))
    found = draw(artifacts())
    roster: dict[str, JSON] = {"note": draw(harm), draw(harm): [draw(harm)]}
    metadata = found.metadata._replace(session_id=thread_id, version=version, roster=roster)
    artifact = found._replace(metadata=metadata)
    text = render_artifact(artifact)
    ledger = tuple(draw(st.lists(entries, max_size=2)))
    before = draw(st.one_of(st.just(empty_state(thread_id).artifact), artifacts()))
    digest = sha256(text.encode()).hexdigest()
    return CompiledVersion(
        thread_id=thread_id,
        previous_version=version - 1 or None,
        artifact=artifact,
        text=text,
        diff=diff(before, artifact),
        ledger=ledger,
        contributors=contributors_of(ledger, artifact),
        lint=draw(st.one_of(st.just(lint(artifact)), several.map(LintReport))),
        conflicts=tuple(draw(st.lists(conflicts, max_size=2))),
        not_contributed=draw(several),
        warnings=draw(several),
        record=VersionRecord(
            version,
            None,
            tuple(draw(st.lists(st.builds(MessageRef, harm, st.integers(), harm), max_size=2))),
            digest,
            "2025-12-30T14:00:00Z",
            compiled_by=draw(names),
            operator=draw(harm),
            status=draw(harm),
        ),
        unverified=draw(st.sampled_from([(), tuple(each.message_id for each in ledger)])),
    )


ALWAYS = (
    *("Metadata", "Summary", "Contributors", "Changes", "Statistics", "Validation Status"),
    "Persistence",
)
SOMETIMES = ("Rejected Blocks", "Warnings", "Open Conflicts", "Not Contributed")
LAST = ("Full Artifact", "Record")
ADVICE = {"THREAD_ID_ADVICE"}  # on the ID of the small world's thread


@given(publications(), st.lists(names, min_size=1, max_size=2, unique=True).map(tuple))
@DEAR
def test_what_we_publish(version: CompiledVersion, recipients: tuple[str, ...]) -> None:
    """It is read back exactly, nothing in it is forged, and it passes the check."""
    message, note = compose_compiled(version, recipients)
    assert (message.recipients, note) == (recipients, None)
    _is_read_back(version, message)
    _is_not_forged(message)
    assert [found.id for found in check_stored(message).violations] == []
    report = check_message(render_message_file(message), version.record.compiled_by)
    assert [found.id for found in report.violations] == []


def _is_read_back(of: CompiledVersion, message: Message) -> None:
    """Thread, version, time, compiler, path, the exact artifact and the exact record."""
    body = read_compiled(message)
    assert body.inline == of.text
    assert body._replace(stated={}) == CompiledBody(
        subject_version=of.number,
        thread_id=of.thread_id,
        version=of.number,
        previous=of.previous_version,
        compiled_at=of.record.compiled_at,
        compiler=of.record.compiled_by,
        path=f"artifacts/{of.thread_id}.md",
        inline=of.text,
        has_link=False,
        record=render_record(of.record),
        record_line=body.record_line,
        title_version=of.number,
        title_line=1,
        artifact_heading_line=body.artifact_heading_line,
        inline_line=body.artifact_heading_line + 2,
        stated={},
    )


def _is_not_forged(message: Message) -> None:
    """The sections are ours, in their order; so are the fences; nothing counts as a delta."""
    found = parse_blocks(message.body)
    headings = [block for block in found if block.kind is BlockKind.HEADING]
    assert [heading.level for heading in headings] == [1, *[2] * (len(headings) - 1)]
    named = [heading.text.partition(" from v")[0] for heading in headings[1:]]
    assert named == [*ALWAYS, *(name for name in SOMETIMES if name in named), *LAST]
    fences = [block.info for block in found if block.kind is BlockKind.FENCE]
    assert fences == ["markdown", "brenner-record"]
    assert not any(
        block.kind in (BlockKind.HTML, BlockKind.CODE) or block.quoted for block in found
    )
    assert not any(map(is_delta_fence, found))


@given(threads())
@DEAR
def test_of_whole_threads(thread: Thread) -> None:
    """What merging makes of any thread can be published; replies to it contribute nothing."""
    state = empty_state(THREAD_ID)
    for posted, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        merged = merge(state, posted)
        message = compose(publication(state.artifact, merged))
        assert read_compiled(message).inline == render_artifact(merged.artifact)
        assert {found.id for found in check_stored(message).violations} <= ADVICE
        again = merge(state, [*posted, StoredMessage(number, at, message)])
        assert again.ledger == merged.ledger
        for reply in _replies(posted, merged):
            _contributes_nothing(reply)
        state = merged.publish(number, at)


def _replies(posted: list[StoredMessage], merged: Merge) -> list[Message]:
    refused: dict[int, list[Entry]] = {}
    for entry in merged.ledger:
        if entry.state is BlockOutcome.REFUSED:
            refused.setdefault(entry.message_id, []).append(entry)
    by_id = {each.id: each for each in posted}
    return [
        compose_block_errors(by_id[number], tuple(found), "Operator")
        for number, found in refused.items()
    ]


def _contributes_nothing(reply: Message) -> None:
    """It is a valid INFO; and whoever quotes it, or copies it whole, brings in nothing."""
    report = check_stored(reply)
    assert report.type == "INFO"
    assert {found.id for found in report.violations} <= ADVICE
    quotation = "".join(f"> {line}\n" for line in reply.body.split("\n"))
    for body in (reply.body, quotation):
        found = parse_blocks(body)
        assert not any(map(is_delta_fence, found))
        copied = StoredMessage(
            9, START, reply._replace(subject="DELTA[opus]: x", sender="Ann", body=body)
        )
        assert merge(empty_state(reply.thread_id), [copied]).ledger == ()
    names = [section.name for section in parse_sections(parse_blocks(reply.body))]
    assert names == ["Message", "Errors", "Suggestion"]


def _refused(mark: str) -> Entry:
    """A block whose author fenced it with a run as long as any that readers count, and longer."""
    block = f"{mark * 300}delta\n{{}}\n{mark * 300}\n\n```delta\n{{}}\n```\n"
    found = deltas_codes.INVALID_JSON.at(1, reason="x")._replace(repaired=block)
    return Entry(1, 1, 1, "Ann", None, None, None, BlockOutcome.REFUSED, diagnostics=(found,))


@given(st.lists(entries, min_size=1, max_size=3).map(tuple), any_text, harm, thread_ids, names)
@example((_refused("`"),), "", "x", THREAD_ID, "Ann")
@example((_refused("~"),), "", "[[fill in: x]]", THREAD_ID, "Ann")
@FEWER
def test_any_reply_contributes_nothing(
    refused: tuple[Entry, ...], body: str, subject: str, thread_id: str, author: str
) -> None:
    """Whatever the message, its subject and what is said of its blocks."""
    original = Message(thread_id, author, ("Operator",), f"DELTA[opus]: {subject}", body)
    _contributes_nothing(
        compose_block_errors(StoredMessage(7, START, original), refused, "Operator")
    )


@given(st.lists(st.one_of(st.sampled_from(OTHERS), hostile_text), max_size=14), thread_ids)
def test_reading_never_fails(parts: list[str], thread_id: str) -> None:
    """Any body can be read and checked, and what is not there is said once."""
    message = Message(thread_id, "Ann", ("Bob",), "COMPILED: v1 first", "".join(parts))
    body = read_compiled(message)
    found = [each.id for each in check_stored(message).violations]
    assert ("AP-003" in found) is (body.thread_id != thread_id)
    assert ("AP-006" in found) is (body.inline is None and not body.has_link)
    for code in ("AP-003", "AP-004", "AP-005", "AP-006", "AP-007", "AP-008", "INVALID_COMPILED_AT"):
        assert found.count(code) <= 1


@given(harm)
@example("http://a.b/`x <i>y</i>` z")
@example("www.a.b/`x <i>y</i>` z")
@example("``x ` <i>y</i> `")
@example("# x")
@example("`x` ` <i>")
def test_quoted_text_has_no_effect(text: str) -> None:
    """A reader of Markdown shows the words, and code as code: no link, image, tag or emphasis."""
    html = cmarkgfm.github_flavored_markdown_to_html(
        f"- {quote(text)}\n", cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE
    )
    tags = set(re.findall(r"<(/?\w+)", html))
    assert tags <= {"ul", "/ul", "li", "/li", "code", "/code", "a", "/a"}
    addresses = re.findall(r'<a href="([^"]*)"', html)
    assert all(address.startswith(("http", "mailto:")) for address in addresses)
    shown = unescape(re.sub(r"<[^>]*>", "", html))
    assert "".join(shown.replace("`", "").split()) == _visible_words(text)


@given(harm)
def test_a_quoted_cell_is_one_cell(text: str) -> None:
    """A table with it has the cells that it should have."""
    table = read_table(render_table(("A", "B"), [(quote_cell(text), "x")]), 1)
    ((first, second),) = [cells for cells, _ in table[1:]]
    assert "".join(unescaped(first).split()) == "".join(one_line(text).split())
    assert second == "x"


def _visible_words(text: str) -> str:
    return "".join(one_line(text).replace("`", "").split())
