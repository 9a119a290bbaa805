"""Codes for a delta block that is not JSON (delta_output_format, Failure Mode 4; ruling R5)."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_SPEC = "delta_output_format_v0.1, Failure Mode 4; R5"
_ALSO = ("MB-005",)

_KILL = """\
{
  "operation": "KILL",
  "section": "hypothesis_slate",
  "target_id": "H2",
  "payload": {"reason": "refuted by T1"},
  "rationale": "T1 came out negative"
}"""


def _kill(old: str, new: str) -> Example:
    """An example whose wrong side is a sound block with one thing changed."""
    return Example("block", _KILL.replace(old, new), _KILL)


INVALID_JSON = Code(
    id="INVALID_JSON",
    severity=ERROR,
    title="The delta block is not JSON",
    message="The block is not JSON: {reason}.",
    fix="Mend the block at this line, and check it again before sending.",
    why="A block that cannot be read is refused whole; repairing it by guesswork could change "
    "what its author meant.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"section":', '"section"'),
)
JSON_TRAILING_COMMA = Code(
    id="JSON_TRAILING_COMMA",
    severity=ERROR,
    title="A comma before a closing bracket",
    message="A comma stands before the closing `{mark}`.",
    fix="Remove the comma.",
    why="JSON has commas between members only.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('negative"', 'negative",'),
)
JSON_COMMENT = Code(
    id="JSON_COMMENT",
    severity=ERROR,
    title="A comment in JSON",
    message="`{comment}` is a comment; JSON has none.",
    fix="Remove the comment; what it says can go into `rationale` or into the prose.",
    why="No JSON reader keeps comments, and strict ones refuse the text.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"H2",', '"H2",  // the gradient'),
)
JSON_SINGLE_QUOTES = Code(
    id="JSON_SINGLE_QUOTES",
    severity=ERROR,
    title="Single quotes instead of double quotes",
    message="{string} is in single quotes.",
    fix="Put keys and texts into double quotes.",
    why="JSON knows only double quotes.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"refuted by T1"', "'refuted by T1'"),
)
JSON_CURLY_QUOTES = Code(
    id="JSON_CURLY_QUOTES",
    severity=ERROR,
    title="Typographic quotes instead of straight ones",
    message="{string} is in typographic quotes.",
    fix='Put keys and texts into straight double quotes: `"`.',
    why="JSON knows only the straight double quote; editors like to change it.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"refuted by T1"', "“refuted by T1”"),
)
JSON_UNQUOTED_KEY = Code(
    id="JSON_UNQUOTED_KEY",
    severity=ERROR,
    title="A key without quotes",
    message="The key `{key}` is not in double quotes.",
    fix='Write `"{key}"`.',
    why="In JSON keys are strings.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"section"', "section"),
)
JSON_MISSING_COMMA = Code(
    id="JSON_MISSING_COMMA",
    severity=ERROR,
    title="A comma is missing",
    message="A comma is missing before {token}.",
    fix="Put a comma at the end of this line.",
    why="JSON has a comma between members.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"KILL",', '"KILL"'),
)
JSON_PYTHON_WORD = Code(
    id="JSON_PYTHON_WORD",
    severity=ERROR,
    title="A word of Python instead of JSON",
    message="`{word}` is Python; JSON has `{right}`.",
    fix="Write `{right}`.",
    why="JSON's words are `true`, `false` and `null`, in small letters.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('{"reason": "refuted by T1"}', "None"),
)
JSON_CONTROL_CHARACTER = Code(
    id="JSON_CONTROL_CHARACTER",
    severity=ERROR,
    title="A line break or control character inside a string",
    message="A raw {character} stands inside a string.",
    fix="Write `{right}` in its place.",
    why="A JSON string stands on one line; line breaks and tabs in it are escaped.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill("refuted by T1", "refuted\nby T1"),
)
JSON_ODD_BLANK = Code(
    id="JSON_ODD_BLANK",
    severity=ERROR,
    title="A blank that is none to JSON",
    message="`{character}` stands between the parts of the JSON: a blank to the eye only.",
    fix="Replace it by an ordinary blank.",
    why="No-break spaces and zero-width characters come in by copying from formatted pages.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill('"section": ', '"section":\u00a0'),
)
JSON_SUSPICIOUS_ESCAPE = Code(
    id="JSON_SUSPICIOUS_ESCAPE",
    severity=WARNING,
    title="An escape that was probably meant as a backslash",
    message="`{escape}` is read as {character} followed by `{rest}`.",
    fix="Write `\\\\{name}` if you mean the command, with two backslashes.",
    why="`\\tau` in a JSON string is a tab and `au`: valid, and the formula is gone.",
    spec="R5",
    example=Example(
        "block",
        _KILL.replace("refuted by T1", "refuted at \\tau = 3"),
        _KILL.replace("refuted by T1", "refuted at \\\\tau = 3"),
    ),
)
JSON_BAD_ESCAPE = Code(
    id="JSON_BAD_ESCAPE",
    severity=ERROR,
    title="An escape that JSON does not know",
    message="`{escape}` is not an escape of JSON.",
    fix="Write `\\\\` for a backslash. Look at all backslashes of the string: `\\t` and `\\n` are "
    "read as tab and line break.",
    why="Doubling only the refused one would leave `\\times` to be read as a tab and `imes`.",
    spec=_SPEC,
    also=_ALSO,
    example=_kill("refuted by T1", "refuted by \\sigma"),
)
JSON_DUPLICATE_KEY = Code(
    id="JSON_DUPLICATE_KEY",
    severity=ERROR,
    title="A key stands twice in one object",
    message="The key `{key}` stands twice in one object.",
    fix="Keep one of the two.",
    why="Readers disagree on which one counts, so one of the two would be lost in silence.",
    spec="R5",
    also=_ALSO,
    example=_kill('"target_id": "H2"', '"target_id": "H1",\n  "target_id": "H2"'),
)
JSON_NOT_A_NUMBER = Code(
    id="JSON_NOT_A_NUMBER",
    severity=ERROR,
    title="NaN or Infinity",
    message="`{word}` is not a number of JSON.",
    fix="Leave the field out, or write a number.",
    why="JSON has only finite numbers.",
    spec="R5",
    also=_ALSO,
    example=_kill('{"reason": "refuted by T1"}', "NaN"),
)
JSON_LONE_SURROGATE = Code(
    id="JSON_LONE_SURROGATE",
    severity=ERROR,
    title="Half of a character",
    message="`{escape}` is one half of a character (a lone surrogate).",
    fix="Write the character itself, or both halves.",
    why="A lone half cannot be stored as UTF-8.",
    spec="R5",
    also=_ALSO,
    example=_kill("refuted by T1", "refuted \\ud83e"),
)
JSON_TOO_DEEP = Code(
    id="JSON_TOO_DEEP",
    severity=ERROR,
    title="JSON is nested too deeply",
    message="Objects and arrays are nested deeper than {most}.",
    fix="Flatten it: a delta needs four levels.",
    why="The limit holds before parsing, so that no block can exhaust the machine.",
    spec="R5",
    also=_ALSO,
    example=_kill('{"reason": "refuted by T1"}', "[" * 40 + "]" * 40),
)
JSON_NUMBER_TOO_LONG = Code(
    id="JSON_NUMBER_TOO_LONG",
    severity=ERROR,
    title="A number with too many digits",
    message="A number has {length} characters; the most is {most}.",
    fix="A delta's numbers are scores from 0 to 3; put long figures into text.",
    why="Reading very long numbers takes time that grows with the square of their length.",
    spec="R5",
    also=_ALSO,
    example=_kill('{"reason": "refuted by T1"}', "1" * 400),
)

CODES = (
    INVALID_JSON,
    JSON_TRAILING_COMMA,
    JSON_COMMENT,
    JSON_SINGLE_QUOTES,
    JSON_CURLY_QUOTES,
    JSON_UNQUOTED_KEY,
    JSON_MISSING_COMMA,
    JSON_PYTHON_WORD,
    JSON_CONTROL_CHARACTER,
    JSON_ODD_BLANK,
    JSON_SUSPICIOUS_ESCAPE,
    JSON_BAD_ESCAPE,
    JSON_DUPLICATE_KEY,
    JSON_NOT_A_NUMBER,
    JSON_LONE_SURROGATE,
    JSON_TOO_DEEP,
    JSON_NUMBER_TOO_LONG,
)
