"""Codes of what was looked at first, and is otherwise by the time it is to be done."""

from brenner.diagnostics.model import ERROR, Code, Example

PREVIEW_OVERTAKEN = Code(
    id="PREVIEW_OVERTAKEN",
    severity=ERROR,
    title="The thread has moved on since the preview",
    message="`{thread_id}` is not what it was when you looked: {news}. Nothing was published.",
    fix="Look at what would be published now; if you agree, publish that.",
    why="A version is published as it was shown. What came in between may change it, or may be "
    "the version itself, published by somebody else.",
    spec="R17",
    example=Example(
        "text",
        "compile, previewed at 14 messages    (the 15th is a DELTA)",
        "compile, previewed at 15 messages",
    ),
)
VERSION_NOT_LATEST = Code(
    id="VERSION_NOT_LATEST",
    severity=ERROR,
    title="The version is not the latest any more",
    message="v{version} is not the latest version of `{thread_id}` any more: {latest}. Nothing was "
    "written.",
    fix="Look at what would be written now; if you agree, persist that.",
    why="What is persisted is the latest version. Whoever saw an older one has not seen this.",
    spec="R19",
    example=Example("text", "persist v2    (v3 was published)", "persist v3"),
)

KICKOFFS_OVERTAKEN = Code(
    id="KICKOFFS_OVERTAKEN",
    severity=ERROR,
    title="The kickoffs are not those of the preview any more",
    message="What would be sent in `{thread_id}` is not what you looked at: something has come in "
    "or has been started meanwhile. Nothing was sent.",
    fix="Look at the kickoffs as they are now; if you agree, send those.",
    why="A kickoff speaks for the operator. It quotes critiques and what was refused, so whatever "
    "comes in between would go out in her name unseen.",
    spec="message body, KICKOFF",
    example=Example(
        "text",
        "a round, previewed    (then a CRITIQUE comes in, which its kickoffs quote)",
        "a round, previewed with that CRITIQUE in it",
    ),
)
FILE_OVERTAKEN = Code(
    id="FILE_OVERTAKEN",
    severity=ERROR,
    title="The file is not what it was in the preview",
    message="`{path}` has changed since you looked, and it was to be written over. Nothing was "
    "written.",
    fix="Look at what would be written over now; if you agree, do that.",
    why="Whoever gives up what is in a file has to have seen it.",
    spec="R19",
    example=Example(
        "text",
        "persist, write over    (then somebody edits the file)",
        "persist, write over, with the edit seen",
    ),
)

CODES: tuple[Code, ...] = (
    *(PREVIEW_OVERTAKEN, VERSION_NOT_LATEST, KICKOFFS_OVERTAKEN, FILE_OVERTAKEN),
)
