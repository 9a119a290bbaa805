"""Lint rules about front matter, sections, IDs, the research thread and cross-references."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_FRONT_MATTER_SPEC = "companion, The artifact; companion, Lint; R18"

EM_001 = Code(
    id="EM-001",
    severity=ERROR,
    title="The front matter is missing or cannot be read",
    message="The front matter {state}: {reason}.",
    fix="{mend}: the file begins with a line `---`, then `session_id` and the other fields, each "
    "`key: value` on a line of its own, then a line `---`.",
    why="The front matter says which session and which version the file is. Without it a file "
    "that was copied or renamed is nobody's. The rule applies to files only.",
    spec=_FRONT_MATTER_SPEC,
    example=Example(
        "text",
        "# Brenner Protocol Artifact: RS-20251230-cell-fate",
        '---\nsession_id: "RS-20251230-cell-fate"\nversion: 3\n'
        'created_at: "2025-12-30T10:00:00Z"\nstatus: active\n---\n\n'
        "# Brenner Protocol Artifact: RS-20251230-cell-fate",
    ),
)
EM_002 = Code(
    id="EM-002",
    severity=ERROR,
    title="The front matter has no session ID",
    message="The front matter has no `session_id`.",
    fix="Add the line `session_id` with the thread ID of the session, the same as in the title "
    "and in the file's name.",
    why="The session ID leads from the file back to the mail that it was compiled from.",
    spec=_FRONT_MATTER_SPEC,
    example=Example(
        "text",
        "---\nversion: 3\nstatus: active\n---",
        '---\nsession_id: "RS-20251230-cell-fate"\nversion: 3\nstatus: active\n---',
    ),
)
EM_003 = Code(
    id="EM-003",
    severity=ERROR,
    title="The time of creation is missing or not in ISO 8601",
    message="`created_at` in the front matter is not a time in ISO 8601: {reason}.",
    fix="Write the time of the thread's first message, with its zone, as in "
    '`created_at: "2025-12-30T10:00:00Z"`.',
    why="Sessions are listed and compared by their times. A date in a local form means different "
    "days to different readers.",
    spec=_FRONT_MATTER_SPEC,
    example=Example(
        "text", 'created_at: "30.12.2025, 10:00"', 'created_at: "2025-12-30T10:00:00Z"'
    ),
)
EM_004 = Code(
    id="EM-004",
    severity=ERROR,
    title="The status is missing or not one of the three",
    message="`status` in the front matter is not one of `draft`, `active`, `closed`: {reason}.",
    fix="Write `status: draft` while lint has errors, `active` when it has none, `closed` when "
    "the session is complete.",
    why="The status tells a reader whether the artifact can be relied on and whether more is to "
    "come. A word of one's own says neither to a program.",
    spec=_FRONT_MATTER_SPEC,
    example=Example("text", "status: final", "status: closed"),
)
WM_001 = Code(
    id="WM-001",
    severity=WARNING,
    title="No contributors are listed",
    message="The front matter lists no `contributors`.",
    fix="List the shorthands of the models that contributed, one to a line, as in their "
    "`DELTA[…]` subjects.",
    why="A reader wants to know whose work this is. The mail knows it, but the file may travel "
    "without the mail.",
    spec=_FRONT_MATTER_SPEC,
    example=Example("text", "contributors: []", "contributors:\n  - opus\n  - gpt"),
)
WM_002 = Code(
    id="WM-002",
    severity=WARNING,
    title="The last change is before the creation",
    message="`updated_at` ({updated_at}) is before `created_at` ({created_at}).",
    fix="Set `created_at` to the time of the first message and `updated_at` to that of the last "
    "one applied.",
    why="Nothing changes before it exists: one of the two times is wrong, and with it every list "
    "that is sorted by it.",
    spec=_FRONT_MATTER_SPEC,
    example=Example(
        "text",
        'created_at: "2025-12-30T10:00:00Z"\nupdated_at: "2025-12-29T18:00:00Z"',
        'created_at: "2025-12-30T10:00:00Z"\nupdated_at: "2025-12-30T14:00:00Z"',
    ),
)
IM_001 = Code(
    id="IM-001",
    severity=INFO,
    title="The session ID is not a valid thread ID",
    message="`session_id` in the front matter names no thread: {reason}",
    fix="Write the ID of the thread that the artifact was compiled from, letter for "
    "letter.{suggestion}",
    why="The session ID, the thread and the file's name are one and the same ID. One that is not "
    "valid leads to no thread. `brenner explain INVALID_RS_THREAD_ID` tells the form.",
    spec="companion, Lint; R1",
    example=Example(
        "text", 'session_id: "RS-20251230-Cell_Fate"', 'session_id: "RS-20251230-cell-fate"'
    ),
)
IM_002 = Code(
    id="IM-002",
    severity=INFO,
    title="The version is not an integer",
    message="`version` in the front matter is not an integer: {reason}.",
    fix="Write the number of the COMPILED message alone, without `v` and quotes.",
    why="Versions count 1, 2, 3. Only as numbers can they be compared, so that a newer file is "
    "never written over by an older version.",
    spec="companion, Lint; R17",
    example=Example("text", 'version: "v3"', "version: 3"),
)

METADATA_CODES = (EM_001, EM_002, EM_003, EM_004, WM_001, WM_002, IM_001, IM_002)


# Sections and item IDs (S)


_SECTION_SPEC = "companion, The artifact; companion, Lint"
_ITEM_ID_SPEC = "companion, The artifact; companion, Lint; R14"

ES_001 = Code(
    id="ES-001",
    severity=ERROR,
    title="A section is missing",
    message="The section `{heading}` is missing.",
    fix="Add the heading `{heading}` in its place, word for word. All seven sections are always "
    "there, also empty ones.",
    why="A section that is absent may be empty or lost; nobody can tell. The rule applies to "
    "files only, as a compiled version has all seven.",
    spec=_SECTION_SPEC,
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
    spec=_SECTION_SPEC,
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
    spec=_ITEM_ID_SPEC,
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
    spec=_ITEM_ID_SPEC,
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
    spec=_ITEM_ID_SPEC,
    example=Example(
        "text",
        "### H1: Lineage counting\n…\n\n### H3: Epigenetic memory\n…",
        "### H1: Lineage counting\n…\n\n### ~~H2: Gradient reading~~ [KILLED]\n…\n\n"
        "### H3: Epigenetic memory\n…",
    ),
)

STRUCTURE_CODES = (ES_001, ES_002, ES_003, ES_004, WS_001)


# The research thread (R)


_RESEARCH_THREAD_SPEC = "companion, The artifact; companion, Lint; R15"

ER_001 = Code(
    id="ER-001",
    severity=ERROR,
    title="The research thread has no question",
    message="The research thread has no question (**RT**).",
    fix="Send an EDIT (`research_thread`, `RT`) with `statement`: one sentence that an "
    "observation could answer with no.",
    why="Everything else in the artifact answers this question. Whether it can be proved wrong is "
    "for people to judge; the rule only sees that there is one.",
    spec=_RESEARCH_THREAD_SPEC,
    example=Example(
        "text",
        "## 1. Research Thread\n\n**Context**: Transplanted cells keep their fate.",
        "## 1. Research Thread\n\n**RT**: Do cells fix their fate by counting divisions?\n"
        "**Context**: Transplanted cells keep their fate.",
    ),
)
ER_002 = Code(
    id="ER-002",
    severity=ERROR,
    title="The research thread has no context",
    message="The research thread has no context.",
    fix="Send an EDIT (`research_thread`, `RT`) with `context`: two to four sentences on what is "
    "known and what is in dispute.",
    why="Agents and later readers have only the artifact. Without the background they cannot see "
    "why the question is open.",
    spec=_RESEARCH_THREAD_SPEC,
    example=Example(
        "text",
        "**RT**: Do cells fix their fate by counting divisions?",
        "**RT**: Do cells fix their fate by counting divisions?\n"
        "**Context**: Transplanted cells keep their fate late, but not early.",
    ),
)
WR_001 = Code(
    id="WR-001",
    severity=WARNING,
    title="The research thread has no anchors",
    message="The research thread has no anchors.",
    fix="Send an EDIT (`research_thread`, `RT`) with `anchors`: the sections that the question "
    'comes from, such as `["§42"]`, or `["inference"]` where there is no source.',
    why="Anchors let a reader go back to the source and see whether the question was in it.",
    spec="companion, Anchors; companion, Lint",
    also=("WP-P01",),
    example=Example(
        "text",
        "**RT**: Do cells fix their fate by counting divisions?",
        "**RT**: Do cells fix their fate by counting divisions?\n**Anchors**: §42, §57",
    ),
)
IR_001 = Code(
    id="IR-001",
    severity=INFO,
    title="The research thread does not say why it matters",
    message="The research thread does not say why it matters.",
    fix="Send an EDIT (`research_thread`, `RT`) with `why_it_matters`: what would change with the "
    "answer.",
    why="Tests cost time and money. Whoever chooses among them wants to know what the answer is "
    "worth.",
    spec=_RESEARCH_THREAD_SPEC,
    example=Example(
        "text",
        "**RT**: Do cells fix their fate by counting divisions?",
        "**RT**: Do cells fix their fate by counting divisions?\n"
        "**Why it matters**: If they do, grafts must be timed by division, not by day.",
    ),
)

RESEARCH_THREAD_CODES = (ER_001, ER_002, WR_001, IR_001)


# Provenance, and references from one section to another


_ANCHOR_SPEC = "companion, Anchors; companion, Lint"
_CROSS_SECTION_SPEC = "companion, The artifact; companion, Lint"

EP_P01 = Code(
    id="EP-P01",
    severity=ERROR,
    title="A section that is cited does not exist in the source text",
    message="`{id}` cites {value}, which the source text `{path}` does not have.",
    fix="Look the passage up in the source text and send an EDIT of `{id}` with the right anchors; "
    "`anchors_replace` set to true takes the wrong one out.",
    why="A wrong number sends readers to another passage, or shows that nobody read it. The rule "
    "needs a source text (`brenner artifact lint --source-text FILE`). As that file is outside the "
    "thread, the rule does not keep an artifact at `draft`.",
    spec="companion, Anchors; companion, Lint; R18",
    example=Example("text", "**Anchors**: §1421", "**Anchors**: §142"),
)
WP_P01 = Code(
    id="WP-P01",
    severity=WARNING,
    title="A claim does not say where it comes from",
    message="`{id}` makes a claim and does not say where it comes from.",
    fix="Send an EDIT of `{id}` that names the source in the sentence: `§42`, `EV-001`, "
    "`[inference]`, `[axiomatic]` or `[external: source]`. Hypotheses and the research thread have "
    "`anchors` for it.",
    why="A reader must be able to tell a reported fact from a guess. Whether the source bears the "
    "claim out is for people to judge.",
    spec=_ANCHOR_SPEC,
    example=Example(
        "text",
        "**Statement**: The gradient keeps its shape for a day.",
        "**Statement**: The gradient keeps its shape for a day (§161).",
    ),
)
WP_P02 = Code(
    id="WP-P02",
    severity=WARNING,
    title="An inference does not name what it was inferred from",
    message="`{id}` is an inference and does not name what it was inferred from.",
    fix="Send an EDIT of `{id}` with the anchors that it was reasoned from, then `[inference]`: "
    '`"anchors": ["§42", "§57 [inference]"]`, and `anchors_replace` set to true.',
    why="Others can follow an inference only from its premises. Where there are none it is a "
    "guess, which is allowed, and the warning stays as a reminder.",
    spec=_ANCHOR_SPEC,
    example=Example("text", "**Anchors**: inference", "**Anchors**: §42, §57 [inference]"),
)
WS_101 = Code(
    id="WS-101",
    severity=WARNING,
    title="Anchors are written in more than one way",
    message="Anchors are written in more than one way: `{value}` here, `{other}` in `{first}`.",
    fix="Choose one form, say `§42-45`, and send an EDIT (`{section}`, `{id}`) with the whole list "
    "under `anchors`, and `anchors_replace` set to true.",
    why="Two spellings of one anchor look like two sources, and a search finds only one of them.",
    spec=_ANCHOR_SPEC,
    example=Example("text", "**Anchors**: §42-45, §50-§53", "**Anchors**: §42-45, §50-53"),
)
WS_102 = Code(
    id="WS-102",
    severity=WARNING,
    title="An item that is referred to does not exist",
    message="`{id}` refers to `{other}`, which is not in the artifact.",
    fix="Send an EDIT of `{id}` with an ID that exists, or an ADD of what is missing. "
    "`conflicts_with_replace` or `references_replace` set to true takes the wrong ID out.",
    why="A reference to nothing hides what was meant, and a later reader cannot guess it.",
    spec=_CROSS_SECTION_SPEC,
    example=Example(
        "text",
        "### X1: Late switchers\n**Conflicts with**: A12",
        "### X1: Late switchers\n**Conflicts with**: A2",
    ),
)
WS_103 = Code(
    id="WS-103",
    severity=WARNING,
    title="Two hypotheses have the same name",
    message="`{id}` and `{other}` have the same name, `{name}`.",
    fix="Send an EDIT (`hypothesis_slate`, `{id}`) with a `name` that tells them apart, or a KILL "
    "if they are the same.",
    why="People speak of hypotheses by name. Two of one name are confused, or are one idea counted "
    "twice.",
    spec=_CROSS_SECTION_SPEC,
    example=Example(
        "text",
        "### H1: Lineage\n…\n\n### H4: Lineage\n…",
        "### H1: Lineage counting\n…\n\n### H4: Lineage by inherited marks\n…",
    ),
)
WP_101 = Code(
    id="WP-101",
    severity=WARNING,
    title="A prediction is for a hypothesis that does not exist",
    message="`{id}` has a prediction for `{other}`, which is not a hypothesis of the slate.",
    fix="Send an EDIT (`predictions_table`, `{id}`) with the right IDs as keys of `predictions`, "
    "and `predictions_replace` set to true, or an ADD of the hypothesis.",
    why="A cell for no hypothesis is evidence for nothing.",
    spec=_CROSS_SECTION_SPEC,
    example=Example(
        "text",
        "| ID | Observation/Condition | H1 | H9 |\n|---|---|---|---|\n| P1 | Early graft | a | b |",
        "| ID | Observation/Condition | H1 | H2 |\n|---|---|---|---|\n| P1 | Early graft | a | b |",
    ),
)
WT_101 = Code(
    id="WT-101",
    severity=WARNING,
    title="A test names a hypothesis that does not exist",
    message="`{id}` names `{other}`, which is not a hypothesis of the slate.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) with the right IDs in `discriminates` and "
    "as keys of `expected_outcomes`; `expected_outcomes_replace` set to true takes the wrong ones "
    "out.",
    why="A test between a hypothesis and nothing decides nothing.",
    spec=_CROSS_SECTION_SPEC,
    example=Example("text", "**Discriminates**: H1 vs H9", "**Discriminates**: H1 vs H2"),
)
WA_101 = Code(
    id="WA-101",
    severity=WARNING,
    title="A scale check has no numbers in it",
    message="`{id}` is marked as a scale check but has no numbers in it.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) whose `calculation` gives the quantities with "
    "their units and the result.",
    why="Fast, small and enough are opinions until there is a number. Whether the numbers are "
    "right is for people to judge.",
    spec=_CROSS_SECTION_SPEC,
    example=Example(
        "text",
        "**Calculation**: Diffusion is fast enough.\n**Scale check**: true",
        "**Calculation**: (100 µm)² / (2 · 10 µm²/s) = 500 s\n**Scale check**: true",
    ),
)

CROSS_SECTION_CODES = (EP_P01, WP_P01, WP_P02, WS_101, WS_102, WS_103, WP_101, WT_101, WA_101)
