"""What a sender learns about item numbers before a DELTA is stored (R11)."""

import json

import pytest

from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.mail.rules import check_recipient
from brenner.protocol.messages import Message
from brenner.services.send import SendOptions, examine_composed
from brenner.services.workspace import Workspace
from operator_workspace import workspace
from session.round_play import THREAD, block, delta, hypothesis, published, send, started

__all__ = ["workspace"]

BLUE, RED = "BlueLake", "RedSky"
_KILL_H3 = block("KILL", "H3", "hypothesis_slate", reason="C is wrong")
_ROW = block("ADD", None, "predictions_table", condition="Dark", predictions={"H1": "a", "H3": "b"})


@pytest.fixture
def two(workspace: Workspace) -> Workspace:
    """A session whose v1 has H1 and H2."""
    started(workspace)
    delta(workspace, BLUE, 0, hypothesis("A"), hypothesis("B"))
    published(workspace)
    return workspace


def advice(
    here: Workspace, sender: str, *blocks: dict[str, object], base: int | None = 1
) -> dict[str, Diagnostic]:
    """What the preview reports of a message that is not sent, by code."""
    fences = "".join(f"```delta\n{json.dumps(each)}\n```\n\n" for each in blocks)
    stated = f"**Base Version**: v{base}\n\n" if base is not None else ""
    message = Message(THREAD, sender, ("Operator",), "DELTA[opus]: News", f"{stated}{fences}")
    report, _ = examine_composed(here.mailbox, message, SendOptions(operator="Operator"))
    return {each.id: each for each in report.violations}


def test_kill_of_the_own_new_item_by_number_is_refused(two: Workspace) -> None:
    """RedSky's C has no number yet: H3 is the author's own D, which the KILL would lose."""
    delta(two, RED, 1, hypothesis("C"))
    found = advice(two, BLUE, hypothesis("D"), _ROW, _KILL_H3)
    assert set(found) == {"OWN_NEW_ITEM", "OWN_NEW_ITEM_CHANGED"}
    error = found["OWN_NEW_ITEM_CHANGED"]
    assert (str(error.severity), error.block) == ("error", 3)
    assert "“D”" in error.message
    assert "RedSky's “C” has no number before the next version." in error.message
    assert '`"target_id": "@d"`' in error.fix
    warning = found["OWN_NEW_ITEM"]
    assert (str(warning.severity), warning.block) == ("warning", 2)
    assert "write `@d` instead of `H3`" in warning.fix


def test_a_local_name_is_exact(two: Workspace) -> None:
    """The fix works: neither a row nor a KILL by @name is reported."""
    delta(two, RED, 1, hypothesis("C"))
    named = {**hypothesis("D"), "local_id": "d"}
    row = block("ADD", None, "predictions_table", condition="x", predictions={"H1": "a", "@d": "b"})
    kill = block("KILL", "@d", "hypothesis_slate", reason="For the record")
    assert advice(two, BLUE, named, row, kill) == {}


def test_the_own_name_is_suggested_where_there_is_one(two: Workspace) -> None:
    named = {**hypothesis("D"), "local_id": "wave"}
    found = advice(two, BLUE, named, _ROW)
    assert "write `@wave` instead of `H3`. If" in found["OWN_NEW_ITEM"].fix


def test_number_of_a_later_version(two: Workspace) -> None:
    """v2 has an H3, but the message counts on from v1: the base to state is named, and works."""
    delta(two, RED, 1, hypothesis("C"))
    published(two)
    found = advice(two, BLUE, hypothesis("D"), _KILL_H3)
    assert "In v2, `H3` is “C”" in found["OWN_NEW_ITEM_CHANGED"].message
    assert "`**Base Version**: v2`" in found["OWN_NEW_ITEM_CHANGED"].message
    assert advice(two, BLUE, hypothesis("D"), _KILL_H3, base=2) == {}


def test_item_of_an_earlier_message(two: Workspace) -> None:
    """H3 is the author's of the message before, and to the thread it is RedSky's."""
    delta(two, RED, 1, hypothesis("C"))
    number = delta(two, BLUE, 1, hypothesis("D")).id
    found = advice(two, BLUE, _KILL_H3)
    assert set(found) == {"OWN_EARLIER_ITEM"}
    assert f"“D” of message {number}" in found["OWN_EARLIER_ITEM"].message
    assert "RedSky's “C”" in found["OWN_EARLIER_ITEM"].message


def test_the_own_earlier_item_is_clear_where_no_other_is_meant(two: Workspace) -> None:
    delta(two, BLUE, 1, hypothesis("D"))
    assert advice(two, BLUE, _KILL_H3) == {}


def test_assumed_base_is_named_once(two: Workspace) -> None:
    """Once per sender and version; never before a version, or where a base is stated."""
    edit = block("EDIT", "H1", "hypothesis_slate", claim="New")
    found = advice(two, BLUE, edit, base=None)
    assert set(found) == {"BASE_ASSUMED"}
    assert str(found["BASE_ASSUMED"].severity) == "info"
    assert "v1" in found["BASE_ASSUMED"].message
    assert advice(two, BLUE, hypothesis("C"), base=None) == {}  # it names no number
    fence = f"```delta\n{json.dumps(edit)}\n```\n"
    send(two, BLUE, "DELTA[opus]: News", fence)
    assert set(advice(two, BLUE, edit, base=None)) == {"DUPLICATE_BLOCK"}
    assert set(advice(two, RED, edit, base=None)) == {"BASE_ASSUMED"}
    published(two)
    assert "v2" in advice(two, BLUE, edit, base=None)["BASE_ASSUMED"].message


def test_no_base_before_the_first_version(workspace: Workspace) -> None:
    started(workspace)
    assert advice(workspace, BLUE, hypothesis("A"), base=None) == {}


def test_unknown_item_lists_what_exists(two: Workspace) -> None:
    """No number is guessed from another one."""
    kill = block("KILL", "H9", "hypothesis_slate", reason="x")
    found = advice(two, BLUE, kill)["WOULD_BE_REFUSED"]
    assert "Hypotheses in v1: H1 A, H2 B." in found.message
    assert "Did you mean" not in found.fix
    assert found.suggestion is None


def test_recipient_in_another_case(two: Workspace) -> None:
    kickoff = next(iter(two.mailbox.thread_arrivals(THREAD, 0)))
    name = kickoff.message.recipients[0]
    with pytest.raises(RequestError) as refused:
        check_recipient(kickoff, name.lower())
    assert f"Did you mean `{name}`?" in refused.value.diagnostic.fix
