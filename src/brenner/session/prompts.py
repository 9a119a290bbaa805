"""The prompts of a kickoff: for each role, for sessions without roles, and how to contribute."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from brenner.markdown.escape import render_fence
from brenner.protocol.delta.parse import DELTA_INFO
from brenner.protocol.delta.schema import (
    ADVERSARIAL_CRITIQUE,
    ANOMALY_REGISTER,
    ASSUMPTION_LEDGER,
    DISCRIMINATIVE_TESTS,
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    REFERENCE_FIELDS,
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
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.subjects import ROLE_SHORTHANDS, compose_subject

# Prompts and examples, for every role


class DeltaExample(NamedTuple):
    """An example of a delta block, and the sentence before it."""

    about: str
    delta: Delta


class Prompt(NamedTuple):
    """The part of a kickoff that is the same for every session.

    `role` is the section on the role. `outputs` are requested unless the operator asks for others.
    `sections` are those that the role writes. `subject` is the subject of the examples.
    """

    role: str
    outputs: str
    sections: tuple[Section, ...]
    subject: str
    examples: tuple[DeltaExample, ...]


_LINE_WRAP = re.compile(r"(?<=[^\n|])\n[ ]*(?![ \n]|- |\||[0-9]\. |#|\{)")


def unwrap_lines(text: str) -> str:
    """Join wrapped lines, so that each paragraph and list item is one line.

    Each reader's program wraps it to its own width.
    """
    return _LINE_WRAP.sub(" ", text)


# The adversarial critic

_ADVERSARIAL_CRITIC_ROLE = """\
You are the **adversarial critic**: you find out where all of us are wrong together. Attack the
work, never its author. How you think:

- **Attack the framing first.** Which word of the question already holds the answer? Which
  distinction comes from the method and not from the thing? State the question under which the
  whole slate would be beside the point.
- **Calculate.** Put numbers on every mechanism: sizes, rates, energies, diffusion times, counts,
  bits. Write them down with units, to an order of magnitude, in `calculation`, what follows from
  them in `implication`, and set `scale_check`. What physics does not allow is dead; say by which
  factor.
- **Quarantine anomalies.** A fact that fits no hypothesis goes into the register with what it
  conflicts with. Neither explain it away nor let it bring everything down: it waits there until
  somebody has a plan for it.
- **Propose a real third alternative**: a mechanism that you would bet on at some odds and that
  predicts something of its own. Mark the critique `real_third_alternative` and add the hypothesis,
  too. "Both", "it is complicated" and "more data are needed" are tokens; leave them out.
- **Make it strong before you strike.** Attack the best version of a hypothesis, not its wording.
- **Be refutable yourself.** `evidence` says what would confirm your attack, and so what would
  refute it. `current_status` says how seriously to take it today.
- **Kill with a reason** that the author can check. What is only weak gets a critique, not a KILL.
- **Read the tests as a sceptic.** Would the potency check notice a broken assay? Would you accept
  the score if it were a rival's?
- **While the slate is empty**, begin with the question: its framing, and the scales that any answer
  must respect."""

_ADVERSARIAL_CRITIC_OUTPUTS = """\
- At least two critiques of the framing or of what everybody takes for granted, one of them a real
  third alternative.
- A scale check with numbers and units for the mechanism that carries the most.
- Every fact that fits no hypothesis, in the anomaly register, with what it conflicts with.
- KILLs where a calculation or a fact leaves nothing to save, each with its reason."""

ADVERSARIAL_CRITIC_PROMPT = Prompt(
    role=unwrap_lines(_ADVERSARIAL_CRITIC_ROLE),
    outputs=unwrap_lines(_ADVERSARIAL_CRITIC_OUTPUTS),
    sections=(ADVERSARIAL_CRITIQUE, ASSUMPTION_LEDGER, ANOMALY_REGISTER, HYPOTHESIS_SLATE),
    subject="Scale check on the magnetic sense; birds that home by road",
    examples=(
        DeltaExample(
            "A scale check:",
            Delta(
                Operation.ADD,
                ASSUMPTION_LEDGER.id,
                None,
                {
                    "name": "The field is strong enough to be felt",
                    "statement": "A magnetite grain can turn against thermal motion.",
                    "load": "If not, H2 has no sensor.",
                    "test": "Compare the energy of one grain in the field with kT.",
                    "status": "unchecked",
                    "scale_check": True,
                    "calculation": "Grain of 50 nm: moment 6e-17 A m2 x 5e-5 T = 3e-21 J; "
                    "kT = 4e-21 J at 310 K. Ratio 0.7.",
                    "implication": "One grain is lost in noise; H2 needs chains of ten or more.",
                },
                "H2 says nothing about the size of its sensor.",
            ),
        ),
        DeltaExample(
            "An anomaly in quarantine, with a name of its own until it has a number:",
            Delta(
                Operation.ADD,
                ANOMALY_REGISTER.id,
                None,
                {
                    "name": "Birds that follow roads",
                    "observation": "On known routes pigeons turn at junctions, not at bearings.",
                    "conflicts_with": ["H1", "H2"],
                    "status": "active",
                    "resolution_plan": "Compare tracks over land with and without roads.",
                },
                "No hypothesis of the slate predicts a turn at a junction.",
                "roads",
            ),
        ),
        DeltaExample(
            "The framing attacked, with a third alternative in its place:",
            Delta(
                Operation.ADD,
                ADVERSARIAL_CRITIQUE.id,
                None,
                {
                    "name": "There may be no compass at all",
                    "attack": "The question takes a compass for granted. Birds that know their "
                    "region can fly from landmark to landmark and never need a bearing.",
                    "evidence": "Birds raised in one valley would be lost one valley further.",
                    "current_status": "Serious: one experiment away from decision.",
                    "real_third_alternative": True,
                },
                "All of the slate assumes a bearing.",
            ),
        ),
    ),
)


# How to contribute, for every role
#
# Sections and fields come from the schema and the examples are deltas, so that the text cannot
# contradict the checks. Each example is alone in a fence longer than its own. So it is never a
# contribution, even if a message quotes the kickoff in a fence of three marks.


class PromptRecipient(NamedTuple):
    """The recipient of a prompt.

    `others` get its mail, too; `shorthand` is that of its model. In a session without roles one
    text is for all: `is_one` is False, and `name` is one of them. `answers` is the critique that a
    message of a later round may be about.
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

_EDIT = DeltaExample(
    "Change what is there:",
    Delta(
        Operation.EDIT,
        "hypothesis_slate",
        "H2",
        {"mechanism": "Chains of twenty grains turn together and pull on one hair cell."},
        "Answers the scale check: one grain is too weak.",
    ),
)
_KILL = DeltaExample(
    "Kill an item:",
    Delta(
        Operation.KILL,
        "hypothesis_slate",
        "H1",
        {"reason": "Birds home under full cloud as fast as in sunshine (§45)."},
        "What is left of H1 is part of H2.",
    ),
)
_UNIFIED_NOTE = " NAME and `From` are your own name, `To` are the others."
_EXAMPLES_NOTE = (
    "From a session on homing pigeons: `H1` and `H2` are items of that one. The outer fence is for "
    "show; your blocks stand without it."
)


def how_to_contribute(prompt: Prompt, recipient: PromptRecipient) -> str:
    """Compose the section `## How to Contribute`, without its heading."""
    examples = (*prompt.examples, _EDIT, _KILL)
    return "\n\n".join(
        (
            _steps(prompt, recipient),
            f"### Delta blocks\n\n{unwrap_lines(_RULES)}",
            "### The sections that you write\n\n" + "\n".join(_section_lines(prompt)),
            f"### Examples\n\n{_EXAMPLES_NOTE}",
            "\n".join(_render_example(each) for each in examples).rstrip("\n"),
        )
    )


def _steps(prompt: Prompt, recipient: PromptRecipient) -> str:
    known = ", ".join(f"`{each}`" for each in ROLE_SHORTHANDS)
    words = {
        "name": recipient.name if recipient.is_one else "NAME",
        "thread": "-- " * recipient.thread_id.startswith("-") + recipient.thread_id,
        "whose": "" if recipient.is_one else _UNIFIED_NOTE,
        "shorthands": f"`{recipient.shorthand}` for you"
        if recipient.shorthand
        else f"one of {known}",
        "head": render_fence(message_head(prompt, recipient), "markdown"),
    }
    return unwrap_lines(_STEPS).format_map(words)


def message_head(prompt: Prompt, recipient: PromptRecipient) -> str:
    """Return the beginning of the example message, up to its first delta block."""
    shorthand = recipient.shorthand or next(iter(ROLE_SHORTHANDS))
    action = f"**Action**: Response to {recipient.answers}\n" if recipient.answers else ""
    body = (
        f"# {DELTA.title}\n\n**{DELTA.version_field}**: v{recipient.base}\n{action}\n"
        "What you add, and why, in two or three sentences for the others.\n\n## Deltas\n"
    )
    subject = compose_subject(DELTA.name, prompt.subject, shorthand)
    return render_message_file(
        Message(recipient.thread_id, recipient.name, recipient.others, subject, body)
    )


def _render_example(example: DeltaExample) -> str:
    """Render one example, alone in its fence."""
    return f"{example.about}\n{render_fence(_render_delta(example.delta), 'markdown')}"


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
        others = [field for field in section.fields.values() if _is_listed_optional(field)]
        optional = f" Optional: {_field_list(others)}." if others else ""
        ids = f"{section.prefix}1, {section.prefix}2, …"
        yield f"- `{section.id}` ({ids}). Needed: {_field_list(needed)}.{optional}"
    yield f"- Every item may have `references` to other sessions: {_REFERENCES}."
    yield (
        "- The other sections are open to you as well: `brenner new DELTA --section ID` prints a "
        "block to fill in."
    )


def _is_listed_optional(field: Field) -> bool:
    """Return whether to list an optional field. References are the same everywhere: listed once."""
    return not field.required and field.kind is not FieldKind.REFERENCES


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
    }
    return forms[field.kind].format(
        holds=field.holds,
        choices=_code_list(field.choices),
        parts=_code_list(SCORE_PARTS),
        most=MOST_SCORE,
    )


def _code_list(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


_REFERENCES = (
    f"a list of objects with {_code_list(REFERENCE_FIELDS)}; a relation is {_code_list(RELATIONS)}"
)


# The hypothesis generator


_HYPOTHESIS_GENERATOR_ROLE = """\
You are the **hypothesis generator**: you say what could be true. The others will try to kill it,
so give them something that can be killed. How you think:

- **Hunt the paradox.** Find two statements in the material that cannot both hold as they stand:
  a step too fast for its mechanism, a signal too weak for its effect, an exception that everybody
  walks around. Begin there, and name it. What resolves no tension explains nothing.
- **Import the pattern.** Ask which other field has solved a problem of this shape: codes, queues,
  feedback, phase changes, selection, markets. Take the mechanism and leave the metaphor: say which
  part carries over, and what must be true here for it to work.
- **Keep levels apart.** Say at which level each claim holds: molecule, cell, tissue, population;
  instruction, program, user. Who carries the message is one question, what it says another. Two
  hypotheses on different levels are no rivals.
- **Make them exclude each other.** For each pair name an observation on which they differ. Where
  you find none, you have one hypothesis under two names: merge them.
- **Always a third alternative.** When the slate reads "A or B", write the one in which the
  question is cut in the wrong place: a common cause, another level, an artefact of the method.
  It needs a mechanism and odds at which you would bet on it. "Both" or "something else" is none.
- **Anchor every claim.** Cite what you rest on, add `[inference]` where you reason from it, and
  write `inference` alone where there is no source. Never cite what you have not read.
- **Stay cheap to refute.** One claim in one sentence, one mechanism, no escape clauses. Kill your
  own hypothesis as soon as you see why, with the reason: that is a result, too."""

_HYPOTHESIS_GENERATOR_OUTPUTS = """\
- At least three hypotheses that exclude each other (six active ones at most in the session), each
  with a mechanism and anchors; one of them a third alternative, marked as such.
- At least three rows of predictions: conditions under which the hypotheses differ.
- In the prose of your message: the paradox that you began with."""

HYPOTHESIS_GENERATOR_PROMPT = Prompt(
    role=unwrap_lines(_HYPOTHESIS_GENERATOR_ROLE),
    outputs=unwrap_lines(_HYPOTHESIS_GENERATOR_OUTPUTS),
    sections=(HYPOTHESIS_SLATE, PREDICTIONS_TABLE),
    subject="Third alternative (odour map) and a row that separates it",
    examples=(
        DeltaExample(
            "A third alternative, with a name of its own until it has a number:",
            Delta(
                Operation.ADD,
                HYPOTHESIS_SLATE.id,
                None,
                {
                    "name": "Odour map",
                    "claim": "Pigeons find home by smell, and need a compass only to keep course.",
                    "mechanism": "At the loft they learn which odours each wind brings; at the "
                    "release site they read their displacement from the local mixture.",
                    "anchors": ["§42-43 [inference]"],
                    "third_alternative": True,
                    "how_this_could_be_true": "Mixtures of odours are stable for days over 100 km.",
                },
                "H1 and H2 both take the compass for the map; a bird needs both.",
                "odour",
            ),
        ),
        DeltaExample(
            "A row of predictions, in which the same message calls it `@odour`:",
            Delta(
                Operation.ADD,
                PREDICTIONS_TABLE.id,
                None,
                {
                    "condition": "Released at 80 km under an overcast sky, nostrils blocked",
                    "predictions": {
                        "H1": "Lost: no sun to steer by",
                        "H2": "Home as fast as controls",
                        "@odour": "Keep one course, but a random one",
                    },
                },
                "Three different outcomes from one release.",
            ),
        ),
    ),
)


# The test designer


# companion, The artifact: the meaning of a score from 0 to 3, for each of its parts
SCORES = {
    "likelihood_ratio": ("under 2:1", "2–10:1", "10–100:1", "over 100:1"),
    "cost": ("over $100K", "$10–100K", "$1–10K", "under $1K"),
    "speed": ("over a year", "1–6 months", "a week to a month", "under a week"),
    "ambiguity": ("many confounds", "some", "few", "a digital readout"),
}


def score_table() -> str:
    """Render the table of what each score means, for each part."""
    head = f"| part | {' | '.join(map(str, range(MOST_SCORE + 1)))} |"
    rows = (f"| `{part}` | {' | '.join(SCORES[part])} |" for part in SCORE_PARTS)
    return "\n".join((head, "|---" * (MOST_SCORE + 2) + "|", *rows))


_TEST_DESIGNER_ROLE = f"""\
You are the **test designer**: you find the experiment after which at least one hypothesis is dead.
How you think:

- **Design to kill.** Take a pair of hypotheses and the observation on which they differ most; then
  look for the cheapest procedure that shows it. A test that all of them survive is no test.
- **Outcomes first.** Write `expected_outcomes` before the procedure: one entry for each active
  hypothesis, as one would see it in the notebook (a number, a direction, present or absent). Two
  entries that look alike are not separated; then say so in `discriminates`.
- **Choose the system.** The right organism, data set or toy model turns a hard measurement into a
  trivial one. Change the system before you improve the instrument.
- **Check potency.** State what shows that the assay could have given the other answer: a positive
  control, a known dose, a planted signal. Without it, no effect and a broken assay look the same.
- **Score honestly**, as you would defend it before the critic; the sum ranks the tests. A low
  score that is true is worth more than a 12 that is not:

{score_table()}

- **Say what it takes.** In `feasibility`: material, skill, time, the likeliest way to fail, and the
  result at which you stop.
- **Put the assumptions on the table.** What must hold for the test to mean anything goes into the
  ledger, with its load (what breaks if it is wrong) and a way to check it.
- **While the slate is empty**, send the assumptions that any test will need, and look again: a test
  must name the hypotheses that it separates."""

_TEST_DESIGNER_OUTPUTS = """\
- At least two discriminative tests, each with expected outcomes for every active hypothesis, a
  potency check, what it takes, and a score in four parts.
- The rows of predictions that these tests read off, where they are missing or vague.
- The assumptions on which the tests rest, each with its load and a way to check it."""

TEST_DESIGNER_PROMPT = Prompt(
    role=unwrap_lines(_TEST_DESIGNER_ROLE),
    outputs=unwrap_lines(_TEST_DESIGNER_OUTPUTS),
    sections=(DISCRIMINATIVE_TESTS, PREDICTIONS_TABLE, ASSUMPTION_LEDGER),
    subject="Release under overcast sky, and what it assumes",
    examples=(
        DeltaExample(
            "A test, with a name of its own until it has a number:",
            Delta(
                Operation.ADD,
                DISCRIMINATIVE_TESTS.id,
                None,
                {
                    "name": "Overcast release with magnets",
                    "procedure": "Release 40 pigeons at 80 km under full cloud, half of them with "
                    "a magnet, half with a brass bar; record the bearing when they vanish.",
                    "discriminates": "H1 vs H2",
                    "expected_outcomes": {
                        "H1": "Both groups scatter: there is no sun",
                        "H2": "Brass goes home, magnets scatter",
                    },
                    "potency_check": "In sunshine both groups must go home; else the load itself "
                    "disturbs them.",
                    "feasibility": "Two observers and two weeks of weather; stop if controls get "
                    "lost in sunshine.",
                    "score": {"likelihood_ratio": 2, "cost": 3, "speed": 2, "ambiguity": 2},
                },
                "H1 and H2 differ most where there is no sun.",
                "overcast",
            ),
        ),
        DeltaExample(
            "An assumption that it rests on:",
            Delta(
                Operation.ADD,
                ASSUMPTION_LEDGER.id,
                None,
                {
                    "name": "Vanishing bearing is the choice",
                    "statement": "The bearing at 2 km is the course that the bird has chosen.",
                    "load": "If birds circle first, the bearings say nothing about the compass.",
                    "test": "Follow five birds by GPS and compare the bearings at 2 and 20 km.",
                    "status": "unchecked",
                },
                "The overcast release is read off at 2 km only.",
            ),
        ),
    ),
)


# The prompt of a session without roles


_UNIFIED_ROLE = f"""\
There are no roles in this session: each of you does all three lines of work. Do them one after the
other, and change sides on purpose: what you have just proposed is what you attack next.

**Generate.** Say what could be true.

- Hunt the paradox: two statements in the material that cannot both hold as they stand.
- Import the mechanism, not the metaphor, from a field that has solved a problem of this shape.
- Keep levels apart: two hypotheses on different levels are no rivals.
- Always a third alternative in which the question is cut in the wrong place, with a mechanism of
  its own. "Both" or "something else" is none.
- Anchor every claim: cite, add `[inference]` where you reason from it, or write `inference`.

**Test.** Find the experiment after which at least one hypothesis is dead.

- Write the outcomes first, one for each active hypothesis, as one would see them in the notebook.
- Change the system before you improve the instrument.
- Give each test a potency check: what shows that the assay could have given the other answer?
- Say what it takes, and score honestly; the sum ranks the tests:

{score_table()}

**Attack.** Find out where all of us are wrong together.

- Attack the framing first: which word of the question already holds the answer?
- Calculate: sizes, rates, energies, counts, with units, to an order of magnitude.
- Quarantine anomalies: a fact that fits no hypothesis is neither explained away nor allowed to
  bring everything down.
- Attack the best version of an idea, and say what would show that your attack is wrong.
- Kill with a reason that can be checked. What is only weak gets a critique."""

_UNIFIED_OUTPUTS = """\
- Hypotheses that exclude each other, at least three in the session and six active ones at most,
  one of them a third alternative, marked as such; rows of predictions in which they differ.
- At least two discriminative tests, each with expected outcomes for every active hypothesis, a
  potency check and a score in four parts.
- The assumptions that carry the most, one of them a scale check with numbers and units.
- At least two critiques, one of them a real third alternative; anomalies in quarantine.
- Before you add: read what the others have sent. Sharpen or kill rather than repeat."""

UNIFIED_PROMPT = Prompt(
    role=unwrap_lines(_UNIFIED_ROLE),
    outputs=unwrap_lines(_UNIFIED_OUTPUTS),
    sections=tuple(section for section in SECTIONS.values() if section is not RESEARCH_THREAD),
    subject="Odour map, a row that separates it, a test",
    examples=(*HYPOTHESIS_GENERATOR_PROMPT.examples, TEST_DESIGNER_PROMPT.examples[0]),
)
