"""What an agent pays in every session before it has done anything: the list of tools."""

import json
import re
import sys
from typing import Any

from brenner.mcp.server import INSTRUCTIONS, TOOLS, tool_list

MOST_TOKENS = 3_000
MOST_CHARACTERS_FOR_CODEX = 250
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


def listed() -> list[dict[str, Any]]:
    """All tools as `tools/list` has them, without the annotations.

    Those are for the program: no program gives them to its model.
    """
    tools = [
        tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
        for tool in tool_list(TOOLS).tools
    ]
    return [{key: each for key, each in tool.items() if key != "annotations"} for tool in tools]


def test_all_descriptions_together_are_short() -> None:
    """Instructions, descriptions and schemas of all tools stay below 3,000 tokens."""
    text = json.dumps(listed(), ensure_ascii=False, separators=(",", ":")) + INSTRUCTIONS
    count = tokens(text)
    sys.stdout.write(f"{len(TOOLS)} tools, {len(text)} characters, at most {count} tokens\n")
    for each in listed():
        sys.stdout.write(f"  {tokens(json.dumps(each)):4} {each['name']}\n")
    assert {"name", "description", "inputSchema"} == {key for each in listed() for key in each}
    assert count < MOST_TOKENS


def test_the_first_words_of_the_instructions_are_enough() -> None:
    """Codex gives a model only about so many: the four calls of a contribution are in them."""
    start = INSTRUCTIONS[:MOST_CHARACTERS_FOR_CODEX]
    tools = ("register_agent", "brenner_task", "brenner_artifact", "brenner_post")
    assert [start.index(f"`{tool}`") for tool in tools] == sorted(
        start.index(f"`{tool}`") for tool in tools
    )
    assert "your deltas." in start
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
