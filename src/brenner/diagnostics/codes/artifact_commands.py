"""Codes of the commands that look into a version: which item, and who set what."""

from brenner.diagnostics.model import ERROR, Code, Example

NO_SUCH_ITEM = Code(
    id="NO_SUCH_ITEM",
    severity=ERROR,
    title="The artifact does not have that item or field",
    message="{name} has no `{item}`.",
    fix="Give the ID of one of its items, such as `H2`{or_field}.{suggestion} "
    "`brenner artifact show {name}` shows all of them.",
    why="IDs are exact. An item that another version has may not be there yet in this one.",
    spec="companion, The artifact",
    example=Example(
        "text",
        "brenner artifact blame RS-20251230-cell-fate H9.claim",
        "brenner artifact blame RS-20251230-cell-fate H2.claim",
    ),
)
AUTHORS_NOT_KNOWN = Code(
    id="AUTHORS_NOT_KNOWN",
    severity=ERROR,
    title="Nobody can tell who set what in it",
    message="{name} says nothing about who set what: {reason}.",
    fix="Give a version whose mail is here, as `THREAD` or `THREAD@vN`; `brenner mail import` "
    "brings mail in.",
    why="Authors and refused blocks follow from the mail. The file holds only what came of it.",
    spec="R7, R10",
    example=Example(
        "text",
        "brenner artifact blame artifacts/RS-20251230-cell-fate.md\n(edited by hand)",
        "brenner artifact blame RS-20251230-cell-fate@v3",
    ),
)

CODES = (NO_SUCH_ITEM, AUTHORS_NOT_KNOWN)
