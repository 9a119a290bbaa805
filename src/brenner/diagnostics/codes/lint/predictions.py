"""Lint rules about the predictions table (P)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_TABLE = "companion, The artifact; companion, Lint"

_HEAD = "| ID | Observation/Condition | H1 | H2 | H3 |\n|---|---|---|---|---|\n"

EP_001 = Code(
    id="EP-001",
    severity=ERROR,
    title="Too few predictions",
    message="Too few active rows in the predictions table: {count}; the least is {least}.",
    fix="Send an ADD to `predictions_table` with `condition` and, under `predictions`, what each "
    "hypothesis expects.",
    why="Hypotheses differ only in what they predict. With fewer rows some of them cannot be told "
    "apart.",
    spec=_TABLE,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        _HEAD + "| P1 | Early graft | old fate | new fate | new fate |\n"
        "| P2 | Late graft | old fate | new fate | old fate |",
        _HEAD + "| P1 | Early graft | old fate | new fate | new fate |\n"
        "| P2 | Late graft | old fate | new fate | old fate |\n"
        "| P3 | Division blocked | no fate | fate | indeterminate |",
    ),
)
EP_002 = Code(
    id="EP-002",
    severity=ERROR,
    title="The predictions table has no ID column",
    message="The predictions table has no `ID` column.",
    fix="Make `ID` the first column and give each row the ID that it has in the published version.",
    why="A prediction is edited, killed and cited by its ID. The rule applies to files only, as a "
    "compiled version has the column.",
    spec=_TABLE,
    example=Example(
        "text",
        "| Observation/Condition | H1 | H2 |\n|---|---|---|\n| Early graft | old | new |",
        "| ID | Observation/Condition | H1 | H2 |\n|---|---|---|---|\n"
        "| P1 | Early graft | old | new |",
    ),
)
EP_003 = Code(
    id="EP-003",
    severity=ERROR,
    title="A hypothesis has no column in the predictions table",
    message="The predictions table has no column for `{id}`.",
    fix="Add the column `{id}`. To fill it, send an EDIT (`predictions_table`) for each row with "
    'what the hypothesis expects: `"predictions": {{"{id}": "…"}}`.',
    why="A hypothesis without a column is never at risk: no observation can speak against it.",
    spec=_TABLE,
    example=Example(
        "text",
        "| ID | Observation/Condition | H1 | H2 |\n|---|---|---|---|\n"
        "| P1 | Early graft | old fate | new fate |",
        _HEAD + "| P1 | Early graft | old fate | new fate | indeterminate |",
    ),
)
WP_001 = Code(
    id="WP-001",
    severity=WARNING,
    title="All hypotheses predict the same",
    message="All cells of `{id}` {say}.",
    fix="Send an EDIT (`predictions_table`, `{id}`) that makes `predictions` say where the "
    "hypotheses differ, or a KILL with a `reason` if they do not.",
    why="An observation that every hypothesis expects decides nothing. Cells that only use other "
    "words for the same thing are for people to find.",
    spec=_TABLE,
    example=Example(
        "text",
        _HEAD + "| P1 | Early graft | survives | survives | survives |",
        _HEAD + "| P1 | Early graft | old fate | new fate | mixed fate |",
    ),
)
WP_002 = Code(
    id="WP-002",
    severity=WARNING,
    title="The ID of a prediction is malformed",
    message="`{id}` in the predictions table has no well-formed ID: {reason}.",
    fix="Write `P` and the number that the row has in the published version, such as `P1`.",
    why="A row in another form cannot be the target of a delta.",
    spec=_TABLE,
    example=Example(
        "text",
        _HEAD + "| 1 | Early graft | old fate | new fate | indeterminate |",
        _HEAD + "| P1 | Early graft | old fate | new fate | indeterminate |",
    ),
)
IP_001 = Code(
    id="IP-001",
    severity=INFO,
    title="A cell of the third alternative says nothing",
    message="The third alternative's cell `{cell}` says nothing.",
    fix="Send an EDIT (`predictions_table`, `{id}`) that gives this cell, under `predictions`, "
    "what the third alternative expects, or the word `indeterminate` where it expects nothing.",
    why="An empty cell may be forgotten or meant. The word tells which, and keeps in view how "
    "little a third alternative may predict.",
    spec=_TABLE,
    example=Example(
        "text",
        _HEAD + "| P1 | Early graft | old fate | new fate | |",
        _HEAD + "| P1 | Early graft | old fate | new fate | indeterminate |",
    ),
)

CODES = (EP_001, EP_002, EP_003, WP_001, WP_002, IP_001)
