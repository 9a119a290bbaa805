"""What is read of a state that was kept as text, and what stays text.

What must not be read is made unreadable, behind a checksum that is right again.
"""

import json
from datetime import datetime
from types import MappingProxyType
from zlib import crc32

import pytest

from brenner.artifact.merge.engine import merge
from brenner.artifact.model import Reference
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import FORMAT, decode_state, encode_state
from brenner.artifact.state import LazyMapping, Overlay, State, adopted_state, empty_state
from brenner.protocol.messages import StoredMessage
from histories import moment
from sample_messages import FIVE, THREAD_ID, TWO, Draft, edit, hypothesis, opening, to

RUBBISH = "rubbish"


def claim(text: str, number: int, base: str = "") -> StoredMessage:
    """An edit of the first hypothesis."""
    block = edit("hypothesis_slate", "H1", claim=text)
    return Draft("RedSky", base, (block,)).posted(number, moment(number))


def a_thread() -> State:
    """Two have opened it, and one of them has then edited the same claim on forty bases."""
    drafts = (opening("RedSky", TWO), opening("BlueLake", FIVE))
    first = [draft.posted(number, moment(number)) for number, draft in enumerate(drafts, 1)]
    state = merge(empty_state(THREAD_ID), first).publish(3, moment(3))
    for number in range(10, 410, 10):
        result = merge(state, [claim(f"claim {number}", number)])
        state = result.publish(number + 1, moment(number + 1))
    return state


def lines_of(state: State) -> dict[str, str]:
    """The lines of its text: the head, of each item, of each author."""
    _, *lines = encode_state(state).split("\n")
    head = json.loads(lines[0])
    return dict(zip(("", *head["blame"], *head["authors"]), lines, strict=True))


def stamped(lines: dict[str, str]) -> str:
    """The text of these lines."""
    body = "\n".join(lines.values())
    stamp = {"brenner_state": FORMAT, "crc32": crc32(f"{body}\n".encode())}
    return json.dumps(stamp, separators=(",", ":")) + "\n" + body


def test_only_what_a_round_meets_is_read() -> None:
    """Other items and authors stay text, and are written as the text that they are."""
    state = a_thread()
    lines = lines_of(state)
    met = ("", "H1", "RedSky")
    spoiled = {name: line if name in met else RUBBISH for name, line in lines.items()}
    kept = decode_state(stamped(spoiled))
    messages = [claim("another", 500)]
    result, of_kept = merge(state, messages), merge(kept, messages)
    assert render_artifact(of_kept.artifact) == render_artifact(result.artifact)
    after = {name: line for name, line in lines_of(of_kept.state).items() if line != RUBBISH}
    assert after == {name: lines_of(result.state)[name] for name in met}
    with pytest.raises(ValueError, match="cannot be read"):
        kept.blame["H2"]


def test_of_an_item_the_latest_changes_are_read() -> None:
    """Earlier ones stay text, and so do her blocks on bases that nobody goes by any more."""
    state = a_thread()
    lines = lines_of(state)
    latest, *earlier = lines["H1"].split("\t")
    assert len(earlier) == 1
    head, *parts = lines["RedSky"].split("\t")
    pages = json.loads(head)[2]
    assert pages == [-1, -2, 0, 1, 2]
    spoiled = lines | {
        "H1": f"{latest}\t{RUBBISH}]",
        "RedSky": "\t".join([head, *[RUBBISH] * 4, *parts[4:]]),
    }
    kept = decode_state(stamped(spoiled))
    messages = [claim("another", 500)]
    result, of_kept = merge(state, messages), merge(kept, messages)
    assert of_kept.ledger == result.ledger
    after = lines_of(of_kept.state)
    written = earlier[0].removesuffix("]")
    assert after["H1"].replace(RUBBISH, written) == lines_of(result.state)["H1"]
    assert after["RedSky"].count(RUBBISH) == 4
    change = kept.blame["H1"]["claim",]
    assert change.value == "claim 400"
    with pytest.raises(ValueError, match="cannot be read"):
        list(change.history())


def test_a_repeated_block_is_found_on_an_old_base() -> None:
    """What stayed text is read as soon as a message goes by that base."""
    kept = decode_state(encode_state(a_thread()))
    (entry,) = merge(kept, [claim("claim 20", 500, "v2")]).ledger
    assert entry.state == "applied"  # she has said something else since
    (entry,) = merge(kept, [claim("claim 400", 500, "v40")]).ledger
    assert entry.state == "duplicate"
    added = Draft("RedSky", "", (hypothesis("one"),)).posted(500, moment(500))
    (entry,) = merge(kept, [added]).ledger
    assert (entry.state, entry.item_id) == ("duplicate", "H1")


def test_conflicts_about_lists_come_back() -> None:
    """What stands and what had to give way are whole lists, of texts or of references."""
    grown = edit("hypothesis_slate", "H1", anchors=["§2", "§3"], references=to("H2"))
    replaced = edit("hypothesis_slate", "H1", anchors=["§4"], references=[], replace=True)
    drafts = (Draft("BlueLake", "v1", (grown,)), Draft("RedSky", "v1", (replaced,)))
    messages = [draft.posted(number, moment(number)) for number, draft in enumerate(drafts, 500)]
    state = merge(a_thread(), messages).publish(510, moment(510))
    kept = decode_state(encode_state(state))
    assert [conflict.path for conflict in state.conflicts] == [("anchors",), ("references",)]
    assert kept.conflicts == state.conflicts
    given_way = [conflict.displaced[0].value for conflict in kept.conflicts]
    assert given_way == [("§2", "§3"), (Reference(THREAD_ID, "H2", "refines"),)]
    assert kept.conflicts[0].value == ("§4",)


def test_times_keep_their_zones() -> None:
    """An instant is the same in any zone, and stays as it was written."""
    at = datetime.fromisoformat("2026-01-02T03:04:05.678901-07:00")
    state = adopted_state(THREAD_ID, empty_state(THREAD_ID).artifact, at, 7)
    state = state._replace(updated=at, added=MappingProxyType({"H1": (at, 7)}))
    kept = decode_state(encode_state(state))
    assert kept == state
    assert [repr(version.at) for version in kept.versions] == ["None", repr(at)]
    assert repr((kept.updated, kept.added["H1"])) == repr((at, (at, 7)))


def test_a_kept_mapping_is_a_mapping() -> None:
    """It equals a plain one, keeps its order when changed, and reads each value once."""
    read: list[str] = []

    def number(text: str) -> int:
        read.append(text)
        return int(text)

    kept = LazyMapping({"a": "1", "b": "2", "c": "x"}, number)
    assert "c" in kept
    assert list(kept) == ["a", "b", "c"]
    assert len(kept) == 3
    assert (kept["b"], kept["b"], kept.get("d", 0)) == (2, 2, 0)
    assert read == ["2"]
    changed = kept.with_changes({"c": 30, "d": 40})
    assert changed == {"a": 1, "b": 2, "c": 30, "d": 40}
    assert MappingProxyType({"a": 1, "b": 2, "c": 30, "d": 40}) == changed
    assert repr(changed) == repr(MappingProxyType({"a": 1, "b": 2, "c": 30, "d": 40}))
    assert read == ["2", "1"]
    with pytest.raises(KeyError):
        kept["d"]
    with pytest.raises(ValueError, match="invalid literal"):
        kept["c"]


def test_a_layer_leaves_what_is_below_as_it_was() -> None:
    """Changes are made beside it, and come together in a mapping of their own."""
    below = {"a": [1], "b": [2]}
    layer = Overlay(below)
    assert layer.flatten() is below
    layer.own("a", list, []).append(10)
    layer.own("a", list, []).append(11)
    layer.own("c", list, []).append(30)
    layer["d"] = [40]
    assert (layer.get("a", []), layer.get("b", []), layer.get("e", [5])) == ([1, 10, 11], [2], [5])
    assert layer.flatten() == {"a": [1, 10, 11], "b": [2], "c": [30], "d": [40]}
    assert below == {"a": [1], "b": [2]}
