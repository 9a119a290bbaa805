"""How to contribute: what every recipient is told, whatever the role.

Sections and fields come from the schema and the examples are deltas, so that nothing here can
disagree with what is checked. Each example stands alone in a fence longer than its own:
it is nobody's contribution, not even where somebody quotes the kickoff in a fence of three marks.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from brenner.markdown.escape import fenced
from brenner.protocol.delta.parse import INFO_WORD
from brenner.protocol.delta.schema import (
    MOST_SCORE,
    REFERENCE_FIELDS,
    RELATIONS,
    SCORE_PARTS,
    Delta,
    Field,
    FieldKind,
    Operation,
)
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject
from brenner.session.prompts.model import Example, Prompt, flowing


class Reader(NamedTuple):
    """Who reads it: the name to act under, who else gets her mail, the shorthand of her model.

    In a session without roles one text is for all: `is_one` is False, and `name` one of them.
    `answers` is the critique that a message of a later round may be about.
    """

    thread_id: str
    name: str
    is_one: bool
    others: tuple[str, ...]
    shorthand: str | None
    base: int = 0
    answers: str = ""


_STEPS = """\
Answer by mail, in this thread. Your contribution is a message with delta blocks; the operator
compiles the blocks of all of you into one artifact, and each version of it comes to you by mail.
Commands run in the folder of the project. If you have the tools of the MCP server of Brenner, use
them instead: `acknowledge_message` for step 1, `brenner_artifact` for step 2, and `brenner_post`
for the rest, which takes the deltas as arguments, checks them and sends the message.

1. **Acknowledge this kickoff**: it asks for an ACK. `brenner mail inbox --as {name}` shows its
   number; then `brenner mail ack NUMBER --as {name}`.
2. **Read what there is**: `brenner mail thread {thread}` shows the mail,
   `brenner artifact show {thread}` the current artifact, once there is a version.
3. **Write a file**, say `message.md`, that begins like this; the delta blocks follow.{whose}

{head}
4. **Check it**: `brenner check message.md` names each fault that the message alone can show, with
   its line, and `brenner check --fix message.md` prints it corrected, where that is certain.
5. **Send it**: `brenner mail send message.md`. What has errors is not sent. A block that the thread
   would refuse as it stands is sent with the warning `WOULD_BE_REFUSED`: mend it at once.

The subject names the shorthand of your **model**, not your role: {shorthands}. At most 80
characters follow it. **Base Version** is the version of the artifact that you have read (`v0` is
the empty one before the first): it decides what the IDs in your message mean.

To ask, to attack in prose or to say that you are stuck, send a message of that type:
`brenner new QUESTION`, `brenner new CRITIQUE` and `brenner new BLOCKED` print one to fill in."""

_RULES = """\
- One fenced block with the info string `delta` for each operation, and in it one JSON object with
  `operation`, `section`, `target_id`, `payload` and `rationale` (why, in a sentence).
- `ADD` has `"target_id": null` and all the needed fields. `EDIT` names its target and only the
  fields that change. `KILL` gives `{"reason": "…"}`; the item stays visible, marked as killed.
- Never guess the number of a new item. Give the ADD a name, `"local_id": "odour"`, and write
  `@odour` for it in the same message wherever an ID can stand: in `target_id`, as a key of
  outcomes, in `discriminates` and `conflicts_with`. From the next version on use its number.
- A number means an item of your base version; before v1, one of the mail that came before yours.
  A message that adds hypotheses itself should name those of others only once a version has them.
- Anchors: `§42`, `§42-45`, `EV-001`, `[external: source]`, `[axiomatic]`, `inference`, and
  `[inference]` after a source that you reason from.
- In an EDIT lists grow and maps are merged; `"anchors_replace": true` replaces a list instead.
- Plain JSON: double quotes, no comments, no trailing commas, nothing left out with `...`.
- Blocks of others that you quote stand behind `>`; only your own stand free."""

_EDIT = Example(
    "Change what is there:",
    Delta(
        Operation.EDIT,
        "hypothesis_slate",
        "H2",
        {"mechanism": "Chains of twenty grains turn together and pull on one hair cell."},
        "Answers the scale check: one grain is too weak.",
    ),
)
_KILL = Example(
    "Kill an item:",
    Delta(
        Operation.KILL,
        "hypothesis_slate",
        "H1",
        {"reason": "Birds home under full cloud as fast as in sunshine (§45)."},
        "What is left of H1 is part of H2.",
    ),
)
_WHOSE = " NAME and `From` are your own name, `To` are the others."
_FROM = (
    "From a session on homing pigeons: `H1` and `H2` are items of that one. The outer fence is for "
    "show; your blocks stand without it."
)


def how_to_contribute(prompt: Prompt, reader: Reader) -> str:
    """The section `## How to Contribute`, from its first paragraph on."""
    examples = (*prompt.examples, _EDIT, _KILL)
    return "\n\n".join(
        (
            _steps(prompt, reader),
            f"### Delta blocks\n\n{flowing(_RULES)}",
            "### The sections that you write\n\n" + "\n".join(_sections(prompt)),
            f"### Examples\n\n{_FROM}",
            "\n".join(_shown(each) for each in examples).rstrip("\n"),
        )
    )


def _steps(prompt: Prompt, reader: Reader) -> str:
    known = ", ".join(f"`{each}`" for each in ROLE_SHORTHANDS)
    words = {
        "name": reader.name if reader.is_one else "NAME",
        "thread": "-- " * reader.thread_id.startswith("-") + reader.thread_id,
        "whose": "" if reader.is_one else _WHOSE,
        "shorthands": f"`{reader.shorthand}` for you" if reader.shorthand else f"one of {known}",
        "head": fenced(message_head(prompt, reader), "markdown"),
    }
    return flowing(_STEPS).format_map(words)


def message_head(prompt: Prompt, reader: Reader) -> str:
    """The beginning of the message that the examples would make, up to its first delta block."""
    shorthand = reader.shorthand or next(iter(ROLE_SHORTHANDS))
    action = f"**Action**: Response to {reader.answers}\n" if reader.answers else ""
    body = (
        f"# {DELTA.title}\n\n**{DELTA.version_field}**: v{reader.base}\n{action}\n"
        "What you add, and why, in two or three sentences for the others.\n\n## Deltas\n"
    )
    subject = compose_subject(DELTA.name, prompt.subject, shorthand)
    return render_message_file(Message(reader.thread_id, reader.name, reader.others, subject, body))


def _shown(example: Example) -> str:
    """One example, alone in its fence."""
    return f"{example.about}\n{fenced(_block(example.delta), 'markdown')}"


def _block(delta: Delta) -> str:
    """A delta block that is shorter to read: one line for the head, one for each field."""
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
    return fenced("\n".join(lines), INFO_WORD)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _sections(prompt: Prompt) -> Iterator[str]:
    for section in prompt.sections:
        needed = [field for field in section.fields.values() if field.required]
        others = [field for field in section.fields.values() if _is_worth_telling(field)]
        optional = f" Optional: {_listed(others)}." if others else ""
        ids = f"{section.prefix}1, {section.prefix}2, …"
        yield f"- `{section.id}` ({ids}). Needed: {_listed(needed)}.{optional}"
    yield f"- Every item may have `references` to other sessions: {_REFERENCES}."
    yield (
        "- The other sections are open to you as well: `brenner new DELTA --section ID` prints a "
        "block to fill in."
    )


def _is_worth_telling(field: Field) -> bool:
    """References are the same in every section, and told once."""
    return not field.required and field.kind is not FieldKind.REFERENCES


def _listed(fields: list[Field]) -> str:
    return "; ".join(f"`{field.name}` ({_holds(field)})" for field in fields)


def _holds(field: Field) -> str:
    """What to write for a field, as JSON and in words."""
    forms = {
        FieldKind.TEXT: "text: {holds}",
        FieldKind.FLAG: "`true` or `false`: {holds}",
        FieldKind.CHOICE: "one of {choices}",
        FieldKind.ANCHORS: "list of anchors",
        FieldKind.ITEMS: "list of IDs: {holds}",
        FieldKind.OUTCOMES: 'object, `{{"H1": "…", "H2": "…"}}`: {holds}',
        FieldKind.SCORE: "object with {parts}, whole numbers from 0 to {most}",
    }
    return forms[field.kind].format(
        holds=field.holds,
        choices=_words(field.choices),
        parts=_words(SCORE_PARTS),
        most=MOST_SCORE,
    )


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


_REFERENCES = (
    f"a list of objects with {_words(REFERENCE_FIELDS)}; a relation is {_words(RELATIONS)}"
)
