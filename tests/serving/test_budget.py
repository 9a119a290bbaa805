"""What an agent pays in every session before it has done anything: the list of tools."""

import json
import re
import sys

from brenner.mcp.arguments import schema
from brenner.mcp.server import INSTRUCTIONS, TOOLS

MOST_TOKENS = 3_000
_CHARACTERS_OF_A_TOKEN = 3.5  # of English; in JSON it is rather more
# Words, numbers and single marks; a long word is several tokens
_PIECES = re.compile(r"[A-Za-z]{1,8}|[0-9]{1,3}|[^\sA-Za-z0-9]")
_MARKS_OF_A_TOKEN = 2  # `":` and `",` and `{"` are one each


def tokens(text: str) -> int:
    """A count that is rather too high: by length, or by words and marks, whichever is more."""
    pieces = _PIECES.findall(text)
    marks = sum(not piece.isalnum() for piece in pieces)
    by_pieces = len(pieces) - marks + marks // _MARKS_OF_A_TOKEN
    return max(round(len(text) / _CHARACTERS_OF_A_TOKEN), by_pieces)


def listed() -> list[dict[str, object]]:
    """All tools as `tools/list` has them."""
    return [
        {
            "name": tool.name,
            "description": tool.about,
            "inputSchema": schema(tool.arguments),
            **({"annotations": {"readOnlyHint": True}} if tool.is_read_only else {}),
        }
        for tool in TOOLS
    ]


def test_all_tools_together_are_short() -> None:
    """Descriptions and schemas of all tools stay below 3,000 tokens."""
    text = json.dumps(listed(), ensure_ascii=False, separators=(",", ":"))
    count = tokens(text)
    sys.stdout.write(f"tools/list: {len(TOOLS)} tools, {len(text)} characters, ")
    sys.stdout.write(f"at most {count} tokens\n")
    for each in listed():
        sys.stdout.write(f"  {tokens(json.dumps(each)):4} {each['name']}\n")
    assert count < MOST_TOKENS


def test_what_is_said_of_the_server_is_short() -> None:
    """It is paid for, too."""
    assert tokens(INSTRUCTIONS) < MOST_TOKENS // 5


def test_our_own_tools_are_there() -> None:
    """Few, and all of them listed."""
    own = [tool.name for tool in TOOLS if tool.name.startswith("brenner_")]
    assert own == [
        *("brenner_task", "brenner_artifact", "brenner_post", "brenner_check", "brenner_explain"),
    ]


def test_the_count_is_careful() -> None:
    """Longer texts count more, and marks do not count for nothing."""
    assert tokens("") == 0
    assert tokens("internationalisation") > 1
    assert tokens('{"a":"b"}') >= 4
