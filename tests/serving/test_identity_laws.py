"""Whatever is called in whatever order: nobody acts as another whose secret is not theirs."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from brenner.mail.model import Profile
from brenner.mcp.server import TOOLS
from brenner.protocol.messages import Message, Trust
from brenner.services.identity import has_secret, renew_secret, secret_digest
from serving.calls import OPERATOR, Place, place

OPERATORS_SECRET, NOBODYS = "brs_operators", "brs_nobodys"
THREAD = "RS-20251230-cell-fate"
TOKENS = ("sender_token", "registration_token")
NAMES = ("sender_name", "agent_name", "name", "name_hint", "agent")
SENDING = ("send_message", "reply_message", "acknowledge_message", "brenner_post")
RESERVING = ("file_reservation_paths", "release_file_reservations", "mark_message_read")
CLAIMING = ("register_agent", "create_agent_identity", "macro_start_session")
WITH_THE_NAME = ["README.md"]  # reserved in the call that claims a name
DELTA = {
    "operation": "ADD",
    "section": "hypothesis_slate",
    "payload": {"name": "H", "claim": "C", "mechanism": "M", "anchors": ["§1"]},
    "rationale": "R",
}
names = st.sampled_from(
    (OPERATOR, "operator", "Operat0r", " Operator", "BlueLake", "RedStone", "GreenHill", "", "!")
)
claimed_names = st.sampled_from(("BlueLake", "RedStone"))
# What callers say; a token is the number of one that was given out, or nobody's.
SAID: dict[str, st.SearchStrategy[object]] = {
    **dict.fromkeys(TOKENS, st.integers(-2, 3)),
    "program": st.sampled_from(("claude-code", "codex")),
    "model": st.just("opus"),
    "to": st.lists(st.sampled_from((OPERATOR, "BlueLake", "RedStone")), max_size=2),
    "subject": st.sampled_from(("Hello", "INFO: Hello", "ACK: Received", "KICKOFF: Begin")),
    "body_md": st.sampled_from(("Text.", "## Message ID\n1\n\n## Status\nReceived\n")),
    "thread_id": st.just(THREAD),
    "message_id": st.integers(1, 4),
    "paths": st.just(["src/*.py"]),
    "file_reservation_paths": st.just(WITH_THE_NAME),
    "auto_fetch_inbox": st.booleans(),
    "deltas": st.just([DELTA]),
    "query": st.just("hello"),
    "code": st.just("OTHER_PROJECT"),
    "key": st.sampled_from(("round-1", "round-2")),
}


class Made(NamedTuple):
    """A call; `header` is the number of the secret that comes with the connection, as a token's."""

    tool: str
    said: dict[str, object]
    connection: str | None
    is_strict: bool
    header: int


@st.composite
def calls(
    draw: st.DrawFn,
    tools: tuple[str, ...] = tuple(each.name for each in TOOLS),
    who: st.SearchStrategy[str] = names,
) -> Made:
    """A tool, what is said to it, on which connection, and with which secret."""
    tool = draw(st.sampled_from([each for each in TOOLS if each.name in tools]))
    values = SAID | dict.fromkeys(NAMES, who)
    said = {each.name: draw(values[each.name]) for each in tool.arguments if each.name in values}
    connection = draw(st.sampled_from((None, "one", "two")))
    return Made(tool.name, said, connection, draw(st.booleans()), draw(st.integers(-3, 2)))


def secret_of(number: object, given: list[str]) -> str | None:
    """The secret that a number stands for."""
    if number == -3:
        return "${BRENNER_SECRET}"  # as it comes where the variable is not set
    if number == -2:
        return NOBODYS
    return given[number] if isinstance(number, int) and 0 <= number < len(given) else None


def with_tokens(said: dict[str, object], given: list[str]) -> dict[str, object]:
    """The arguments with the secrets that their numbers stand for."""
    told = dict(said)
    for name in TOKENS:
        shown = secret_of(told.pop(name, -1), given)
        if shown is not None:
            told[name] = shown
    return told


def secrets_in(value: object) -> Iterator[str]:
    """Every text in an answer that is a secret, or has one in it."""
    if isinstance(value, dict):
        for each in value.values():
            yield from secrets_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from secrets_in(each)
    elif isinstance(value, str) and "brs_" in value:
        yield value


def began(*, with_secret: bool) -> Place:
    """A project in which the operator owes an ACK, so that there is something to do as her."""
    scene = place()
    scene.mailbox.register(Profile("BlueLake", "claude-code", "opus"))
    scene.mailbox.register(Profile("RedStone", "claude-code", "opus"))
    question = Message(THREAD, "BlueLake", (OPERATOR,), "QUESTION: Which?", "Which?")
    scene.mailbox.send(question._replace(ack_required=True))
    if with_secret:
        assert scene.mailbox.claim(OPERATOR, secret_digest(OPERATORS_SECRET))
    return scene


def all_that_can_be_read(scene: Place) -> str:
    """Every list of the project, as one text."""
    boxes = [
        f"{box}/{agent.name}?include_bodies=true&limit=1000"
        for agent in scene.mailbox.agents()
        for box in ("inbox", "outbox")
    ]
    addresses = ("projects", "agents", "agents/group-cell-fate", "project/group-cell-fate", *boxes)
    return json.dumps([scene.read(each) for each in addresses])


@given(with_secret=st.booleans(), made=st.lists(calls(), max_size=8))
def test_operator_and_secrets_are_safe(with_secret: bool, made: list[Made]) -> None:
    """No calls without the operator's secret do anything in her name; no secret is told twice."""
    scene = began(with_secret=with_secret)
    mailbox = scene.mailbox
    before = mailbox.agent(OPERATOR), mailbox.digest(OPERATOR)
    given: list[str] = []
    for each in made:
        secret = secret_of(each.header, given)
        caller = scene.caller(each.connection, secret, is_strict=each.is_strict)
        answer = scene.ask(each.tool, caller, **with_tokens(each.said, given))
        found = [*secrets_in(answer.value), *secrets_in(answer.text)]
        assert not found or (each.tool in CLAIMING and not answer.is_error and len(found) == 1)
        assert not set(found) & set(given)
        given += found
    assert (mailbox.agent(OPERATOR), mailbox.digest(OPERATOR)) == before
    assert OPERATOR not in {each.message.sender for each in mailbox.arrivals(0)}
    assert OPERATOR not in {each.agent for each in mailbox.reservations()}
    assert mailbox.unread(OPERATOR) == len(mailbox.inbox(OPERATOR).messages)
    assert "brs_" not in all_that_can_be_read(scene)


@given(st.lists(calls(), max_size=8))
def test_who_shows_nothing_is_never_verified(made: list[Made]) -> None:
    """Requests that stand alone and show no secret: unverified, or on a strict server nothing."""
    loose, strict = began(with_secret=True), began(with_secret=True)
    for each in made:
        for scene in (loose, strict):
            caller = scene.caller(None, secret_of(each.header, []), is_strict=scene is strict)
            scene.ask(each.tool, caller, **with_tokens(each.said, []))
    trusts = {each.envelope.trust for each in loose.mailbox.arrivals(1)}
    assert trusts <= {Trust.UNVERIFIED}
    assert strict.mailbox.position() == 1
    assert {each.pattern for each in strict.mailbox.reservations()} <= set(WITH_THE_NAME)


@given(st.lists(calls(SENDING, st.sampled_from(("BlueLake", "RedStone"))), max_size=8))
def test_verified_is_who_has_the_secret(made: list[Made]) -> None:
    """Each on a connection of its own, with a secret that is the sender's, another's, nobody's."""
    scene = began(with_secret=True)
    given = [renew_secret(scene.mailbox, name) for name in ("BlueLake", "RedStone")]
    for number, each in enumerate(made):
        shown = with_tokens(each.said, given)
        tokens = [str(shown[name]) for name in TOKENS if name in shown]
        header = secret_of(each.header, given)
        position = scene.mailbox.position()
        scene.ask(each.tool, scene.caller(f"c{number}", header, is_strict=each.is_strict), **shown)
        for sent in scene.mailbox.arrivals(position):
            own = [*tokens, *([header] if header else [])]
            has_shown = any(has_secret(scene.mailbox, sent.message.sender, one) for one in own)
            assert (sent.envelope.trust is Trust.VERIFIED) == has_shown
            assert has_shown or not (tokens or each.is_strict or header == NOBODYS)


@given(st.lists(calls(SENDING, st.just("BlueLake")), max_size=8))
def test_nothing_is_taken_from_who_has_the_secret(made: list[Made]) -> None:
    """Whatever others have sent in her name before: her ACK and her contribution are sent, once."""
    scene = began(with_secret=True)
    question = Message(THREAD, "RedStone", ("BlueLake",), "QUESTION: Which?", "Which?")
    scene.mailbox.send(question._replace(ack_required=True))
    secret = renew_secret(scene.mailbox, "BlueLake")
    for each in made:
        scene.ask(each.tool, scene.caller(), **with_tokens(each.said, []))
    told = {"thread_id": THREAD, "agent": "BlueLake", "deltas": [DELTA], "to": [OPERATOR]}
    for tool, said, token in (
        ("acknowledge_message", {"agent_name": "BlueLake", "message_id": 2}, TOKENS[1]),
        ("brenner_post", {**told, "key": "round-1"}, TOKENS[0]),
    ):
        position = scene.mailbox.position()
        for _ in range(2):
            answer = scene.ask(tool, scene.caller(), **said, **{token: secret})
            assert not answer.is_error, answer.text
        sent = scene.mailbox.arrivals(position)
        assert [each.envelope.trust for each in sent] == [Trust.VERIFIED]


@given(st.lists(calls((*SENDING, *RESERVING, *CLAIMING), claimed_names), max_size=8))
def test_nothing_is_written_in_a_protected_name(made: list[Made]) -> None:
    """Whoever calls in whatever order: what is done in a protected name has shown its secret."""
    scene = began(with_secret=True)
    mailbox = scene.mailbox
    given = [renew_secret(mailbox, name) for name in ("BlueLake", "RedStone")]
    for number, each in enumerate(made):
        shown = with_tokens(each.said, given)
        header = secret_of(each.header, given)
        tokens = [*(str(shown[name]) for name in TOKENS if name in shown), *filter(None, [header])]
        before = {name: done_by(scene, name) for name in ("BlueLake", "RedStone")}
        was_protected = {name for name in before if mailbox.is_protected(name)}
        scene.ask(each.tool, scene.caller(f"c{number}", header), **shown)
        for name, done in before.items():
            has_shown = any(has_secret(mailbox, name, one) for one in tokens)
            assert has_shown or name not in was_protected or done_by(scene, name) == done
            assert has_shown or mailbox.is_protected(name) == (name in was_protected)


def done_by(scene: Place, name: str) -> list[object]:
    """All that was done in a name."""
    mailbox = scene.mailbox
    return [
        [each.id for each in mailbox.arrivals(0) if each.message.sender == name],
        [each for each in mailbox.reservations() if each.agent == name],
        (mailbox.agent(name), mailbox.digest(name), mailbox.unread(name)),
        [each.last.id for each in mailbox.debts(name)],
    ]
