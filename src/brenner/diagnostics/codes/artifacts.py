"""Codes for artifacts: parsing the text, commands that read a version, and versions themselves.

The linter's rules cover missing front matter, malformed IDs, and missing sections or columns.
"""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_LAYOUT_SPEC = "companion, The artifact"
_SLATE = "## 2. Hypothesis Slate\n\n"
_H1 = "### H1: Lineage counting\n\n"

WRAPPED_ARTIFACT = Code(
    id="WRAPPED_ARTIFACT",
    severity=WARNING,
    title="The artifact is not the whole file",
    message="The artifact stands {where}; it was read from line {first} on.{outside}",
    fix="Take {what} away, so that the file is the artifact and nothing else.",
    why="Programs, and whoever looks at the file, expect the front matter on the first line. A "
    "language model often puts a sentence before its answer, or a code fence around it.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        "Here is the artifact:\n\n```markdown\n## 1. Research Thread\n\n**RT**: Why?\n```",
        "## 1. Research Thread\n\n**RT**: Why?",
    ),
)
SECOND_ARTIFACT = Code(
    id="SECOND_ARTIFACT",
    severity=WARNING,
    title="A second artifact in the same file",
    message="On line {start} another artifact begins; from there on nothing was read.",
    fix="Give each artifact a file of its own.",
    why="A file is one artifact. Items of two versions under the same IDs would be mixed up.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        "# Brenner Protocol Artifact\n\n## 1. Research Thread\n\n**RT**: Why?\n\n"
        "# Brenner Protocol Artifact\n\n## 1. Research Thread\n\n**RT**: How?",
        "# Brenner Protocol Artifact\n\n## 1. Research Thread\n\n**RT**: Why?",
    ),
)
FRONT_MATTER_FORM = Code(
    id="FRONT_MATTER_FORM",
    severity=WARNING,
    title="A value of the front matter has another form",
    message="`{key}` in the front matter {words}.",
    fix="Write it as the format has it: texts in quotes, numbers without, `contributors` as a "
    "list of model shorthands, one to a line.",
    why="Other programs write these values in other forms. They are read where there is only one "
    "reading, and kept in any case.",
    spec="companion, The artifact; R18",
    example=Example(
        "text",
        "---\ncontributors:\n  - agent: BlueLake\n    model: opus\n---",
        '---\ncontributors:\n  - "opus"\n---',
    ),
)
HEADING_FORM = Code(
    id="HEADING_FORM",
    severity=WARNING,
    title="A heading has another form",
    message="The heading `{written}` was read as `{meant}`.{more}",
    fix="Write `{meant}`.",
    why="Readers and programs find sections and items by their headings, word for word.",
    spec=_LAYOUT_SPEC,
    example=Example("text", "# Hypothesis Slate\n\n### H1 - Lineage", f"{_SLATE}### H1: Lineage"),
)
HEADING_CONTRADICTS = Code(
    id="HEADING_CONTRADICTS",
    severity=WARNING,
    title="A heading contradicts what stands under it",
    message="The heading of `{id}` says {says}, but {other}. {read}",
    fix="Make the two agree: the heading repeats what the fields say.",
    why="A reader looks at the heading, a program at the fields; both must see the same.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        "## 4. Discriminative Tests\n\n### T1: Transplant (Score: 9/12)\n\n"
        "**Evidence-per-week score**: LR=3, Cost=2, Speed=2, Ambiguity=3",
        "## 4. Discriminative Tests\n\n### T1: Transplant (Score: 10/12)\n\n"
        "**Evidence-per-week score**: LR=3, Cost=2, Speed=2, Ambiguity=3",
    ),
)
UNKNOWN_SECTION = Code(
    id="UNKNOWN_SECTION",
    severity=WARNING,
    title="A heading names none of the seven sections",
    message="`{heading}` is none of the seven sections; under it only items with an ID such as "
    "`H1` are read.{more}",
    fix="Move what belongs to the artifact into one of the seven sections.{suggestion}",
    why="The artifact has seven sections and no others, so that every part of it has a meaning.",
    spec=_LAYOUT_SPEC,
    example=Example("text", "## 8. Notes\n\nAsk Ann.", "## 7. Adversarial Critique"),
)
MISPLACED_ITEM = Code(
    id="MISPLACED_ITEM",
    severity=WARNING,
    title="An item stands in another section",
    message="`{id}` stands {where}; it was read as an item of `{heading}`.",
    fix="Move it to under `{heading}`.",
    why="The prefix of its ID says which section an item belongs to, and everything that names "
    "the item goes by its ID.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        f"{_SLATE}### T1: Transplant\n\n**Procedure**: Graft early",
        "## 4. Discriminative Tests\n\n### T1: Transplant\n\n**Procedure**: Graft early",
    ),
)
FIELD_FORM = Code(
    id="FIELD_FORM",
    severity=WARNING,
    title="A field has another form",
    message="{what}. It was read all the same.{more}",
    fix="Write {right}.",
    why="The format has one way to write each field, so that every program reads the same.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        f"{_SLATE}{_H1}- **claim:** Cells count divisions",
        f"{_SLATE}{_H1}**Claim**: Cells count divisions",
    ),
)
UNKNOWN_LABEL = Code(
    id="UNKNOWN_LABEL",
    severity=WARNING,
    title="A label that the section does not have",
    message="`**{label}**` is no label of `{heading}`; its text was not read{more}.",
    fix="Put the text under a label of the section: {labels}.{suggestion}",
    why="Fields have a meaning only by their labels. Text that was passed over must not be lost "
    "in silence.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        f"{_SLATE}{_H1}**Clam**: Cells count divisions",
        f"{_SLATE}{_H1}**Claim**: Cells count divisions",
    ),
)
REPEATED_LABEL = Code(
    id="REPEATED_LABEL",
    severity=WARNING,
    title="A field stands twice",
    message="`**{label}**` of `{id}` stands on line {first} already; this one was not read{more}.",
    fix="Leave one of the two, or join them.",
    why="A field has one value. Which of two is meant only a person can say.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        f"{_SLATE}{_H1}**Claim**: Cells count\n\n**Claim**: Cells read gradients",
        f"{_SLATE}{_H1}**Claim**: Cells count",
    ),
)
UNREADABLE_VALUE = Code(
    id="UNREADABLE_VALUE",
    severity=WARNING,
    title="A value that cannot be read",
    message="`{value}` under `**{label}**` is not {expected}; it was not read.",
    fix="Write {expected}, as in `{example}`.",
    why="Flags, scores, outcomes and references are read by programs and have one form each.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        "## 4. Discriminative Tests\n\n### T1: Graft\n\n**Evidence-per-week score**: high",
        "## 4. Discriminative Tests\n\n### T1: Graft (Score: 3/12)\n\n"
        "**Evidence-per-week score**: LR=3",
    ),
)
TEXT_NOT_READ = Code(
    id="TEXT_NOT_READ",
    severity=WARNING,
    title="Text that belongs to no field",
    message="This text belongs to no field and was not read: {text}{more}",
    fix="Put it under a label of an item, if it is to be part of the artifact.",
    why="Only fields are read. What stands beside them would be lost with the next version, so "
    "it must not be lost in silence.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        f"{_SLATE}Three ideas so far.\n\n{_H1}**Claim**: Cells count divisions",
        f"{_SLATE}{_H1}**Claim**: Cells count divisions",
    ),
)
KILLED_FORM = Code(
    id="KILLED_FORM",
    severity=WARNING,
    title="A killed item has another form",
    message="`{id}` was read as killed, but it is not written as the format has it: {what}.",
    fix="Strike {marked} through, and add `**{prefix}Killed by**: agent, time` and "
    "`**{prefix}Reason**: …` below.",
    why="A killed idea is worth as much as the reason why it was dropped. Older forms leave out "
    "who dropped it, when, or why.",
    spec=_LAYOUT_SPEC,
    example=Example(
        "text",
        f"{_SLATE}### H2: Gradient reading [KILLED]\n\n**Claim**: Cells read a gradient",
        f"{_SLATE}### ~~H2: Gradient reading~~ [KILLED]\n\n**Claim**: ~~Cells read a gradient~~\n\n"
        "**Killed by**: BlueLake, 2025-12-30T10:00:00Z\n\n**Reason**: A special case of H4",
    ),
)

ARTIFACT_TEXT_CODES = (
    WRAPPED_ARTIFACT,
    SECOND_ARTIFACT,
    FRONT_MATTER_FORM,
    HEADING_FORM,
    HEADING_CONTRADICTS,
    UNKNOWN_SECTION,
    MISPLACED_ITEM,
    FIELD_FORM,
    UNKNOWN_LABEL,
    REPEATED_LABEL,
    UNREADABLE_VALUE,
    TEXT_NOT_READ,
    KILLED_FORM,
)


# Commands that show the items and authors of a version


NO_SUCH_ITEM = Code(
    id="NO_SUCH_ITEM",
    severity=ERROR,
    title="The artifact does not have that item or field",
    message="{name} has no `{item}`.",
    fix="Give the ID of one of its items, such as `H2`{or_field}.{suggestion} "
    "`brenner artifact show {name}` shows all of them.",
    why="IDs are exact. An item that another version has may not be there yet in this one.",
    spec="companion, The artifact",
    example=Example(
        "text",
        "brenner artifact blame RS-20251230-cell-fate H9.claim",
        "brenner artifact blame RS-20251230-cell-fate H2.claim",
    ),
)
AUTHORS_NOT_KNOWN = Code(
    id="AUTHORS_NOT_KNOWN",
    severity=ERROR,
    title="Nobody can tell who set what in it",
    message="{name} says nothing about who set what: {reason}.",
    fix="Give a version whose mail is here, as `THREAD` or `THREAD@vN`; `brenner mail import` "
    "brings mail in.",
    why="Authors and refused blocks follow from the mail. The file holds only what came of it.",
    spec="R7, R10",
    example=Example(
        "text",
        "brenner artifact blame artifacts/RS-20251230-cell-fate.md\n(edited by hand)",
        "brenner artifact blame RS-20251230-cell-fate@v3",
    ),
)

ARTIFACT_COMMAND_CODES = (NO_SUCH_ITEM, AUTHORS_NOT_KNOWN)


# Versions: find, void and adopt them (rulings R10, R17, R18)


RECORD_UNREADABLE = Code(
    id="RECORD_UNREADABLE",
    severity=WARNING,
    title="The record of a COMPILED message cannot be read",
    message="The record of this COMPILED message cannot be read ({reason}), and its subject names "
    "no version, so it is none; the deltas before it still count as unread.",
    fix="Compile the thread with `brenner compile {thread_id}`. A record is written by the "
    "program, never by hand.",
    why="The record says which messages a version has read. One that cannot be read says nothing, "
    "and must not swallow anybody's work.",
    spec="R10",
    example=Example(
        "text",
        '```brenner-record\n{"version": 3, …}\n```',
        "brenner compile RS-20251230-cell-fate",
    ),
)
NO_VERSION_YET = Code(
    id="NO_VERSION_YET",
    severity=ERROR,
    title="The thread has no version yet",
    message="`{thread_id}` has no compiled version yet, and there is no file `{path}`.",
    fix="Once deltas have come in that apply, `brenner compile {thread_id}` publishes the first.",
    why="What is shown is always a published version, never a guess at the next one.",
    spec="artifact_publish_spec_v0.1, Latest Artifact Pointer",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate",
        "brenner compile RS-20251230-cell-fate\nbrenner artifact show RS-20251230-cell-fate",
    ),
)
UNKNOWN_VERSION = Code(
    id="UNKNOWN_VERSION",
    severity=ERROR,
    title="The thread does not have that version",
    message="`{thread_id}` has no v{version}; {known}.",
    fix="`brenner artifact history {thread_id}` lists the versions.",
    why="A version that does not exist has nothing to show.",
    spec="artifact_publish_spec_v0.1, Version Tracking",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate@v9",
        "brenner artifact show RS-20251230-cell-fate@v2",
    ),
)
FILE_AHEAD_OF_MAIL = Code(
    id="FILE_AHEAD_OF_MAIL",
    severity=WARNING,
    title="The file holds a later version than the mail",
    message="`{path}` holds v{value}, but the mail of this store {ends}, and the mail counts.",
    fix="Import the missing mail (`brenner mail import`), or look at the file itself: "
    "`brenner artifact show {path}`.",
    why="In a session under way the mail is the truth. A later file means that mail is missing "
    "here.",
    spec="artifact_publish_spec_v0.1, Latest Artifact Pointer",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate\n(the file holds v5, the mail ends with v3)",
        "brenner mail import cell-fate.jsonl\nbrenner artifact show RS-20251230-cell-fate",
    ),
)
FILE_DIFFERS = Code(
    id="FILE_DIFFERS",
    severity=WARNING,
    title="A persisted file differs from its version",
    message="{place} differs from the version that it names: {difference}.",
    fix="`brenner compile {thread_id} --persist` shows how the file differs, and the delta that "
    "brings the changes in; with `--force` it writes the version over the file. A commit stays in "
    "the history: commit the version after it.",
    why="The mail is the truth. A file or a commit that names a version and says something else "
    "misleads its readers.",
    spec="R18, R19",
    example=Example(
        "text",
        "artifacts/RS-20251230-cell-fate.md, a claim changed with an editor",
        "brenner compile RS-20251230-cell-fate --persist --commit --force",
    ),
)
SHOWN_FROM_FILE = Code(
    id="SHOWN_FROM_FILE",
    severity=INFO,
    title="The artifact comes from its file",
    message="This store has no version of `{thread_id}`; what is shown comes from `{path}`.",
    fix="Nothing has to be done. To have its mail too, import it with `brenner mail import`.",
    why="A persisted session is read from its file where its mail is not at hand, and the reader "
    "should know which of the two it is.",
    spec="artifact_publish_spec_v0.1, Latest Artifact Pointer",
    example=Example(
        "text",
        "brenner artifact show RS-20251230-cell-fate\n(a fresh clone, no mail)",
        "brenner mail import artifacts/RS-20251230-cell-fate.mail.jsonl",
    ),
)
CANNOT_VOID = Code(
    id="CANNOT_VOID",
    severity=ERROR,
    title="The version cannot be voided",
    message="v{version} of `{thread_id}` cannot be voided: {reason}.",
    fix="`brenner artifact history {thread_id}` lists the versions. Only the latest can be voided; "
    "void those above first.",
    why="Each version is built on the one before. Without it, those above would hang in the air.",
    spec="R10",
    example=Example(
        "text",
        "brenner session void RS-20251230-cell-fate@v2\n(v3 is built on it)",
        "brenner session void RS-20251230-cell-fate@v3\n"
        "brenner session void RS-20251230-cell-fate@v2",
    ),
)
ONLY_THE_OPERATOR = Code(
    id="ONLY_THE_OPERATOR",
    severity=ERROR,
    title="Only the operator may do that",
    message="{name} may not {what}: only the operator, {operator}, may.",
    fix="Let the operator run the command, without `--as`.",
    why="To void, adopt or close what the group has made is a decision about other people's work.",
    spec="R10, R18",
    example=Example(
        "text",
        "brenner session void RS-20251230-cell-fate@v2 --as BlueLake",
        "brenner session void RS-20251230-cell-fate@v2",
    ),
)
CANNOT_ADOPT = Code(
    id="CANNOT_ADOPT",
    severity=ERROR,
    title="There is nothing to adopt",
    message="`{thread_id}` cannot be adopted: {reason}.",
    fix="Adopt a thread whose latest COMPILED message holds a whole artifact, a number above that "
    "of the latest version, and no record that rebuilds. Otherwise compile it: "
    "`brenner compile {thread_id}`.",
    why="Adopting takes an artifact as it is, without knowing how it came about. It is for threads "
    "that another program has compiled, and for nothing else.",
    spec="R10",
    example=Example(
        "text",
        "brenner session adopt RS-20251230-cell-fate\n(every version of it rebuilds)",
        "brenner compile RS-20251230-cell-fate",
    ),
)
COMPILE_OVERTAKEN = Code(
    id="COMPILE_OVERTAKEN",
    severity=ERROR,
    title="The thread kept moving",
    message="`{thread_id}` got another version or decision each of the {tries} times that one was "
    "about to be posted; nothing was posted.",
    fix="Run the command again.",
    why="A version is published only if no other version, and no decision on one, has come in "
    "since the thread was read. A version that closes the session also has to include every "
    "contribution.",
    spec="R17",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate\n(other compilers publish all the time)",
        "brenner compile RS-20251230-cell-fate",
    ),
)
POSTED_IN_VAIN = Code(
    id="POSTED_IN_VAIN",
    severity=WARNING,
    title="Another compiler was quicker, and your message is void",
    message="Message {id} was posted as v{version}, and is void: {reason}. Message {info} says so "
    "in the thread.",
    fix="Nothing has to be done. What only that message had read counts as unread; the thread was "
    "read again, and what was left went into the next version.",
    why="An Agent Mail server cannot keep two compilers from posting the same number. Of a number "
    "the message with the lowest ID is the version, and the others must not be mistaken for it.",
    spec="R17",
    example=Example(
        "text",
        "message 40, COMPILED: v3 added T4\nmessage 41, COMPILED: v3 added T4 and C2",
        "message 40, COMPILED: v3 added T4\n"
        "message 41, COMPILED: v3 added T4 and C2\n"
        "message 42, INFO: Message 41 is void, it is not v3\n"
        "message 43, COMPILED: v4 added C2",
    ),
)
POSTED_NOT_CONFIRMED = Code(
    id="POSTED_NOT_CONFIRMED",
    severity=ERROR,
    title="Nobody knows whether the message that was posted is the version",
    message="Message {id} was posted as v{version}, but the thread could not be read again after "
    "it ({reason}). Nothing else was done.",
    fix="Run the same command again once the server is there: it finds out whether that message "
    "is v{version}, and goes on from there. Nothing is published twice.",
    why="An Agent Mail server cannot keep two compilers from posting the same number, so a "
    "compiler looks whether its message is the version before it goes on.",
    spec="R17",
    example=Example(
        "text",
        "brenner compile RS-20251230-cell-fate --persist    (the server ends after it has stored "
        "the message)",
        "the same again, once the server runs",
    ),
)

VERSION_CODES = (
    RECORD_UNREADABLE,
    NO_VERSION_YET,
    UNKNOWN_VERSION,
    FILE_AHEAD_OF_MAIL,
    FILE_DIFFERS,
    SHOWN_FROM_FILE,
    CANNOT_VOID,
    ONLY_THE_OPERATOR,
    CANNOT_ADOPT,
    COMPILE_OVERTAKEN,
    POSTED_IN_VAIN,
    POSTED_NOT_CONFIRMED,
)
