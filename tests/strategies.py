"""What the laws are tried on: sound deltas and messages, and text that means harm."""

import json
import string
from typing import Any

from hypothesis import strategies as st

from brenner.protocol.delta.field_checks import WHITE_SPACE
from brenner.protocol.delta.schema import (
    POTENCIES,
    POTENCY_FAILED,
    RELATIONS,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.grammar import MESSAGE_TYPES
from brenner.protocol.messages import Message
from brenner.protocol.subjects import Subject

# Pieces of text that try to be structure: of Markdown, of JSON, of a message, of a terminal.
HOSTILE = (
    *(
        "```",
        "````",
        "~~~",
        "```delta\n",
        "\n```\n",
        "\n~~~delta\n",
        "> ",
        "\n> ```delta\n",
        "    ",
    ),
    *(
        "## Target\n",
        "\n## Attack\n",
        "\n---\n",
        "\n===\n",
        "# ",
        "- ",
        "1. ",
        "<!--",
        "-->",
        "<pre>",
    ),
    *(
        "**Base Version**: v2",
        "**Claim**:",
        "| a | b |",
        "\\",
        '"',
        "'",
        "\\u0041",
        "\\n",
        "{",
        "}",
    ),
    *("[", "]", ",", ":", "//", "/*", "*/", "#", '{"operation": "ADD", "section": "x"}'),
    *("\nSubject: INFO: x\n", "\n\n", "\r\n", "\r", "\t", "\x00", "\x1b[31m", "\u202e", "\u2028"),
    *("\x85", "\ufeff", "§42", "¬ß42", "H1", "é", "🧬", "\U0010ffff", "&amp;", "NaN", "True"),
)
scalar_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
hostile_text = st.lists(st.one_of(st.sampled_from(HOSTILE), scalar_text), max_size=12).map("".join)
any_text = st.one_of(
    hostile_text, st.text(max_size=60), st.lists(st.sampled_from(HOSTILE), max_size=40).map("".join)
)
filled_text = hostile_text.filter(lambda text: bool(text.strip(WHITE_SPACE)))
one_line = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=40
).map(str.strip)

thread_ids = st.from_regex(r"\ARS-2025(0[1-9]|1[0-2])(0[1-9]|1[0-9])-[a-z]{5}-[a-z]{4,9}\Z")
agent_names = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_-]{0,20}\Z")
roles = st.text(string.ascii_lowercase, min_size=1, max_size=8)


@st.composite
def subjects(draw: st.DrawFn) -> Subject:
    """Any subject whose prefix is valid."""
    name = draw(st.sampled_from(MESSAGE_TYPES))
    return Subject(name, draw(roles) if name == "DELTA" else None, draw(one_line))


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Any message: sound headers, a body that may hold anything."""
    return Message(
        thread_id=draw(thread_ids),
        sender=draw(agent_names),
        recipients=tuple(draw(st.lists(agent_names, max_size=3, unique=True))),
        subject=draw(subjects()).render(),
        body=draw(any_text),
        ack_required=draw(st.sampled_from([None, True, False])),
    )


hypothesis_ids = st.integers(1, 99).map(lambda number: f"H{number}")
outcomes = st.dictionaries(hypothesis_ids, filled_text, min_size=1, max_size=4)
scores = st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3))
references = st.lists(
    st.fixed_dictionaries(
        {
            "session": thread_ids,
            "item": hypothesis_ids,
            "relation": st.sampled_from(RELATIONS),
        }
    ),
    max_size=2,
)
outcome_keys = st.from_regex(r"\A[a-z0-9_-]{1,6}\Z")
descriptions = st.dictionaries(outcome_keys, filled_text, min_size=1, max_size=3)
EVIDENCE = ("EV-001#E1", "§42", f"file:results/T1 run.txt#sha256={'0f' * 32}")
TIMES = ("2025-12-30", "2025-12-30T10:00:00Z", "2026-01-05T23:59:59.5+02:00")
_verdicts = st.lists(hypothesis_ids, max_size=2)


@st.composite
def results(draw: st.DrawFn) -> dict[str, object]:
    """A valid result of a test, as a payload has it."""
    result: dict[str, object] = {
        "outcome": draw(st.one_of(filled_text, outcome_keys)),
        "potency": draw(st.sampled_from(POTENCIES)),
    }
    if result["potency"] != POTENCY_FAILED:
        result["contradicts"] = draw(_verdicts)
        result["supports"] = [f"{each}0" for each in draw(_verdicts)]  # other hypotheses
    optional = {
        "observed_at": st.sampled_from(TIMES),
        "evidence": st.lists(st.sampled_from(EVIDENCE), max_size=2),
        "note": filled_text,
    }
    return result | draw(st.fixed_dictionaries({}, optional=optional))


_KINDS: dict[FieldKind, st.SearchStrategy[Any]] = {
    FieldKind.TEXT: filled_text,
    FieldKind.FLAG: st.booleans(),
    FieldKind.ANCHORS: st.lists(st.sampled_from(["§42", "§1-9", "inference"]), min_size=1),
    FieldKind.ITEMS: st.lists(hypothesis_ids, min_size=1, max_size=3),
    FieldKind.OUTCOMES: outcomes,
    FieldKind.SCORE: scores,
    FieldKind.REFERENCES: references,
    FieldKind.DESCRIPTIONS: descriptions,
    FieldKind.RESULTS: st.lists(results(), min_size=1, max_size=2),
}


def values_of(field: Field) -> st.SearchStrategy[Any]:
    """Valid values of a payload field. `@` in `discriminates` would be a local name."""
    if field.name == "discriminates":
        return filled_text.filter(lambda text: "@" not in text)
    return st.sampled_from(field.choices) if field.choices else _KINDS[field.kind]


@st.composite
def payloads(draw: st.DrawFn, section: Section, operation: Operation) -> dict[str, object]:
    """A valid payload for an operation on a section."""
    if operation is Operation.KILL:
        return {"reason": draw(filled_text)}
    fields = list(section.fields.values())
    if operation is Operation.EDIT:
        chosen = draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3, unique=True))
    else:
        optional = [field for field in fields if not field.required]
        extra = draw(st.lists(st.sampled_from(optional), max_size=2, unique=True))
        chosen = [field for field in fields if field.required or field in extra]
    return {field.name: draw(values_of(field)) for field in chosen}


@st.composite
def deltas(draw: st.DrawFn) -> Delta:
    """Any valid delta, with hostile text in its fields."""
    section = draw(st.sampled_from(list(SECTIONS.values())))
    only_edit = section is RESEARCH_THREAD
    operation = Operation.EDIT if only_edit else draw(st.sampled_from(list(Operation)))
    target = None if operation is Operation.ADD else section.example_id
    return Delta(
        operation, section.id, target, draw(payloads(section, operation)), draw(filled_text)
    )


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.floats(-9, 9), scalar_text),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(scalar_text, inner, max_size=4)
    ),
    max_leaves=12,
)
_FRAGMENTS = (
    *("{", "}", "[", "]", ",", ":", '"a"', '"b"', "'c'", "d", "1", "-2.5e3", "01", "true", "True"),
    *("null", "NaN", '"\\u00e9"', '"\\ud800"', '"\\ud83e\\uddec"', '"\n"', '"\\q"', '"\\\'"', " "),
    *("\n", "//x\n", "/*y*/", "#z\n", "“e”", "...", '"', "'", "\\", "\x00", "é"),
)
json_like = st.one_of(
    st.lists(st.sampled_from(_FRAGMENTS), max_size=25).map("".join),
    json_values.map(json.dumps),
    any_text,
)
