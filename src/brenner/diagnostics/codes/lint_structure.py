"""Lint rules about front matter, sections, IDs, the research thread and cross-references."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_FRONT_MATTER_SPEC = "companion, The artifact; companion, Lint; R18"

EM_001 = error(
    "EM-001",
    "The front matter {state}: {reason}.",
    "{mend}: the file begins with a line `---`, then `session_id` and the other fields, each "
    "`key: value` on a line of its own, then a line `---`.",
    _FRONT_MATTER_SPEC,
)
EM_002 = error(
    "EM-002",
    "The front matter has no `session_id`.",
    "Add the line `session_id` with the thread ID of the session, the same as in the title "
    "and in the file's name.",
    _FRONT_MATTER_SPEC,
)
EM_003 = error(
    "EM-003",
    "`created_at` in the front matter is not a time in ISO 8601: {reason}.",
    "Write the time of the thread's first message, with its zone, as in "
    '`created_at: "2025-12-30T10:00:00Z"`.',
    _FRONT_MATTER_SPEC,
)
EM_004 = error(
    "EM-004",
    "`status` in the front matter is not one of `draft`, `active`, `closed`: {reason}.",
    "Write `status: draft` while lint has errors, `active` when it has none, `closed` when "
    "the session is complete.",
    _FRONT_MATTER_SPEC,
)
WM_001 = warning(
    "WM-001",
    "The front matter lists no `contributors`.",
    "List the shorthands of the models that contributed, one to a line, as in their "
    "`DELTA[…]` subjects.",
    _FRONT_MATTER_SPEC,
)
WM_002 = warning(
    "WM-002",
    "`updated_at` ({updated_at}) is before `created_at` ({created_at}).",
    "Set `created_at` to the time of the first message and `updated_at` to that of the last "
    "one applied.",
    _FRONT_MATTER_SPEC,
)
IM_001 = info(
    "IM-001",
    "`session_id` in the front matter names no thread: {reason}",
    "Write the ID of the thread that the artifact was compiled from, letter for "
    "letter.{suggestion}",
    "companion, Lint; R1",
)
IM_002 = info(
    "IM-002",
    "`version` in the front matter is not an integer: {reason}.",
    "Write the number of the COMPILED message alone, without `v` and quotes.",
    "companion, Lint; R17",
)

# Sections and item IDs (S)

_SECTION_SPEC = "companion, The artifact; companion, Lint"
_ITEM_ID_SPEC = "companion, The artifact; companion, Lint; R14"

ES_001 = error(
    "ES-001",
    "The section `{heading}` is missing.",
    "Add the heading `{heading}` in its place, word for word. All seven sections are always "
    "there, also empty ones.",
    _SECTION_SPEC,
)
ES_002 = error(
    "ES-002",
    "The section `{heading}` stands {where} `{other}` but belongs {place} it.",
    "Move `{heading}` with all its items to {place} `{other}`: the sections stand in the order "
    "of their numbers, 1 to 7.",
    _SECTION_SPEC,
)
ES_003 = error(
    "ES-003",
    "`{id}` in the section `{section}` has no well-formed item ID: {reason}.",
    "Write the section's own prefix and a number, with nothing between: `H1` for a "
    "hypothesis, `T1` for a test, `A1` for an assumption, `X1` for an anomaly, `C1` for a "
    "critique.",
    _ITEM_ID_SPEC,
)
ES_004 = error(
    "ES-004",
    "More than one item has the ID `{id}`.",
    "Give `{id}` back to the item that has it in the published version. Send the other one as "
    "an ADD: the compiler gives it the next free ID.",
    _ITEM_ID_SPEC,
)
WS_001 = warning(
    "WS-001",
    "The section `{section}` has no {missing}, though it has `{id}`.",
    "Bring the item back from an earlier version of the file. To take an item out send a "
    "KILL: it then stays in its place, struck through.",
    _ITEM_ID_SPEC,
)

# The research thread (R)

_RESEARCH_THREAD_SPEC = "companion, The artifact; companion, Lint; R15"

ER_001 = error(
    "ER-001",
    "The research thread has no question (**RT**).",
    "Send an EDIT (`research_thread`, `RT`) with `statement`: one sentence that an "
    "observation could answer with no.",
    _RESEARCH_THREAD_SPEC,
)
ER_002 = error(
    "ER-002",
    "The research thread has no context.",
    "Send an EDIT (`research_thread`, `RT`) with `context`: two to four sentences on what is "
    "known and what is in dispute.",
    _RESEARCH_THREAD_SPEC,
)
WR_001 = warning(
    "WR-001",
    "The research thread has no anchors.",
    "Send an EDIT (`research_thread`, `RT`) with `anchors`: the sections that the question "
    'comes from, such as `["§42"]`, or `["inference"]` where there is no source.',
    "companion, Anchors; companion, Lint",
    also=("WP-P01",),
)
IR_001 = info(
    "IR-001",
    "The research thread does not say why it matters.",
    "Send an EDIT (`research_thread`, `RT`) with `why_it_matters`: what would change with the "
    "answer.",
    _RESEARCH_THREAD_SPEC,
)

# Provenance, and references from one section to another

_ANCHOR_SPEC = "companion, Anchors; companion, Lint"
_CROSS_SECTION_SPEC = "companion, The artifact; companion, Lint"

EP_P01 = error(
    "EP-P01",
    "`{id}` cites {value}, which the source text `{path}` does not have.",
    "Look the passage up in the source text and send an EDIT of `{id}` with the right anchors; "
    "`anchors_replace` set to true takes the wrong one out.",
    "companion, Anchors; companion, Lint; R18",
)
WP_P01 = warning(
    "WP-P01",
    "`{id}` makes a claim and does not say where it comes from.",
    "Send an EDIT of `{id}` that names the source in the sentence: `§42`, `EV-001`, "
    "`[inference]`, `[axiomatic]` or `[external: source]`. Hypotheses and the research thread have "
    "`anchors` for it.",
    _ANCHOR_SPEC,
)
WP_P02 = warning(
    "WP-P02",
    "`{id}` is an inference and does not name what it was inferred from.",
    "Send an EDIT of `{id}` with the anchors that it was reasoned from, then `[inference]`: "
    '`"anchors": ["§42", "§57 [inference]"]`, and `anchors_replace` set to true.',
    _ANCHOR_SPEC,
)
WS_101 = warning(
    "WS-101",
    "Anchors are written in more than one way: `{value}` here, `{other}` in `{first}`.",
    "Choose one form, say `§42-45`, and send an EDIT (`{section}`, `{id}`) with the whole list "
    "under `anchors`, and `anchors_replace` set to true.",
    _ANCHOR_SPEC,
)
WS_102 = warning(
    "WS-102",
    "`{id}` refers to `{other}`, which is not in the artifact.",
    "Send an EDIT of `{id}` with an ID that exists, or an ADD of what is missing. "
    "`conflicts_with_replace` or `references_replace` set to true takes the wrong ID out.",
    _CROSS_SECTION_SPEC,
)
WS_103 = warning(
    "WS-103",
    "`{id}` and `{other}` have the same name, `{name}`.",
    "Send an EDIT (`hypothesis_slate`, `{id}`) with a `name` that tells them apart, or a KILL "
    "if they are the same.",
    _CROSS_SECTION_SPEC,
)
WP_101 = warning(
    "WP-101",
    "`{id}` has a prediction for `{other}`, which is not a hypothesis of the slate.",
    "Send an EDIT (`predictions_table`, `{id}`) with the right IDs as keys of `predictions`, "
    "and `predictions_replace` set to true, or an ADD of the hypothesis.",
    _CROSS_SECTION_SPEC,
)
WT_101 = warning(
    "WT-101",
    "`{id}` names `{other}`, which is not a hypothesis of the slate.",
    "Send an EDIT (`discriminative_tests`, `{id}`) with the right IDs in `discriminates` and "
    "as keys of `expected_outcomes`; `expected_outcomes_replace` set to true takes the wrong ones "
    "out.",
    _CROSS_SECTION_SPEC,
)
WA_101 = warning(
    "WA-101",
    "`{id}` is marked as a scale check but has no numbers in it.",
    "Send an EDIT (`assumption_ledger`, `{id}`) whose `calculation` gives the quantities with "
    "their units and the result.",
    _CROSS_SECTION_SPEC,
)
