"""Lint rules about the discriminative tests (T)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_TESTS = "companion, The artifact; companion, Lint"
_SCORE = "companion, The artifact; companion, Lint; R6, R14"

ET_001 = Code(
    id="ET-001",
    severity=ERROR,
    title="Too few tests",
    message="Too few active tests: {count}; the least is {least}.",
    fix="Send an ADD to `discriminative_tests` with `name`, `procedure`, `discriminates` and "
    "`expected_outcomes`.",
    why="A single test leaves nothing to choose from, and if its assay fails nothing is left.",
    spec=_TESTS,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        "### T1: Early graft (Score: 9/12)\n…",
        "### T1: Early graft (Score: 9/12)\n…\n\n### T2: Division block (Score: 7/12)\n…",
    ),
)
ET_002 = Code(
    id="ET-002",
    severity=ERROR,
    title="A test has no procedure",
    message="`{id}` has no procedure.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) with `procedure`: what is done, and what "
    "is scored.",
    why="Nobody can run, cost or attack a test that is only a name.",
    spec=_TESTS,
    example=Example(
        "text",
        "### T1: Early graft (Score: 9/12)\n**Discriminates**: H1 vs H2",
        "### T1: Early graft (Score: 9/12)\n"
        "**Procedure**: Graft at the 8-cell stage; score fate at day 5.\n"
        "**Discriminates**: H1 vs H2",
    ),
)
ET_003 = Code(
    id="ET-003",
    severity=ERROR,
    title="A test has no expected outcomes",
    message="`{id}` has no expected outcomes.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) with `expected_outcomes`: for each "
    "hypothesis what it expects to be seen.",
    why="Outcomes that are written down afterwards fit every hypothesis.",
    spec=_TESTS,
    example=Example(
        "text",
        "**Procedure**: Graft at the 8-cell stage; score fate at day 5.",
        "**Procedure**: Graft at the 8-cell stage; score fate at day 5.\n"
        "**Expected outcomes**:\n- H1: old fate\n- H2: new fate",
    ),
)
WT_001 = Code(
    id="WT-001",
    severity=WARNING,
    title="A test has no potency check",
    message="`{id}` has no potency check.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) with `potency_check`: the control that "
    "shows that the assay could have seen the effect.",
    why="When nothing is seen, the hypothesis may be wrong or the assay dead. Only a control tells "
    "which.",
    spec=_TESTS,
    example=Example(
        "text",
        "**Expected outcomes**:\n- H1: old fate\n- H2: new fate",
        "**Expected outcomes**:\n- H1: old fate\n- H2: new fate\n"
        "**Potency check**: Grafts back to the old place develop normally.",
    ),
)
WT_002 = Code(
    id="WT-002",
    severity=WARNING,
    title="The tests are not ranked by score",
    message="`{id}` has a {score} score than `{other}` but stands {where} it.",
    fix="Move `{id}` {way}: highest score first, tests without a score last, equal ones by number. "
    "A compiled version is ranked already; its IDs stay as they are.",
    why="The first test is the one that gets run. The rule applies to files only.",
    spec=_SCORE,
    example=Example(
        "text",
        "### T1: Early graft (Score: 7/12)\n…\n\n### T2: Division block (Score: 9/12)\n…",
        "### T2: Division block (Score: 9/12)\n…\n\n### T1: Early graft (Score: 7/12)\n…",
    ),
)
WT_003 = Code(
    id="WT-003",
    severity=WARNING,
    title="A test's score lacks parts",
    message="The score of `{id}` lacks {missing}.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) that gives the missing parts under `score`: "
    "`likelihood_ratio`, `cost`, `speed` and `ambiguity`, each a whole number from 0 to 3.",
    why="Tests are ranked by the sum of the parts. One that lacks a part looks worse than it is.",
    spec=_SCORE,
    example=Example(
        "text",
        "**Evidence-per-week score**: LR=3, Cost=2",
        "**Evidence-per-week score**: LR=3, Cost=2, Speed=2, Ambiguity=2",
    ),
)
IT_001 = Code(
    id="IT-001",
    severity=INFO,
    title="A test does not say which hypotheses it tells apart",
    message="`{id}` names no hypothesis under **Discriminates**.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) with `discriminates`: the IDs that it "
    "tells apart, such as `H1 vs H2`.",
    why="With the IDs one can see which pairs of hypotheses no test separates yet.",
    spec=_TESTS,
    example=Example(
        "text", "**Discriminates**: the two main theories", "**Discriminates**: H1 vs H2"
    ),
)
IT_002 = Code(
    id="IT-002",
    severity=INFO,
    title="A test does not say whether it is feasible",
    message="`{id}` says nothing about feasibility.",
    fix="Send an EDIT (`discriminative_tests`, `{id}`) with `feasibility`: what it needs, and "
    "whether that is at hand.",
    why="The best test is of no use to a laboratory that cannot run it.",
    spec=_TESTS,
    example=Example(
        "text",
        "**Potency check**: Grafts back to the old place develop normally.",
        "**Potency check**: Grafts back to the old place develop normally.\n"
        "**Feasibility**: Standard micromanipulation, two weeks.",
    ),
)

CODES = (ET_001, ET_002, ET_003, WT_001, WT_002, WT_003, IT_001, IT_002)
