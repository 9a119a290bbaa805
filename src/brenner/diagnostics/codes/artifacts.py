"""Codes for artifacts: parsing the text, commands that read a version, and versions themselves.

The linter's rules cover missing front matter, malformed IDs, and missing sections or columns.
"""

from __future__ import annotations

from brenner.diagnostics.model import error, info, warning

_LAYOUT_SPEC = "companion, The artifact"

WRAPPED_ARTIFACT = warning(
    "WRAPPED_ARTIFACT",
    "The artifact is {where}. It was read from line {first} on.{outside}",
    "Remove {what}, so that the file contains only the artifact.",
    _LAYOUT_SPEC,
)
SECOND_ARTIFACT = warning(
    "SECOND_ARTIFACT",
    "Another artifact begins on line {start}. The text from there on was not read.",
    "Put each artifact into its own file.",
    _LAYOUT_SPEC,
)
FRONT_MATTER_FORM = warning(
    "FRONT_MATTER_FORM",
    "`{key}` in the front matter {words}.",
    "Write texts in quotes, numbers without quotes, and `contributors` as a list of model "
    "shorthands, one per line.",
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
    "Make the heading agree with the fields.",
    _LAYOUT_SPEC,
)
UNKNOWN_SECTION = warning(
    "UNKNOWN_SECTION",
    "`{heading}` is not one of the seven sections. Under it, only items with an ID such as `H1` "
    "are read.{more}",
    "Move what belongs to the artifact into one of the seven sections.{suggestion}",
    _LAYOUT_SPEC,
)
MISPLACED_ITEM = warning(
    "MISPLACED_ITEM",
    "`{id}` is {where}. It was read as an item of `{heading}`.",
    "Move it below `{heading}`.",
    _LAYOUT_SPEC,
)
FIELD_FORM = warning(
    "FIELD_FORM", "{what}. It was read anyway.{more}", "Write {right}.", _LAYOUT_SPEC
)
UNKNOWN_LABEL = warning(
    "UNKNOWN_LABEL",
    "`**{label}**` is not a label of `{heading}`. Its text was not read{more}.",
    "Put the text under one of the labels of the section: {labels}.{suggestion}",
    _LAYOUT_SPEC,
)
REPEATED_LABEL = warning(
    "REPEATED_LABEL",
    "`**{label}**` of `{id}` is already on line {first}. This one was not read{more}.",
    "Keep one of the two, or combine them.",
    _LAYOUT_SPEC,
)
UNREADABLE_VALUE = warning(
    "UNREADABLE_VALUE",
    "`{value}` under `**{label}**` is not {expected}. It was not read.",
    "Write {expected}, as in `{example}`.",
    _LAYOUT_SPEC,
)
TEXT_NOT_READ = warning(
    "TEXT_NOT_READ",
    "This text belongs to no field and was not read: {text}{more}",
    "To make it part of the artifact, put it under a label of an item.",
    _LAYOUT_SPEC,
)
KILLED_FORM = warning(
    "KILLED_FORM",
    "`{id}` was read as killed, but its format is wrong: {what}.",
    "Strike through {marked}. Add `**{prefix}Killed by**: agent, time` and `**{prefix}Reason**: "
    "…` below.",
    _LAYOUT_SPEC,
)

# Commands that show the items and authors of a version

NO_SUCH_ITEM = error(
    "NO_SUCH_ITEM",
    "{name} has no item `{item}`.{known}",
    "Give the ID of an existing item{or_field}.{suggestion} To see all items: "
    "`brenner artifact show {name}`.",
    "companion, The artifact",
)
AUTHORS_NOT_KNOWN = error(
    "AUTHORS_NOT_KNOWN",
    "The authors of {name} are not known: {reason}.",
    "Give a version whose mail is in this store, as `THREAD` or `THREAD@vN`. To import mail: "
    "`brenner mail import FILE`.",
    "R7, R10",
)

# Which test next

INVALID_PRIOR = error(
    "INVALID_PRIOR",
    "Cannot use the prior `{given}`{place}: {reason}.{known}",
    "Write the ID of an active hypothesis and a weight above 0: {example}. Hypotheses without a "
    "prior have weight 1.",
    "R32",
)
INVALID_RELIABILITY = error(
    "INVALID_RELIABILITY",
    "Cannot use the reliability `{given}`{place}: {reason}.{known}",
    "Write a number above 0 and at most 1: {example}.",
    "R32",
)
INVALID_PRIORS_FILE = error(
    "INVALID_PRIORS_FILE",
    "Cannot use the priors in `{path}`: {reason}.",
    "The file is TOML with up to two tables: `[priors]`, where each line is like `H1 = 2`, and "
    "`[reliability]`, where each line is like `T1 = 0.9`.",
    "R32",
)

# Versions: find, void and adopt them (rulings R10, R17, R18)
RECORD_UNREADABLE = warning(
    "RECORD_UNREADABLE",
    "The record of this COMPILED message cannot be read ({reason}), and its subject names no "
    "version. It is not a version, and the deltas before it remain unread.",
    "Compile the thread: `brenner compile {thread_id}`. Do not write records by hand.",
    "R10",
)
NO_VERSION_YET = error(
    "NO_VERSION_YET",
    "`{thread_id}` has no version yet, and the file `{path}` does not exist.",
    "Nothing to read yet. When deltas have arrived, the operator publishes v1: `brenner compile "
    "{thread_id}`.",
    "artifact_publish_spec_v0.1, Latest Artifact Pointer",
)
UNKNOWN_VERSION = error(
    "UNKNOWN_VERSION",
    "`{thread_id}` has no v{version}: {known}.",
    "List the versions: `brenner artifact history {thread_id}`.",
    "artifact_publish_spec_v0.1, Version Tracking",
)
FILE_AHEAD_OF_MAIL = warning(
    "FILE_AHEAD_OF_MAIL",
    "`{path}` is v{value}, but the mail in this store {ends}. The mail takes precedence.",
    "Import the missing mail: `brenner mail import FILE`. Or show the file: `brenner artifact "
    "show {path}`.",
    "artifact_publish_spec_v0.1, Latest Artifact Pointer",
)
FILE_DIFFERS = warning(
    "FILE_DIFFERS",
    "{place} differs from the version that it states: {difference}.",
    "To see the differences, and the delta that keeps them: `brenner compile {thread_id} "
    "--persist`. To overwrite the file, add `--force`. A commit is never changed: to commit the "
    "version after it, also add `--commit`.",
    "R18, R19",
)
SHOWN_FROM_FILE = info(
    "SHOWN_FROM_FILE",
    "This store has no version of `{thread_id}`. The file `{path}` is shown instead.",
    "No action is needed. To import its mail as well: `brenner mail import FILE`.",
    "artifact_publish_spec_v0.1, Latest Artifact Pointer",
)
CANNOT_VOID = error(
    "CANNOT_VOID",
    "Cannot void v{version} of `{thread_id}`: {reason}.",
    "Only the latest version can be voided, or one that cannot be rebuilt. Void newer versions "
    "first. List the versions: `brenner artifact history {thread_id}`.",
    "R10",
)
ONLY_THE_OPERATOR = error(
    "ONLY_THE_OPERATOR",
    "Only the operator ({operator}) may {what}, not {name}.",
    "Ask the operator. If you are the operator: leave out `--as`, and unset `AGENT_NAME`.",
    "R10, R18",
)
CANNOT_ADOPT = error(
    "CANNOT_ADOPT",
    "Cannot adopt `{thread_id}`: {reason}.",
    "The latest COMPILED message must contain a whole artifact, a number above the latest "
    "version, and no record that rebuilds. Otherwise compile the thread: `brenner compile "
    "{thread_id}`.",
    "R10",
)
COMPILE_OVERTAKEN = error(
    "COMPILE_OVERTAKEN",
    "`{thread_id}` got another version or decision during each of the {tries} attempts. Nothing "
    "was sent.",
    "Run the command again.",
    "R17",
)
POSTED_IN_VAIN = warning(
    "POSTED_IN_VAIN",
    "Message {id} was posted as v{version}, but it is void: {reason}. Message {info} reports "
    "this in the thread.",
    "No action is needed. Messages that only it included became unread, and the next version "
    "included them.",
    "R17",
)
POSTED_NOT_CONFIRMED = error(
    "POSTED_NOT_CONFIRMED",
    "Message {id} was posted as v{version}, but the thread could not be read afterwards "
    "({reason}). Nothing else was done.",
    "When the server is available, run the same command again. It checks whether that message is "
    "v{version} and continues. Nothing is published twice.",
    "R17",
)
