"""A state that was kept as text goes on as if it had never been text."""

import contextlib
import json
from typing import Any
from zlib import crc32

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from artifacts import artifacts
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.serialize import decode_state, encode_state
from brenner.artifact.state import Blame, State, adopted_state, empty_state
from histories import START, Thread, threads
from sample_messages import THREAD_ID
from strategies import any_text

pytestmark = pytest.mark.fuzz
FEWER = settings(max_examples=settings().max_examples // 2)  # a thread is a large example


def states(thread: Thread, state: State) -> list[State]:
    """The states that a thread leaves behind, round by round, beginning with the given one."""
    found = [state]
    for messages, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        found.append(merge(found[-1], messages).publish(number, at))
    return found


def histories_of(blame: Blame) -> Any:
    """Every change of every field, the earlier ones included."""
    return {
        name: {path: [change[:3] for change in last.history()] for path, last in changes.items()}
        for name, changes in blame.items()
    }


def look_at_everything(state: State) -> State:
    """The same state in plain mappings, of which nothing is text any more."""
    authors = {
        name: memory._replace(blocks=dict(memory.blocks), said=dict(memory.said))
        for name, memory in state.authors.items()
    }
    histories_of(state.blame)
    return state._replace(blame=dict(state.blame), authors=authors)


def everything(result: Merge) -> object:
    """All that a merge says, as far as it can be compared."""
    parts = (result.ledger, result.warnings, result.conflicts, result.left_out)
    return repr(parts), render_artifact(result.artifact), histories_of(result.blame)


def assert_goes_on_alike(thread: Thread, start: State) -> None:
    """Round by round, with the state as text between any two."""
    state = start
    kept = decode_state(encode_state(state))
    for messages, (number, at) in zip(thread.rounds, thread.compiled, strict=True):
        result, of_kept = merge(state, messages), merge(kept, messages)
        assert everything(of_kept) == everything(result)
        state = result.publish(number, at)
        text = encode_state(of_kept.publish(number, at))
        assert text == encode_state(state)
        kept = decode_state(text)
        assert kept == state
        assert state == kept


@FEWER
@given(threads(4, 3))
def test_every_further_merge_is_the_same(thread: Thread) -> None:
    """What the next rounds say does not depend on whether the state was text in between, and
    neither does the text that they leave.
    """
    assert_goes_on_alike(thread, empty_state(THREAD_ID))


@FEWER
@given(threads(2, 3), threads(2, 3))
def test_so_it_is_after_another_programs_version(first: Thread, then: Thread) -> None:
    """Of an adopted artifact nobody knows who set what."""
    artifact = states(first, empty_state(THREAD_ID))[-1].artifact
    assert_goes_on_alike(then, adopted_state(THREAD_ID, artifact, START, 1))


@FEWER
@given(threads(), st.data())
def test_the_text_of_a_state_is_the_same_again(thread: Thread, data: st.DataObject) -> None:
    """Whether nothing of it was looked at, or everything, or what a round happens to look at."""
    state = states(thread, empty_state(THREAD_ID))[-1]
    text = encode_state(state)
    assert encode_state(decode_state(text)) == text
    looked_at = decode_state(text)
    merge(looked_at, data.draw(st.sampled_from(thread.rounds)))
    assert encode_state(looked_at) == text
    plain = look_at_everything(looked_at)
    assert encode_state(looked_at) == encode_state(plain) == text
    assert histories_of(plain.blame) == histories_of(state.blame)
    assert plain == state


@FEWER
@given(artifacts())
def test_any_artifact_comes_back(artifact: Artifact) -> None:
    """Whatever anybody wrote in it."""
    kept = decode_state(encode_state(State(artifact)))
    assert kept == State(artifact)
    assert render_artifact(kept.artifact) == render_artifact(artifact)


@given(any_text)
@example("")
@example("{}")
@example("\n")
@example('{"brenner_state":1,"crc32":0}')
@example('{"brenner_state":1,"crc32":0}\n')
@example('{"brenner_state":2,"crc32":0}\n')
@example("[" * 100_000)
def test_what_is_no_state_is_refused(text: str) -> None:
    """With a ValueError and nothing else."""
    with pytest.raises(ValueError, match=r"state|stored|surrogates"):
        decode_state(text)


_SCRAPS = st.sampled_from(
    ["", "0", "9", "-", '"', "[", "]", "{", "}", ",", "\t", "\n", "null", "true", "[[", "\\", "é"]
)


def damaged(text: str, places: list[tuple[float, int, str]]) -> str:
    """A text in which pieces were replaced: each where, how long, by what."""
    for where, length, scrap in places:
        at = int(where * len(text))
        text = text[:at] + scrap + text[at + length :]
    return text


_places = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), _SCRAPS), min_size=1, max_size=3)


@FEWER
@given(threads(2, 2), _places)
def test_a_damaged_text_is_refused(thread: Thread, places: list[tuple[float, int, str]]) -> None:
    """However little of it: a state that is only nearly right is not used."""
    text = encode_state(states(thread, empty_state(THREAD_ID))[-1])
    wrong = damaged(text, places)
    if wrong != text:
        with pytest.raises(ValueError, match="state"):
            decode_state(wrong)


@FEWER
@given(threads(2, 2), _places)
def test_a_forged_text_does_no_more(thread: Thread, places: list[tuple[float, int, str]]) -> None:
    """With a checksum that is right again a fault may show late; it is a ValueError then, too."""
    text = encode_state(states(thread, empty_state(THREAD_ID))[-1])
    body = damaged(text.partition("\n")[2], places)
    stamp = {"brenner_state": 1, "crc32": crc32(f"{body}\n".encode())}
    forged = json.dumps(stamp, separators=(",", ":")) + "\n" + body
    with contextlib.suppress(ValueError):
        look_at_everything(decode_state(forged))
