"""Lint rules about the contents of single sections: H, P, T, A, X and C."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_HYPOTHESIS_SPEC = "companion, The artifact; companion, Lint"
_LIMIT_SPEC = "companion, The artifact; companion, Lint; R14"
_ANCHOR_SPEC = "companion, Anchors; companion, Lint"

EH_001 = error(
    "EH-001",
    "Too few active hypotheses: {count} (minimum: {least}).",
    "Send an ADD to `hypothesis_slate` with `name`, `claim`, `mechanism` and `anchors`.",
    _LIMIT_SPEC,
    also=("BELOW_MINIMUM",),
)
EH_002 = error(
    "EH-002",
    "Too many active hypotheses: {count} (maximum: {most}).",
    "Send a KILL (`hypothesis_slate`) with a `reason` for each one that another covers or that a "
    "test has ruled out. Killed ones do not count.",
    _LIMIT_SPEC,
)
EH_003 = error(
    "EH-003",
    "No active hypothesis is marked as the third alternative.",
    'Send an ADD to `hypothesis_slate` with `"third_alternative": true`, or an EDIT that sets it '
    "on an existing hypothesis.",
    _LIMIT_SPEC,
    also=("NO_THIRD_ALTERNATIVE",),
)
EH_004 = error(
    "EH-004",
    "`{id}` has no claim.",
    "Send an EDIT (`hypothesis_slate`, `{id}`) with `claim`: one falsifiable sentence.",
    _HYPOTHESIS_SPEC,
)
WH_001 = warning(
    "WH-001",
    "`{id}` has no anchors.",
    "Send an EDIT (`hypothesis_slate`, `{id}`) with `anchors`: the sections that support it, "
    'such as `["§42"]`, or `["inference"]` if there is no source.',
    _ANCHOR_SPEC,
    also=("WP-P01",),
)
WH_002 = warning(
    "WH-002",
    "`{id}` has the malformed anchor `{value}`: {reason}.",
    "Write `§42`, `§42-45`, `EV-001`, `EV-001#E1`, `inference`, `[axiomatic]` or `[external: "
    "source]`. Send an EDIT (`{section}`, `{id}`) with the whole list under `anchors` and "
    '`"anchors_replace": true`.{suggestion}',
    _ANCHOR_SPEC,
)
WH_003 = warning(
    "WH-003",
    "`{id}` rests on inference alone, but its text does not say `[inference]`.",
    "Send an EDIT (`hypothesis_slate`, `{id}`) that adds `[inference]` to the `claim` or "
    "`mechanism`, or that names a source under `anchors`.",
    _ANCHOR_SPEC,
)
IH_001 = info(
    "IH-001",
    "`{id}` has no mechanism.",
    "Send an EDIT (`hypothesis_slate`, `{id}`) with `mechanism`: how it works, step by step.",
    _HYPOTHESIS_SPEC,
)

# The predictions table (P)

_PREDICTION_SPEC = "companion, The artifact; companion, Lint"

EP_001 = error(
    "EP-001",
    "Too few active predictions: {count} (minimum: {least}).",
    "Send an ADD to `predictions_table` with `condition` and `predictions`: the outcome under "
    "each hypothesis.",
    _PREDICTION_SPEC,
    also=("BELOW_MINIMUM",),
)
EP_002 = error(
    "EP-002",
    "The predictions table has no `ID` column.",
    "Make `ID` the first column. Give each row its ID from the published version.",
    _PREDICTION_SPEC,
)
EP_003 = error(
    "EP-003",
    "The predictions table has no column for `{id}`.",
    "Add the column `{id}`. To fill it, send for each row an EDIT (`predictions_table`) with "
    '`"predictions": {{"{id}": "…"}}`.',
    _PREDICTION_SPEC,
)
WP_001 = warning(
    "WP-001",
    "All cells of `{id}` {say}.",
    "Send an EDIT (`predictions_table`, `{id}`) whose `predictions` show how the hypotheses "
    "differ. If they do not differ, send a KILL with a `reason`.",
    _PREDICTION_SPEC,
)
WP_002 = warning(
    "WP-002",
    "`{id}` in the predictions table is not a valid ID: {reason}.",
    "Write `P` and the number of the row in the published version, such as `P1`.",
    _PREDICTION_SPEC,
)
WP_003 = warning(
    "WP-003",
    "`{id}` predicts `{value}` for {cell}, which is not a declared outcome. Declared: {known}.",
    "Send an EDIT (`predictions_table`, `{id}`) that sets `predictions` to one of the keys, or to "
    "`indeterminate`. Or declare another key in `outcomes`.{suggestion}",
    "R27",
    also=("UNDECLARED_OUTCOME",),
)
IP_001 = info(
    "IP-001",
    "`{cell}` contains no prediction of the third alternative.",
    "Send an EDIT (`predictions_table`, `{id}`) with the outcome under the third alternative in "
    "`predictions`. If it predicts nothing, write `indeterminate`.",
    _PREDICTION_SPEC,
)

# The discriminative tests (T)

_TEST_SPEC = "companion, The artifact; companion, Lint"
_SCORE_SPEC = "companion, The artifact; companion, Lint; R6, R14"

ET_001 = error(
    "ET-001",
    "Too few active tests: {count} (minimum: {least}).",
    "Send an ADD to `discriminative_tests` with `name`, `procedure`, `discriminates` and "
    "`expected_outcomes`.",
    _TEST_SPEC,
    also=("BELOW_MINIMUM",),
)
ET_002 = error(
    "ET-002",
    "`{id}` has no procedure.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with `procedure`: what you do, and what you "
    "score.",
    _TEST_SPEC,
)
ET_003 = error(
    "ET-003",
    "`{id}` has no expected outcomes.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with `expected_outcomes`: the outcome under "
    "each hypothesis.",
    _TEST_SPEC,
)
WT_001 = warning(
    "WT-001",
    "`{id}` has no potency check.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with `potency_check`: the control that shows "
    "that the assay can detect the effect.",
    _TEST_SPEC,
)
WT_002 = warning(
    "WT-002",
    "`{id}` has a {score} score than `{other}` but is {where} it.",
    "Move `{id}` {way}: highest score first, tests without a score last, equal scores by number. "
    "Its ID stays the same. A compiled version is already ranked.",
    _SCORE_SPEC,
)
WT_003 = warning(
    "WT-003",
    "The score of `{id}` lacks {missing}.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with the missing parts of `score`: "
    "`likelihood_ratio`, `cost`, `speed` and `ambiguity`, each a whole number from 0 to 3.",
    _SCORE_SPEC,
)
WT_004 = warning(
    "WT-004",
    "`{id}` expects `{value}` for {cell}, which is not a declared outcome. Declared: {known}.",
    "Send an EDIT (`discriminative_tests`, `{id}`) that sets `expected_outcomes` to one of the "
    "keys, or to `indeterminate`. Or declare another key in `outcomes`.{suggestion}",
    "R27",
    also=("UNDECLARED_OUTCOME",),
)
WT_005 = warning(
    "WT-005",
    "The result `{value}` of `{id}` does not say which hypotheses it contradicts or supports.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with all its `results`, with `contradicts` or "
    '`supports` in this one, and with `"results_replace": true`.',
    "R26",
    also=("RESULT_WITHOUT_VERDICT",),
)
IT_001 = info(
    "IT-001",
    "`{id}` names no hypothesis under **Discriminates**.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with `discriminates`: the IDs of the "
    "hypotheses that it separates, such as `H1 vs H2`.",
    _TEST_SPEC,
)
IT_002 = info(
    "IT-002",
    "`{id}` does not state its feasibility.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with `feasibility`: what it needs, and "
    "whether that is available.",
    _TEST_SPEC,
)
IT_003 = info(
    "IT-003",
    "The result `{value}` of `{id}` has no evidence, so it is a claim.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with all its `results`, with `evidence` in this "
    'one (an anchor or `file:PATH#sha256=HEX`), and with `"results_replace": true`.',
    "R26",
)

# The assumption ledger (A)

_ASSUMPTION_SPEC = "companion, The artifact; companion, Lint"

EA_001 = error(
    "EA-001",
    "Too few active assumptions: {count} (minimum: {least}).",
    "Send an ADD to `assumption_ledger` with `name`, `statement`, `load`, `test` and `status`.",
    _ASSUMPTION_SPEC,
    also=("BELOW_MINIMUM",),
)
EA_002 = error(
    "EA-002",
    "No active assumption is marked as a scale check.",
    'Send an ADD to `assumption_ledger` with `"scale_check": true` and the numbers under '
    "`calculation`, or an EDIT that sets both on an existing assumption.",
    _ASSUMPTION_SPEC,
    also=("NO_SCALE_CHECK",),
)
EA_003 = error(
    "EA-003",
    "`{id}` has no statement.",
    "Send an EDIT (`assumption_ledger`, `{id}`) with `statement`: the assumption in one sentence.",
    _ASSUMPTION_SPEC,
)
WA_001 = warning(
    "WA-001",
    "`{id}` does not say what breaks if it is wrong (**Load**).",
    "Send an EDIT (`assumption_ledger`, `{id}`) with `load`: the items that fail with it.",
    _ASSUMPTION_SPEC,
)
WA_002 = warning(
    "WA-002",
    "`{id}` does not say how to check it (**Test**).",
    "Send an EDIT (`assumption_ledger`, `{id}`) with `test`: the observation or calculation that "
    "would show it wrong.",
    _ASSUMPTION_SPEC,
)
WA_003 = warning(
    "WA-003",
    "`{id}` is marked as a scale check but has no calculation.",
    "Send an EDIT (`assumption_ledger`, `{id}`) with `calculation`: the quantities, their units "
    "and the result. Put the consequence under `implication`.",
    _ASSUMPTION_SPEC,
)
IA_001 = info(
    "IA-001",
    "The status of `{id}` is not one of `unchecked`, `verified`, `falsified`: {reason}.",
    "Send an EDIT (`assumption_ledger`, `{id}`) with `status`: `unchecked`, `verified` or "
    "`falsified`.",
    "delta_output_format_v0.1, assumption_ledger; companion, Lint",
)

# The anomaly register (X)

_ANOMALY_SPEC = "companion, The artifact; companion, Lint"

EX_001 = error(
    "EX-001",
    "The section `## 6. Anomaly Register` is missing.",
    "Add the heading `## 6. Anomaly Register` between sections 5 and 7. Put the anomalies under "
    "it, or the words `None registered`.",
    _ANOMALY_SPEC,
    also=("ES-001",),
)
EX_002 = error(
    "EX-002",
    "The anomaly register is empty but does not say `None registered`.",
    "Write `None registered` under the heading, or send an ADD to `anomaly_register` with "
    "`name`, `observation`, `conflicts_with` and `status`.",
    _ANOMALY_SPEC,
)
WX_001 = warning(
    "WX-001",
    "`{id}` does not say what was observed.",
    "Send an EDIT (`anomaly_register`, `{id}`) with `observation`: what was seen, where and "
    "by whom.",
    _ANOMALY_SPEC,
)
WX_002 = warning(
    "WX-002",
    "`{id}` does not say what it conflicts with.",
    "Send an EDIT (`anomaly_register`, `{id}`) with `conflicts_with`: the IDs of the hypotheses "
    'and assumptions that it contradicts, such as `["H1", "A2"]`.',
    _ANOMALY_SPEC,
)
IX_001 = info(
    "IX-001",
    "The quarantine status of `{id}` is not one of `active`, `resolved`, `deferred`: {reason}.",
    "Send an EDIT (`anomaly_register`, `{id}`) with `status`: `active`, `resolved` or `deferred`.",
    "delta_output_format_v0.1, anomaly_register; companion, Lint",
)

# The adversarial critique (C)

_CRITIQUE_SPEC = "companion, The artifact; companion, Lint"

EC_001 = error(
    "EC-001",
    "Too few active critiques: {count} (minimum: {least}).",
    "Send an ADD to `adversarial_critique` with `name`, `attack`, `evidence` and `current_status`.",
    _CRITIQUE_SPEC,
    also=("BELOW_MINIMUM",),
)
EC_002 = error(
    "EC-002",
    "`{id}` has no attack.",
    "Send an EDIT (`adversarial_critique`, `{id}`) with `attack`: how the framing could be wrong.",
    _CRITIQUE_SPEC,
)
WC_001 = warning(
    "WC-001",
    "No active critique is marked as a real third alternative.",
    'Send an ADD to `adversarial_critique` with `"real_third_alternative": true`, or an EDIT '
    "that sets it on an existing critique.",
    _CRITIQUE_SPEC,
)
WC_002 = warning(
    "WC-002",
    "`{id}` does not say what would confirm it (**Evidence**).",
    "Send an EDIT (`adversarial_critique`, `{id}`) with `evidence`: what one would see if the "
    "attack were right.",
    _CRITIQUE_SPEC,
)
IC_001 = info(
    "IC-001",
    "`{id}` does not say how seriously it is taken (**Current status**).",
    "Send an EDIT (`adversarial_critique`, `{id}`) with `current_status`. A text that begins "
    "with `Resolved` closes the critique.",
    "companion, The artifact; companion, Lint; rulings, Small decisions",
)
