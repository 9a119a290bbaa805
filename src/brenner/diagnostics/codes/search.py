"""Codes of ours for the search: words, "phrases" and filters."""

from brenner.diagnostics.model import ERROR, Code, Example

_SEARCH = "design, Commands"
_SHORT = "brenner mail search gradient"

UNKNOWN_FILTER = Code(
    id="UNKNOWN_FILTER",
    severity=ERROR,
    title="There is no such filter",
    message="`{name}:` is not a filter of the search.",
    fix="Use `type:`, `from:`, `thread:`, `item:`, `is:unread`, `needs:ack`, `before:` or "
    "`after:`. To look for the text itself, put it in quotation marks.{suggestion}",
    why="A filter that nobody knows would be dropped, and the search would find too much, or "
    "taken as a word, and it would find nothing.",
    spec=_SEARCH,
    example=Example("text", "sender:BlueLake gradient", "from:BlueLake gradient"),
)
INVALID_FILTER_VALUE = Code(
    id="INVALID_FILTER_VALUE",
    severity=ERROR,
    title="A filter cannot have this value",
    message="`{filter}:` cannot have the value `{value}`.",
    fix="After `{filter}:` write {expected}.",
    why="No message could ever match. An empty answer would look as if there were none.",
    spec=_SEARCH,
    example=Example("text", "type:DELTAS after:yesterday", "type:DELTA after:2025-12-30"),
)
EMPTY_QUERY = Code(
    id="EMPTY_QUERY",
    severity=ERROR,
    title="The search asks for nothing",
    message="There is nothing to search for.",
    fix='Give words, a "phrase", or a filter such as `type:DELTA`. To see everything that you '
    "received, use `brenner mail inbox`.",
    why="An empty search is most often a variable that was not filled in.",
    spec=_SEARCH,
    example=Example("text", 'brenner mail search ""', _SHORT),
)
UNCLOSED_QUOTE = Code(
    id="UNCLOSED_QUOTE",
    severity=ERROR,
    title="A quotation mark is not closed",
    message="A quotation mark is opened and never closed.",
    fix='Close it: `"a phrase"`. In a shell, put the whole search between single quotation marks.',
    why="Where the phrase ends would be a guess: at the next word, or at the end.",
    spec=_SEARCH,
    example=Example(
        "text",
        "brenner mail search 'type:DELTA \"cell fate'",
        "brenner mail search 'type:DELTA \"cell fate\"'",
    ),
)
FILTER_NEEDS_READER = Code(
    id="FILTER_NEEDS_READER",
    severity=ERROR,
    title="A filter asks about an inbox, but not about whose",
    message="`{filter}` asks about somebody's inbox, and nobody is named.",
    fix="Say who you are with `--as NAME`, or set `AGENT_NAME`.",
    why="What is unread, or owed, differs from one recipient to the next.",
    spec=_SEARCH,
    example=Example(
        "text", "brenner mail search is:unread", "brenner mail search is:unread --as BlueLake"
    ),
)
QUERY_TOO_LONG = Code(
    id="QUERY_TOO_LONG",
    severity=ERROR,
    title="The search asks for too much at once",
    message="The search has more than {most}.",
    fix="Search for fewer words, or in several steps: a few rare words find a message.",
    why="All of it must be there, so that more words hardly ever find more; each takes time from "
    "everybody else.",
    spec="ruling R5 (limits before parsing)",
    example=Example("text", "brenner mail search 'a whole page of text'", _SHORT),
)

CODES = (
    UNKNOWN_FILTER,
    INVALID_FILTER_VALUE,
    EMPTY_QUERY,
    UNCLOSED_QUOTE,
    FILTER_NEEDS_READER,
    QUERY_TOO_LONG,
)
