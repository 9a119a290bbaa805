"""Settings of clients in files that have other content, too: it stays, byte for byte."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from brenner.services import json_edits, toml_edits
from brenner.services.client_settings import (
    CLIENTS,
    TOML,
    ClientConnection,
    SettingsFile,
    settings_for,
)
from brenner.services.client_settings_files import changed_text
from brenner.services.json_edits import EditError

FILES = [
    file
    for client in CLIENTS
    for way in (
        ClientConnection("http://127.0.0.1:8765/mcp/", wants_token=True),
        ClientConnection(command=("/opt/a b/brenner", "mcp"), variables=("PGPASSWORD",)),
    )
    for file in settings_for(client, way, Path("/lab")).files
]
JSON_FILES = [each for each in FILES if each.form != TOML]
TOML_FILES = [each for each in FILES if each.form == TOML]

pytestmark = pytest.mark.fuzz

# Texts of JSON: any layout, comments where they are accepted, the keys that our settings use
KEYS = st.one_of(
    st.sampled_from(["mcpServers", "permissions", "allow", "deny", "enabledMcpjsonServers"]),
    st.text(max_size=4),
)
SCALARS = st.one_of(
    st.text(max_size=6).map(json.dumps),
    st.sampled_from(["0", "-1.50e3", "null", "true", '"mcp__other__*"', '"[mcp_servers.brenner]"']),
)
BLANKS = st.sampled_from(["", "", " ", "\t", "\n", "\n  ", "\n    ", "\r\n", "\r\n\t", "\n\n"])
COMMENTS = st.sampled_from(["// a } comment\n", "/* , */", "/* \n ] */", "//\r\n"])


@st.composite
def json_texts(draw: st.DrawFn, *, has_comments: bool) -> str:
    """An object as text."""
    gaps = st.one_of(BLANKS, st.tuples(BLANKS, COMMENTS, BLANKS).map("".join))
    gap = gaps if has_comments else BLANKS

    def value(depth: int) -> str:
        kind = draw(st.sampled_from("soa" if depth else "o"))
        if kind == "s" or depth > 3:
            return draw(SCALARS)
        names = draw(st.lists(KEYS, max_size=3, unique=True))
        if kind == "o":
            inner = [
                f"{draw(gap)}{json.dumps(name)}{draw(gap)}:{draw(gap)}{value(depth + 1)}{draw(gap)}"
                for name in names
            ]
        else:
            inner = [f"{draw(gap)}{value(depth + 1)}{draw(gap)}" for _ in names]
        opening, closing = "{}" if kind == "o" else "[]"
        return f"{opening}{','.join(inner) or draw(gap)}{closing}"

    mark = draw(st.sampled_from(["", "\ufeff"]))
    return f"{mark}{draw(gap)}{value(0)}{draw(gap)}"


# Texts of TOML: tables, values over several lines, headers inside texts and comments
STATEMENTS = (
    "# [mcp_servers.brenner]",
    "",
    "  # a comment",
    'text{} = """\n[mcp_servers.brenner]\nurl = "x"\n"""',
    "text{} = '''\n[mcp_servers.brenner]'''",
    'list{} = [\n  [1, 2], # a comment ]\n  ["[mcp_servers.brenner]"],\n]',
    'inline{} = {{ url = "#" }}  # a comment',
    "number{} = 1.50",
    "[table{}]",
    "  [ table{} . 'a b' ]  # a comment",
    "[[tables{}]]",
    "[mcp_servers.other{}]",
    '[mcp_servers."brenner.{}"]',
    "[mcp_servers.other{}.env]",
)
TOML_TEXTS = st.builds(
    lambda lines, end, feed: (
        "\n".join(each.format(number) for number, each in enumerate(lines)) + end
    ).replace("\n", feed),
    st.lists(st.sampled_from(STATEMENTS), max_size=8),
    st.sampled_from(["", "\n", "\n\n", "\n  "]),
    st.sampled_from(["\n", "\r\n"]),
)


def check(file: SettingsFile, text: str) -> None:
    """Write, write again, remove: nothing else changes, and at last nothing at all."""
    try:
        written = changed_text(file, text, is_removal=False)
    except EditError:
        assert is_odd(file, text)
        return
    assert written is not None
    assert changed_text(file, written, is_removal=False) == written
    assert sum(character == "\r" for character in text) <= written.count("\r")
    assert is_within(text, written)
    assert changed_text(file, written, is_removal=True) == text


def is_within(text: str, written: str) -> bool:
    """Whether all characters of a text are in another one, in their order."""
    rest = iter(written)
    return all(character in rest for character in text)


def is_odd(file: SettingsFile, text: str) -> bool:
    """Whether a text is not valid, or has another kind of value where our containers belong."""
    text = text.removeprefix("\ufeff")
    try:
        if file.form == TOML:
            toml_edits.decode_toml(text)
            return False
        found = json_edits.decode_json(text, has_comments=file.has_comments)
    except EditError:
        return True
    for path, _, is_item in file.settings:
        value = found
        for number, key in enumerate(path):
            if not isinstance(value, dict):
                return True
            if key not in value:
                break
            value = value[key]
            if is_item and number == len(path) - 1 and not isinstance(value, list):
                return True
    return False


@given(st.data(), st.sampled_from(JSON_FILES))
def test_json_stays_as_it_was(data: st.DataObject, file: SettingsFile) -> None:
    """The generated documents have no entry of ours, so `remove` is the inverse of `write`."""
    check(file, data.draw(json_texts(has_comments=file.has_comments)))


@given(TOML_TEXTS, st.sampled_from(TOML_FILES))
@example("", TOML_FILES[0])
@example("\n", TOML_FILES[0])
def test_toml_stays_as_it_was(text: str, file: SettingsFile) -> None:
    check(file, text)


@given(st.sampled_from(FILES), st.text(max_size=40))
def test_any_text_is_changed_safely_or_refused(file: SettingsFile, text: str) -> None:
    for is_removal in (False, True):
        with suppress(EditError):
            changed_text(file, text, is_removal=is_removal)


@given(st.sampled_from(JSON_FILES), st.data())
def test_an_entry_is_replaced_in_its_place(file: SettingsFile, data: st.DataObject) -> None:
    """Another entry of our name goes; what is around it stays."""
    path, value, is_item = file.settings[0]
    assume(not is_item)
    gap = data.draw(BLANKS)
    before, after = f'{{{gap}"{path[0]}":{{"x":1,{gap}"brenner":', f'{gap},"y":[ ]}}}}{gap}'
    old = data.draw(SCALARS)
    written = changed_text(file, before + old + after, is_removal=False)
    assert written is not None
    assert written.startswith(before)
    assert written.endswith(after)
    assert json.loads(written[len(before) : len(written) - len(after)]) == value


@given(st.sampled_from(FILES))
def test_a_file_of_ours_alone_is_removed(file: SettingsFile) -> None:
    written = changed_text(file, None, is_removal=False)
    assert written == file.text
    assert changed_text(file, written, is_removal=True) is None
