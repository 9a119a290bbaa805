"""Lint rules about the contents of single sections: H, P, T, A, X and C."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_HYPOTHESIS_SPEC = "companion, The artifact; companion, Lint"
_LIMIT_SPEC = "companion, The artifact; companion, Lint; R14"
_ANCHOR_SPEC = "companion, Anchors; companion, Lint"

EH_001 = Code(
    id="EH-001",
    severity=ERROR,
    title="Too few hypotheses",
    message="Too few active hypotheses: {count}; the least is {least}.",
    fix="Send an ADD to `hypothesis_slate` with `name`, `claim`, `mechanism` and `anchors`.",
    why="With one or two explanations there is nothing to tell apart, and the answer tends to be "
    "the one that everybody had before.",
    spec=_LIMIT_SPEC,
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
    spec=_LIMIT_SPEC,
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
    spec=_LIMIT_SPEC,
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
    spec=_HYPOTHESIS_SPEC,
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
    spec=_ANCHOR_SPEC,
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
    spec=_ANCHOR_SPEC,
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
    spec=_ANCHOR_SPEC,
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
    spec=_HYPOTHESIS_SPEC,
    example=Example(
        "text",
        "### H1: Lineage counting\n**Claim**: Cells count their divisions.",
        "### H1: Lineage counting\n**Claim**: Cells count their divisions.\n"
        "**Mechanism**: A factor is halved at each division until it falls below a threshold.",
    ),
)

HYPOTHESIS_CODES = (EH_001, EH_002, EH_003, EH_004, WH_001, WH_002, WH_003, IH_001)


# The predictions table (P)


_PREDICTION_SPEC = "companion, The artifact; companion, Lint"

_TABLE_HEAD = "| ID | Observation/Condition | H1 | H2 | H3 |\n|---|---|---|---|---|\n"

EP_001 = Code(
    id="EP-001",
    severity=ERROR,
    title="Too few predictions",
    message="Too few active rows in the predictions table: {count}; the least is {least}.",
    fix="Send an ADD to `predictions_table` with `condition` and, under `predictions`, what each "
    "hypothesis expects.",
    why="Hypotheses differ only in what they predict. With fewer rows some of them cannot be told "
    "apart.",
    spec=_PREDICTION_SPEC,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | new fate |\n"
        "| P2 | Late graft | old fate | new fate | old fate |",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | new fate |\n"
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
    spec=_PREDICTION_SPEC,
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
    spec=_PREDICTION_SPEC,
    example=Example(
        "text",
        "| ID | Observation/Condition | H1 | H2 |\n|---|---|---|---|\n"
        "| P1 | Early graft | old fate | new fate |",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | indeterminate |",
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
    spec=_PREDICTION_SPEC,
    example=Example(
        "text",
        _TABLE_HEAD + "| P1 | Early graft | survives | survives | survives |",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | mixed fate |",
    ),
)
WP_002 = Code(
    id="WP-002",
    severity=WARNING,
    title="The ID of a prediction is malformed",
    message="`{id}` in the predictions table has no well-formed ID: {reason}.",
    fix="Write `P` and the number that the row has in the published version, such as `P1`.",
    why="A row in another form cannot be the target of a delta.",
    spec=_PREDICTION_SPEC,
    example=Example(
        "text",
        _TABLE_HEAD + "| 1 | Early graft | old fate | new fate | indeterminate |",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | indeterminate |",
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
    spec=_PREDICTION_SPEC,
    example=Example(
        "text",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | |",
        _TABLE_HEAD + "| P1 | Early graft | old fate | new fate | indeterminate |",
    ),
)

PREDICTION_CODES = (EP_001, EP_002, EP_003, WP_001, WP_002, IP_001)


# The discriminative tests (T)


_TEST_SPEC = "companion, The artifact; companion, Lint"
_SCORE_SPEC = "companion, The artifact; companion, Lint; R6, R14"

ET_001 = Code(
    id="ET-001",
    severity=ERROR,
    title="Too few tests",
    message="Too few active tests: {count}; the least is {least}.",
    fix="Send an ADD to `discriminative_tests` with `name`, `procedure`, `discriminates` and "
    "`expected_outcomes`.",
    why="A single test leaves nothing to choose from, and if its assay fails nothing is left.",
    spec=_TEST_SPEC,
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
    spec=_TEST_SPEC,
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
    spec=_TEST_SPEC,
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
    spec=_TEST_SPEC,
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
    spec=_SCORE_SPEC,
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
    spec=_SCORE_SPEC,
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
    spec=_TEST_SPEC,
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
    spec=_TEST_SPEC,
    example=Example(
        "text",
        "**Potency check**: Grafts back to the old place develop normally.",
        "**Potency check**: Grafts back to the old place develop normally.\n"
        "**Feasibility**: Standard micromanipulation, two weeks.",
    ),
)

TEST_CODES = (ET_001, ET_002, ET_003, WT_001, WT_002, WT_003, IT_001, IT_002)


# The assumption ledger (A)


_ASSUMPTION_SPEC = "companion, The artifact; companion, Lint"

EA_001 = Code(
    id="EA-001",
    severity=ERROR,
    title="Too few assumptions",
    message="Too few active assumptions: {count}; the least is {least}.",
    fix="Send an ADD to `assumption_ledger` with `name`, `statement`, `load`, `test` and `status`.",
    why="Every line of reasoning rests on more than it says. What is not written down is never "
    "checked.",
    spec=_ASSUMPTION_SPEC,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        "### A1: Stable gradient\n…\n\n### A2: Grafts heal\n…",
        "### A1: Stable gradient\n…\n\n### A2: Grafts heal\n…\n\n### A3: Diffusion is fast\n…",
    ),
)
EA_002 = Code(
    id="EA-002",
    severity=ERROR,
    title="No scale check",
    message="No active assumption is marked as a scale check.",
    fix="Send an ADD to `assumption_ledger` with `scale_check` set to true and the numbers under "
    "`calculation`, or an EDIT that gives both to the assumption that is one.",
    why="Many explanations fail on size, time or energy before any experiment. One check with "
    "numbers finds that out for nothing.",
    spec=_ASSUMPTION_SPEC,
    also=("NO_SCALE_CHECK",),
    example=Example(
        "text",
        "### A3: Diffusion is fast\n**Statement**: The signal crosses the tissue in time.",
        "### A3: Diffusion is fast\n**Statement**: The signal crosses the tissue in time.\n"
        "**Calculation**: (100 µm)² / (2 · 10 µm²/s) = 500 s\n**Scale check**: true",
    ),
)
EA_003 = Code(
    id="EA-003",
    severity=ERROR,
    title="An assumption has no statement",
    message="`{id}` has no statement.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `statement`: the sentence that is taken "
    "to be true.",
    why="A name does not say what is assumed, so nobody can check it.",
    spec=_ASSUMPTION_SPEC,
    example=Example(
        "text",
        "### A1: Stable gradient\n**Load**: H2 falls.",
        "### A1: Stable gradient\n**Statement**: The gradient keeps its shape for a day.\n"
        "**Load**: H2 falls.",
    ),
)
WA_001 = Code(
    id="WA-001",
    severity=WARNING,
    title="An assumption does not say what rests on it",
    message="`{id}` does not say what breaks if it is wrong (**Load**).",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `load`: the items that fall with it.",
    why="The load tells which assumption to check first.",
    spec=_ASSUMPTION_SPEC,
    example=Example(
        "text",
        "**Statement**: The gradient keeps its shape for a day.",
        "**Statement**: The gradient keeps its shape for a day.\n**Load**: H2 and T1 fall.",
    ),
)
WA_002 = Code(
    id="WA-002",
    severity=WARNING,
    title="An assumption does not say how to check it",
    message="`{id}` does not say how to check it (**Test**).",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `test`: the observation or the sum that "
    "would show it wrong.",
    why="An assumption that cannot be checked is a belief. It may stay, but one should know.",
    spec=_ASSUMPTION_SPEC,
    example=Example(
        "text",
        "**Load**: H2 and T1 fall.",
        "**Load**: H2 and T1 fall.\n**Test**: Image the gradient hourly for a day.",
    ),
)
WA_003 = Code(
    id="WA-003",
    severity=WARNING,
    title="A scale check has no calculation",
    message="`{id}` is marked as a scale check but has no calculation.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `calculation`: the quantities, their "
    "units and the result. Say under `implication` what follows from it.",
    why="Without the calculation nobody can repeat the check or find the slip in it.",
    spec=_ASSUMPTION_SPEC,
    example=Example(
        "text",
        "**Statement**: The signal crosses the tissue in time.\n**Scale check**: true",
        "**Statement**: The signal crosses the tissue in time.\n"
        "**Calculation**: (100 µm)² / (2 · 10 µm²/s) = 500 s\n**Scale check**: true",
    ),
)
IA_001 = Code(
    id="IA-001",
    severity=INFO,
    title="The status of an assumption is missing or not valid",
    message="The status of `{id}` is not one of `unchecked`, `verified`, `falsified`: {reason}.",
    fix="Send an EDIT (`assumption_ledger`, `{id}`) with `status`: `unchecked`, `verified` or "
    "`falsified`.",
    why="The status shows what is still open. Other words cannot be counted.",
    spec="delta_output_format_v0.1, assumption_ledger; companion, Lint",
    example=Example("text", "**Status**: probably fine", "**Status**: unchecked"),
)

ASSUMPTION_CODES = (EA_001, EA_002, EA_003, WA_001, WA_002, WA_003, IA_001)


# The anomaly register (X)


_ANOMALY_SPEC = "companion, The artifact; companion, Lint"

EX_001 = Code(
    id="EX-001",
    severity=ERROR,
    title="The anomaly register is missing",
    message="The section `## 6. Anomaly Register` is missing.",
    fix="Add the heading `## 6. Anomaly Register` between sections 5 and 7, with the anomalies "
    "under it, or the words `None registered`.",
    why="This is the one section that may be empty, and so the one that is most easily left out. "
    "The rule applies to files only.",
    spec=_ANOMALY_SPEC,
    also=("ES-001",),
    example=Example(
        "text",
        "## 5. Assumption Ledger\n…\n\n## 7. Adversarial Critique\n…",
        "## 5. Assumption Ledger\n…\n\n## 6. Anomaly Register\n\nNone registered\n\n"
        "## 7. Adversarial Critique\n…",
    ),
)
EX_002 = Code(
    id="EX-002",
    severity=ERROR,
    title="The anomaly register is empty and does not say so",
    message="The anomaly register is empty but does not say `None registered`.",
    fix="Write `None registered` under the heading, or send an ADD to `anomaly_register` with "
    "`name`, `observation`, `conflicts_with` and `status`.",
    why="The words show that somebody looked. A blank may also be an accident. The rule applies "
    "to files only, as a compiled version says it by itself.",
    spec=_ANOMALY_SPEC,
    example=Example("text", "## 6. Anomaly Register", "## 6. Anomaly Register\n\nNone registered"),
)
WX_001 = Code(
    id="WX-001",
    severity=WARNING,
    title="An anomaly has no observation",
    message="`{id}` does not say what was observed.",
    fix="Send an EDIT (`anomaly_register`, `{id}`) with `observation`: what was seen, where and "
    "by whom.",
    why="An anomaly is a fact that does not fit. Without the fact there is nothing to explain.",
    spec=_ANOMALY_SPEC,
    example=Example(
        "text",
        "### X1: Late switchers\n**Conflicts with**: H1",
        "### X1: Late switchers\n**Observation**: 3 of 40 late grafts took the new fate.\n"
        "**Conflicts with**: H1",
    ),
)
WX_002 = Code(
    id="WX-002",
    severity=WARNING,
    title="An anomaly does not say what it conflicts with",
    message="`{id}` does not say what it conflicts with.",
    fix="Send an EDIT (`anomaly_register`, `{id}`) with `conflicts_with`: the IDs of the "
    'hypotheses and assumptions that it speaks against, such as `["H1", "A2"]`.',
    why="An anomaly counts against something. Without the IDs it is in nobody's way, and stays "
    "unexplained.",
    spec=_ANOMALY_SPEC,
    example=Example(
        "text",
        "**Observation**: 3 of 40 late grafts took the new fate.",
        "**Observation**: 3 of 40 late grafts took the new fate.\n**Conflicts with**: H1, A2",
    ),
)
IX_001 = Code(
    id="IX-001",
    severity=INFO,
    title="The status of an anomaly is missing or not valid",
    message="The quarantine status of `{id}` is not one of `active`, `resolved`, `deferred`: "
    "{reason}.",
    fix="Send an EDIT (`anomaly_register`, `{id}`) with `status`: `active`, `resolved` or "
    "`deferred`.",
    why="The status tells which anomalies are still open.",
    spec="delta_output_format_v0.1, anomaly_register; companion, Lint",
    example=Example("text", "**Quarantine status**: still open", "**Quarantine status**: active"),
)

ANOMALY_CODES = (EX_001, EX_002, WX_001, WX_002, IX_001)


# The adversarial critique (C)


_CRITIQUE_SPEC = "companion, The artifact; companion, Lint"

EC_001 = Code(
    id="EC-001",
    severity=ERROR,
    title="Too few critiques",
    message="Too few active critiques: {count}; the least is {least}.",
    fix="Send an ADD to `adversarial_critique` with `name`, `attack`, `evidence` and "
    "`current_status`.",
    why="A framing that nobody has attacked has not been tested. One attack is often the easy one.",
    spec=_CRITIQUE_SPEC,
    also=("BELOW_MINIMUM",),
    example=Example(
        "text",
        "### C1: The dichotomy is false\n…",
        "### C1: The dichotomy is false\n…\n\n### C2: Fate is read too late\n…",
    ),
)
EC_002 = Code(
    id="EC-002",
    severity=ERROR,
    title="A critique has no attack",
    message="`{id}` has no attack.",
    fix="Send an EDIT (`adversarial_critique`, `{id}`) with `attack`: how the framing could be "
    "wrong.",
    why="Only what is spelled out can be answered.",
    spec=_CRITIQUE_SPEC,
    example=Example(
        "text",
        "### C1: The dichotomy is false\n**Current status**: Taken seriously.",
        "### C1: The dichotomy is false\n"
        "**Attack**: Lineage and position may be two readings of one clock.\n"
        "**Current status**: Taken seriously.",
    ),
)
WC_001 = Code(
    id="WC-001",
    severity=WARNING,
    title="No critique is a real third alternative",
    message="No active critique is marked as a real third alternative.",
    fix="Send an ADD to `adversarial_critique` with `real_third_alternative` set to true, or an "
    "EDIT that sets it on the critique that is one.",
    why="The strongest attack on a framing is another framing. Whether the one offered is real is "
    "for people to judge; the rule only sees the mark.",
    spec=_CRITIQUE_SPEC,
    example=Example(
        "text",
        "### C1: The dichotomy is false\n"
        "**Attack**: Lineage and position may be two readings of one clock.",
        "### C1: The dichotomy is false\n"
        "**Attack**: Lineage and position may be two readings of one clock.\n"
        "**Real third alternative**: true",
    ),
)
WC_002 = Code(
    id="WC-002",
    severity=WARNING,
    title="A critique has no evidence",
    message="`{id}` does not say what would confirm it (**Evidence**).",
    fix="Send an EDIT (`adversarial_critique`, `{id}`) with `evidence`: what one would see if the "
    "attack were right.",
    why="Without it the attack can be neither followed up nor put to rest.",
    spec=_CRITIQUE_SPEC,
    example=Example(
        "text",
        "**Attack**: Lineage and position may be two readings of one clock.",
        "**Attack**: Lineage and position may be two readings of one clock.\n"
        "**Evidence**: Stopping the clock would freeze both markers.",
    ),
)
IC_001 = Code(
    id="IC-001",
    severity=INFO,
    title="A critique has no current status",
    message="`{id}` does not say how seriously it is taken (**Current status**).",
    fix="Send an EDIT (`adversarial_critique`, `{id}`) with `current_status`. One that begins with "
    "`Resolved` closes the critique.",
    why="A critique without a status stays open, and the next round is asked to answer it again.",
    spec="companion, The artifact; companion, Lint; rulings, Small decisions",
    example=Example(
        "text",
        "**Evidence**: Stopping the clock would freeze both markers.",
        "**Evidence**: Stopping the clock would freeze both markers.\n"
        "**Current status**: Open, T3 would answer it.",
    ),
)

CRITIQUE_CODES = (EC_001, EC_002, WC_001, WC_002, IC_001)
