"""Codes of ours for the web page."""

from brenner.diagnostics.model import ERROR, Code, Example

PAGE_FAILED = Code(
    id="PAGE_FAILED",
    severity=ERROR,
    title="Brenner itself has failed",
    message="Brenner failed while it answered {method} {path}. That is a fault of ours, not of "
    "yours.",
    fix="Try it again. Whether something was done or sent before it failed is seen in the thread: "
    "`brenner mail thread` lists all of them. Where it failed, the server has written to its "
    "standard error: please report that line.",
    why="What nobody has foreseen is not hidden behind an empty page, nor is anything of it shown "
    "that belongs to somebody else.",
    spec="RFC 9110, HTTP Semantics, 500 Internal Server Error",
    example=Example("text", "a page that cannot be written", "the same page, once that is mended"),
)

CODES: tuple[Code, ...] = (PAGE_FAILED,)
