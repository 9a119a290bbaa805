"""Codes for delta blocks: boundaries and strays (R4, R5), the delta format, JSON."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_BLOCK_SPEC = "delta_output_format_v0.1"

UNCLOSED_FENCE = error(
    "UNCLOSED_FENCE",
    "The delta block that begins here has no closing fence{cut}.",
    "Send the whole block, and end it with a line that contains only {fence}.",
    "R4",
)
TOO_MANY_BLOCKS = error(
    "TOO_MANY_BLOCKS",
    "The message has {count} delta blocks. The maximum is {most}. None was read.",
    "Send them in several messages.",
    "R5",
)
BLOCK_TOO_LARGE = error(
    "BLOCK_TOO_LARGE",
    "The delta block is larger than {most} bytes. It was not read.",
    "Split it, or refer to large material by its path.",
    "R5",
)
SEVERAL_DELTAS_IN_BLOCK = error(
    "SEVERAL_DELTAS_IN_BLOCK",
    "The block contains {what} after its JSON object.",
    "Put each delta into its own fenced block, and prose outside the blocks.",
    f"{_BLOCK_SPEC}, Multiple Deltas in One Message",
    also=("MB-005",),
)
INLINE_DELTA = info(
    "INLINE_DELTA",
    "This looks like a delta, but {where}. It will not be compiled.",
    "If it is a contribution, put it into a fenced block that begins with ```delta.",
    f"{_BLOCK_SPEC}, Failure Mode 1; R4",
)
SWALLOWED_DELTA = info(
    "SWALLOWED_DELTA",
    "This delta block is inside {where}. It counts as an example and will not be compiled.",
    "If it is a contribution, move it out of there.",
    "R4",
)
QUOTED_DELTA = info(
    "QUOTED_DELTA",
    "This delta block is inside a quotation. It will not be compiled.",
    "If it is your own contribution, remove the `>`.",
    "R4",
)

# The delta format: operations, targets, fields, local IDs (rulings R6, R11)

_FORMAT_SPEC = "delta_output_format_v0.1"
_PAYLOAD_SPEC = f"{_FORMAT_SPEC}, Payload Schemas by Section; R6"

DELTA_NOT_AN_OBJECT = error(
    "DELTA_NOT_AN_OBJECT",
    "The block contains {what} instead of one JSON object.",
    "Write one object per block, with `operation`, `section`, `target_id` and `payload`.",
    f"{_FORMAT_SPEC}, Delta Block Format",
)
INVALID_OPERATION = error(
    "INVALID_OPERATION",
    "`{value}` is not a valid operation.",
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
    "{operation} is not allowed on `research_thread`.",
    'Use `EDIT` with `"target_id": "RT"`.',
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
    "Give the ID of the item, such as `{example}`, or `@name` for an item that you add in this "
    "message.{suggestion}",
    f"{_FORMAT_SPEC}, Failure Mode 3",
)
INVALID_TARGET = error(
    "INVALID_TARGET",
    "`{target}` {reason}.{known}",
    "Use the ID of an existing item (form: `{example}`), or `@name` for a new item.{suggestion}",
    f"{_FORMAT_SPEC}, Error Handling; R6, R11",
)
TARGET_SECTION_MISMATCH = error(
    "TARGET_SECTION_MISMATCH",
    "`{target}` is not an item of `{section}`. IDs there begin with `{prefix}`.",
    "Correct the section or the target.",
    "R6",
    also=("INVALID_TARGET",),
)
UNEXPECTED_TARGET = error(
    "UNEXPECTED_TARGET",
    "An ADD cannot have a target (`{target}`): the compiler numbers new items.",
    "For a new item, write `null` as the target. To change `{target}`, use `EDIT`. To refer to the "
    'new item in this message, give it a `"local_id"` and write `@name`.',
    f"{_FORMAT_SPEC}, Field Definitions; R6, R11",
)
WRONG_TYPE = error(
    "WRONG_TYPE",
    "`{name}` is {actual}. It must be {expected}.",
    "Write {expected}.{suggestion}",
    _PAYLOAD_SPEC,
)
INVALID_VALUE = error(
    "INVALID_VALUE",
    "`{name}` is `{value}`, which is not one of {expected}.",
    "Use one of {expected}.{suggestion}",
    _PAYLOAD_SPEC,
)
INVALID_RELATION = error(
    "INVALID_RELATION",
    "`{value}` is not a valid relation between items.",
    "Use one of {expected}.{suggestion}",
    f"{_FORMAT_SPEC}, Reference Relation Types; R6",
)
INVALID_ITEM_ID = error(
    "INVALID_ITEM_ID",
    "`{value}` in `{name}` is not {expected}.",
    "Write only the ID, such as `{example}`, or `@name` for an item that you add in this "
    "message.{suggestion}",
    "companion, The artifact; R6, R11",
)
EMPTY_EDIT = error(
    "EMPTY_EDIT",
    "The EDIT changes no field of `{section}`.",
    "Add at least one of {known} to the payload.{suggestion}",
    "R6",
)
TOO_MANY_PROBLEMS = error(
    "TOO_MANY_PROBLEMS",
    "The block has {most} problems or more. The rest was not checked.",
    "Fix those that are listed, then check again.",
    "R5, R6",
)
UNKNOWN_FIELD = warning(
    "UNKNOWN_FIELD",
    "`{name}` is not a field of {where}. It is ignored.",
    "Use one of {known}, or move the text into the prose.{suggestion}",
    _PAYLOAD_SPEC,
)
MISSING_RATIONALE = info(
    "MISSING_RATIONALE",
    "The delta has no `rationale`.",
    "Add `rationale`: one sentence on why you make this change.",
    f"{_FORMAT_SPEC}, Field Definitions",
)
MALFORMED_ANCHOR = warning(
    "MALFORMED_ANCHOR",
    "`{anchor}` is not a valid anchor{reason}.",
    "Write `§42`, `§42-45`, `EV-001`, `EV-001#E1`, `inference`, `[inference]`, `[axiomatic]` "
    "or `[external: source]`.",
    "companion, Anchors",
    also=("WH-002",),
)
MALFORMED_EVIDENCE = warning(
    "MALFORMED_EVIDENCE",
    "`{value}` in `{name}` is neither an anchor nor a file with its SHA-256.",
    "Write an anchor such as `EV-001#E1` or `§42`, or `file:PATH#sha256=HEX` with the 64 digits "
    "that `sha256sum PATH` prints.",
    "R26; companion, Anchors",
)
INVALID_TIME = error(
    "INVALID_TIME",
    "`{name}` is `{value}`, which is not a time in ISO 8601.",
    "Write a date or a time in UTC, such as `2025-12-30` or `2025-12-30T14:00:00Z`.",
    "R26",
)
CONTRADICTING_VERDICT = error(
    "CONTRADICTING_VERDICT",
    "The result both contradicts and supports `{id}`.",
    "Keep `{id}` in one of the two lists. If the result is about both sides, put it into neither.",
    "R26",
)
VERDICT_WITHOUT_POTENCY = warning(
    "VERDICT_WITHOUT_POTENCY",
    "The potency check failed, so the result says nothing about hypotheses: `contradicts` and "
    "`supports` are left out.",
    'Remove both lists. If the check succeeded, write `"potency": "passed"`.',
    "R26",
)
INVALID_OUTCOME_KEY = error(
    "INVALID_OUTCOME_KEY",
    "`{key}` in `{name}` is not a valid key of an outcome.",
    "Use 1 to 32 lower-case letters, digits, `-` and `_`, such as `no_change`. Put the words into "
    "the description.{suggestion}",
    "R27",
)
UNDECLARED_OUTCOME = warning(
    "UNDECLARED_OUTCOME",
    "`{name}` is `{value}`, which is not a declared outcome. Declared: {known}.",
    "Write one of the declared keys, or `indeterminate` if the hypothesis predicts none of them. "
    "Or declare another key in `outcomes`.{suggestion}",
    "R27",
)
MOJIBAKE_ANCHOR = warning(
    "MOJIBAKE_ANCHOR",
    "`{anchor}` is a wrongly decoded `{right}`.",
    "Write `{right}`, and save the message as UTF-8.",
    "companion, Anchors",
    also=("WH-002",),
)
UNKNOWN_REFERENCE = warning(
    "UNKNOWN_REFERENCE",
    "`{value}` {reason}.",
    "Correct the reference. Otherwise it is kept as written.",
    f"{_FORMAT_SPEC}, Reference Validation; R21",
)
INVALID_LOCAL_ID = error(
    "INVALID_LOCAL_ID",
    "`local_id` {reason}.",
    "Give an ADD a name of ASCII letters, digits, `_` and `-`, starting with a letter: "
    '`"local_id": "epi"`. Refer to it as `@epi`.{suggestion}',
    "R11",
)
DUPLICATE_LOCAL_ID = error(
    "DUPLICATE_LOCAL_ID",
    "Block {first} already uses the local name `{name}`.",
    "Give each new item its own name.",
    "R11",
)
UNKNOWN_LOCAL_ID = error(
    "UNKNOWN_LOCAL_ID",
    "`{name}` in `{field_name}` is not an item that this message adds.",
    'Add `"local_id"` with this name to the ADD that creates the item, or use the ID of an '
    "existing item.{suggestion}",
    "R11",
)
DEPENDS_ON_REFUSED = error(
    "DEPENDS_ON_REFUSED",
    "Block {first}, which adds `{name}`, is rejected. Therefore this block is rejected, too.",
    "Fix block {first}. This block needs no change.",
    "R11",
)

# Delta blocks that are not JSON (delta_output_format, Failure Mode 4; ruling R5)

_JSON_SPEC = "delta_output_format_v0.1, Failure Mode 4; R5"
_JSON_ALSO = ("MB-005",)
INVALID_JSON = error(
    "INVALID_JSON",
    "The block is not valid JSON: {reason}.",
    "Fix the JSON at this line, then check the message again before you send it.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_TRAILING_COMMA = error(
    "JSON_TRAILING_COMMA",
    "Trailing comma before `{mark}`.",
    "Remove the comma.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_COMMENT = error(
    "JSON_COMMENT",
    "`{comment}` is a comment. JSON does not allow comments.",
    "Remove the comment. Put its text into `rationale` or into the prose.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_SINGLE_QUOTES = error(
    "JSON_SINGLE_QUOTES",
    "{string} is in single quotes.",
    "Use double quotes for keys and texts.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_CURLY_QUOTES = error(
    "JSON_CURLY_QUOTES",
    "{string} is in typographic quotes.",
    'Use straight double quotes (`"`) for keys and texts.',
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
    "Add a comma at the end of this line.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_PYTHON_WORD = error(
    "JSON_PYTHON_WORD",
    "`{word}` is Python. JSON uses `{right}`.",
    "Write `{right}`.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_CONTROL_CHARACTER = error(
    "JSON_CONTROL_CHARACTER",
    "A string contains a raw {character}.",
    "Write `{right}` instead.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_ODD_BLANK = error(
    "JSON_ODD_BLANK",
    "`{character}` between the parts of the JSON is not an ordinary space.",
    "Replace it with an ordinary space.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_SUSPICIOUS_ESCAPE = warning(
    "JSON_SUSPICIOUS_ESCAPE",
    "`{escape}` is read as {character} followed by `{rest}`.",
    "If you mean the command, write it with two backslashes: `\\\\{name}`.",
    "R5",
)
JSON_BAD_ESCAPE = error(
    "JSON_BAD_ESCAPE",
    "`{escape}` is not a valid JSON escape.",
    "Write `\\\\` for a backslash. Check all backslashes of the string: `\\t` and `\\n` are read "
    "as tab and line break.",
    _JSON_SPEC,
    also=_JSON_ALSO,
)
JSON_DUPLICATE_KEY = error(
    "JSON_DUPLICATE_KEY",
    "The key `{key}` occurs twice in one object.",
    "Keep one of the two.",
    "R5",
    also=_JSON_ALSO,
)
JSON_NOT_A_NUMBER = error(
    "JSON_NOT_A_NUMBER",
    "`{word}` is not a JSON number.",
    "Remove the field, or write a number.",
    "R5",
    also=_JSON_ALSO,
)
JSON_LONE_SURROGATE = error(
    "JSON_LONE_SURROGATE",
    "`{escape}` is half of a character (a lone surrogate).",
    "Write the character itself, or both halves.",
    "R5",
    also=_JSON_ALSO,
)
JSON_TOO_DEEP = error(
    "JSON_TOO_DEEP",
    "Objects and arrays are nested deeper than {most} levels.",
    "Flatten the JSON: a delta needs four levels.",
    "R5",
    also=_JSON_ALSO,
)
JSON_NUMBER_TOO_LONG = error(
    "JSON_NUMBER_TOO_LONG",
    "A number has {length} characters. The maximum is {most}.",
    "Scores are whole numbers from 0 to 3. Put long figures into text.",
    "R5",
    also=_JSON_ALSO,
)
