"""Hypotheses that resemble killed ones: where the warning is given, and where never (R30)."""

import json
from pathlib import Path

import pytest

from brenner.diagnostics.codes.merging import RESEMBLES_KILLED
from brenner.diagnostics.model import Diagnostic
from brenner.integrations import text_vectors
from brenner.mail.sealed import SealedMailbox
from brenner.protocol.messages import Message, render_message_file
from brenner.services import killed_hypotheses
from brenner.services.compile import CompileOptions, compile_result_json, compile_thread
from brenner.services.killed_hypotheses import load_killed, similar_killed
from brenner.services.send import SendOptions, examine_text
from mail_shell import Shell
from sealed_session import AUTHOR, READER, block, delta, leaks, started
from session.referring import FIRST, SECOND, THIRD, Referring, place, to
from session.workspaces import ANN, add, edit

__all__ = ("place",)
IDEA = "Cells choose their fate by reading the concentration of a diffusing morphogen"
AGAIN = "A cell's fate depends on the concentration of a diffusing morphogen"
REASON = "The gradient forms too slowly, see T3."


def kill(item: str, reason: str = REASON) -> dict[str, object]:
    """A KILL of a hypothesis."""
    delta = {"operation": "KILL", "section": "hypothesis_slate", "target_id": item}
    return {**delta, "payload": {"reason": reason}, "rationale": "T3 failed"}


def killed_idea(place: Referring, session: str = FIRST) -> None:
    """A session in which H3 was published and killed."""
    place.start(session)
    place.send(session, add("Morphogen gradient", claim=IDEA))
    place.compile(session)
    place.send(session, kill("H3"))
    place.compile(session)


def again(**more: object) -> dict[str, object]:
    """An ADD of the killed idea in other words."""
    return add("Fate by concentration", **{"claim": AGAIN, **more})


def message_text(thread: str, *blocks: dict[str, object]) -> str:
    """The file of a DELTA."""
    fences = "".join(f"```delta\n{json.dumps(each, indent=1)}\n```\n\n" for each in blocks)
    body = f"# Delta Contribution\n\n## Deltas\n\n{fences}"
    return render_message_file(Message(thread, ANN, ("Operator",), "DELTA[opus]: News", body))


def checked(place: Referring, thread: str, *blocks: dict[str, object]) -> list[Diagnostic]:
    """The warnings of a message before it is sent."""
    options = SendOptions(project=place.workspace.project)
    report = examine_text(place.workspace.mailbox, message_text(thread, *blocks), options)
    assert report.valid
    return [each for each in report.violations if each.code is RESEMBLES_KILLED]


def test_the_warning_names_session_item_reason_and_text(place: Referring) -> None:
    killed_idea(place)
    place.start(SECOND)
    [found] = checked(place, SECOND, add("Tension", claim="The matrix pulls"), again())
    assert f"`{FIRST} H3`" in found.message
    assert f"which {ANN} killed: {REASON}" in found.message
    assert f'"Morphogen gradient: {IDEA}"' in found.message
    assert "diffusing" in found.message.partition("Words in both: ")[2]
    assert json.dumps(to(FIRST, "H3", "refines")) in found.fix
    assert (found.block, found.field) == (2, "claim")
    written = message_text(SECOND, add("Tension", claim="The matrix pulls"), again())
    assert AGAIN in written.splitlines()[(found.line or 0) - 1]


def test_a_reference_to_the_item_answers_it(place: Referring) -> None:
    killed_idea(place)
    place.start(SECOND)
    for relation in ("refines", "refutes"):
        assert not checked(place, SECOND, again(references=[to(FIRST, "H3", relation)]))
    assert checked(place, SECOND, again(references=[to(FIRST, "H2")]))


def test_only_an_added_hypothesis_is_compared(place: Referring) -> None:
    killed_idea(place)
    place.start(SECOND)
    assert not checked(place, SECOND, edit("H1", claim=AGAIN), kill("H2"))
    critique = {"name": AGAIN, "attack": AGAIN, "evidence": AGAIN, "current_status": "Open"}
    test = {"operation": "ADD", "section": "adversarial_critique", "payload": critique}
    assert not checked(place, SECOND, {**test, "rationale": AGAIN})


def test_active_hypotheses_are_not_compared(place: Referring) -> None:
    place.start(FIRST, SECOND)
    place.send(FIRST, add("Morphogen gradient", claim=IDEA))
    place.compile(FIRST)
    assert not checked(place, SECOND, again())


def test_one_that_was_killed_in_the_same_session(place: Referring) -> None:
    """Also by a message that no version includes yet."""
    killed_idea(place)
    [found] = checked(place, FIRST, again())
    assert f"`{FIRST} H3`" in found.message
    place.start(SECOND)
    place.send(SECOND, again())
    place.compile(SECOND)
    place.send(SECOND, kill("H3"))
    both = checked(place, SECOND, add("Once more", claim=AGAIN))
    assert {str(each.parameters[1][1]) for each in both} == {FIRST, SECOND}


def test_at_most_three_for_one_hypothesis(place: Referring) -> None:
    killed_idea(place)
    place.start(SECOND)
    place.send(SECOND, *(add(f"Fate {word}", claim=AGAIN) for word in ("a", "b", "c")))
    place.compile(SECOND)
    place.send(SECOND, *map(kill, ("H3", "H4", "H5")))
    place.compile(SECOND)
    place.start(THIRD)
    assert len(checked(place, THIRD, again())) == 3


def test_a_session_that_is_only_a_file(place: Referring) -> None:
    place.start(SECOND)
    place.file(
        FIRST,
        f"### ~~H3: Morphogen gradient~~ [KILLED]\n\n**Claim**: {IDEA}\n\n"
        f"**Killed By**: {ANN} at 2025-12-28T10:00:00Z\n\n**Reason**: {REASON}\n",
    )
    [found] = checked(place, SECOND, again())
    assert f"`{FIRST} H3`, which {ANN} killed: {REASON}" in found.message
    place.file(FIRST.replace("initial", "damaged")).write_text("", "utf-8")
    assert checked(place, SECOND, again())
    assert similar_killed(place.workspace, AGAIN).problems


def test_a_compile_shows_it_beside_the_result_only(place: Referring) -> None:
    """The version is the same as without the other session."""
    killed_idea(place)
    place.start(SECOND)
    sent = place.send(SECOND, again())
    preview = compile_thread(place.workspace, SECOND, CompileOptions(dry_run=True))
    done = place.compile(SECOND)
    for each in (preview, done):
        [found] = [note for note in each.notes if note.code is RESEMBLES_KILLED]
        assert found.item == "H3"
        assert "send an EDIT of `H3` with" in found.fix
        assert RESEMBLES_KILLED.id in json.dumps(compile_result_json(each)["violations"])
        [entry] = [entry for entry in each.ledger if entry.message_id == sent.id]
        assert entry.state == "applied"
        assert RESEMBLES_KILLED.id not in json.dumps([one.to_json() for one in each.ledger])
        assert not [one for one in each.warnings if one.code is RESEMBLES_KILLED]
        assert RESEMBLES_KILLED.id not in json.dumps(each.lint.to_json())
    assert done.message is not None
    assert RESEMBLES_KILLED.id not in done.message.message.body
    assert FIRST not in done.message.message.body
    assert place.workspace.verify(SECOND).ok


def test_what_stays_as_it_was_gets_no_warning(place: Referring) -> None:
    place.start(SECOND)
    place.send(SECOND, again())
    place.compile(SECOND)
    killed_idea(place)
    place.send(SECOND, edit("H3", mechanism="By receptors"))
    done = place.compile(SECOND)
    assert done.artifact.metadata.version == 3
    assert not [each for each in done.notes if each.code is RESEMBLES_KILLED]


def test_one_that_is_killed_and_added_in_the_same_version(place: Referring) -> None:
    place.start(SECOND)
    place.send(SECOND, add("Morphogen gradient", claim=IDEA))
    place.compile(SECOND)
    place.send(SECOND, kill("H3"))
    place.send(SECOND, again())
    [found] = [each for each in place.compile(SECOND).notes if each.code is RESEMBLES_KILLED]
    assert (found.item, f"`{SECOND} H3`" in found.message) == ("H4", True)


def test_one_that_its_own_message_replaces(place: Referring) -> None:
    """Its author knows what it kills."""
    place.start(SECOND)
    place.send(SECOND, add("Morphogen gradient", claim=IDEA))
    place.compile(SECOND)
    assert not checked(place, SECOND, kill("H3"), again())
    own = {**again(), "local_id": "mine"}
    assert not checked(place, SECOND, kill("H3"), own, kill("@mine"))
    place.send(SECOND, kill("H3"), again())
    assert not [each for each in place.compile(SECOND).notes if each.code is RESEMBLES_KILLED]


def test_without_the_package_words_alone_decide(
    place: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_idea(place)
    place.start(SECOND)
    monkeypatch.setattr(killed_hypotheses, "_load_vectors", lambda: None)
    assert checked(place, SECOND, again())
    similar = similar_killed(place.workspace, AGAIN)
    assert (similar.uses_vectors, similar.found[0].meaning) == (False, None)


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{}      ", b"\xff" * 20])
def test_a_package_with_another_table_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/l2_supercat_256.safetensors").write_bytes(content)
    monkeypatch.setattr(text_vectors, "_package_folder", lambda: tmp_path)
    assert text_vectors.load_text_vectors.__wrapped__() is None


def test_hostile_texts_are_shown_on_one_line(place: Referring) -> None:
    place.start(FIRST, SECOND)
    claim = f"{IDEA}\n\n# Ignore\x1b[2J all {'words ' * 200}"
    place.send(FIRST, add("Morphogen", claim=claim))
    place.compile(FIRST)
    place.send(FIRST, kill("H3", f"No\n```\n{'x' * 5000}"))
    place.compile(FIRST)
    [found] = checked(place, SECOND, add("Morphogen", claim=claim))
    assert found.message.isprintable()
    assert len(found.message) < 1200


def test_sealed_contributions_leak_nothing(tmp_path: Path) -> None:
    """An idea that was proposed and killed in an independent first round stays unknown."""
    here = started(tmp_path / "project")
    secret = block("zqname", claim="zqclaim says that it is so")
    here.mailbox.send(delta(AUTHOR, "zqsubject", {**secret, "local_id": "x"}))
    gone = {"operation": "KILL", "section": "hypothesis_slate", "target_id": "@x"}
    here.mailbox.send(delta(AUTHOR, "zqsubject", {**gone, "payload": {"reason": "zqprose"}}))
    mailbox = SealedMailbox(here.mailbox, lambda: READER)
    text = render_message_file(delta(READER, "Mine", secret))
    report = examine_text(mailbox, text, SendOptions(project=here.project))
    assert not [each for each in report.violations if each.code is RESEMBLES_KILLED]
    assert not leaks(*(each.message for each in report.violations))
    assert load_killed(here._replace(mailbox=mailbox)) == ([], ())


def test_check_reads_the_project_if_there_is_one(
    place: Referring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_idea(place)
    place.start(SECOND)
    file = tmp_path / "message.md"
    file.write_text(message_text(SECOND, again()), "utf-8")
    shell = Shell(place.folder, monkeypatch)
    shown = shell("check", str(file))
    assert shown.code == 0
    assert f"{file}:17" in shown.out
    assert RESEMBLES_KILLED.id in shown.out
    assert RESEMBLES_KILLED.id in shell("check", str(file), "--json").out
    (tmp_path / "elsewhere").mkdir()
    outside = Shell(tmp_path / "elsewhere", monkeypatch)
    assert RESEMBLES_KILLED.id not in outside("check", str(file)).out
