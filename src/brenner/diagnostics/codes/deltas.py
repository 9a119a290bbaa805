"""Codes for delta blocks: boundaries and strays (R4, R5), the delta format, JSON."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_BLOCK_SPEC = "delta_output_format_v0.1"

UNCLOSED_FENCE = error(
    "UNCLOSED_FENCE",
    "The delta block that begins here is never closed{cut}.",
    "Send the whole block, and end it with a line that holds {fence} and nothing else.",
    "R4",
)
TOO_MANY_BLOCKS = error(
    "TOO_MANY_BLOCKS",
    "The message has {count} delta blocks; the most is {most}. None was read.",
    "Send them in several messages.",
    "R5",
)
BLOCK_TOO_LARGE = error(
    "BLOCK_TOO_LARGE",
    "The delta block is larger than {most} bytes; it was not read.",
    "Split it, or point to large material by path.",
    "R5",
)
SEVERAL_DELTAS_IN_BLOCK = error(
    "SEVERAL_DELTAS_IN_BLOCK",
    "After the first JSON object the block goes on with {what}.",
    "Give each delta a fenced block of its own, and put prose outside.",
    f"{_BLOCK_SPEC}, Multiple Deltas in One Message",
    also=("MB-005",),
)
INLINE_DELTA = info(
    "INLINE_DELTA",
    "This looks like a delta, but {where}; it will not be compiled.",
    "Put it into a fenced block that begins with ```delta, if it is a contribution.",
    f"{_BLOCK_SPEC}, Failure Mode 1; R4",
)
SWALLOWED_DELTA = info(
    "SWALLOWED_DELTA",
    "This delta block is inside {where}, so it is an example and will not be compiled.",
    "Take it out of there, if it is a contribution.",
    "R4",
)
QUOTED_DELTA = info(
    "QUOTED_DELTA",
    "This delta block is inside a quotation, so it is somebody else's and will not be compiled.",
    "Take the `>` away, if it is your own contribution.",
    "R4",
)

# The delta format: operations, targets, fields, local IDs (rulings R6, R11)

_FORMAT_SPEC = "delta_output_format_v0.1"
_PAYLOAD_SPEC = f"{_FORMAT_SPEC}, Payload Schemas by Section; R6"

DELTA_NOT_AN_OBJECT = error(
    "DELTA_NOT_AN_OBJECT",
    "The block holds {what}, not one JSON object.",
    "Write one object with `operation`, `section`, `target_id` and `payload` per block.",
    f"{_FORMAT_SPEC}, Delta Block Format",
)
INVALID_OPERATION = error(
    "INVALID_OPERATION",
    "`{value}` is not an operation.",
    "Use `ADD`, `EDIT` or `KILL`.{suggestion}",
    f"{_FORMAT_SPEC}, Field Definitions",
)
INVALID_SECTION = error(
    "INVALID_SECTION",
    "`{value}` is not a section of the artifact.",
    "Use one of {known}.{suggestion}",
    f"{_FORMAT_SPEC}, Valid Section Values; Failure Mode 2",
)
OPERATION_NOT_ALLOWED = error(
    "OPERATION_NOT_ALLOWED",
    "{operation} is not possible on the research thread.",
    "Use `EDIT` with the target `RT`.",
    f"{_FORMAT_SPEC}, Valid Section Values; R6",
)
MISSING_REQUIRED_FIELD = error(
    "MISSING_REQUIRED_FIELD",
    "`{name}` {reason}.",
    "Add `{name}`: {asks}.{suggestion}",
    f"{_FORMAT_SPEC}, Failure Mode 5; R6",
)
MISSING_TARGET = error(
    "MISSING_TARGET",
    "{operation} needs a `target_id`.",
    "Name the item: `{example}` for example, or `@name` for one that you add in this "
    "message.{suggestion}",
    f"{_FORMAT_SPEC}, Failure Mode 3",
)
INVALID_TARGET = error(
    "INVALID_TARGET",
    "`{target}` {reason}.",
    "Use the ID of an item that exists (`{example}`).{suggestion}",
    f"{_FORMAT_SPEC}, Error Handling; R6, R11",
)
TARGET_SECTION_MISMATCH = error(
    "TARGET_SECTION_MISMATCH",
    "`{target}` is not an item of `{section}`, whose IDs begin with `{prefix}`.",
    "Correct the section or the target, whichever is wrong.",
    "R6",
    also=("INVALID_TARGET",),
)
UNEXPECTED_TARGET = error(
    "UNEXPECTED_TARGET",
    "ADD has the target `{target}`, but new items get their number from the compiler.",
    "Write `null` to add a new item, or `EDIT` to change `{target}`. To refer to a new item in "
    'the same message, give it a `"local_id"` and write `@name`.',
    f"{_FORMAT_SPEC}, Field Definitions; R6, R11",
)
WRONG_TYPE = error(
    "WRONG_TYPE",
    "`{name}` is {actual}; it should be {expected}.",
    "Write {expected}.{suggestion}",
    _PAYLOAD_SPEC,
)
INVALID_VALUE = error(
    "INVALID_VALUE",
    "`{name}` is `{value}`, which is none of {expected}.",
    "Use one of {expected}.{suggestion}",
    _PAYLOAD_SPEC,
)
INVALID_RELATION = error(
    "INVALID_RELATION",
    "`{value}` is not a relation between items.",
    "Use one of {expected}.{suggestion}",
    f"{_FORMAT_SPEC}, Reference Relation Types; R6",
)
INVALID_ITEM_ID = error(
    "INVALID_ITEM_ID",
    "`{value}` in `{name}` is not {expected}.",
    "Write the ID alone (`{example}`), or `@name` for an item that you add in this "
    "message.{suggestion}",
    "companion, The artifact; R6, R11",
)
EMPTY_EDIT = error(
    "EMPTY_EDIT",
    "The EDIT names no field of `{section}`.",
    "Give at least one of {known}.{suggestion}",
    "R6",
)
TOO_MANY_PROBLEMS = error(
    "TOO_MANY_PROBLEMS",
    "The block has {most} problems or more; the rest was not looked at.",
    "Mend what is listed, and check it again.",
    "R5, R6",
)
UNKNOWN_FIELD = warning(
    "UNKNOWN_FIELD",
    "`{name}` is not a field of {where} and is left out.",
    "Use one of {known}, or put it into the prose.{suggestion}",
    _PAYLOAD_SPEC,
)
MISSING_RATIONALE = info(
    "MISSING_RATIONALE",
    "The delta says nothing of why.",
    "Add `rationale`, a sentence.",
    f"{_FORMAT_SPEC}, Field Definitions",
)
MALFORMED_ANCHOR = warning(
    "MALFORMED_ANCHOR",
    "`{anchor}` is not of a known form{reason}.",
    "Write `§42`, `§42-45`, `EV-001`, `EV-001#E1`, `inference`, `[inference]`, `[axiomatic]` "
    "or `[external: source]`.",
    "companion, Anchors",
    also=("WH-002",),
)
MOJIBAKE_ANCHOR = warning(
    "MOJIBAKE_ANCHOR",
    "`{anchor}` was `{right}` before its encoding was misread.",
    "Write `{right}`, and save the message as UTF-8.",
    "companion, Anchors",
    also=("WH-002",),
)
UNKNOWN_REFERENCE = warning(
    "UNKNOWN_REFERENCE",
    "`{value}` {reason}.",
    "Correct the reference; otherwise it is kept as it is.",
    f"{_FORMAT_SPEC}, Reference Validation; R21",
)
INVALID_LOCAL_ID = error(
    "INVALID_LOCAL_ID",
    "`local_id` {reason}.",
    'Give an ADD a name of ASCII letters, digits, `_` and `-`, a letter first: `"local_id": '
    '"epi"`. Refer to it as `@epi`.',
    "R11",
)
DUPLICATE_LOCAL_ID = error(
    "DUPLICATE_LOCAL_ID",
    "The local name `{name}` is taken by block {first} already.",
    "Give each new item a name of its own.",
    "R11",
)
UNKNOWN_LOCAL_ID = error(
    "UNKNOWN_LOCAL_ID",
    "`{name}` in `{field_name}` names no item that this message adds.",
    'Add `"local_id"` with that name to the ADD that creates the item, or use the item\'s '
    "number.{suggestion}",
    "R11",
)
DEPENDS_ON_REFUSED = error(
    "DEPENDS_ON_REFUSED",
    "`{name}` is added by block {first}, which is refused; so this block is, too.",
    "Mend block {first}; this one needs no change.",
    "R11",
)

# Delta blocks that are not JSON (delta_output_format, Failure Mode 4; ruling R5)

_JSON_SPEC = "delta_output_format_v0.1, Failure Mode 4; R5"
_JSON_ALSO = ("MB-005",)
INVALID_JSON = error(
    "INVALID_JSON",
    "The block is not JSON: {reason}.",
    "Mend the block at this line, and check it again before sending.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_TRAILING_COMMA = error(
    "JSON_TRAILING_COMMA",
    "A comma stands before the closing `{mark}`.",
    "Remove the comma.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_COMMENT = error(
    "JSON_COMMENT",
    "`{comment}` is a comment; JSON has none.",
    "Remove the comment; what it says can go into `rationale` or into the prose.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_SINGLE_QUOTES = error(
    "JSON_SINGLE_QUOTES",
    "{string} is in single quotes.",
    "Put keys and texts into double quotes.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_CURLY_QUOTES = error(
    "JSON_CURLY_QUOTES",
    "{string} is in typographic quotes.",
    'Put keys and texts into straight double quotes: `"`.',
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_UNQUOTED_KEY = error(
    "JSON_UNQUOTED_KEY",
    "The key `{key}` is not in double quotes.",
    'Write `"{key}"`.',
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_MISSING_COMMA = error(
    "JSON_MISSING_COMMA",
    "A comma is missing before {token}.",
    "Put a comma at the end of this line.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_PYTHON_WORD = error(
    "JSON_PYTHON_WORD",
    "`{word}` is Python; JSON has `{right}`.",
    "Write `{right}`.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_CONTROL_CHARACTER = error(
    "JSON_CONTROL_CHARACTER",
    "A raw {character} stands inside a string.",
    "Write `{right}` in its place.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_ODD_BLANK = error(
    "JSON_ODD_BLANK",
    "`{character}` stands between the parts of the JSON: a blank to the eye only.",
    "Replace it by an ordinary blank.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_SUSPICIOUS_ESCAPE = warning(
    "JSON_SUSPICIOUS_ESCAPE",
    "`{escape}` is read as {character} followed by `{rest}`.",
    "Write `\\\\{name}` if you mean the command, with two backslashes.",
    "R5",
)
JSON_BAD_ESCAPE = error(
    "JSON_BAD_ESCAPE",
    "`{escape}` is not an escape of JSON.",
    "Write `\\\\` for a backslash. Look at all backslashes of the string: `\\t` and `\\n` are "
    "read as tab and line break.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_DUPLICATE_KEY = error(
    "JSON_DUPLICATE_KEY",
    "The key `{key}` stands twice in one object.",
    "Keep one of the two.",
    "R5",
    also=_JSON_ALSO,
)
JSON_NOT_A_NUMBER = error(
    "JSON_NOT_A_NUMBER",
    "`{word}` is not a number of JSON.",
    "Leave the field out, or write a number.",
    "R5",
    also=_JSON_ALSO,
)
JSON_LONE_SURROGATE = error(
    "JSON_LONE_SURROGATE",
    "`{escape}` is one half of a character (a lone surrogate).",
    "Write the character itself, or both halves.",
    "R5",
    also=_JSON_ALSO,
)
JSON_TOO_DEEP = error(
    "JSON_TOO_DEEP",
    "Objects and arrays are nested deeper than {most}.",
    "Flatten it: a delta needs four levels.",
    "R5",
    also=_JSON_ALSO,
)
JSON_NUMBER_TOO_LONG = error(
    "JSON_NUMBER_TOO_LONG",
    "A number has {length} characters; the most is {most}.",
    "A delta's numbers are scores from 0 to 3; put long figures into text.",
    "R5",
    also=_JSON_ALSO,
)
