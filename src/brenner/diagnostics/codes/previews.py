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

CODES: tuple[Code, ...] = (PREVIEW_OVERTAKEN, VERSION_NOT_LATEST)
