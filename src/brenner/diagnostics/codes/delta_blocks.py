"""Codes for delta blocks: where they begin and end, and what only looks like one (R4, R5)."""

from brenner.diagnostics.codes.examples import EDIT, HYPOTHESIS, PREDICTION, message
from brenner.diagnostics.model import ERROR, INFO, Code, Example

_DOCUMENT = "delta_output_format_v0.1"

UNCLOSED_FENCE = Code(
    id="UNCLOSED_FENCE",
    severity=ERROR,
    title="A delta block that is never closed",
    message="The delta block that begins here is never closed{cut}.",
    fix="Send the whole block, and end it with a line that holds {fence} and nothing else.",
    why="Without its end nobody can say what belongs to the block; a cut-off message looks just "
    "like this.",
    spec="R4",
    example=Example("message", message(HYPOTHESIS)[:-4], message(HYPOTHESIS)),
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
    spec=f"{_DOCUMENT}, Multiple Deltas in One Message",
    also=("MB-005",),
    example=Example(
        "message",
        message(f"{HYPOTHESIS}\n{PREDICTION}"),
        message(HYPOTHESIS, PREDICTION),
    ),
)
INLINE_DELTA = Code(
    id="INLINE_DELTA",
    severity=INFO,
    title="A delta outside a delta block",
    message="This looks like a delta, but {where}; it will not be compiled.",
    fix="Put it into a fenced block that begins with ```delta, if it is a contribution.",
    why="Only delta blocks are compiled; what looks like one must not be lost in silence.",
    spec=f"{_DOCUMENT}, Failure Mode 1; R4",
    example=Example(
        "message",
        message(EDIT) + "\n" + HYPOTHESIS + "\n",
        message(EDIT, HYPOTHESIS),
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
        message(EDIT) + "\n~~~markdown\n```delta\n" + HYPOTHESIS + "\n```\n~~~\n",
        message(EDIT, HYPOTHESIS),
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
        message(EDIT) + "\n> ```delta\n> {}\n> ```\n",
        message(EDIT),
    ),
)

CODES = (
    UNCLOSED_FENCE,
    TOO_MANY_BLOCKS,
    BLOCK_TOO_LARGE,
    SEVERAL_DELTAS_IN_BLOCK,
    INLINE_DELTA,
    SWALLOWED_DELTA,
    QUOTED_DELTA,
)
