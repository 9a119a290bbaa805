"""Codes of following a session: where it stands, what was refused in it, its rounds."""

from brenner.diagnostics.model import ERROR, Code, Example

CANNOT_DISMISS = Code(
    id="CANNOT_DISMISS",
    severity=ERROR,
    title="There is nothing to dismiss",
    message="{what} of `{thread_id}` cannot be dismissed: {reason}.",
    fix="`brenner session status {thread_id}` lists the refused blocks that are open.",
    why="Only a refused block that nobody has corrected waits for a decision. To dismiss anything "
    "else would say of a contribution that it is not in the artifact, when it is.",
    spec="rulings, Small decisions: refused blocks",
    example=Example(
        "text",
        "brenner session dismiss RS-20251230-cell-fate 7.2\n(block 2 was applied)",
        "brenner session dismiss RS-20251230-cell-fate 7.3",
    ),
)

CODES = (CANNOT_DISMISS,)
