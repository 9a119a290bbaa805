"""Text put into Markdown so that it stays text."""

import re

_RUN = {"`": re.compile("`+"), "~": re.compile("~+")}
_SHORTEST_FENCE = 3
_BLOCK_START = re.compile(r"(?:[#>+*=<|`~_\[-]|[0-9]{1,9}[.)])")


def fenced(text: str, info: str, mark: str = "`") -> str:
    """A fenced code block with exactly this text; the fence is longer than any run inside."""
    longest = max((len(run) for run in _RUN[mark].findall(text)), default=0)
    fence = mark * max(_SHORTEST_FENCE, longest + 1)
    ending = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{info}\n{text}{ending}{fence}\n"


def one_paragraph(text: str) -> str:
    """The text on one line that begins no heading, list, quotation, fence or HTML block."""
    line = " ".join(text.split())
    match = _BLOCK_START.match(line)
    if not match:
        return line
    mark = match.end() - 1
    return f"{line[:mark]}\\{line[mark:]}"
