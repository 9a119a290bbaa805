"""Codes for merging deltas (rulings R7 to R15, R21) and for references between sessions."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_MERGING_SPEC = "companion, Merging"
_VIEW_SPEC = "R11"

# What to do about a killed item: of an EDIT, and of a cell that names it
NOT_AGAIN = "Do not send this EDIT again."
WITHOUT_IT = "Send this block again without the killed item."
COUNTS_AS_CORRECTION = " It counts as the correction of this block."

SECTION_LIMIT_EXCEEDED = error(
    "SECTION_LIMIT_EXCEEDED",
    "`{section}` already has {most} active items, the maximum. The ADD is rejected.",
    "First send a KILL, with a `reason`, for the hypothesis that yours replaces. Then send the "
    "ADD again. To refine an existing hypothesis, send an EDIT instead.",
    "delta_output_format_v0.1, Error Handling; companion, Merging; R14",
)
TARGET_KILLED = error(
    "TARGET_KILLED",
    "{name} killed `{id}`. A killed item cannot be changed.",
    "{how} To keep what is still true of `{id}`, send an ADD with "
    '`"references": [{{"session": "{session}", "item": "{id}", "relation": "refines"}}]`.{counts}',
    "companion, Merging; R9, R12",
)
UNKNOWN_ITEM = error(
    "UNKNOWN_ITEM",
    "`{where}` refers to `{id}`, which does not exist.{known}",
    "Send the block again with an existing ID.{suggestion} For an item that you add in the same "
    'message, write `"local_id": "name"` in its ADD and refer to it as `@name`.',
    _VIEW_SPEC,
)
AMBIGUOUS_ID = warning(
    "AMBIGUOUS_ID",
    "`{id}` is “{value}” in v{version}, but “{other}” in the thread before this message. It is "
    "read as in v{version}.",
    "State the version that you read: `**Base Version**: v{version}`. Refer to items that you "
    'add by `"local_id"` and `@name`. If you meant the other item, send an EDIT after the next '
    "version.",
    _VIEW_SPEC,
)
AMBIGUOUS_TARGET = error(
    "AMBIGUOUS_TARGET",
    "The target `{id}` is “{value}” in v{version}, but “{other}” in the thread before this "
    "message. The {operation} is rejected.",
    "Send the block again with the item's number in the latest version, without a `**Base "
    "Version**` line. If both readings are shown, send the one that you mean.",
    _VIEW_SPEC,
    also=("AMBIGUOUS_ID",),
)
COLLIDING_KEYS = error(
    "COLLIDING_KEYS",
    "`{key}` and `{other}` in `{where}` both mean `{id}`.",
    "Send the block again with one key for each item. Combine both texts under that key.",
    _VIEW_SPEC,
)
BASE_ASSUMED = info(
    "BASE_ASSUMED",
    "The message states no base version, so its item numbers are read as those of v{version}.",
    "If you have read v{version}, no action is needed. To state the base yourself, write "
    "`**Base Version**: v{version}`.",
    _VIEW_SPEC,
)
OWN_NEW_ITEM = warning(
    "OWN_NEW_ITEM",
    "`{id}` in `{where}` is read as your own new item “{value}”.{others}",
    "If you mean your own item, write `{name}` instead of `{id}`{given}. If you mean an item of "
    "another agent, leave it out until a version contains it.",
    _VIEW_SPEC,
)
OWN_NEW_ITEM_CHANGED = error(
    "OWN_NEW_ITEM_CHANGED",
    "The target `{id}` of this {operation} is read as your own new item “{value}”, which the same "
    "message adds.{others}",
    "If you mean an item of another agent, remove this block. Send it after the next version, with "
    'the item\'s number there. If you mean your own item, write `"target_id": "{name}"`{given}.',
    _VIEW_SPEC,
)
OWN_EARLIER_ITEM = warning(
    "OWN_EARLIER_ITEM",
    "`{id}` in `{where}` is read as your own item “{value}” of message {message_id}.{others}",
    "If you mean an item of another agent, leave this out. Send it after the next version, with "
    "the item's number there.",
    _VIEW_SPEC,
)
ID_REWRITTEN = info(
    "ID_REWRITTEN",
    "`{id}` in `{where}` was changed to `{other}`, the number of the item.",
    "No action is needed. From now on, call the item `{other}`.",
    _VIEW_SPEC,
)
REWRITTEN_ID_IN_PROSE = warning(
    "REWRITTEN_ID_IN_PROSE",
    "`{where}` mentions `{id}`. The item is now `{other}`, but the text was not changed.",
    "If the text means the item, send an EDIT that says `{other}`. If it means something else, "
    "such as a gene with this name, ignore this.",
    _VIEW_SPEC,
)
DUPLICATE_BLOCK = info(
    "DUPLICATE_BLOCK",
    "The same block was applied before (message {message_id}, block {number}). This one changes "
    "nothing.",
    "No action is needed. To add the item again on purpose, change its payload.",
    "R8",
)
CONFLICTING_EDIT = warning(
    "CONFLICTING_EDIT",
    "`{label}` of `{id}`: this edit, based on v{version}, replaced a newer value from {name}.",
    "Compare both values: `brenner artifact blame THREAD {id}.{label} --history`. Then send an "
    "EDIT of `{label}`, based on the version with the conflict. An EDIT to the current value "
    "also resolves it.",
    "companion, Merging; R12",
)
KILL_OVER_UNSEEN_EDITS = info(
    "KILL_OVER_UNSEEN_EDITS",
    "{name} killed `{id}` without having seen these edits: {edits}.",
    "Read the edits: `brenner artifact blame THREAD {id} --history`. If they answer the reason "
    "for the KILL, send the improved item as an ADD.",
    "companion, Merging; R12",
)
NO_THIRD_ALTERNATIVE = warning(
    "NO_THIRD_ALTERNATIVE",
    "No active hypothesis is marked as the third alternative.",
    'Send an ADD to `hypothesis_slate` with `"third_alternative": true`, or an EDIT that sets it '
    "on an existing hypothesis.",
    "companion, Merging; R14",
    also=("EH-003",),
)
NO_SCALE_CHECK = warning(
    "NO_SCALE_CHECK",
    "No active assumption is marked as a scale check.",
    'Send an ADD to `assumption_ledger` with `"scale_check": true` and the numbers under '
    "`calculation`, or an EDIT that sets both on an existing assumption.",
    _MERGING_SPEC,
    also=("EA-002",),
)
BELOW_MINIMUM = warning(
    "BELOW_MINIMUM",
    "Too few active items in `{section}`: {count} (minimum: {least}).",
    "Send an ADD to `{section}`.",
    "companion, The artifact; companion, Merging",
)
UNKNOWN_AGENT = warning(
    "UNKNOWN_AGENT",
    "{name} is not in the session's roster.",
    "If {name} belongs to the session, add it to the roster of the next kickoff. Otherwise check "
    "its deltas, and send an EDIT or a KILL where they are wrong.",
    "companion, Merging; R15; rulings, Small decisions",
)
NO_KICKOFF = warning(
    "NO_KICKOFF",
    "The thread `{thread_id}` has no KICKOFF with a question. The artifact's question is empty.",
    "Send a KICKOFF with `## Research Question` and `## Context` to the thread, or an EDIT "
    "(`research_thread`, `RT`) with `statement` and `context`.",
    "R15",
)
QUESTION_DIFFERS = warning(
    "QUESTION_DIFFERS",
    "This KICKOFF asks “{value}”, but the artifact's question is “{other}”. The artifact keeps "
    "its question.",
    "To change the question, send the EDIT shown here (`research_thread`, `RT`, `statement`). "
    "For a new question, start a new session.",
    "R15",
)
OPERATOR_ONLY_FIELD = error(
    "OPERATOR_ONLY_FIELD",
    "Only the operator may set `{name}`.",
    "Remove `{name}` from the payload. To propose an answer, send a CRITIQUE or write to the "
    "operator.",
    "R29",
)
OUTCOME_AFTER_RESULT = warning(
    "OUTCOME_AFTER_RESULT",
    "`{id}` has a result already. The edit of `{where}` changes no recorded verdict.",
    "If a verdict is wrong now, record all results of `{id}` again, with `contradicts` and "
    '`supports`, and with `"results_replace": true`.',
    "R26",
)
RESULT_WITHOUT_VERDICT = warning(
    "RESULT_WITHOUT_VERDICT",
    "The result `{value}` of `{id}` does not say which hypotheses it contradicts or "
    "supports.{known}",
    "Record the results of `{id}` again with `contradicts` or `supports` in this one, and with "
    '`"results_replace": true`.{suggestion}',
    "R26, R27",
)
CIRCULAR_REFERENCE = error(
    "CIRCULAR_REFERENCE",
    "The reference `{value}` of `{id}` would create a cycle: {chain}. It is left out. The rest "
    "of the delta is applied.",
    "Keep the reference that says which idea came later. Put the other one into the item's text.",
    "delta_output_format_v0.1, Reference Validation; R21",
)

# References between sessions (delta document, Reference Validation; R21)

_REFERENCE_SPEC = "delta_output_format_v0.1, Reference Validation; R21"

UNKNOWN_REFERENCED_SESSION = warning(
    "UNKNOWN_REFERENCED_SESSION",
    "`{id}` {relation} `{session} {item}`, but {reason}.",
    "The reference is kept. It works once the session is in the mail or in "
    "`artifacts/`.{suggestion} To correct it, send an EDIT of `{id}` with all its `references` and "
    '`"references_replace": true`.',
    _REFERENCE_SPEC,
)
UNKNOWN_REFERENCED_ITEM = warning(
    "UNKNOWN_REFERENCED_ITEM",
    "`{id}` {relation} `{session} {item}`, but {reason}.",
    "The reference is kept. It works once a version of that session has the "
    "item.{suggestion} To correct it, send an EDIT of `{id}` with all its `references` and "
    '`"references_replace": true`.',
    _REFERENCE_SPEC,
)
CIRCLE_OF_REFERENCES = error(
    "CIRCLE_OF_REFERENCES",
    "The references form a cycle: {chain}.",
    "Keep the references that say which idea came later. To remove another one, send an EDIT "
    'with the item\'s other `references` and `"references_replace": true`. If the session has '
    "no mail, edit its file.",
    _REFERENCE_SPEC,
)
REFERENCE_TO_KILLED = info(
    "REFERENCE_TO_KILLED",
    "`{id}` {relation} `{session} {item}`, which {agent} killed: {reason}",
    "If you knew the reason, no action is needed. Otherwise check whether it also applies to "
    "this item.",
    "delta_output_format_v0.1, Cross-Session References",
)
RESEMBLES_KILLED = warning(
    "RESEMBLES_KILLED",
    "{what} resembles `{session} {item}`, which {agent} killed: {reason}",
    "If the reason also applies here, withdraw the hypothesis, or say in `claim` what is "
    "different. If you build on that item or oppose it, {how} "
    '`"references": [{{"session": "{session}", "item": "{item}", "relation": "refines"}}]` (or '
    "another relation: `extends`, `refutes`, `supersedes`, `replicates`, `informed_by`). If it is "
    "another idea, no action is needed.",
    "R30; delta_output_format_v0.1, Cross-Session References",
)
SESSION_FILE_UNREADABLE = warning(
    "SESSION_FILE_UNREADABLE",
    "Cannot read `{path}` as the artifact of a session: {reason}.",
    "Write it again with `brenner compile THREAD --persist`, restore it from git, or move it out "
    "of `artifacts/`.",
    "R21; artifact_publish_spec_v0.1",
)
WOULD_CLOSE_CIRCLE = warning(
    "WOULD_CLOSE_CIRCLE",
    "If the sessions were compiled now: {reason}",
    "{fix}",
    _REFERENCE_SPEC,
)
