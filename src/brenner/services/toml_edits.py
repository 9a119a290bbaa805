"""Edits of TOML text: add and remove one table, add a setting. Every other byte stays as it is.

`remove_table` undoes `add_table`, byte for byte: a table is added at the end, after a line feed,
and ends without a line feed if the text did.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.services.json_edits import EditError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = lazy_pattern(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n|[ \t\r]+|[\[\]{}]"
    r"|[^\s\"'\#\[\]{}]+",
    re.DOTALL,
)


class _Table(NamedTuple):
    """A header with its statements: from the start of its line to the end of the last one."""

    path: tuple[str, ...]
    start: int
    end: int


def decode_toml(text: str) -> dict[str, object]:
    """Return the value of a TOML text; raise EditError with the line if it is not valid."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        said, _, place = str(error).rpartition(" (at ")
        number = place.removeprefix("line ").partition(",")[0]
        said = said or str(error)
        reason = f"it is not valid TOML ({said[:1].lower()}{said[1:]})"
        raise EditError(reason, int(number) if number.isdecimal() else None) from None


def add_table(text: str, path: Sequence[str], table: str) -> str:
    """Return the text with a table, given with its header. An existing one is replaced."""
    decode_toml(text)
    newline = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    table = table.rstrip("\n").replace("\n", newline)
    owned = _tables_at(text, path)
    if not owned:
        _check_not_inline(text, path)
        is_unfinished = text and not text.endswith("\n")
        added = 2 * newline + table if is_unfinished else newline + table + newline
        return _checked(text + added, text, path)
    for each in reversed(owned[1:]):
        text = text[: each.start] + text[each.end :]
    first = owned[0]
    end = newline if text[first.start : first.end].endswith("\n") else ""
    return text[: first.start] + table + end + text[first.end :]


def _checked(changed: str, text: str, path: Sequence[str]) -> str:
    """Return a text with an added table; raise EditError if the table above it is written inline,
    so that it cannot be continued.
    """
    try:
        decode_toml(changed)
    except EditError:
        reason = f"`{path[0]}` is not written as a table `[{path[0]}]`"
        raise EditError(reason, _line_of_key(text, path[0])) from None
    return changed


def add_setting(text: str, key: str, value: str) -> str:
    """Return the text with a key of the top level, after those that it has there.

    Raise EditError if it has the key.
    """
    before = decode_toml(text.removeprefix("\ufeff"))
    if key in before:
        reason = f"it has `{key}` already"
        raise EditError(reason, _line_of_key(text, key))
    start = 1 if text.startswith("\ufeff") else 0
    newline = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    top = next((each for each in _tables(text[start:]) if not each.path), None)
    end = start + (top.end if top else 0)
    gap = newline if top and not text[:end].endswith("\n") else ""
    changed = (
        f"{text[:end]}{gap}{key} = {json.dumps(value, ensure_ascii=False)}{newline}{text[end:]}"
    )
    if decode_toml(changed.removeprefix("\ufeff")) != {**before, key: value}:
        reason = f"`{key}` cannot be added safely"
        raise EditError(reason)
    return changed


def remove_table(text: str, path: Sequence[str]) -> str | None:
    """Return the text without the table and those below it; None if nothing is left."""
    decode_toml(text)
    owned = _tables_at(text, path)
    _check_not_inline(text, path, owned)
    for each in reversed(owned):
        start = each.start
        is_unfinished = each.end == len(text) and not text.endswith("\n")
        for _ in range(2 if is_unfinished else 1):
            start = _before_empty_line(text, start, is_unfinished=is_unfinished)
        if not text[:start] + text[each.end :] and not each.start:
            return None
        text = text[:start] + text[each.end :]
    return text


def _before_empty_line(text: str, start: int, *, is_unfinished: bool) -> int:
    """Return the start without the line feed before it, if that ends an empty line."""
    if not text[:start].endswith("\n"):
        return start
    before = start - (2 if text[:start].endswith("\r\n") else 1)
    is_empty = not before or text[before - 1] == "\n"
    return before if is_empty or is_unfinished else start


def _check_not_inline(text: str, path: Sequence[str], owned: Sequence[_Table] = ()) -> None:
    """Raise EditError if the value at the path is written in another way than as a table."""
    value: object = decode_toml(text)
    for number, key in enumerate(path):
        if not isinstance(value, dict):
            reason = f"`{'.'.join(path[:number])}` is not a table"
            raise EditError(reason, _line_of_key(text, path[number - 1]))
        if key not in value:
            return
        value = value[key]
    if not owned:
        reason = f"`{'.'.join(path)}` is not written as a table `[{'.'.join(path)}]`"
        found = (_line_of_key(text, key) for key in reversed(path))
        raise EditError(reason, next(filter(None, found), None))


def _line_of_key(text: str, key: str) -> int | None:
    """Return the first line that begins with a key, or that names it in its dotted key."""
    name = rf"[\"']?{re.escape(key)}[\"']?"
    found = re.search(rf"^[ \t]*(?:[^\n=\[]*\.\s*)?{name}\s*[.=]", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else None


# Finding tables


def _tables_at(text: str, path: Sequence[str]) -> list[_Table]:
    """Return the tables at and below a path, in the order of the text."""
    wanted = tuple(path)
    return [each for each in _tables(text) if each.path[: len(wanted)] == wanted]


def _tables(text: str) -> Iterator[_Table]:
    """Yield all tables with a header. The text is valid TOML."""
    path: tuple[str, ...] = ()
    start = end = depth = 0
    is_line_start = True
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign == "\n":
            is_line_start = not depth
            continue
        if sign[0] in " \t\r#":
            continue
        if is_line_start and sign == "[":
            if start < end:
                yield _Table(path, start, end)
            start = text.rfind("\n", 0, token.start()) + 1
            path = _header_path(text[start : _line_end(text, token.start())])
        is_line_start = False
        depth += (sign in ("[", "{")) - (sign in ("]", "}"))
        end = _line_end(text, token.end())
    if start < end:
        yield _Table(path, start, end)


def _line_end(text: str, offset: int) -> int:
    """Return the end of the line of an offset, with its line feed."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


def _header_path(line: str) -> tuple[str, ...]:
    """Return the keys of a header such as `[mcp_servers."a b"]`."""
    path: list[str] = []
    value: object = tomllib.loads(line)
    while value and isinstance(value, dict | list):
        if isinstance(value, list):
            value = value[0]
        else:
            ((key, value),) = value.items()
            path.append(key)
    return tuple(path)
