"""Lint rules about provenance, and about what one section says of another."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_ANCHORS = "companion, Anchors; companion, Lint"
_ACROSS = "companion, The artifact; companion, Lint"

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
    spec=_ANCHORS,
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
    spec=_ANCHORS,
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
    spec=_ANCHORS,
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
    spec=_ACROSS,
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
    spec=_ACROSS,
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
    spec=_ACROSS,
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
    spec=_ACROSS,
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
    spec=_ACROSS,
    example=Example(
        "text",
        "**Calculation**: Diffusion is fast enough.\n**Scale check**: true",
        "**Calculation**: (100 µm)² / (2 · 10 µm²/s) = 500 s\n**Scale check**: true",
    ),
)

CODES = (EP_P01, WP_P01, WP_P02, WS_101, WS_102, WS_103, WP_101, WT_101, WA_101)
