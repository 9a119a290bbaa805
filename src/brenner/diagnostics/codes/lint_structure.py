"""Lint rules about front matter, sections, IDs, the research thread and cross-references."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_FRONT_MATTER_SPEC = "companion, The artifact; companion, Lint; R18"

EM_001 = error(
    "EM-001",
    "The front matter {state}: {reason}.",
    "Begin the file with a line `---`, then `session_id` and the other fields, each as `key: "
    "value` on its own line, then a line `---`.",
    _FRONT_MATTER_SPEC,
)
EM_002 = error(
    "EM-002",
    "The front matter has no `session_id`.",
    'Add the line `session_id: "THREAD"`, with the thread ID that is also in the title and in '
    "the file's name.",
    _FRONT_MATTER_SPEC,
)
EM_003 = error(
    "EM-003",
    "`created_at` in the front matter is not a valid ISO 8601 time: {reason}.",
    "Write the time of the thread's first message, with its time zone: `created_at: "
    '"2025-12-30T10:00:00Z"`.',
    _FRONT_MATTER_SPEC,
)
EM_004 = error(
    "EM-004",
    "`status` in the front matter is not one of `draft`, `active`, `closed`: {reason}.",
    "Write `status: draft` if lint finds errors, `status: active` if it finds none, or `status: "
    "closed` if the session is complete.",
    _FRONT_MATTER_SPEC,
)
WM_001 = warning(
    "WM-001",
    "The front matter lists no `contributors`.",
    "List the shorthands of the models that contributed, one per line, as in their `DELTA[…]` "
    "subjects.",
    _FRONT_MATTER_SPEC,
)
WM_002 = warning(
    "WM-002",
    "`updated_at` ({updated_at}) is before `created_at` ({created_at}).",
    "Set `created_at` to the time of the first message and `updated_at` to the time of the last "
    "message that was applied.",
    _FRONT_MATTER_SPEC,
)
IM_001 = info(
    "IM-001",
    "`session_id` in the front matter is not a thread ID: {reason}",
    "Write the exact ID of the thread that the artifact was compiled from.{suggestion}",
    "companion, Lint; R1",
)
IM_002 = info(
    "IM-002",
    "`version` in the front matter is not an integer: {reason}.",
    "Write only the number of the version, without `v` and without quotes: `version: 2`.",
    "companion, Lint; R17",
)

# Sections and item IDs (S)

_SECTION_SPEC = "companion, The artifact; companion, Lint"
_ITEM_ID_SPEC = "companion, The artifact; companion, Lint; R14"

ES_001 = error(
    "ES-001",
    "The section `{heading}` is missing.",
    "Add the heading `{heading}` in its place, exactly as written here. All seven sections are "
    "required, even if empty.",
    _SECTION_SPEC,
)
ES_002 = error(
    "ES-002",
    "The section `{heading}` is {where} `{other}` but belongs {place} it.",
    "Move `{heading}` with all its items {place} `{other}`. The sections follow their numbers, 1 "
    "to 7.",
    _SECTION_SPEC,
)
ES_003 = error(
    "ES-003",
    "`{id}` in the section `{section}` is not a valid item ID: {reason}.",
    "Write the prefix of the section and a number, without a space. The prefixes are `H` "
    "(hypothesis), `T` (test), `A` (assumption), `X` (anomaly) and `C` (critique).",
    _ITEM_ID_SPEC,
)
ES_004 = error(
    "ES-004",
    "More than one item has the ID `{id}`.",
    "Keep `{id}` for the item that has it in the published version. Send the other one as an "
    "ADD: the compiler assigns the next free ID.",
    _ITEM_ID_SPEC,
)
WS_001 = warning(
    "WS-001",
    "The section `{section}` has `{id}`, but no {missing}.",
    "Restore the item from an earlier version of the file. To remove an item, send a KILL: the "
    "item stays in its place, struck through.",
    _ITEM_ID_SPEC,
)

# The research thread (R)

_RESEARCH_THREAD_SPEC = "companion, The artifact; companion, Lint; R15"

ER_001 = error(
    "ER-001",
    "The research thread has no question (**RT**).",
    "Send an EDIT (`research_thread`, `RT`) with `statement`: one falsifiable sentence.",
    _RESEARCH_THREAD_SPEC,
)
ER_002 = error(
    "ER-002",
    "The research thread has no context.",
    "Send an EDIT (`research_thread`, `RT`) with `context`: two to four sentences on what is "
    "known and what is disputed.",
    _RESEARCH_THREAD_SPEC,
)
WR_001 = warning(
    "WR-001",
    "The research thread has no anchors.",
    "Send an EDIT (`research_thread`, `RT`) with `anchors`: the sections that the question comes "
    'from, such as `["§42"]`, or `["inference"]` if there is no source.',
    "companion, Anchors; companion, Lint",
    also=("WP-P01",),
)
IR_001 = info(
    "IR-001",
    "The research thread does not say why it matters.",
    "Send an EDIT (`research_thread`, `RT`) with `why_it_matters`: what the answer would change.",
    _RESEARCH_THREAD_SPEC,
)

# Provenance, and references from one section to another

_ANCHOR_SPEC = "companion, Anchors; companion, Lint"
_CROSS_SECTION_SPEC = "companion, The artifact; companion, Lint"

EP_P01 = error(
    "EP-P01",
    "`{id}` cites {value}, which does not exist in the source text `{path}`.",
    "Find the passage in the source text. Send an EDIT of `{id}` with the right section in "
    "`{field}`{replace}.",
    "companion, Anchors; companion, Lint; R18",
)
EP_P02 = error(
    "EP-P02",
    "`{id}` cites {value}, which does not exist in the evidence pack `{path}`.",
    "Find the passage in the evidence pack. Send an EDIT of `{id}` with the right anchor in "
    "`{field}`{replace}.",
    "companion, Anchors; R31",
)
EP_P03 = error(
    "EP-P03",
    "`{id}` quotes {value} with words that are not in this excerpt: “{quotation}”",
    "Send an EDIT of `{id}` that quotes the excerpt letter for letter in `{field}`{replace}, or "
    "has no quotation marks.",
    "companion, Anchors; R31",
)
WP_P01 = warning(
    "WP-P01",
    "`{id}` makes a claim without a source.",
    "Send an EDIT of `{id}` that names the source in the sentence: `§42`, `EV-001`, "
    "`[inference]`, `[axiomatic]` or `[external: source]`. For hypotheses and the research "
    "thread, use `anchors`.",
    _ANCHOR_SPEC,
)
WP_P02 = warning(
    "WP-P02",
    "`{id}` is an inference that does not name its premises.",
    "Send an EDIT of `{id}` that names the sources of its premises in `{field}`, with "
    "`[inference]` after the last: `{example}`{replace}.",
    _ANCHOR_SPEC,
)
WS_101 = warning(
    "WS-101",
    "Anchors are written in more than one way: `{value}` here, `{other}` in `{first}`.",
    "Choose one form, such as `§42-45`. Send an EDIT (`{section}`, `{id}`) with the whole list "
    'under `anchors` and `"anchors_replace": true`.',
    _ANCHOR_SPEC,
)
WS_102 = warning(
    "WS-102",
    "`{id}` refers to `{other}`, which does not exist.{known}",
    "Send an EDIT of `{id}` with an existing ID, or an ADD of the missing item. To remove the "
    'wrong ID, set `"conflicts_with_replace": true` or `"references_replace": true`.',
    _CROSS_SECTION_SPEC,
)
WS_103 = warning(
    "WS-103",
    "`{id}` and `{other}` have the same name, `{name}`.",
    "Send an EDIT (`hypothesis_slate`, `{id}`) with a distinct `name`, or a KILL if they are the "
    "same.",
    _CROSS_SECTION_SPEC,
)
WP_101 = warning(
    "WP-101",
    "`{id}` has a prediction for `{other}`, which does not exist.{known}",
    "Send an EDIT (`predictions_table`, `{id}`) with existing IDs as keys of `predictions` and "
    '`"predictions_replace": true`, or an ADD of the hypothesis.',
    _CROSS_SECTION_SPEC,
)
WT_101 = warning(
    "WT-101",
    "`{id}` refers to the hypothesis `{other}`, which does not exist.{known}",
    "Send an EDIT (`discriminative_tests`, `{id}`) with existing IDs in `discriminates` and "
    '`expected_outcomes`, and with `"expected_outcomes_replace": true`.',
    _CROSS_SECTION_SPEC,
)
WA_101 = warning(
    "WA-101",
    "`{id}` is marked as a scale check but contains no numbers.",
    "Send an EDIT (`assumption_ledger`, `{id}`) with `calculation`: the quantities, their units "
    "and the result.",
    _CROSS_SECTION_SPEC,
)
