"""Arguments as models write them: what has one reading is taken, all else is told at once."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import Diagnostic
from brenner.limits import MOST_JSON_DEPTH, MOST_JSON_VALUES
from brenner.mcp.arguments import read_arguments, read_tool_arguments, schema
from brenner.mcp.server import TOOLS
from brenner.mcp.tool import Argument, ArgumentKind, Tool

SEND = (
    Argument("sender_name", required=True),
    Argument("to", ArgumentKind.TEXTS, required=True),
    Argument("body_md", required=True, about="Markdown"),
    Argument("importance", default="normal", choices=("low", "normal", "high", "urgent")),
    Argument("ack_required", ArgumentKind.FLAG, default=False),
    Argument("limit", ArgumentKind.NUMBER),
    Argument("since", ArgumentKind.VERSION),
    Argument("ids", ArgumentKind.NUMBERS),
    Argument("deltas", ArgumentKind.DELTAS),
)
LEAST: dict[str, Any] = {"sender_name": "BlueLake", "to": ["RedStone"], "body_md": "Hello"}


def read(**more: Any) -> tuple[Mapping[str, object], tuple[Diagnostic, ...]]:
    """What is read from the least that is needed, and more."""
    return read_arguments("send_message", SEND, LEAST | more)


def ids(reading: tuple[object, tuple[Diagnostic, ...]]) -> list[str]:
    """The codes of what is wrong."""
    return [each.id for each in reading[1]]


def test_schema_lists_exactly_the_arguments() -> None:
    said = schema(SEND)
    properties: Any = said["properties"]
    assert said["required"] == ["sender_name", "to", "body_md"]
    assert "additionalProperties" not in said  # tokens and what clients add are accepted, too
    assert properties["sender_name"] == {"type": "string"}
    assert properties["to"] == {"type": "array", "items": {"type": "string"}}
    assert properties["body_md"] == {"type": "string", "description": "Markdown"}
    assert properties["importance"]["enum"] == ["low", "normal", "high", "urgent"]
    assert properties["importance"]["default"] == "normal"
    assert properties["ack_required"] == {"type": "boolean"}
    assert "required" not in schema(())


def test_missing_and_null_arguments_get_the_default() -> None:
    reading = read(importance=None, limit=None, ids=None)
    assert reading[1] == ()
    assert reading[0] == {
        **LEAST,
        "importance": "normal",
        "ack_required": False,
        "limit": None,
        "ids": None,
        "since": None,
        "deltas": None,
    }


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("limit", "12", 12),
        ("limit", "-3", -3),
        ("limit", 5.0, 5),
        ("ack_required", "true", True),
        ("ack_required", "False", False),
        ("body_md", 12, "12"),
        ("to", "RedStone", ["RedStone"]),
        ("to", "", []),
        ("to", '["RedStone","GreenHill"]', ["RedStone", "GreenHill"]),
        ("to", "[a-z]*.py", ["[a-z]*.py"]),
        ("ids", 7, [7]),
        ("ids", ["7", 8], [7, 8]),
        ("ids", "[7, 8]", [7, 8]),
        *(("since", each, 1) for each in (1, "1", "v1", " V1")),
        ("deltas", {"a": 1}, [{"a": 1}]),
        ("deltas", [{"a": 1}, None, 2], [{"a": 1}, None, 2]),
        ("deltas", '[{"a": 1}]', ['[{"a": 1}]']),
        ("deltas", ["{'a': 1,}", {"b": 2}], ["{'a': 1,}", {"b": 2}]),
        ("deltas", "not JSON", ["not JSON"]),
        ("deltas", 12, [12]),
        ("deltas", "  ", []),
        ("importance", "HIGH", "high"),
    ],
)
def test_unambiguous_values_are_converted(name: str, given: object, taken: object) -> None:
    """Numbers as text, single values for lists and JSON as text are accepted."""
    reading = read(**{name: given})
    assert reading[1] == ()
    assert reading[0][name] == taken


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("limit", "twelve", "a whole number. It is the text `twelve`"),
        ("limit", "1_2", "a whole number. It is the text `1_2`"),
        ("limit", True, "a whole number. It is true"),
        ("limit", 1.5, "a whole number. It is the number 1.5"),
        ("limit", 2**64, "a whole number. It is a number out of range"),
        ("ack_required", 1, "true or false. It is the number 1"),
        ("body_md", ["a"], "a string. It is a list"),
        ("body_md", False, "a string. It is false"),
        ("to", {"name": "x"}, "a list of strings. It is a JSON object"),
        ("to", ["a", None], "a list of strings. It is a list in which number 2 is null"),
    ],
)
def test_wrong_type_is_reported(name: str, given: object, words: str) -> None:
    (fault,) = read(**{name: given})[1]
    assert (fault.code, fault.message) == (
        codes.WRONG_ARGUMENT_TYPE,
        f"`{name}` must be {words}.",
    )


def test_all_errors_are_reported_at_once() -> None:
    given = {"to": [1, []], "importance": "hugely", "limit": "x", "sendr_name": "A", "zzzzzz": 1}
    reading = read_arguments("send_message", SEND, given)
    assert ids(reading) == [
        "UNKNOWN_ARGUMENT",
        "UNKNOWN_ARGUMENT",
        "WRONG_ARGUMENT_TYPE",
        "MISSING_ARGUMENT",
        "NOT_A_CHOICE",
        "WRONG_ARGUMENT_TYPE",
    ]
    near, far = reading[1][:2]
    assert (near.suggestion, far.suggestion) == ("sender_name", None)


def test_number_of_reported_errors_is_limited() -> None:
    many = {f"x{number:04}" + "y" * 1000: 1 for number in range(1000)}
    faults = read_arguments("send_message", SEND, many | {"limit": "x"})[1]
    assert [each.id for each in faults].count("UNKNOWN_ARGUMENT") == 20
    assert faults[19].message.endswith(" And 980 more are wrong.")
    assert {"MISSING_ARGUMENT", "WRONG_ARGUMENT_TYPE"} <= {each.id for each in faults}
    assert len(str([each.to_json() for each in faults])) < 20_000


def test_misspelt_argument_is_not_reported_as_missing() -> None:
    reading = read_arguments("send_message", SEND, LEAST | {"body_md": None, "body": "Hello"})
    assert [(each.id, each.suggestion) for each in reading[1]] == [("UNKNOWN_ARGUMENT", "body_md")]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("sender", "sender_name"),
        ("required", "ack_required"),
        ("to_names", "to"),
        ("Body-MD", "body_md"),
        ("max_limit", "limit"),
        ("name_", None),
        ("recipients", None),
    ],
)
def test_suggested_argument(given: str, meant: str | None) -> None:
    """The suggestion matches by letters or by words; two candidates give none."""
    (fault, *_) = read_arguments("send_message", SEND, {given: 1})[1]
    assert (fault.id, fault.suggestion) == ("UNKNOWN_ARGUMENT", meant)


def test_given_arguments_are_not_suggested() -> None:
    (fault,) = read(limit=1, limits=2)[1]
    assert (fault.id, fault.suggestion) == ("UNKNOWN_ARGUMENT", None)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"body_md": "a\0b"}, "`body_md` contains a NUL character"),
        ({"body_md": "half \ud83d"}, "`body_md` contains half of a character"),
        ({"to": ["a", "\ud83d"]}, "`to[1]` contains half of a character"),
        ({"deltas": [{"payload": {"claim": "\0"}}]}, "`deltas[0].payload.claim` contains a NUL"),
        ({"deltas": [{"a": float("nan")}]}, "`deltas[0].a` contains a number that is not finite"),
        ({"deltas": [{"\0": 1}]}, "`deltas[0].\\x00` contains a NUL character"),
    ],
)
def test_unstorable_characters_are_rejected(given: dict[str, object], place: str) -> None:
    (fault,) = read(**given)[1]
    assert fault.code == codes.UNREADABLE_ARGUMENT
    assert fault.message.startswith(place)


def nested(depth: int) -> object:
    """Return a list nested to this depth."""
    value: object = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_nesting_depth_and_number_of_values_are_limited() -> None:
    assert read(deltas=nested(MOST_JSON_DEPTH))[1] == ()
    assert ids(read(deltas=nested(MOST_JSON_DEPTH + 1))) == ["ARGUMENTS_TOO_LARGE"]
    assert ids(read(deltas=nested(5_000))) == ["ARGUMENTS_TOO_LARGE"]
    assert ids(read(ids=[1] * (MOST_JSON_VALUES + 1))) == ["ARGUMENTS_TOO_LARGE"]
    assert read(ids=[1] * (MOST_JSON_VALUES // 2))[1] == ()
    long_name = {"x" * 1_000_000: [1] * (MOST_JSON_VALUES // 2)}
    assert read(deltas=[long_name])[1] == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from([each.name for each in SEND]) | st.text(max_size=12)


@given(st.dictionaries(NAMES, JSON, max_size=6))
def test_every_argument_is_accepted_or_reported(given: dict[str, object]) -> None:
    """Property: an accepted argument has the declared type."""
    reading = read_arguments("send_message", SEND, given)
    said = {name for name, value in given.items() if value is not None}
    known = {each.name for each in SEND}
    if reading[1]:
        assert all(each.message for each in reading[1])
        return
    assert said <= known
    assert all(reading[0][name] is not None for name in said)
    json.dumps(reading[0], allow_nan=False).encode()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.name))
def test_every_tool_accepts_tokens_and_what_clients_add(tool: Tool) -> None:
    """Either name of a token fills both; a client's own argument is ignored, whatever it is."""
    least: dict[str, Any] = {
        each.name: [] for each in tool.arguments if each.kind is ArgumentKind.DELTAS
    }
    names = ("sender_token", "registration_token")
    for name in names:
        given = {**least, name: "brs_x", "wait_for_previous": {"any": [1]}}
        read, faults = read_tool_arguments(tool, given)
        assert {each.id for each in faults} <= {"MISSING_ARGUMENT"}
        assert (read[names[0]], read[names[1]]) == ("brs_x", "brs_x")
        assert "wait_for_previous" not in read
    _, faults = read_tool_arguments(tool, {names[0]: "brs_x", names[1]: "brs_y"})
    assert [each.id for each in faults].count("TOKENS_DIFFER") == 1
    assert "brs_" not in str(faults)
    same = {names[0]: "brs_x", names[1]: "brs_x"}
    assert "TOKENS_DIFFER" not in str(read_tool_arguments(tool, same)[1])
    _, faults = read_tool_arguments(tool, {"wait_for_previus": True})
    assert "UNKNOWN_ARGUMENT" in [each.id for each in faults]
