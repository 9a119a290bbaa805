"""Lint rules about the artifact's sections and item IDs (S)."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_SECTIONS = "companion, The artifact; companion, Lint"
_IDS = "companion, The artifact; companion, Lint; R14"

ES_001 = Code(
    id="ES-001",
    severity=ERROR,
    title="A section is missing",
    message="The section `{heading}` is missing.",
    fix="Add the heading `{heading}` in its place, word for word. All seven sections are always "
    "there, also empty ones.",
    why="A section that is absent may be empty or lost; nobody can tell. The rule applies to "
    "files only, as a compiled version has all seven.",
    spec=_SECTIONS,
    example=Example(
        "text",
        "## 4. Discriminative Tests\n…\n\n## 6. Anomaly Register\n…",
        "## 4. Discriminative Tests\n…\n\n## 5. Assumption Ledger\n…\n\n## 6. Anomaly Register\n…",
    ),
)
ES_002 = Code(
    id="ES-002",
    severity=ERROR,
    title="The sections are out of order",
    message="The section `{heading}` stands {where} `{other}` but belongs {place} it.",
    fix="Move `{heading}` with all its items to {place} `{other}`: the sections stand in the order "
    "of their numbers, 1 to 7.",
    why="Readers and programs find a section by its place. The rule applies to files only.",
    spec=_SECTIONS,
    example=Example(
        "text",
        "## 3. Predictions Table\n…\n\n## 2. Hypothesis Slate\n…",
        "## 2. Hypothesis Slate\n…\n\n## 3. Predictions Table\n…",
    ),
)
ES_003 = Code(
    id="ES-003",
    severity=ERROR,
    title="An item ID is malformed",
    message="`{id}` in the section `{section}` has no well-formed item ID: {reason}.",
    fix="Write the section's own prefix and a number, with nothing between: `H1` for a "
    "hypothesis, `T1` for a test, `A1` for an assumption, `X1` for an anomaly, `C1` for a "
    "critique.",
    why="Deltas, predictions and other sessions find an item by its ID. One in another form "
    "cannot be addressed.",
    spec=_IDS,
    example=Example("text", "### H-01: Lineage counting", "### H1: Lineage counting"),
)
ES_004 = Code(
    id="ES-004",
    severity=ERROR,
    title="An item ID is used twice",
    message="More than one item has the ID `{id}`.",
    fix="Give `{id}` back to the item that has it in the published version. Send the other one as "
    "an ADD: the compiler gives it the next free ID.",
    why="An ID means the same item for ever. Where two items share one, every delta and every "
    "reference that names it is a guess.",
    spec=_IDS,
    example=Example(
        "text",
        "### H1: Lineage counting\n…\n\n### H1: Gradient reading\n…",
        "### H1: Lineage counting\n…\n\n### H2: Gradient reading\n…",
    ),
)
WS_001 = Code(
    id="WS-001",
    severity=WARNING,
    title="The numbering has a gap",
    message="The section `{section}` has no {missing}, though it has `{id}`.",
    fix="Bring the item back from an earlier version of the file. To take an item out send a "
    "KILL: it then stays in its place, struck through.",
    why="IDs are given in order and nothing is ever deleted, so a gap means that an item was "
    "lost, and with it the reason why it was dropped.",
    spec=_IDS,
    example=Example(
        "text",
        "### H1: Lineage counting\n…\n\n### H3: Epigenetic memory\n…",
        "### H1: Lineage counting\n…\n\n### ~~H2: Gradient reading~~ [KILLED]\n…\n\n"
        "### H3: Epigenetic memory\n…",
    ),
)

CODES = (ES_001, ES_002, ES_003, ES_004, WS_001)
