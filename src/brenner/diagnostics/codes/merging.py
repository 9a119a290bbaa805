"""Codes for merging deltas (rulings R7 to R15, R21) and for references between sessions."""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_MERGING_SPEC = "companion, Merging"
_VIEW_SPEC = "R11"

SECTION_LIMIT_EXCEEDED = error(
    "SECTION_LIMIT_EXCEEDED",
    "`{section}` has {most} active items already, and that is the most; the ADD is refused.",
    "Send first a KILL, with a `reason`, for the hypothesis that yours replaces, then the ADD "
    "again; or send an EDIT of the one that it refines.",
    "delta_output_format_v0.1, Error Handling; companion, Merging; R14",
)
TARGET_KILLED = error(
    "TARGET_KILLED",
    "`{id}` was killed by {name} and takes no more changes.",
    "Send what you still hold to be true as an ADD; it may name `{id}` under `references`. "
    "Leave killed hypotheses out of `predictions`.",
    "companion, Merging; R9, R12",
)
UNKNOWN_ITEM = error(
    "UNKNOWN_ITEM",
    "`{where}` names `{id}`, and the artifact that the message goes by has no such item.",
    "Send the block again with an ID that exists.{suggestion} Name an item that you add in the "
    'same message by a local name: `"local_id": "epi"` in its ADD, then `@epi`.',
    _VIEW_SPEC,
)
AMBIGUOUS_ID = warning(
    "AMBIGUOUS_ID",
    "`{id}` is “{value}” by v{version}, but “{other}” by the thread as it stood before "
    "this message; it is read by v{version}.",
    "Write `**Base Version**: v{version}` in the message to say which version you go by, and "
    'name items that you add yourself by `"local_id"` and `@name`. If the other item was meant, '
    "send an EDIT once the next version is out.",
    _VIEW_SPEC,
)
AMBIGUOUS_TARGET = error(
    "AMBIGUOUS_TARGET",
    "The target `{id}` is “{value}” by v{version}, but “{other}” by the thread as it stood "
    "before this message; the {operation} is refused.",
    "Send the block again for the item that you meant, by its number in the latest version and "
    "without a `**Base Version**` line. Where both readings are given, send one of them as it is.",
    _VIEW_SPEC,
    also=("AMBIGUOUS_ID",),
)
COLLIDING_KEYS = error(
    "COLLIDING_KEYS",
    "`{key}` and `{other}` in `{where}` both mean `{id}`.",
    "Send the block again with one key for each item; put what both say under one of them.",
    _VIEW_SPEC,
)
ID_REWRITTEN = info(
    "ID_REWRITTEN",
    "`{id}` in `{where}` now says `{other}`, the number that the item got.",
    "Nothing has to be done. From now on call the item `{other}`.",
    _VIEW_SPEC,
)
REWRITTEN_ID_IN_PROSE = warning(
    "REWRITTEN_ID_IN_PROSE",
    "`{where}` mentions `{id}`; the item is now `{other}`, but the text stays as it was written.",
    "If the text means the item, send an EDIT that says `{other}`. If it means something else, "
    "such as the histone H4, leave it.",
    _VIEW_SPEC,
)
DUPLICATE_BLOCK = info(
    "DUPLICATE_BLOCK",
    "The same block was applied before: message {message_id}, block {number}. This one "
    "changes nothing.",
    "Nothing has to be done. To add the item once more on purpose, say in the payload how it "
    "differs.",
    "R8",
)
CONFLICTING_EDIT = warning(
    "CONFLICTING_EDIT",
    "`{label}` of `{id}`: this edit, made on v{version}, displaced the value that {name} "
    "has given it since.",
    "Compare both values: once the version is out, `brenner artifact blame THREAD {id}.{label} "
    "--history` shows who gave which, and `brenner artifact show THREAD` the one that stands. Then "
    "send an EDIT of `{label}` with a base that has the conflict; sending the value that stands "
    "closes it too.",
    "companion, Merging; R12",
)
KILL_OVER_UNSEEN_EDITS = info(
    "KILL_OVER_UNSEEN_EDITS",
    "{name} killed `{id}` without having seen these edits: {edits}.",
    "Read the edits: `brenner artifact blame THREAD {id} --history`. If they answer the reason "
    "for the KILL, send the item again, as improved, with an ADD.",
    "companion, Merging; R12",
)
NO_THIRD_ALTERNATIVE = warning(
    "NO_THIRD_ALTERNATIVE",
    "No active hypothesis is labelled as the third alternative.",
    "Send an ADD to `hypothesis_slate` with `third_alternative` set to true, or an EDIT that "
    "sets it on the hypothesis that is one.",
    "companion, Merging; R14",
    also=("EH-003",),
)
NO_SCALE_CHECK = warning(
    "NO_SCALE_CHECK",
    "No active assumption is marked as a scale check.",
    "Send an ADD to `assumption_ledger` with `scale_check` set to true and the numbers under "
    "`calculation`, or an EDIT that gives both to the assumption that is one.",
    _MERGING_SPEC,
    also=("EA-002",),
)
BELOW_MINIMUM = warning(
    "BELOW_MINIMUM",
    "Too few active items in `{section}`: {count}; the least is {least}.",
    "Send an ADD to `{section}`.",
    "companion, The artifact; companion, Merging",
)
UNKNOWN_AGENT = warning(
    "UNKNOWN_AGENT",
    "{name} is not in the session's roster.",
    "If {name} belongs to the session, put {name} into the roster of the next kickoff. If not, "
    "look at the deltas and send an EDIT or a KILL where they are wrong.",
    "companion, Merging; R15; rulings, Small decisions",
)
NO_KICKOFF = warning(
    "NO_KICKOFF",
    "The thread `{thread_id}` has no KICKOFF with a question; the artifact's question is empty.",
    "Send a KICKOFF with `## Research Question` and `## Context` to the thread, or an EDIT "
    "(`research_thread`, `RT`) with `statement` and `context`.",
    "R15",
)
QUESTION_DIFFERS = warning(
    "QUESTION_DIFFERS",
    "This KICKOFF asks “{value}”, but the artifact's question is “{other}”; the artifact "
    "keeps its own.",
    "If the question has changed, send the EDIT that is given here (`research_thread`, `RT`, "
    "`statement`). If it is a new question, start a new session.",
    "R15",
)
CIRCULAR_REFERENCE = error(
    "CIRCULAR_REFERENCE",
    "The reference `{value}` of `{id}` would close a circle: {chain}. It is left out; the "
    "rest of the delta is applied.",
    "Keep the reference that says which idea came later. Say the other in words, in the "
    "item's text.",
    "delta_output_format_v0.1, Reference Validation; R21",
)

# References between sessions (delta document, Reference Validation; R21)

_REFERENCE_SPEC = "delta_output_format_v0.1, Reference Validation; R21"

UNKNOWN_REFERENCED_SESSION = warning(
    "UNKNOWN_REFERENCED_SESSION",
    "`{id}` {relation} `{session} {item}`, and {reason}.",
    "The reference is kept, and leads somewhere as soon as the session is in the mail or in "
    "`artifacts/`. If another one was meant, correct it with an EDIT.{suggestion}",
    _REFERENCE_SPEC,
)
UNKNOWN_REFERENCED_ITEM = warning(
    "UNKNOWN_REFERENCED_ITEM",
    "`{id}` {relation} `{session} {item}`, and {reason}.",
    "The reference is kept, and leads somewhere as soon as a version of that session has the "
    "item. If another one was meant, correct it with an EDIT.{suggestion}",
    _REFERENCE_SPEC,
)
CIRCLE_OF_REFERENCES = error(
    "CIRCLE_OF_REFERENCES",
    "{chain}: so every one of them comes from itself.",
    "Keep the references that say which idea came later. Take one of the others out: with an "
    "EDIT that gives the item's `references` without it and `references_replace: true`, or in the "
    "file where there is no mail.",
    _REFERENCE_SPEC,
)
REFERENCE_TO_KILLED = info(
    "REFERENCE_TO_KILLED",
    "`{id}` {relation} `{session} {item}`, which {agent} killed: {reason}",
    "Nothing has to be done if the reason was known. Otherwise see whether it strikes this "
    "item, too.",
    "delta_output_format_v0.1, Cross-Session References",
)
SESSION_FILE_UNREADABLE = warning(
    "SESSION_FILE_UNREADABLE",
    "`{path}` cannot be read as the artifact of a session: {reason}.",
    "Write it again with `brenner compile THREAD --persist`, get it back from git, or move it "
    "out of `artifacts/`.",
    "R21; artifact_publish_spec_v0.1",
)
WOULD_CLOSE_CIRCLE = warning(
    "WOULD_CLOSE_CIRCLE",
    "If the sessions were compiled as they stand, this would be left out. {reason}",
    "{fix}",
    _REFERENCE_SPEC,
)
