"""Codes of the delta format: operations, targets, fields, names (rulings R6, R11)."""

from brenner.diagnostics.codes.examples import EDIT, HYPOTHESIS, PREDICTION, REFERENCES, message
from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_DOCUMENT = "delta_output_format_v0.1"
_FIELDS = f"{_DOCUMENT}, Payload Schemas by Section; R6"


def _add(old: str, new: str) -> Example:
    return Example("block", HYPOTHESIS.replace(old, new), HYPOTHESIS)


def _edit(old: str, new: str) -> Example:
    return Example("block", EDIT.replace(old, new), EDIT)


DELTA_NOT_AN_OBJECT = Code(
    id="DELTA_NOT_AN_OBJECT",
    severity=ERROR,
    title="The delta block does not hold one JSON object",
    message="The block holds {what}, not one JSON object.",
    fix="Write one object with `operation`, `section`, `target_id` and `payload` per block.",
    why="Each block is one operation, so that each can be applied or refused by itself.",
    spec=f"{_DOCUMENT}, Delta Block Format",
    example=Example("block", f"[{HYPOTHESIS}]", HYPOTHESIS),
)
INVALID_OPERATION = Code(
    id="INVALID_OPERATION",
    severity=ERROR,
    title="Not an operation",
    message="`{value}` is not an operation.",
    fix="Use `ADD`, `EDIT` or `KILL`.{suggestion}",
    why="The artifact changes by these three only; nothing is ever deleted.",
    spec=f"{_DOCUMENT}, Field Definitions",
    example=_add('"ADD"', '"CREATE"'),
)
INVALID_SECTION = Code(
    id="INVALID_SECTION",
    severity=ERROR,
    title="Not a section",
    message="`{value}` is not a section of the artifact.",
    fix="Use one of {known}.{suggestion}",
    why="The section decides which fields count and which numbers are given.",
    spec=f"{_DOCUMENT}, Valid Section Values; Failure Mode 2",
    example=_add('"hypothesis_slate"', '"hypotheses"'),
)
OPERATION_NOT_ALLOWED = Code(
    id="OPERATION_NOT_ALLOWED",
    severity=ERROR,
    title="The research thread can only be edited",
    message="{operation} is not possible on the research thread.",
    fix="Use `EDIT` with the target `RT`.",
    why="There is one question per session; it can be made more precise, not added or killed.",
    spec=f"{_DOCUMENT}, Valid Section Values; R6",
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
    spec=f"{_DOCUMENT}, Failure Mode 5; R6",
    example=_add('    "claim": "Cells inherit chromatin state",\n', ""),
)
MISSING_TARGET = Code(
    id="MISSING_TARGET",
    severity=ERROR,
    title="EDIT or KILL without a target",
    message="{operation} needs a `target_id`.",
    fix="Name the item: `{example}` for example, or `@name` for one that you add in this "
    "message.{suggestion}",
    why="The compiler does not guess which item is meant.",
    spec=f"{_DOCUMENT}, Failure Mode 3",
    example=_edit('"T1"', "null"),
)
INVALID_TARGET = Code(
    id="INVALID_TARGET",
    severity=ERROR,
    title="There is no such item",
    message="`{target}` {reason}.",
    fix="Use the ID of an item that exists (`{example}`).{suggestion}",
    why="A change to an item that does not exist cannot be applied, and must not hit another one.",
    spec=f"{_DOCUMENT}, Error Handling; R6, R11",
    example=_edit('"T1"', '"T1a"'),
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
    example=_edit('"T1"', '"H1"'),
)
UNEXPECTED_TARGET = Code(
    id="UNEXPECTED_TARGET",
    severity=ERROR,
    title="ADD with a target",
    message="ADD has the target `{target}`, but new items get their number from the compiler.",
    fix="Write `null` to add a new item, or `EDIT` to change `{target}`. To refer to a new item in "
    'the same message, give it a `"local_id"` and write `@name`.',
    why="Two agents who both add `H4` would otherwise overwrite each other.",
    spec=f"{_DOCUMENT}, Field Definitions; R6, R11",
    example=_add('"target_id": null', '"target_id": "H4"'),
)
WRONG_TYPE = Code(
    id="WRONG_TYPE",
    severity=ERROR,
    title="A value of the wrong type",
    message="`{name}` is {actual}; it should be {expected}.",
    fix="Write {expected}.{suggestion}",
    why="Turning one type into another by guesswork changes what was meant.",
    spec=_FIELDS,
    example=_add('["§42"]', "42"),
)
INVALID_VALUE = Code(
    id="INVALID_VALUE",
    severity=ERROR,
    title="A value outside the list",
    message="`{name}` is `{value}`, which is none of {expected}.",
    fix="Use one of {expected}.{suggestion}",
    why="Programs sort and count by this value.",
    spec=_FIELDS,
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
    spec=f"{_DOCUMENT}, Reference Relation Types; R6",
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
    example=_edit('{"score": {"likelihood_ratio": 2, "cost": 3}}', "{}"),
)
TOO_MANY_PROBLEMS = Code(
    id="TOO_MANY_PROBLEMS",
    severity=ERROR,
    title="Too many problems in one delta block",
    message="The block has {most} problems or more; the rest was not looked at.",
    fix="Mend what is listed, and check it again.",
    why="What was not looked at must not count as sound.",
    spec="R5, R6",
    example=_add(
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
    spec=_FIELDS,
    example=_add('"anchors": ["§42"]', '"anchors": ["§42"],\n    "confidence": "high"'),
)
MISSING_RATIONALE = Code(
    id="MISSING_RATIONALE",
    severity=INFO,
    title="A delta without a rationale",
    message="The delta says nothing of why.",
    fix="Add `rationale`, a sentence.",
    why="A year later the reason for a change is what is looked for.",
    spec=f"{_DOCUMENT}, Field Definitions",
    example=_edit(',\n  "rationale": "The assay became cheaper"', ""),
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
    example=_add('"§42"', '"page 42"'),
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
    example=_add('"§42"', '"¬ß42"'),
)
UNKNOWN_REFERENCE = Code(
    id="UNKNOWN_REFERENCE",
    severity=WARNING,
    title="A reference to an unknown session or item",
    message="`{value}` {reason}.",
    fix="Correct the reference; otherwise it is kept as it is.",
    why="Sessions refer to each other before they meet in one project.",
    spec=f"{_DOCUMENT}, Reference Validation; R21",
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
    example=_add('"target_id": null', '"target_id": null,\n  "local_id": "@epi"'),
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
        message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"'),
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"').replace("Cells", "All"),
        ),
        message(
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
        message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"').replace("claim", "note"),
            PREDICTION.replace('"H2"', '"@epi"'),
        ),
        message(
            HYPOTHESIS.replace('"target_id": null', '"local_id": "epi"'),
            PREDICTION.replace('"H2"', '"@epi"'),
        ),
    ),
)

CODES = (
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
