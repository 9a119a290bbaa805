"""The laws of text: round trips, no exceptions, no forged structure."""

import re
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.diagnostics.model import Severity
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.markdown.escape import one_paragraph, render_fence, unescape
from brenner.protocol.body import find_section, parse_sections, quote_paragraphs
from brenner.protocol.delta.parse import is_delta_fence, read_deltas, render_delta
from brenner.protocol.delta.schema import Delta
from brenner.protocol.delta.stray import find_strays
from brenner.protocol.message_types import CRITIQUE, TYPES, MessageType
from brenner.protocol.messages import Message, parse_message_file, render_message_file
from brenner.protocol.subjects import (
    Subject,
    check_subject,
    compose_subject,
    parse_subject,
    repair_subject,
)
from brenner.protocol.templates import compose_body, new_message
from brenner.protocol.thread_ids import (
    check_thread_id,
    generate_thread_id,
    is_valid_thread_id,
    suggest_thread_id,
)
from brenner.protocol.validate import check_message
from brenner.session.validation_reply import compose_reply
from brenner.text import closest, escape_control
from strategies import any_text, deltas, filled_text, hostile_text, json_like, messages, subjects

pytestmark = pytest.mark.fuzz
TODAY = date(2026, 11, 15)


@given(subjects())
def test_parse_render_subject(subject: Subject) -> None:
    """parse(render(x)) == x for subjects."""
    assert parse_subject(subject.render()) == subject


@given(messages())
def test_parse_render_message_file(message: Message) -> None:
    """parse(render(x)) == x for message files, whatever the body holds."""
    assert parse_message_file(render_message_file(message)).message == message


@given(deltas())
def test_parse_render_delta(delta: Delta) -> None:
    """parse(render(x)) == x for delta blocks, with any text in the fields."""
    (block,) = read_deltas(render_delta(delta))
    assert block.delta == delta


@given(st.lists(deltas(), max_size=3), any_text)
def test_prose_around_blocks_changes_nothing(found: list[Delta], prose: str) -> None:
    """Prose before, between and after the blocks does not change what they say.

    Prose that opens a fence, an HTML block or a list item does; it is fenced in here, as an
    author who quotes such text has to.
    """
    wall = render_fence(prose.replace("\x00", ""), "text")
    rendered = [render_delta(delta) for delta in found]
    body = "\n".join([wall, *(f"{block}\n{wall}" for block in rendered)])
    assert [block.delta for block in read_deltas(body)] == found


@given(any_text)
def test_reading_never_raises(text: str) -> None:
    """Whatever text comes in, every reader answers."""
    parse_message_file(text)
    read_deltas(text)
    find_strays(text, parse_blocks(text))
    parse_subject(text)
    repair_subject(text)
    suggest_thread_id(text)
    closest(text, TYPES)


@example("\u2028\u2028**BASE VERSION:**", "DELTA[opus]: x")
@given(any_text, st.sampled_from(["", "DELTA[opus]: x", "KICKOFF: x", "COMPILED: v1"]))
def test_checking_never_raises(text: str, subject: str) -> None:
    """A check always ends in a report, whose figures add up and whose lines exist."""
    header = f"Thread: RS-20251230-cell-fate-dichotomy\nFrom: A\nTo: B\nSubject: {subject}\n\n"
    for whole in (text, header + text):
        report = check_message(whole)
        assert sum(report.summary) == len(report.violations)
        lines = whole.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
        assert all(1 <= (found.line or 1) <= lines + 1 for found in report.violations)
        assert report.to_json()["valid"] == report.valid


@given(any_text, st.sampled_from(["DELTA[opus]: x", "delta[Opus] : x", "ACK: x"]))
def test_corrected_message_passes(text: str, subject: str) -> None:
    """A corrected message is valid, whatever was corrected."""
    header = f"Thread: RS-20251230-cell-fate-dichotomy\nFrom: A\nTo: B\nSubject: {subject}\n\n"
    report = check_message(header + text)
    if report.corrected is not None:
        assert check_message(report.corrected).valid


@given(st.one_of(any_text, json_like.map(lambda text: f"```delta\n{text}\n```\n")))
def test_refused_blocks_say_why(body: str) -> None:
    """A block is refused if and only if an error says why."""
    for block in read_deltas(body):
        has_error = any(found.severity is Severity.ERROR for found in block.diagnostics)
        assert (block.delta is None) == has_error


@given(any_text)
def test_thread_ids(text: str) -> None:
    """A suggestion is valid and differs; a generated ID is valid and keeps all of the advice."""
    suggested = suggest_thread_id(text)
    assert suggested is None or (is_valid_thread_id(suggested) and suggested != text)
    generated = generate_thread_id(text, TODAY)
    assert check_thread_id(generated) == []
    other = generate_thread_id(text, TODAY, {generated})
    assert other != generated
    assert is_valid_thread_id(other)


@given(st.sampled_from([name for name in TYPES if name != "DELTA"]), any_text)
def test_composed_subjects_are_valid(name: str, description: str) -> None:
    """Subjects that we compose are cut to fit and stand on one line."""
    found = check_subject(compose_subject(name, description or "x"))
    assert {each.id for each in found} <= {"EMPTY_SUBJECT_DESCRIPTION", "SUBJECT_DESCRIPTION_LONG"}


@given(any_text)
def test_visible_text_is_harmless(text: str) -> None:
    """What is shown stands on one line and holds nothing that cannot be seen."""
    assert escape_control(text).isprintable()


@given(filled_text, filled_text)
def test_values_cannot_forge_sections(target: str, attack: str) -> None:
    """A body composed with any values has exactly the sections of its type."""
    body = compose_body(CRITIQUE, {"Target": target, "Attack": attack, "Severity": "Minor"})
    found = parse_sections(parse_blocks(body))
    assert [section.name for section in found] == [rule.name for rule in CRITIQUE.sections]
    assert not any(map(is_delta_fence, parse_blocks(body)))


@given(hostile_text)
def test_one_paragraph_stays_one(text: str) -> None:
    """Escaped text is one paragraph, or nothing."""
    line = one_paragraph(text)
    _, *found = parse_blocks(f"# Title\n{line}\n")
    assert [block.kind for block in found] == [BlockKind.PARAGRAPH] * bool(line)


@given(hostile_text)
def test_fenced_text_comes_back(text: str) -> None:
    """A fence holds its text exactly, line endings aside."""
    (block,) = parse_blocks(render_fence(text, "markdown"))
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    assert block.text == expected + ("" if not expected or expected.endswith("\n") else "\n")
    assert block.closed


@pytest.mark.parametrize("message_type", TYPES.values(), ids=lambda row: row.name)
def test_what_we_compose_passes(message_type: MessageType) -> None:
    """Self-conformance: a new message of every type is valid as it is."""
    text = render_message_file(new_message(message_type, TODAY, question="Why do cells die?"))
    assert check_message(text).valid


@given(any_text, filled_text)
@example("", '{"operation":"ADD","section":"x"}')
def test_replies_pass_and_contribute_nothing(text: str, subject: str) -> None:
    """Self-conformance: a Validation Error reply is a valid INFO, and nothing in it counts."""
    line = "".join(subject.split())
    whole = f"Thread: RS-20251230-cell-fate-dichotomy\nFrom: A\nTo: B\nSubject: {line}\n\n{text}"
    report = check_message(whole)
    reply = compose_reply(whole, report, "Operator")
    if reply is None or report.valid:
        return
    answer = check_message(reply)
    assert answer.type == "INFO"
    assert {found.id for found in answer.violations} <= {
        "SUBJECT_DESCRIPTION_LONG",
        "PLACEHOLDER_LEFT",
    }
    body = parse_blocks(parse_message_file(reply).message.body)
    assert find_section(parse_sections(body), "Errors") is not None
    assert not any(map(is_delta_fence, body))


@given(st.lists(any_text, max_size=6).map("\n".join))
def test_words_of_an_author_are_kept_whole_and_stay_paragraphs(text: str) -> None:
    """None of them is lost, and nothing in them is a heading, a list, a fence or a table."""
    paragraphs = quote_paragraphs(text)
    found = parse_blocks("\n\n".join(paragraphs))
    assert [each.kind for each in found] == [BlockKind.PARAGRAPH] * len(paragraphs)
    lines = [unescape(line) for each in found for line in re.split(r"\\\n", each.text)]
    words = [
        escape_control(line, 10 * len(line) + 1)
        for line in map(_squeezed, text.splitlines())
        if line
    ]
    assert lines == words


def _squeezed(line: str) -> str:
    return " ".join(line.split())
