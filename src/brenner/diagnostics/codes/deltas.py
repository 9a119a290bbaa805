"""Codes for delta blocks: boundaries and strays (R4, R5), the delta format, JSON."""

from brenner.diagnostics.codes.examples import (
    EDIT,
    HYPOTHESIS,
    PREDICTION,
    REFERENCES,
    delta_message,
)
from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_BLOCK_SPEC = "delta_output_format_v0.1"

UNCLOSED_FENCE = Code(
    id="UNCLOSED_FENCE",
    severity=ERROR,
    title="A delta block that is never closed",
    message="The delta block that begins here is never closed{cut}.",
    fix="Send the whole block, and end it with a line that holds {fence} and nothing else.",
    why="Without its end nobody can say what belongs to the block; a cut-off message looks just "
    "like this.",
    spec="R4",
    example=Example("message", delta_message(HYPOTHESIS)[:-4], delta_message(HYPOTHESIS)),
)
TOO_MANY_BLOCKS = Code(
    id="TOO_MANY_BLOCKS",
    severity=ERROR,
    title="Too many delta blocks in one message",
    message="The message has {count} delta blocks; the most is {most}. None was read.",
    fix="Send them in several messages.",
    why="The limit holds before parsing, so that no message can exhaust the machine.",
    spec="R5",
    example=Example("text", "2,001 delta blocks in one message", "two messages"),
)
BLOCK_TOO_LARGE = Code(
    id="BLOCK_TOO_LARGE",
    severity=ERROR,
    title="A delta block is too large",
    message="The delta block is larger than {most} bytes; it was not read.",
    fix="Split it, or point to large material by path.",
    why="The limit holds before parsing, so that no block can exhaust the machine.",
    spec="R5",
    example=Example("text", "a block of 300 KB", "three blocks of 100 KB"),
)
SEVERAL_DELTAS_IN_BLOCK = Code(
    id="SEVERAL_DELTAS_IN_BLOCK",
    severity=ERROR,
    title="Something follows the delta inside its block",
    message="After the first JSON object the block goes on with {what}.",
    fix="Give each delta a fenced block of its own, and put prose outside.",
    why="Each block is one operation; taking only the first would lose the rest.",
    spec=f"{_BLOCK_SPEC}, Multiple Deltas in One Message",
    also=("MB-005",),
    example=Example(
        "message",
        delta_message(f"{HYPOTHESIS}\n{PREDICTION}"),
        delta_message(HYPOTHESIS, PREDICTION),
    ),
)
INLINE_DELTA = Code(
    id="INLINE_DELTA",
    severity=INFO,
    title="A delta outside a delta block",
    message="This looks like a delta, but {where}; it will not be compiled.",
    fix="Put it into a fenced block that begins with ```delta, if it is a contribution.",
    why="Only delta blocks are compiled; what looks like one must not be lost in silence.",
    spec=f"{_BLOCK_SPEC}, Failure Mode 1; R4",
    example=Example(
        "message",
        delta_message(EDIT) + "\n" + HYPOTHESIS + "\n",
        delta_message(EDIT, HYPOTHESIS),
    ),
)
SWALLOWED_DELTA = Code(
    id="SWALLOWED_DELTA",
    severity=INFO,
    title="A delta block inside another block",
    message="This delta block is inside {where}, so it is an example and will not be compiled.",
    fix="Take it out of there, if it is a contribution.",
    why="A block inside another one shows how a delta looks; it contributes nothing.",
    spec="R4",
    example=Example(
        "message",
        delta_message(EDIT) + "\n~~~markdown\n```delta\n" + HYPOTHESIS + "\n```\n~~~\n",
        delta_message(EDIT, HYPOTHESIS),
    ),
)
QUOTED_DELTA = Code(
    id="QUOTED_DELTA",
    severity=INFO,
    title="A delta block inside a quotation",
    message="This delta block is inside a quotation, so it is somebody else's and will not be "
    "compiled.",
    fix="Take the `>` away, if it is your own contribution.",
    why="Replies quote what they answer; a quoted block must not count twice.",
    spec="R4",
    example=Example(
        "message",
        delta_message(EDIT) + "\n> ```delta\n> {}\n> ```\n",
        delta_message(EDIT),
    ),
)

DELTA_BLOCK_CODES = (
    UNCLOSED_FENCE,
    TOO_MANY_BLOCKS,
    BLOCK_TOO_LARGE,
    SEVERAL_DELTAS_IN_BLOCK,
    INLINE_DELTA,
    SWALLOWED_DELTA,
    QUOTED_DELTA,
)


# The delta format: operations, targets, fields, local IDs (rulings R6, R11)


_FORMAT_SPEC = "delta_output_format_v0.1"
_PAYLOAD_SPEC = f"{_FORMAT_SPEC}, Payload Schemas by Section; R6"


def _add_example(old: str, new: str) -> Example:
    return Example("block", HYPOTHESIS.replace(old, new), HYPOTHESIS)


def _edit_example(old: str, new: str) -> Example:
    return Example("block", EDIT.replace(old, new), EDIT)


DELTA_NOT_AN_OBJECT = Code(
    id="DELTA_NOT_AN_OBJECT",
    severity=ERROR,
    title="The delta block does not hold one JSON object",
    message="The block holds {what}, not one JSON object.",
    fix="Write one object with `operation`, `section`, `target_id` and `payload` per block.",
    why="Each block is one operation, so that each can be applied or refused by itself.",
    spec=f"{_FORMAT_SPEC}, Delta Block Format",
    example=Example("block", f"[{HYPOTHESIS}]", HYPOTHESIS),
)
INVALID_OPERATION = Code(
    id="INVALID_OPERATION",
    severity=ERROR,
    title="Not an operation",
    message="`{value}` is not an operation.",
    fix="Use `ADD`, `EDIT` or `KILL`.{suggestion}",
    why="The artifact changes by these three only; nothing is ever deleted.",
    spec=f"{_FORMAT_SPEC}, Field Definitions",
    example=_add_example('"ADD"', '"CREATE"'),
)
INVALID_SECTION = Code(
    id="INVALID_SECTION",
    severity=ERROR,
    title="Not a section",
    message="`{value}` is not a section of the artifact.",
    fix="Use one of {known}.{suggestion}",
    why="The section decides which fields count and which numbers are given.",
    spec=f"{_FORMAT_SPEC}, Valid Section Values; Failure Mode 2",
    example=_add_example('"hypothesis_slate"', '"hypotheses"'),
)
OPERATION_NOT_ALLOWED = Code(
    id="OPERATION_NOT_ALLOWED",
    severity=ERROR,
    title="The research thread can only be edited",
    message="{operation} is not possible on the research thread.",
    fix="Use `EDIT` with the target `RT`.",
    why="There is one question per session; it can be made more precise, not added or killed.",
    spec=f"{_FORMAT_SPEC}, Valid Section Values; R6",
    example=Example(
        "block",
        '{"operation": "KILL", "section": "research_thread", "target_id": "RT",\n'
        ' "payload": {"reason": "ill posed"}, "rationale": "ill posed"}',
        '{"operation": "EDIT", "section": "research_thread", "target_id": "RT",\n'
        ' "payload": {"statement": "Do marks survive?"}, "rationale": "it was ill posed"}',
    ),
)
MISSING_REQUIRED_FIELD = Code(
    id="MISSING_REQUIRED_FIELD",
    severity=ERROR,
    title="A required field is missing or blank",
    message="`{name}` {reason}.",
    fix="Add `{name}`: {asks}.{suggestion}",
    why="An item without it could be neither read nor tested by the others.",
    spec=f"{_FORMAT_SPEC}, Failure Mode 5; R6",
    example=_add_example('    "claim": "Cells inherit chromatin state",\n', ""),
)
MISSING_TARGET = Code(
    id="MISSING_TARGET",
    severity=ERROR,
    title="EDIT or KILL without a target",
    message="{operation} needs a `target_id`.",
    fix="Name the item: `{example}` for example, or `@name` for one that you add in this "
    "message.{suggestion}",
    why="The compiler does not guess which item is meant.",
    spec=f"{_FORMAT_SPEC}, Failure Mode 3",
    example=_edit_example('"T1"', "null"),
)
INVALID_TARGET = Code(
    id="INVALID_TARGET",
    severity=ERROR,
    title="There is no such item",
    message="`{target}` {reason}.",
    fix="Use the ID of an item that exists (`{example}`).{suggestion}",
    why="A change to an item that does not exist cannot be applied, and must not hit another one.",
    spec=f"{_FORMAT_SPEC}, Error Handling; R6, R11",
    example=_edit_example('"T1"', '"T1a"'),
)
TARGET_SECTION_MISMATCH = Code(
    id="TARGET_SECTION_MISMATCH",
    severity=ERROR,
    title="The target belongs to another section",
    message="`{target}` is not an item of `{section}`, whose IDs begin with `{prefix}`.",
    fix="Correct the section or the target, whichever is wrong.",
    why="One of the two is a slip, and nobody can tell which.",
    spec="R6",
    also=("INVALID_TARGET",),
    example=_edit_example('"T1"', '"H1"'),
)
UNEXPECTED_TARGET = Code(
    id="UNEXPECTED_TARGET",
    severity=ERROR,
    title="ADD with a target",
    message="ADD has the target `{target}`, but new items get their number from the compiler.",
    fix="Write `null` to add a new item, or `EDIT` to change `{target}`. To refer to a new item in "
    'the same message, give it a `"local_id"` and write `@name`.',
    why="Two agents who both add `H4` would otherwise overwrite each other.",
    spec=f"{_FORMAT_SPEC}, Field Definitions; R6, R11",
    example=_add_example('"target_id": null', '"target_id": "H4"'),
)
WRONG_TYPE = Code(
    id="WRONG_TYPE",
    severity=ERROR,
    title="A value of the wrong type",
    message="`{name}` is {actual}; it should be {expected}.",
    fix="Write {expected}.{suggestion}",
    why="Turning one type into another by guesswork changes what was meant.",
    spec=_PAYLOAD_SPEC,
    example=_add_example('["§42"]', "42"),
)
INVALID_VALUE = Code(
    id="INVALID_VALUE",
    severity=ERROR,
    title="A value outside the list",
    message="`{name}` is `{value}`, which is none of {expected}.",
    fix="Use one of {expected}.{suggestion}",
    why="Programs sort and count by this value.",
    spec=_PAYLOAD_SPEC,
    example=Example(
        "block", EDIT.replace('{"likelihood_ratio": 2, "cost": 3}', '{"cost": 7}'), EDIT
    ),
)
INVALID_RELATION = Code(
    id="INVALID_RELATION",
    severity=ERROR,
    title="Not a relation",
    message="`{value}` is not a relation between items.",
    fix="Use one of {expected}.{suggestion}",
    why="The genealogy of ideas is drawn from these six.",
    spec=f"{_FORMAT_SPEC}, Reference Relation Types; R6",
    example=Example("block", REFERENCES.replace("replicates", "repeats_it"), REFERENCES),
)
INVALID_ITEM_ID = Code(
    id="INVALID_ITEM_ID",
    severity=ERROR,
    title="Not an item's ID",
    message="`{value}` in `{name}` is not {expected}.",
    fix="Write the ID alone (`{example}`), or `@name` for an item that you add in this "
    "message.{suggestion}",
    why="IDs in these places are followed and rewritten by the compiler; free text there is lost.",
    spec="companion, The artifact; R6, R11",
    example=Example("block", PREDICTION.replace('"H2"', '"Gradient"'), PREDICTION),
)
EMPTY_EDIT = Code(
    id="EMPTY_EDIT",
    severity=ERROR,
    title="An EDIT that names no known field",
    message="The EDIT names no field of `{section}`.",
    fix="Give at least one of {known}.{suggestion}",
    why="It would change nothing, while its author believes that it did.",
    spec="R6",
    example=_edit_example('{"score": {"likelihood_ratio": 2, "cost": 3}}', "{}"),
)
TOO_MANY_PROBLEMS = Code(
    id="TOO_MANY_PROBLEMS",
    severity=ERROR,
    title="Too many problems in one delta block",
    message="The block has {most} problems or more; the rest was not looked at.",
    fix="Mend what is listed, and check it again.",
    why="What was not looked at must not count as sound.",
    spec="R5, R6",
    example=_add_example(
        '"anchors": ["§42"]', '"anchors": ["§42"],\n' + ",\n".join(f'"k{n}": 1' for n in range(60))
    ),
)
UNKNOWN_FIELD = Code(
    id="UNKNOWN_FIELD",
    severity=WARNING,
    title="A field that the schema does not know",
    message="`{name}` is not a field of {where} and is left out.",
    fix="Use one of {known}, or put it into the prose.{suggestion}",
    why="The artifact has fixed fields; the rest of the delta is applied.",
    spec=_PAYLOAD_SPEC,
    example=_add_example('"anchors": ["§42"]', '"anchors": ["§42"],\n    "confidence": "high"'),
)
MISSING_RATIONALE = Code(
    id="MISSING_RATIONALE",
    severity=INFO,
    title="A delta without a rationale",
    message="The delta says nothing of why.",
    fix="Add `rationale`, a sentence.",
    why="A year later the reason for a change is what is looked for.",
    spec=f"{_FORMAT_SPEC}, Field Definitions",
    example=_edit_example(',\n  "rationale": "The assay became cheaper"', ""),
)
MALFORMED_ANCHOR = Code(
    id="MALFORMED_ANCHOR",
    severity=WARNING,
    title="An anchor that cannot be followed",
    message="`{anchor}` is not of a known form{reason}.",
    fix="Write `§42`, `§42-45`, `EV-001`, `EV-001#E1`, `inference`, `[inference]`, `[axiomatic]` "
    "or `[external: source]`.",
    why="An anchor is there to be followed to its source.",
    spec="companion, Anchors",
    also=("WH-002",),
    example=_add_example('"§42"', '"page 42"'),
)
MOJIBAKE_ANCHOR = Code(
    id="MOJIBAKE_ANCHOR",
    severity=WARNING,
    title="The section sign was garbled",
    message="`{anchor}` was `{right}` before its encoding was misread.",
    fix="Write `{right}`, and save the message as UTF-8.",
    why="The two bytes of `§` read in another encoding give `¬ß` or `Â§`. Text inside strings is "
    "never altered for you.",
    spec="companion, Anchors",
    also=("WH-002",),
    example=_add_example('"§42"', '"¬ß42"'),
)
UNKNOWN_REFERENCE = Code(
    id="UNKNOWN_REFERENCE",
    severity=WARNING,
    title="A reference to an unknown session or item",
    message="`{value}` {reason}.",
    fix="Correct the reference; otherwise it is kept as it is.",
    why="Sessions refer to each other before they meet in one project.",
    spec=f"{_FORMAT_SPEC}, Reference Validation; R21",
    example=Example("block", REFERENCES.replace('"T3"', '"Test 3"'), REFERENCES),
)
INVALID_LOCAL_ID = Code(
    id="INVALID_LOCAL_ID",
    severity=ERROR,
    title="A local name that cannot be used",
    message="`local_id` {reason}.",
    fix='Give an ADD a name of ASCII letters, digits, `_` and `-`, a letter first: `"local_id": '
    '"epi"`. Refer to it as `@epi`.',
    why="The name is how the author refers to an item that has no number yet.",
    spec="R11",
    example=_add_example('"target_id": null', '"target_id": null,\n  "local_id": "@epi"'),
)
DUPLICATE_LOCAL_ID = Code(
    id="DUPLICATE_LOCAL_ID",
    severity=ERROR,
    title="Two items with one local name",
    message="The local name `{name}` is taken by block {first} already.",
    fix="Give each new item a name of its own.",
    why="`@{name}` would mean two items.",
    spec="R11",
    example=Example(
        "message",
        delta_message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"'),
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"').replace("Cells", "All"),
        ),
        delta_message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"'),
            HYPOTHESIS.replace('"target_id": null', '"local_id": "two"').replace("Cells", "All"),
        ),
    ),
)
UNKNOWN_LOCAL_ID = Code(
    id="UNKNOWN_LOCAL_ID",
    severity=ERROR,
    title="A local name that no block of the message has",
    message="`{name}` in `{field_name}` names no item that this message adds.",
    fix='Add `"local_id"` with that name to the ADD that creates the item, or use the item\'s '
    "number.{suggestion}",
    why="A local name means something only in the message that introduces it.",
    spec="R11",
    example=Example("block", PREDICTION.replace('"H2"', '"@epi"'), PREDICTION),
)
DEPENDS_ON_REFUSED = Code(
    id="DEPENDS_ON_REFUSED",
    severity=ERROR,
    title="A delta about an item whose ADD is refused",
    message="`{name}` is added by block {first}, which is refused; so this block is, too.",
    fix="Mend block {first}; this one needs no change.",
    why="It would otherwise speak of an item that does not exist, or hit another one.",
    spec="R11",
    example=Example(
        "message",
        delta_message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"').replace("claim", "note"),
            PREDICTION.replace('"H2"', '"@epi"'),
        ),
        delta_message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"'),
            PREDICTION.replace('"H2"', '"@epi"'),
        ),
    ),
)

DELTA_FORMAT_CODES = (
    DELTA_NOT_AN_OBJECT,
    INVALID_OPERATION,
    INVALID_SECTION,
    OPERATION_NOT_ALLOWED,
    MISSING_REQUIRED_FIELD,
    MISSING_TARGET,
    INVALID_TARGET,
    TARGET_SECTION_MISMATCH,
    UNEXPECTED_TARGET,
    WRONG_TYPE,
    INVALID_VALUE,
    INVALID_RELATION,
    INVALID_ITEM_ID,
    EMPTY_EDIT,
    TOO_MANY_PROBLEMS,
    UNKNOWN_FIELD,
    MISSING_RATIONALE,
    MALFORMED_ANCHOR,
    MOJIBAKE_ANCHOR,
    UNKNOWN_REFERENCE,
    INVALID_LOCAL_ID,
    DUPLICATE_LOCAL_ID,
    UNKNOWN_LOCAL_ID,
    DEPENDS_ON_REFUSED,
)


# Delta blocks that are not JSON (delta_output_format, Failure Mode 4; ruling R5)


_JSON_SPEC = "delta_output_format_v0.1, Failure Mode 4; R5"
_JSON_ALSO = ("MB-005",)

_KILL_EXAMPLE = """\
{
  "operation": "KILL",
  "section": "hypothesis_slate",
  "target_id": "H2",
  "payload": {"reason": "refuted by T1"},
  "rationale": "T1 came out negative"
}"""


def _kill_example(old: str, new: str) -> Example:
    """An example whose wrong side is a sound block with one thing changed."""
    return Example("block", _KILL_EXAMPLE.replace(old, new), _KILL_EXAMPLE)


INVALID_JSON = Code(
    id="INVALID_JSON",
    severity=ERROR,
    title="The delta block is not JSON",
    message="The block is not JSON: {reason}.",
    fix="Mend the block at this line, and check it again before sending.",
    why="A block that cannot be read is refused whole; repairing it by guesswork could change "
    "what its author meant.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"section":', '"section"'),
)
JSON_TRAILING_COMMA = Code(
    id="JSON_TRAILING_COMMA",
    severity=ERROR,
    title="A comma before a closing bracket",
    message="A comma stands before the closing `{mark}`.",
    fix="Remove the comma.",
    why="JSON has commas between members only.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('negative"', 'negative",'),
)
JSON_COMMENT = Code(
    id="JSON_COMMENT",
    severity=ERROR,
    title="A comment in JSON",
    message="`{comment}` is a comment; JSON has none.",
    fix="Remove the comment; what it says can go into `rationale` or into the prose.",
    why="No JSON reader keeps comments, and strict ones refuse the text.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"H2",', '"H2",  // the gradient'),
)
JSON_SINGLE_QUOTES = Code(
    id="JSON_SINGLE_QUOTES",
    severity=ERROR,
    title="Single quotes instead of double quotes",
    message="{string} is in single quotes.",
    fix="Put keys and texts into double quotes.",
    why="JSON knows only double quotes.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"refuted by T1"', "'refuted by T1'"),
)
JSON_CURLY_QUOTES = Code(
    id="JSON_CURLY_QUOTES",
    severity=ERROR,
    title="Typographic quotes instead of straight ones",
    message="{string} is in typographic quotes.",
    fix='Put keys and texts into straight double quotes: `"`.',
    why="JSON knows only the straight double quote; editors like to change it.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"refuted by T1"', "“refuted by T1”"),
)
JSON_UNQUOTED_KEY = Code(
    id="JSON_UNQUOTED_KEY",
    severity=ERROR,
    title="A key without quotes",
    message="The key `{key}` is not in double quotes.",
    fix='Write `"{key}"`.',
    why="In JSON keys are strings.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"section"', "section"),
)
JSON_MISSING_COMMA = Code(
    id="JSON_MISSING_COMMA",
    severity=ERROR,
    title="A comma is missing",
    message="A comma is missing before {token}.",
    fix="Put a comma at the end of this line.",
    why="JSON has a comma between members.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"KILL",', '"KILL"'),
)
JSON_PYTHON_WORD = Code(
    id="JSON_PYTHON_WORD",
    severity=ERROR,
    title="A word of Python instead of JSON",
    message="`{word}` is Python; JSON has `{right}`.",
    fix="Write `{right}`.",
    why="JSON's words are `true`, `false` and `null`, in small letters.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('{"reason": "refuted by T1"}', "None"),
)
JSON_CONTROL_CHARACTER = Code(
    id="JSON_CONTROL_CHARACTER",
    severity=ERROR,
    title="A line break or control character inside a string",
    message="A raw {character} stands inside a string.",
    fix="Write `{right}` in its place.",
    why="A JSON string stands on one line; line breaks and tabs in it are escaped.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example("refuted by T1", "refuted\nby T1"),
)
JSON_ODD_BLANK = Code(
    id="JSON_ODD_BLANK",
    severity=ERROR,
    title="A blank that is none to JSON",
    message="`{character}` stands between the parts of the JSON: a blank to the eye only.",
    fix="Replace it by an ordinary blank.",
    why="No-break spaces and zero-width characters come in by copying from formatted pages.",
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example('"section": ', '"section":\u00a0'),
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
        _KILL_EXAMPLE.replace("refuted by T1", "refuted at \\tau = 3"),
        _KILL_EXAMPLE.replace("refuted by T1", "refuted at \\\\tau = 3"),
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
    spec=_JSON_SPEC,
    also=_JSON_ALSO,
    example=_kill_example("refuted by T1", "refuted by \\sigma"),
)
JSON_DUPLICATE_KEY = Code(
    id="JSON_DUPLICATE_KEY",
    severity=ERROR,
    title="A key stands twice in one object",
    message="The key `{key}` stands twice in one object.",
    fix="Keep one of the two.",
    why="Readers disagree on which one counts, so one of the two would be lost in silence.",
    spec="R5",
    also=_JSON_ALSO,
    example=_kill_example('"target_id": "H2"', '"target_id": "H1",\n  "target_id": "H2"'),
)
JSON_NOT_A_NUMBER = Code(
    id="JSON_NOT_A_NUMBER",
    severity=ERROR,
    title="NaN or Infinity",
    message="`{word}` is not a number of JSON.",
    fix="Leave the field out, or write a number.",
    why="JSON has only finite numbers.",
    spec="R5",
    also=_JSON_ALSO,
    example=_kill_example('{"reason": "refuted by T1"}', "NaN"),
)
JSON_LONE_SURROGATE = Code(
    id="JSON_LONE_SURROGATE",
    severity=ERROR,
    title="Half of a character",
    message="`{escape}` is one half of a character (a lone surrogate).",
    fix="Write the character itself, or both halves.",
    why="A lone half cannot be stored as UTF-8.",
    spec="R5",
    also=_JSON_ALSO,
    example=_kill_example("refuted by T1", "refuted \\ud83e"),
)
JSON_TOO_DEEP = Code(
    id="JSON_TOO_DEEP",
    severity=ERROR,
    title="JSON is nested too deeply",
    message="Objects and arrays are nested deeper than {most}.",
    fix="Flatten it: a delta needs four levels.",
    why="The limit holds before parsing, so that no block can exhaust the machine.",
    spec="R5",
    also=_JSON_ALSO,
    example=_kill_example('{"reason": "refuted by T1"}', "[" * 40 + "]" * 40),
)
JSON_NUMBER_TOO_LONG = Code(
    id="JSON_NUMBER_TOO_LONG",
    severity=ERROR,
    title="A number with too many digits",
    message="A number has {length} characters; the most is {most}.",
    fix="A delta's numbers are scores from 0 to 3; put long figures into text.",
    why="Reading very long numbers takes time that grows with the square of their length.",
    spec="R5",
    also=_JSON_ALSO,
    example=_kill_example('{"reason": "refuted by T1"}', "1" * 400),
)

JSON_CODES = (
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
