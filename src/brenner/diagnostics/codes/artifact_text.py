"""Codes for the text of an artifact: where it departs from the format, and what is not read.

What the linter has a rule for (no front matter, a malformed ID, a missing section or column) is
told by that rule.
"""

from brenner.diagnostics.model import WARNING, Code, Example

_LAYOUT = "companion, The artifact"
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
    example=Example("text", "# Hypothesis Slate\n\n### H1 - Lineage", f"{_SLATE}### H1: Lineage"),
)
HEADING_CONTRADICTS = Code(
    id="HEADING_CONTRADICTS",
    severity=WARNING,
    title="A heading contradicts what stands under it",
    message="The heading of `{id}` says {says}, but {other}. {read}",
    fix="Make the two agree: the heading repeats what the fields say.",
    why="A reader looks at the heading, a program at the fields; both must see the same.",
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
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
    spec=_LAYOUT,
    example=Example(
        "text",
        f"{_SLATE}### H2: Gradient reading [KILLED]\n\n**Claim**: Cells read a gradient",
        f"{_SLATE}### ~~H2: Gradient reading~~ [KILLED]\n\n**Claim**: ~~Cells read a gradient~~\n\n"
        "**Killed by**: BlueLake, 2025-12-30T10:00:00Z\n\n**Reason**: A special case of H4",
    ),
)

CODES = (
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
