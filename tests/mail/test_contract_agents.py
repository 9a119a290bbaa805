"""The contract, agents: a name is given as asked for, or not at all."""

import pytest

from brenner.limits import MOST_PROFILE_BYTES
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Agent, Profile
from mail.backends import SECOND_VIEW, Place
from mail.sample_mail import (
    ANN,
    BEA,
    DIFFICULT,
    NAMES,
    error_code,
    in_backends_with,
    introduce,
    make_message,
    post,
)

TASK = Profile(ANN, "claude-code", "opus", "tests for cell fate")


@pytest.mark.every_store
def test_registered_as_asked_for(place: Place) -> None:
    """What an agent says of itself is kept, with the time of the store."""
    agent, before = place.mailbox.register(TASK)
    assert before is None
    assert agent == Agent(*TASK, registered_at=agent.registered_at)
    assert place.mailbox.agent(ANN) == agent
    assert agent in place.mailbox.agents()


@in_backends_with(Capability.CLIENT_CLOCK)
def test_registered_at_the_time_of_the_clock(place: Place) -> None:
    """Which is the store's."""
    assert place.mailbox.register(TASK).agent.registered_at == place.clock.now


def test_everybody_by_name(place: Place) -> None:
    """Whoever came first, the list is in the order of the names."""
    before = {agent.name for agent in place.mailbox.agents()}
    introduce(place.mailbox, reversed(NAMES))
    names = [agent.name for agent in place.mailbox.agents()]
    assert names == sorted(before | set(NAMES))


def test_registering_again_is_fine(place: Place) -> None:
    """The same program and model are the same agent, who is then known once, from the start."""
    first = place.mailbox.register(TASK).agent
    place.clock.now = place.clock.now.replace(hour=12)
    again, before = place.mailbox.register(TASK)
    assert before == first
    assert again.registered_at == first.registered_at
    assert [agent for agent in place.mailbox.agents() if agent.name == ANN] == [again]


@pytest.mark.parametrize(
    "other",
    [TASK._replace(program="codex-cli"), TASK._replace(model="gpt")],
    ids=["program", "model"],
)
def test_a_taken_name_is_refused(place: Place, other: Profile) -> None:
    """Another program or model is somebody else, unless it is said that it is not."""
    first = place.mailbox.register(TASK).agent
    assert error_code(place.mailbox.register, other) == "NAME_TAKEN"
    assert place.mailbox.agent(ANN) == first

    updated, before = place.mailbox.register(other, update=True)
    assert before == first
    assert updated[:4] == other
    assert place.mailbox.agent(ANN) == updated
    assert [agent.name for agent in place.mailbox.agents()].count(ANN) == 1


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "Blue Lake", "1Lake", "-Lake", "_Lake", "BlueLake\n", "Blue\x00Lake", "A" * 65),
        *("Blüe", "Вlue", "ＢlueLake", "BlueLake\u200b", "\ud800", "a/b", "a.b", "A,B"),
    ],
    ids=ascii,
)
def test_an_invalid_name_is_refused(place: Place, name: str) -> None:
    """Only ASCII letters, digits, `_` and `-`, a letter first, at most 64 of them."""
    before = place.mailbox.agents()
    assert error_code(place.mailbox.register, Profile(name)) == "INVALID_NAME"
    assert place.mailbox.agents() == before


@pytest.mark.parametrize("name", ["bluelake", "BLUELAKE", "B1ueLake", "BIueLake"])
def test_a_look_alike_is_refused(place: Place, name: str) -> None:
    """A reader would take the two for one; `update` does not change that."""
    place.mailbox.register(TASK)
    before = place.mailbox.agents()
    for update in (False, True):
        profile = TASK._replace(name=name)
        code = error_code(place.mailbox.register, profile, update=update)
        assert code == "NAME_LOOKS_LIKE"
    assert place.mailbox.agents() == before


@pytest.mark.parametrize("name", ["Nobody", "bluelake", "", "\x00", "\ud800", "%", "A" * 999])
def test_a_stranger_is_refused(mailbox: Mailbox, name: str) -> None:
    """Asking for somebody unknown is answered with a refusal; names match exactly."""
    assert error_code(mailbox.agent, name) == "NO_SUCH_AGENT"


@pytest.mark.parametrize("text", DIFFICULT, ids=ascii)
def test_what_an_agent_says_is_kept_exactly(place: Place, text: str) -> None:
    """Program, model and task are anybody's text."""
    profile = Profile(ANN, text, text, text)
    place.mailbox.register(profile)
    assert place.mailbox.agent(ANN)[:4] == profile


@pytest.mark.parametrize("field", ["program", "model", "task"])
def test_what_cannot_be_kept_is_refused(place: Place, field: str) -> None:
    """What some store would cut or change is stored by none, nor what is too long for a list."""
    before = place.mailbox.agents()
    for text, code in (
        ("cut\x00here", "UNSTORABLE_TEXT"),
        ("\ud800", "UNSTORABLE_TEXT"),
        ("é" * (MOST_PROFILE_BYTES // 2) + "x", "FIELD_TOO_LONG"),
    ):
        profile = TASK._replace(**{field: text})
        assert error_code(place.mailbox.register, profile) == code
    assert place.mailbox.agents() == before
    longest = TASK._replace(**{field: "é" * (MOST_PROFILE_BYTES // 2)})
    assert place.mailbox.register(longest)[0][:4] == longest


@in_backends_with(SECOND_VIEW)
def test_others_know_them_at_once(place: Place) -> None:
    """Who is registered in one process is known in the next."""
    other = place.again()
    agent = place.mailbox.register(TASK).agent
    assert other.agent(ANN) == agent
    assert other.register(TASK) == (agent, agent)
    assert error_code(other.register, TASK._replace(model="gpt")) == "NAME_TAKEN"


def test_some_names(mailbox: Mailbox) -> None:
    """Those of the names that are registered; any text may be asked for."""
    assert mailbox.agents([]) == ()
    assert mailbox.agents([BEA, "Nobody", "\0", "\ud800", ANN]) == tuple(
        agent for agent in mailbox.agents() if agent.name in (ANN, BEA)
    )


@in_backends_with(SECOND_VIEW)
def test_reads_of_one_moment(place: Place, mailbox: Mailbox) -> None:
    """What others send meanwhile is seen after the block."""
    before = mailbox.position()
    with mailbox.reading():
        assert mailbox.position() == before
        post(place.again(), make_message())
        assert mailbox.position() == before
        assert mailbox.arrivals(before) == ()
    assert mailbox.position() == before + 1
