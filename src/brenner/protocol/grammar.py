"""Regular expressions of the protocol's grammar, each under the line that it implements.

Use `fullmatch` for the form of a complete value; only the forms that occur inside a text are
searched for. IDs, names and numbers are ASCII only: no digits of other alphabets. Other modules use
these forms instead of repeating them.
"""

from __future__ import annotations

import re

from brenner.lazy_pattern import lazy_pattern

# thread_subject_conventions, Thread ID Validation: "Engineering thread"
ENGINEERING_THREAD_ID = lazy_pattern(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
# "Research thread"
RESEARCH_THREAD_ID = lazy_pattern(r"RS-([0-9]{8})-([a-z0-9-]{2,40})")
# "Coordination thread"
COORDINATION_THREAD_ID = lazy_pattern(r"COORD-[a-z0-9-]{2,30}")

# thread_subject_conventions, Subject Validation: "Has valid prefix"; then the description
MESSAGE_TYPES = (
    "KICKOFF",
    "DELTA",
    "COMPILED",
    "CRITIQUE",
    "ACK",
    "CLAIM",
    "HANDOFF",
    "BLOCKED",
    "QUESTION",
    "INFO",
)
SUBJECT = lazy_pattern(
    r"(?:(DELTA)\[([a-z]+)\]|(" + "|".join(t for t in MESSAGE_TYPES if t != "DELTA") + r")):(.*)",
    re.DOTALL,
)

_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
# agent_roster_schema: an agent's name, e.g. BlueLake; without look-alike characters, as in R1
AGENT_NAME = lazy_pattern(_NAME)

# message_body_schema, ACK Messages, "Message ID": 12, #12, Message 12, or 12, 14 and 15
_MESSAGE_NUMBER = r"#?[1-9][0-9]*+"
ACKNOWLEDGED_IDS = lazy_pattern(
    r"(?:messages?|msg|ids?|message ids?)?[ \t]*+(?::[ \t]*+)?+"
    rf"({_MESSAGE_NUMBER}(?:(?:[ \t]*+[,;][ \t]*+|[ \t]++)(?:and[ \t]++)?+{_MESSAGE_NUMBER})*)"
    r"(?![\w.-]*\w)",
    re.IGNORECASE,
)

# artifact_publish_spec, Version Tracking: v1, v2, …; R11: v0 is the empty artifact
VERSION = lazy_pattern(r"v(0|[1-9][0-9]{0,8})")
# artifact_publish_spec, Subject Format: "COMPILED: v{N} {brief description}"; R17: from 1 on
COMPILED_DESCRIPTION = lazy_pattern(r"v([1-9][0-9]{0,8})(?=[:,;.–—-]?(?:\s|\Z))")
# artifact_publish_spec, Body Schema: "# Compiled Artifact v{N}"; a version among other words
VERSION_IN_TITLE = lazy_pattern(r"(?<![\w.-])v([1-9][0-9]{0,8})(?![\w-]|\.[0-9])")
# artifact_publish_spec, Metadata: "v{N}", and other programs' forms of it
LOOSE_VERSION = lazy_pattern(r"(?:v|version[ \t]*)?0*([0-9]{1,9})", re.IGNORECASE | re.ASCII)

# companion, The artifact: item IDs are prefix + number, counted from 1
ITEM_ID = lazy_pattern(r"(?:([HPTAXC])([1-9][0-9]{0,8})|RT)")
# R11: the name that an author gives to an item without a number, and a reference to it
LOCAL_ID = lazy_pattern(_NAME)
LOCAL_REFERENCE = lazy_pattern(r"@" + _NAME)
# R11: the hypotheses in a text such as `H4 vs H1/H2` or `@epi vs H1`; in other texts an ID is prose
HYPOTHESIS_REFERENCE = lazy_pattern(
    rf"(?<![\w@])@{_NAME}(?![\w-])|(?<![\w@])H[1-9][0-9]{{0,8}}(?!\w)"
)
# An attempt at a local reference there, valid or not
LOCAL_REFERENCE_ATTEMPT = lazy_pattern(r"(?<![\w@])@+[\w-]+")
ITEM_ID_IN_PROSE = lazy_pattern(r"(?<![\w@])[HPTAXC][1-9][0-9]{0,8}(?!\w)")
# companion, The artifact: the items that a message mentions, including the research thread
ITEM_ID_IN_MAIL = lazy_pattern(rf"{ITEM_ID_IN_PROSE.pattern}|(?<![\w@])RT(?!\w)")

# companion, Anchors: §42, §42-45, §42-§45, EV-001, EV-001#E1, inference, [inference] after anchors,
# [axiomatic], [external: source]
_SOURCE = r"(?:§[0-9]{1,9}(?:-§?[0-9]{1,9})?|EV-[0-9]{1,9}(?:#E[0-9]{1,9})?)"
ANCHOR = lazy_pattern(
    rf"(?:{_SOURCE}(?:,? {_SOURCE})*(?: \[inference\])?|inference|\[inference\]|\[axiomatic\]"
    r"|\[external:[ \t]*[^\]\s][^\]\n]*\])"
)
# R31: the names of the records and excerpts of an evidence pack, and an anchor in a text
EVIDENCE_RECORD = lazy_pattern(r"EV-[0-9]{1,9}")
EVIDENCE_EXCERPT = lazy_pattern(r"E[0-9]{1,9}")
_EVIDENCE = r"(?<![\w-])EV-[0-9]{1,9}(?:#E[0-9]{1,9})?(?!\w)"
EVIDENCE_ANCHOR = lazy_pattern(_EVIDENCE)
# R31: a quotation in double quotes that an excerpt's anchor follows directly, or in a bracket
QUOTED_EXCERPT = lazy_pattern(
    r'(?:"(?P<straight>[^"]*)"|“(?P<curly>[^“”]*)”)\s{0,9}[(\[]?'
    r"(?P<anchor>EV-[0-9]{1,9}#E[0-9]{1,9})(?!\w)"
)
# R26: a file as evidence of a result, with the SHA-256 of its content
EVIDENCE_FILE = lazy_pattern(r"file:(?P<path>[^#\s][^#\n]*)#sha256=(?P<sha256>[0-9a-f]{64})")
# R27: the key of a declared outcome
OUTCOME_KEY = lazy_pattern(r"[a-z0-9_-]{1,32}")
# The two bytes of § decoded as Mac Roman or as Latin-1
MOJIBAKE_SECTION_SIGN = lazy_pattern("¬ß|Â§")
# companion, Anchors: the sections that a sentence or an anchor cites, one or a range
CITED_SECTIONS = lazy_pattern(r"§ ?([0-9]+)(?:[-–]§?([0-9]+))?")
# Text that becomes a link: a section of the source text, a record of the evidence pack, an item of
# this session, or the ID of another session and one of its items
MENTION = lazy_pattern(
    rf"(?<![\w-])(?P<session>{RESEARCH_THREAD_ID.pattern})[ #/](?P<its>{ITEM_ID.pattern})(?!\w)"
    rf"|§ ?(?P<section>[0-9]{{1,9}})(?:[-–]§?[0-9]{{1,9}})?(?![0-9])|{_EVIDENCE}"
    rf"|{ITEM_ID_IN_MAIL.pattern}"
)
# companion, Anchors: marks that name the source of a sentence
SOURCE_IN_TEXT = lazy_pattern(r"§ ?[0-9]|\bEV-[0-9]|\[(?:axiomatic\]|external:)", re.ASCII)

# companion, Lint, EM-003: a time in ISO 8601, extended or basic; the time zone is optional
ISO_TIME = lazy_pattern(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
    r"|[0-9]{8}(?:T[0-9]{4}(?:[0-9]{2}(?:[.,][0-9]{1,9})?)?(?:Z|[+-][0-9]{2}(?:[0-9]{2})?)?)?"
)

# message_body_schema, Error Responses: the title of the reply to a message with errors
VALIDATION_ERROR_TITLE = "# Validation Error"
