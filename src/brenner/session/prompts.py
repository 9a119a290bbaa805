"""The prompts of a kickoff: for each role, for sessions without roles, and how to contribute.

Their texts and examples are in `prompts.toml`.
"""

from __future__ import annotations

import json
import pkgutil
import tomllib
from typing import TYPE_CHECKING, Any

from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.escape import render_fence
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.parse import DELTA_INFO
from brenner.protocol.delta.schema import (
    MOST_SCORE,
    RELATIONS,
    RESULT_FIELDS,
    SCORE_PARTS,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.roster import Role
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject

if TYPE_CHECKING:
    from collections.abc import Iterator


_TEXTS: dict[str, Any] = tomllib.loads((pkgutil.get_data(__name__, "prompts.toml") or b"").decode())


class Prompt(NamedTuple):
    """The part of a kickoff that is the same for every session.

    `role` is the section on the role. `outputs` are requested unless the operator asks for others;
    `later_outputs` once there is a version, beside what that version lacks.
    `sections` are those that the role writes. Each example is a delta with the sentence before it.
    """

    role: str
    outputs: str
    later_outputs: str
    sections: tuple[Section, ...]
    examples: tuple[tuple[str, Delta], ...]


_LINE_WRAP = lazy_pattern(r"(?<=[^\n|])\n[ ]*(?![ \n]|- |\||[0-9]\. |#|\{)")


def unwrap_lines(text: str) -> str:
    """Join wrapped lines, so that each paragraph and list item is one line.

    Each reader's program wraps it to its own width.
    """
    return _LINE_WRAP.sub(" ", text)


# How to contribute, for every role
#
# Sections and fields come from the schema and the examples are deltas, so that the text cannot
# contradict the checks. Each example is alone in a fence longer than its own. So it is never a
# contribution, even if a message quotes the kickoff in a fence of three marks.


_UNIFIED_NOTE = " Write your own name for NAME and in `From`, and the other names in `To`."
_SUBJECT = "what you add, in a few words"
_EXAMPLES_NOTE = (
    "The examples are from a session on homing pigeons: `H1` and `H2` are items of that session. "
    "Send your blocks without the outer fence."
)


def how_to_contribute(
    prompt: Prompt, example: Message, shorthand: str | None = None, *, is_one: bool = True
) -> str:
    """Compose the section `## How to Contribute`, without its heading.

    `example` is the beginning of a message of the recipient (`example_message`), `shorthand` that
    of its model. In a session without roles one text is for all: `is_one` is False.
    """
    examples = (
        f"{about}\n{render_fence(_render_delta(delta), 'markdown')}"
        for about, delta in (*prompt.examples, *_COMMON_EXAMPLES)
    )
    known = ", ".join(f"`{each}`" for each in ROLE_SHORTHANDS)
    words = {
        "name": example.sender if is_one else "NAME",
        "thread": "-- " * example.thread_id.startswith("-") + example.thread_id,
        "thread_id": example.thread_id,
        "whose": "" if is_one else _UNIFIED_NOTE,
        "shorthands": f"`{shorthand}` for you" if shorthand else f"one of {known}",
        "head": render_fence(render_message_file(example), "markdown"),
    }
    return "\n\n".join(
        (
            unwrap_lines(_TEXTS["steps"]).format_map(words),
            f"### Delta blocks\n\n{unwrap_lines(_TEXTS['rules'])}",
            "### The sections that you write\n\n" + "\n".join(_section_lines(prompt)),
            f"### Examples\n\n{_EXAMPLES_NOTE}",
            "\n".join(examples).rstrip("\n"),
        )
    )


def example_message(
    message: Message, shorthand: str | None = None, base: int = 0, answers: str = ""
) -> Message:
    """Return the beginning of an example message, up to its first delta block.

    `message` gives thread, sender and recipients. `answers` is the critique that a message of a
    later round may be about.
    """
    action = f"**Action**: Response to {answers}\n" if answers else ""
    body = (
        f"# {DELTA.title}\n\n**{DELTA.version_field}**: v{base}\n{action}\n"
        "What you add, and why, in two or three sentences for the others.\n\n## Deltas\n"
    )
    shown = shorthand or next(iter(ROLE_SHORTHANDS))
    subject = compose_subject(DELTA.name, _SUBJECT, shown)
    return message._replace(subject=subject, body=body)


def _render_delta(delta: Delta) -> str:
    """Render a compact delta block: one line for the head, one for each field."""
    head = {"operation": delta.operation, "section": delta.section, "target_id": delta.target_id}
    if delta.local_id is not None:
        head["local_id"] = delta.local_id
    fields = [f"{_json(name)}: {_json(value)}" for name, value in delta.payload.items()]
    inside = fields[0] if len(fields) == 1 else "\n    " + ",\n    ".join(fields) + "\n  "
    lines = (
        "{",
        f"  {_json(head)[1:-1]},",
        f'  "payload": {{{inside}}},',
        f'  "rationale": {_json(delta.rationale)}',
        "}",
    )
    return render_fence("\n".join(lines), DELTA_INFO)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _section_lines(prompt: Prompt) -> Iterator[str]:
    for section in prompt.sections:
        needed = [field for field in section.fields.values() if field.required]
        # References are the same everywhere: listed once
        others = [
            field
            for field in section.fields.values()
            if not (field.required or field.operator_only or field.kind is FieldKind.REFERENCES)
        ]
        optional = f" Optional: {_field_list(others)}." if others else ""
        ids = f"{section.prefix}1, {section.prefix}2, …"
        yield f"- `{section.id}` ({ids}). Required: {_field_list(needed)}.{optional}"
    yield f"- Any item may have `references` to others: {_REFERENCES}."
    other_ids = tuple(each.id for each in SECTIONS.values() if each not in prompt.sections)
    yield (
        f"- You can write to {_code_list(other_ids)}, too. "
        f"`brenner new DELTA --section {other_ids[-1]}` prints a template."
    )


def _field_list(fields: list[Field]) -> str:
    return "; ".join(f"`{field.name}` ({_field_description(field)})" for field in fields)


def _field_description(field: Field) -> str:
    """Describe the value of a field, as JSON and in words."""
    forms = {
        FieldKind.TEXT: "text: {holds}",
        FieldKind.FLAG: "`true` or `false`: {holds}",
        FieldKind.CHOICE: "one of {choices}",
        FieldKind.ANCHORS: "list of anchors",
        FieldKind.ITEMS: "list of IDs: {holds}",
        FieldKind.OUTCOMES: 'object, `{{"H1": "…", "H2": "…"}}`: {holds}',
        FieldKind.SCORE: "object with {parts}, whole numbers from 0 to {most}",
        FieldKind.DESCRIPTIONS: 'object, `{{"slow": "…", "fast": "…"}}`: {holds}',
        FieldKind.RESULTS: "list of objects with {result}: {holds}",
    }
    return forms[field.kind].format(
        holds=field.holds,
        choices=_code_list(field.choices),
        parts=_code_list(SCORE_PARTS),
        most=MOST_SCORE,
        result=_code_list(RESULT_FIELDS),
    )


def _code_list(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


_REFERENCES = (
    'a list such as `[{"session": "RS-…", "item": "H2", "relation": "refines"}]`; '
    f"a relation is {_code_list(RELATIONS)}"
)


# The prompts of `prompts.toml`


SCORES: dict[str, list[str]] = _TEXTS["scores"]


def score_table() -> str:
    """Render the table of what each score means, for each part."""
    head = f"| part | {' | '.join(map(str, range(MOST_SCORE + 1)))} |"
    rows = (f"| `{part}` | {' | '.join(SCORES[part])} |" for part in SCORE_PARTS)
    return "\n".join((head, "|---" * (MOST_SCORE + 2) + "|", *rows))


def _read_example(about: str, operation: str, **rest: Any) -> tuple[str, Delta]:
    return about, Delta(Operation(operation), **{"target_id": None, **rest})


def _read_prompt(name: str) -> Prompt:
    found = _TEXTS["prompts"][name]
    return Prompt(
        role=unwrap_lines(found["role"].replace("{scores}", score_table())),
        outputs=unwrap_lines(found["outputs"]),
        later_outputs=unwrap_lines(found["later_outputs"]),
        sections=tuple(SECTIONS[each] for each in found["sections"]),
        examples=tuple(_read_example(**each) for each in found.get("examples", ())),
    )


PROMPTS: dict[str, Prompt] = {role: _read_prompt(role) for role in Role}
_COMMON_EXAMPLES = [_read_example(**each) for each in _TEXTS["examples"]]
# The prompt of a session without roles
UNIFIED_PROMPT = _read_prompt("unified")._replace(
    examples=(
        *PROMPTS[Role.HYPOTHESIS_GENERATOR].examples,
        PROMPTS[Role.TEST_DESIGNER].examples[0],
    )
)
