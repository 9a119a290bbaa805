"""Codes for artifacts: parsing the text, commands that read a version, and versions themselves.

The linter's rules cover missing front matter, malformed IDs, and missing sections or columns.
"""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_LAYOUT_SPEC = "companion, The artifact"

WRAPPED_ARTIFACT = warning(
    "WRAPPED_ARTIFACT",
    "The artifact stands {where}; it was read from line {first} on.{outside}",
    "Take {what} away, so that the file is the artifact and nothing else.",
    _LAYOUT_SPEC,
)
SECOND_ARTIFACT = warning(
    "SECOND_ARTIFACT",
    "On line {start} another artifact begins; from there on nothing was read.",
    "Give each artifact a file of its own.",
    _LAYOUT_SPEC,
)
FRONT_MATTER_FORM = warning(
    "FRONT_MATTER_FORM",
    "`{key}` in the front matter {words}.",
    "Write it as the format has it: texts in quotes, numbers without, `contributors` as a "
    "list of model shorthands, one to a line.",
    "companion, The artifact; R18",
)
HEADING_FORM = warning(
    "HEADING_FORM",
    "The heading `{written}` was read as `{meant}`.{more}",
    "Write `{meant}`.",
    _LAYOUT_SPEC,
)
HEADING_CONTRADICTS = warning(
    "HEADING_CONTRADICTS",
    "The heading of `{id}` says {says}, but {other}. {read}",
    "Make the two agree: the heading repeats what the fields say.",
    _LAYOUT_SPEC,
)
UNKNOWN_SECTION = warning(
    "UNKNOWN_SECTION",
    "`{heading}` is none of the seven sections; under it only items with an ID such as "
    "`H1` are read.{more}",
    "Move what belongs to the artifact into one of the seven sections.{suggestion}",
    _LAYOUT_SPEC,
)
MISPLACED_ITEM = warning(
    "MISPLACED_ITEM",
    "`{id}` stands {where}; it was read as an item of `{heading}`.",
    "Move it to under `{heading}`.",
    _LAYOUT_SPEC,
)
FIELD_FORM = warning(
    "FIELD_FORM", "{what}. It was read all the same.{more}", "Write {right}.", _LAYOUT_SPEC
)
UNKNOWN_LABEL = warning(
    "UNKNOWN_LABEL",
    "`**{label}**` is no label of `{heading}`; its text was not read{more}.",
    "Put the text under a label of the section: {labels}.{suggestion}",
    _LAYOUT_SPEC,
)
REPEATED_LABEL = warning(
    "REPEATED_LABEL",
    "`**{label}**` of `{id}` stands on line {first} already; this one was not read{more}.",
    "Leave one of the two, or join them.",
    _LAYOUT_SPEC,
)
UNREADABLE_VALUE = warning(
    "UNREADABLE_VALUE",
    "`{value}` under `**{label}**` is not {expected}; it was not read.",
    "Write {expected}, as in `{example}`.",
    _LAYOUT_SPEC,
)
TEXT_NOT_READ = warning(
    "TEXT_NOT_READ",
    "This text belongs to no field and was not read: {text}{more}",
    "Put it under a label of an item, if it is to be part of the artifact.",
    _LAYOUT_SPEC,
)
KILLED_FORM = warning(
    "KILLED_FORM",
    "`{id}` was read as killed, but it is not written as the format has it: {what}.",
    "Strike {marked} through, and add `**{prefix}Killed by**: agent, time` and "
    "`**{prefix}Reason**: …` below.",
    _LAYOUT_SPEC,
)

# Commands that show the items and authors of a version

NO_SUCH_ITEM = error(
    "NO_SUCH_ITEM",
    "{name} has no `{item}`.",
    "Give the ID of one of its items, such as `H2`{or_field}.{suggestion} "
    "`brenner artifact show {name}` shows all of them.",
    "companion, The artifact",
)
AUTHORS_NOT_KNOWN = error(
    "AUTHORS_NOT_KNOWN",
    "{name} says nothing about who set what: {reason}.",
    "Give a version whose mail is here, as `THREAD` or `THREAD@vN`; `brenner mail import` "
    "brings mail in.",
    "R7, R10",
)

# Versions: find, void and adopt them (rulings R10, R17, R18)
RECORD_UNREADABLE = warning(
    "RECORD_UNREADABLE",
    "The record of this COMPILED message cannot be read ({reason}), and its subject names "
    "no version, so it is none; the deltas before it still count as unread.",
    "Compile the thread with `brenner compile {thread_id}`. A record is written by the "
    "program, never by hand.",
    "R10",
)
NO_VERSION_YET = error(
    "NO_VERSION_YET",
    "`{thread_id}` has no compiled version yet, and there is no file `{path}`.",
    "Once deltas have come in that apply, `brenner compile {thread_id}` publishes the first.",
    "artifact_publish_spec_v0.1, Latest Artifact Pointer",
)
UNKNOWN_VERSION = error(
    "UNKNOWN_VERSION",
    "`{thread_id}` has no v{version}; {known}.",
    "`brenner artifact history {thread_id}` lists the versions.",
    "artifact_publish_spec_v0.1, Version Tracking",
)
FILE_AHEAD_OF_MAIL = warning(
    "FILE_AHEAD_OF_MAIL",
    "`{path}` holds v{value}, but the mail of this store {ends}, and the mail counts.",
    "Import the missing mail (`brenner mail import`), or look at the file itself: "
    "`brenner artifact show {path}`.",
    "artifact_publish_spec_v0.1, Latest Artifact Pointer",
)
FILE_DIFFERS = warning(
    "FILE_DIFFERS",
    "{place} differs from the version that it names: {difference}.",
    "`brenner compile {thread_id} --persist` shows how the file differs, and the delta that "
    "brings the changes in; with `--force` it writes the version over the file. A commit stays in "
    "the history: commit the version after it.",
    "R18, R19",
)
SHOWN_FROM_FILE = info(
    "SHOWN_FROM_FILE",
    "This store has no version of `{thread_id}`; what is shown comes from `{path}`.",
    "Nothing has to be done. To have its mail too, import it with `brenner mail import`.",
    "artifact_publish_spec_v0.1, Latest Artifact Pointer",
)
CANNOT_VOID = error(
    "CANNOT_VOID",
    "v{version} of `{thread_id}` cannot be voided: {reason}.",
    "`brenner artifact history {thread_id}` lists the versions. Only the latest can be voided; "
    "void those above first.",
    "R10",
)
ONLY_THE_OPERATOR = error(
    "ONLY_THE_OPERATOR",
    "{name} may not {what}: only the operator, {operator}, may.",
    "Let the operator run the command, without `--as`.",
    "R10, R18",
)
CANNOT_ADOPT = error(
    "CANNOT_ADOPT",
    "`{thread_id}` cannot be adopted: {reason}.",
    "Adopt a thread whose latest COMPILED message holds a whole artifact, a number above that "
    "of the latest version, and no record that rebuilds. Otherwise compile it: "
    "`brenner compile {thread_id}`.",
    "R10",
)
COMPILE_OVERTAKEN = error(
    "COMPILE_OVERTAKEN",
    "`{thread_id}` got another version or decision each of the {tries} times that one was "
    "about to be posted; nothing was posted.",
    "Run the command again.",
    "R17",
)
POSTED_IN_VAIN = warning(
    "POSTED_IN_VAIN",
    "Message {id} was posted as v{version}, and is void: {reason}. Message {info} says so "
    "in the thread.",
    "Nothing has to be done. What only that message had read counts as unread; the thread was "
    "read again, and what was left went into the next version.",
    "R17",
)
POSTED_NOT_CONFIRMED = error(
    "POSTED_NOT_CONFIRMED",
    "Message {id} was posted as v{version}, but the thread could not be read again after "
    "it ({reason}). Nothing else was done.",
    "Run the same command again once the server is there: it finds out whether that message "
    "is v{version}, and goes on from there. Nothing is published twice.",
    "R17",
)
