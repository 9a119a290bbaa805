"""Lint rules about the hypothesis slate (H)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_SLATE = "companion, The artifact; companion, Lint"
_LIMIT = "companion, The artifact; companion, Lint; R14"
_ANCHORS = "companion, Anchors; companion, Lint"

EH_001 = Code(
    id="EH-001",
    severity=ERROR,
    title="Too few hypotheses",
    message="Too few active hypotheses: {count}; the least is {least}.",
    fix="Send an ADD to `hypothesis_slate` with `name`, `claim`, `mechanism` and `anchors`.",
    why="With one or two explanations there is nothing to tell apart, and the answer tends to be "
    "the one that everybody had before.",
    spec=_LIMIT,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        "### H1: Lineage counting\n…\n\n### H2: Gradient reading\n…",
        "### H1: Lineage counting\n…\n\n### H2: Gradient reading\n…\n\n"
        "### H3: Fate is never fixed (Third Alternative)\n…",
    ),
)
EH_002 = Code(
    id="EH-002",
    severity=ERROR,
    title="Too many hypotheses",
    message="Too many active hypotheses: {count}; the most is {most}.",
    fix="Send a KILL (`hypothesis_slate`) with a `reason` for each one that another one covers or "
    "a test has ruled out. Killed ones do not count.",
    why="Every test has to say something about every hypothesis. Beyond six nobody does that any "
    "more.",
    spec=_LIMIT,
    example=Example(
        "text",
        "### H1: …\n### H2: …\n### H3: …\n### H4: …\n### H5: …\n### H6: …\n### H7: …",
        "### H1: …\n### ~~H2: …~~ [KILLED]\n### H3: …\n### H4: …\n### H5: …\n### H6: …\n### H7: …",
    ),
)
EH_003 = Code(
    id="EH-003",
    severity=ERROR,
    title="No third alternative is labelled",
    message="No active hypothesis is labelled as the third alternative.",
    fix="Send an ADD to `hypothesis_slate` with `third_alternative` set to true, or an EDIT that "
    "sets it on the hypothesis that is one.",
    why="Two rival explanations may both be wrong. The slate must hold one that says so, or a "
    "test between the two proves nothing.",
    spec=_LIMIT,
    also=("NO_THIRD_ALTERNATIVE",),
    example=Example(
        "text",
        "### H3: Fate is never fixed\n**Claim**: Both cues only bias a reversible state.",
        "### H3: Fate is never fixed (Third Alternative)\n"
        "**Claim**: Both cues only bias a reversible state.\n**Third alternative**: true",
    ),
)
EH_004 = Code(
    id="EH-004",
    severity=ERROR,
    title="A hypothesis has no claim",
    message="`{id}` has no claim.",
    fix="Send an EDIT (`hypothesis_slate`, `{id}`) with `claim`: one sentence that could be wrong.",
    why="A name alone predicts nothing, so nothing can count against it.",
    spec=_SLATE,
    example=Example(
        "text",
        "### H1: Lineage counting\n**Mechanism**: A dilution timer.",
        "### H1: Lineage counting\n**Claim**: Cells fix their fate after a set number of "
        "divisions.\n**Mechanism**: A dilution timer.",
    ),
)
WH_001 = Code(
    id="WH-001",
    severity=WARNING,
    title="A hypothesis has no anchors",
    message="`{id}` has no anchors.",
    fix="Send an EDIT (`hypothesis_slate`, `{id}`) with `anchors`: the sections that it comes "
    'from, such as `["§42"]`, or `["inference"]` where there is no source.',
    why="Without anchors a reader cannot tell what the source says from what was made up.",
    spec=_ANCHORS,
    also=("WP-P01",),
    example=Example(
        "text",
        "### H2: Gradient reading\n**Claim**: Cells read their position.",
        "### H2: Gradient reading\n**Claim**: Cells read their position.\n**Anchors**: §161",
    ),
)
WH_002 = Code(
    id="WH-002",
    severity=WARNING,
    title="An anchor is malformed",
    message="`{id}` has an anchor that is not well formed, `{value}`: {reason}.",
    fix="Write `§42`, `§42-45`, `EV-001`, `EV-001#E1`, `inference`, `[axiomatic]` or "
    "`[external: source]`. Send an EDIT (`{section}`, `{id}`) with the whole list under "
    "`anchors`, and `anchors_replace` set to true.{suggestion}",
    why="An anchor in another form leads nowhere, and no program can check that its section "
    "exists.",
    spec=_ANCHORS,
    example=Example("text", "**Anchors**: sec. 161, §212-205", "**Anchors**: §161, §205-212"),
)
WH_003 = Code(
    id="WH-003",
    severity=WARNING,
    title="A pure inference is not labelled in the item",
    message="`{id}` rests on inference alone, but nothing in it says `[inference]`.",
    fix="Send an EDIT (`hypothesis_slate`, `{id}`) whose `claim` or `mechanism` says "
    "`[inference]` after the sentence, or name a source under `anchors`.",
    why="Sentences are quoted without their anchors. The label goes with them, so that a guess is "
    "not taken for a finding.",
    spec=_ANCHORS,
    example=Example(
        "text",
        "**Claim**: Cells inherit their chromatin state.\n**Anchors**: inference",
        "**Claim**: Cells inherit their chromatin state. [inference]\n**Anchors**: inference",
    ),
)
IH_001 = Code(
    id="IH-001",
    severity=INFO,
    title="A hypothesis has no mechanism",
    message="`{id}` has no mechanism.",
    fix="Send an EDIT (`hypothesis_slate`, `{id}`) with `mechanism`: how it would work, step by "
    "step.",
    why="Predictions come from the mechanism. Without one it is hard to say what the hypothesis "
    "forbids.",
    spec=_SLATE,
    example=Example(
        "text",
        "### H1: Lineage counting\n**Claim**: Cells count their divisions.",
        "### H1: Lineage counting\n**Claim**: Cells count their divisions.\n"
        "**Mechanism**: A factor is halved at each division until it falls below a threshold.",
    ),
)

CODES = (EH_001, EH_002, EH_003, EH_004, WH_001, WH_002, WH_003, IH_001)
