"""Codes of contributions that come as structured arguments, and of our own tools."""

from brenner.diagnostics.model import ERROR, INFO, Code, Example

_SPEC = "delta_output_format_v0.1, Common Failure Modes"

TAKEN_AS = Code(
    id="TAKEN_AS",
    severity=INFO,
    title="A delta was taken otherwise than it was given",
    message="Delta {number}: {what}",
    fix="Nothing has to be done if that is what you meant. If not, send an EDIT or a KILL.",
    why="Arguments that have only one reading are not worth a second call. But nobody is corrected "
    "without being told.",
    spec=_SPEC,
    example=Example(
        "text",
        '{"op": "add", "section": "Hypothesis Slate", "name": "Gradient", …}',
        '{"operation": "ADD", "section": "hypothesis_slate", "payload": {"name": "Gradient", …}}',
    ),
)
NOT_SURELY_MEANT = Code(
    id="NOT_SURELY_MEANT",
    severity=ERROR,
    title="A delta that may be meant otherwise than it can be read",
    message="As it was given, what is meant can only be guessed: {what}. Nothing was posted.",
    fix="Look at it under `deltas`: if that is what you mean, post it so. Otherwise write it as "
    "you mean it.",
    why="A correction that may say something else than its author is not made for her: `name` "
    "beside the payload of an EDIT may only name the item, and in the payload it renames it.",
    spec=_SPEC,
    example=Example(
        "text",
        '{"operation": "EDIT", "target_id": "H1", "name": "Gradient", "payload": {"claim": "…"}}',
        '{"operation": "EDIT", "target_id": "H1", "payload": {"claim": "…"}}',
    ),
)
NO_DELTAS = Code(
    id="NO_DELTAS",
    severity=ERROR,
    title="A contribution without deltas",
    message="`deltas` is empty: there is nothing to post.",
    fix="Give at least one delta, such as `{example}`. To say something in prose, use "
    "`send_message`.",
    why="A DELTA without a delta changes nothing in the artifact, and its author would wait in "
    "vain.",
    spec="message_body_schema_v0.1, DELTA",
    example=Example("text", '"deltas": []', '"deltas": [{"operation": "KILL", …}]'),
)
WHO_ARE_YOU = Code(
    id="WHO_ARE_YOU",
    severity=ERROR,
    title="It is not said who calls",
    message="`agent` is missing, and the connection speaks for {names}.",
    fix="Give your name as `agent`. Who has none yet gets one from `register_agent`.",
    why="What an agent owes and posts depends on who it is. A guess would put words into another "
    "one's mouth.",
    spec="companion, For Agents",
    example=Example("text", "brenner_task()", 'brenner_task(agent="BlueLake")'),
)

CODES: tuple[Code, ...] = (TAKEN_AS, NOT_SURELY_MEANT, NO_DELTAS, WHO_ARE_YOU)
