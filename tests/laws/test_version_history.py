"""The chain: versions are found in the mail, rebuilt from it, and swallow nothing else."""

from datetime import timedelta
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from brenner.artifact.render import render_artifact
from brenner.protocol.messages import Message, StoredMessage
from brenner.session.decisions import compose_void
from brenner.session.model import render_record
from brenner.session.versions import (
    VersionHistory,
    advance,
    decode_history,
    encode_history,
    replay,
)
from histories import threads
from sample_messages import THREAD_ID
from version_threads import OPERATOR, advanced, chain_of, compiled, file, foreign, record_in

FEWER = settings(max_examples=settings().max_examples // 4)  # a session is a very large example


@st.composite
def sessions(draw: st.DrawFn) -> list[StoredMessage]:
    """All messages of a thread, every round of it published."""
    thread = draw(threads())
    messages: list[StoredMessage] = []
    for posted, (number, at) in zip(thread.rounds, thread.compiled, strict=False):
        messages += map(file, posted)
        history = chain_of(messages)
        assume(history.unread)
        messages.append(compiled(history, number, at)[0])
    return messages


def seen(history: VersionHistory) -> tuple[Any, ...]:
    """What a chain comes to."""
    return (
        history.versions,
        history.unread,
        render_artifact(history.state.artifact),
        history.state.conflicts,
        history.state.versions,
        history.others(),
        history.ignored_blocks,
        history.broken_version,
        sorted(history.writers),
        history.position,
    )


def kept(history: VersionHistory, messages: list[StoredMessage]) -> VersionHistory:
    """The same chain, written down and read again."""
    by_id = {stored.id: stored for stored in messages}
    return decode_history(encode_history(history), THREAD_ID, by_id.__getitem__)


@FEWER
@given(sessions(), st.data())
def test_every_version_is_rebuilt_in_any_order(
    messages: list[StoredMessage], data: st.DataObject
) -> None:
    """From the messages alone, whatever order they come in."""
    history = chain_of(messages)
    published = [each for each in messages if each.message.subject.startswith("COMPILED")]
    assert [version.message_id for version in history.versions] == [
        each.id for each in sorted(published, key=lambda each: each.id)
    ]
    assert [version.number for version in history.versions] == [*range(1, len(published) + 1)]
    assert (history.broken_version, history.unread) == (None, ())
    assert seen(chain_of(data.draw(st.permutations(messages)))) == seen(history)


@FEWER
@given(sessions(), st.data())
def test_going_on_from_what_was_kept_is_the_same_as_starting_anew(
    messages: list[StoredMessage], data: st.DataObject
) -> None:
    """At any place, with what was kept written down and read again."""
    border = data.draw(st.integers(0, len(messages)))
    before = kept(chain_of(messages[:border]), messages)
    assert seen(before) == seen(chain_of(messages[:border]))
    assert seen(advanced(before, messages[border:])) == seen(chain_of(messages))


@FEWER
@given(sessions(), st.data())
def test_a_late_message_changes_no_version(
    messages: list[StoredMessage], data: st.DataObject
) -> None:
    """It may say that it is older than all others: it is unread, and the versions stay."""
    before = chain_of(messages)
    twin = data.draw(st.sampled_from(messages))
    late = twin._replace(id=900, at=twin.at - timedelta(days=400))
    after = chain_of([*messages, file(late)])
    assert [each.artifact_sha256 for each in after.versions] == [
        each.artifact_sha256 for each in before.versions
    ]
    assert after.broken_version is None


@FEWER
@given(sessions(), st.integers(1, 5_000))
def test_a_copied_thread_still_verifies(messages: list[StoredMessage], by: int) -> None:
    """With other ids and times than those that the records name."""
    copied = [
        stored._replace(id=stored.id + by, at=stored.at + timedelta(by), is_local=False)
        for stored in messages
    ]
    ours, theirs = chain_of(messages), chain_of(copied)
    assert theirs.broken_version is None
    assert [each.artifact_sha256 for each in theirs.versions] == [
        each.artifact_sha256 for each in ours.versions
    ]


@FEWER
@given(sessions(), st.data())
def test_a_changed_record_stops_the_chain_and_swallows_nothing(
    messages: list[StoredMessage], data: st.DataObject
) -> None:
    """Whatever is changed in it: the version does not count, and what it read is unread."""
    assume(len(messages) > 1)
    last = messages[-1]
    record = record_in(last)
    changed = data.draw(
        st.sampled_from(
            (
                record._replace(artifact_sha256="0" * 64),
                record._replace(messages=(*record.messages, *record.messages[:1])),
                record._replace(compiled_by="BlueLake"),
                record._replace(version=record.version + 1),
                record._replace(base=None),
            )
        )
    )
    body = last.message.body.replace(render_record(record), render_record(changed))
    assume(body != last.message.body)
    forged = file(last._replace(message=last.message._replace(body=body)))
    history = chain_of([*messages[:-1], forged])
    before = chain_of(messages[:-1])
    assume(before.unread)
    assert history.versions == before.versions
    assert history.unread == before.unread
    assert history.broken_version or history.others()


@FEWER
@given(sessions(), st.data())
def test_a_version_has_read_what_its_record_names_and_nothing_else(
    messages: list[StoredMessage], data: st.DataObject
) -> None:
    """One that leaves a message out either does not rebuild, or leaves it unread."""
    last = messages[-1]
    record = record_in(last)
    left = data.draw(st.sampled_from(record.messages))
    changed = record._replace(messages=tuple(each for each in record.messages if each != left))
    body = last.message.body.replace(render_record(record), render_record(changed))
    forged = file(last._replace(message=last.message._replace(body=body)))
    assert left.id in {each.id for each in chain_of([*messages[:-1], forged]).unread}


@FEWER
@given(sessions(), st.sampled_from(["", "```brenner-record\n{}\n```", "## Full Artifact\n\nx.md"]))
def test_a_foreign_compiled_message_swallows_nothing(
    messages: list[StoredMessage], body: str
) -> None:
    """Without a record, or with one that cannot be read, it is no version."""
    before = chain_of(messages[:-1])
    at = messages[-1].at
    after = chain_of(
        [*messages[:-1], foreign(901, at, "COMPILED: v7 all is done", f"# v7\n{body}")]
    )
    assert after.versions == before.versions
    assert after.unread == before.unread
    assert len(after.others()) == len(before.others()) + 1


@FEWER
@given(sessions())
def test_of_two_with_one_number_the_lower_id_counts(messages: list[StoredMessage]) -> None:
    """The other is void, and nothing is read twice."""
    last = messages[-1]
    twin = file(last._replace(id=last.id + 700))
    history = chain_of([*messages, twin])
    assert seen(history)[:5] == seen(chain_of(messages))[:5]
    assert [found.id for found in history.others()] == ["VOID_VERSION"]


@FEWER
@given(sessions())
def test_a_void_version_gives_back_what_it_had_read(messages: list[StoredMessage]) -> None:
    """Only the operator's word counts; then the number is free again."""
    history = chain_of(messages)
    last = history.versions[-1]
    at = messages[-1].at + timedelta(minutes=1)
    for sender in (OPERATOR, "RedSky"):
        blank = Message(THREAD_ID, sender, ("BlueLake",), "", "")
        said = compose_void(blank, last.number, last.message_id, [last.content_hash], "x")
        news = file(StoredMessage(950, at, said))
        after = chain_of([*messages, news])
        assert seen(after)[:3] == (
            seen(chain_of(messages[:-1]))[:3] if sender == OPERATOR else seen(history)[:3]
        )
        is_new = advance(history, [news]) is not None
        assert is_new == (sender != OPERATOR)
        again = compiled(after, 951, at)[0] if sender == OPERATOR else None
        if again:
            whole = replay(THREAD_ID, [*messages, news, again], OPERATOR)
            assert [each.number for each in whole.versions] == [
                each.number for each in history.versions
            ]


@FEWER
@given(sessions(), st.data())
def test_what_is_built_on_a_void_version_is_void_with_it(
    messages: list[StoredMessage], data: st.DataObject
) -> None:
    """Somebody compiled in the moment of the declaration: it gives back what all of them read."""
    history = chain_of(messages)
    void = data.draw(st.sampled_from(history.versions))
    at = max(each.at for each in messages) + timedelta(minutes=1)
    blank = Message(THREAD_ID, OPERATOR, ("BlueLake",), "", "")
    said = compose_void(blank, void.number, void.message_id, [void.content_hash], "x")
    news = file(StoredMessage(950, at, said))
    after = chain_of([*messages, news])
    assert after.versions == history.versions[: void.number - 1]
    assert after.broken_version is None
    assert len(after.others()) == len(history.versions) - len(after.versions)
    read = [each for each in history.versions if each.number >= void.number]
    hashes = {each.content_hash for each in read}
    records = [record_in(each) for each in messages if each.content_hash in hashes]
    given_back = sorted(entry.id for record in records for entry in record.messages)
    assert sorted(each.id for each in after.unread) == given_back
    again = chain_of([*messages, news, compiled(after, 951, at + timedelta(minutes=1))[0]])
    assert (again.broken_version, again.number) == (None, void.number)
