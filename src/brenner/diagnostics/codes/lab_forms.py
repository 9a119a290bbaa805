"""Codes of what is missing or too much in a form of the lab, or in the same as JSON."""

from brenner.diagnostics.model import ERROR, Code, Example

_SPEC = "look, Forms"

FIELD_EMPTY = Code(
    id="FIELD_EMPTY",
    severity=ERROR,
    title="Something is not filled in",
    message="The {field} is missing: {expected}.",
    fix="Fill it in{otherwise}.",
    why="Nothing is guessed that somebody is going to be asked.",
    spec=_SPEC,
    example=Example("text", '{"question": ""}', '{"question": "How do cells know their fate?"}'),
)
FIELDS_CONTRADICT = Code(
    id="FIELDS_CONTRADICT",
    severity=ERROR,
    title="Of two fields only one can be filled in",
    message="`{one}` and `{other}` do not go together.",
    fix="Leave one of them empty.",
    why="Both say the same thing, and nobody knows which of them is meant.",
    spec=_SPEC,
    example=Example(
        "text",
        '{"excerpt": "§42: …", "sections": "42,45-47"}',
        '{"sections": "42,45-47"}',
    ),
)

CODES: tuple[Code, ...] = (FIELD_EMPTY, FIELDS_CONTRADICT)
