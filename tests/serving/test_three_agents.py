"""Three scripted agents, one of which makes every formatting mistake: nothing of it is lost."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from program import brenner, git
from serving.scripted.contributions import Delta
from serving.scripted.delta_mistakes import DELTA_MISTAKES
from serving.scripted.mail_mistakes import MAIL_MISTAKES
from serving.scripted.mistake import ADVISED, APPLIED, REFUSED
from serving.sessions import warnings_in
from serving.three_agents import CRITIC, DESIGNER, GENERATOR, THREAD, Played, play

FIRST_ROUND = (*DELTA_MISTAKES, *MAIL_MISTAKES)
_SENDS = ("send_message", "reply_message")
_OF_IDS = ("discriminates",)  # which may be rewritten
_FIELD_OF_NAME = {"predictions_table": "condition"}
# What a later delta of the session has replaced
_REPLACED: dict[str, tuple[str, ...]] = {
    "Section called critiques": ("attack", "evidence", "current_status"),
    "Never closed": ("evidence",),
    "Lineage": ("claim",),
    "Diffusion is quick enough": ("status",),
}


@pytest.mark.thorough
def test_three_agents(tmp_path: Path) -> None:
    """All three end up in the artifact, whole; the counts add up; no secret is anywhere."""
    with play(tmp_path / "project", tmp_path / "agents") as played:
        check_phases(played)
        check_every_mistake_is_told(played)
        check_counts(played)
        check_artifact(played)
        check_trust(played)
        check_news(played)
        check_secrets(played)
        check_warnings(played)


def check_phases(played: Played) -> None:
    """Everybody was asked twice, and has acknowledged and contributed twice."""
    phases = [each["phase"] for each in played.status]
    assert phases == ["awaiting_acks", "in_critique", "in_critique"]
    assert [each["round"] for each in played.status] == [1, 2, 3]
    assert [each["version"] for each in played.compiled] == [1, 2]
    owed = [each["agent"] for each in played.status[-1]["pending"]]
    assert not {GENERATOR, DESIGNER, CRITIC} & set(owed)
    assert played.asked("artifact", "verify", THREAD)["ok"] is True


def attempts(played: Played) -> dict[str, dict[str, Any]]:
    """What became of each attempt of the critic, by its name."""
    lines = played.agents[CRITIC].lines
    found = {each["attempt"]: each for each in lines if "attempt" in each}
    assert len(found) == sum("attempt" in each for each in lines)
    return found


def check_every_mistake_is_told(played: Played) -> None:
    """With its code, and the corrected message where that is certain; then it is sent well."""
    found = attempts(played)
    for each in FIRST_ROUND:
        told = found.pop(each.name)
        assert each.code in told["codes"], each.name
        assert (told["outcome"], told["corrected"]) == (each.outcome, each.has_correction), told
        if each.outcome != APPLIED:
            assert found.pop(f"{each.name}, mended")["outcome"] == APPLIED, each.name
    told_later = ("section limit", "killed target", "unknown item", "malformed base")
    outcomes = [found.pop(name)["outcome"] for name in told_later]
    assert outcomes == [ADVISED, ADVISED, ADVISED, APPLIED]
    assert {each["outcome"] for each in found.values()} == {APPLIED}


def check_counts(played: Played) -> None:
    """Each attempt is refused, or stored; each block that is stored is accounted for."""
    calls = [each for each in played.agents[CRITIC].calls if each["call"] in _SENDS]
    outcomes = Counter(each["outcome"] for each in attempts(played).values())
    assert sum(outcomes.values()) + 1 == len(calls)  # and the one without the secret
    stored = [each for each in calls if not each["error"]]
    assert len(calls) - len(stored) == outcomes[REFUSED]
    ids = [each["value"]["deliveries"][0]["payload"]["id"] for each in stored]
    hers = [each for each in messages(played, CRITIC) if each["type"] != "ACK"]
    assert ids == [each["id"] for each in hers]
    ledger = played.asked("artifact", "ledger", THREAD, "--all")["entries"]
    states = {each: set[str]() for each in ids}
    for entry in ledger:
        if entry["agent"] == CRITIC:
            states[entry["message_id"]].add(entry["state"])
    aside = {each["message_id"] for made in played.compiled for each in made["not_contributed"]}
    assert aside == {message for message, found in states.items() if not found}
    refused = {message for message, found in states.items() if found == {"refused"}}
    assert len(aside) + len(refused) == outcomes[ADVISED]
    applied = [message for message, found in states.items() if found == {"applied"}]
    assert len(applied) == outcomes[APPLIED] + 1


def messages(played: Played, sender: str) -> list[dict[str, Any]]:
    """What somebody has sent in the thread."""
    return [each for each in played.messages if each["from"] == sender]


def intended(played: Played) -> Iterator[Delta]:
    """Every delta that somebody meant to contribute."""
    for each in FIRST_ROUND:
        yield from each.meant
    for name in (GENERATOR, DESIGNER):
        posts = [each for each in played.agents[name].calls if each["call"] == "brenner_post"]
        assert [each["error"] for each in posts] == [False, False]
        for post in posts:
            deltas = post["arguments"]["deltas"]
            yield from (each for each in deltas if isinstance(each, dict))
            assert all(each["state"] == "applied" for each in post["value"]["expected"])
    told = [each["value"].get("corrections") for each in played.agents[DESIGNER].calls]
    assert "Trailing comma before" in str(told)


def leaves(value: Any) -> Iterator[str]:
    """The texts in a payload."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        yield from (text for each in inside for text in leaves(each))
    elif isinstance(value, str):
        yield value


def check_artifact(played: Played) -> None:
    """Each is there by its name, with every text that it gave."""
    shown = played.asked("artifact", "show", THREAD)
    items = {
        item[_FIELD_OF_NAME.get(section, "name")]: item
        for section, found in shown.items()
        if isinstance(found, list)
        for item in found
        if isinstance(item, dict) and "killed" in item
    }
    texts = json.dumps(shown, ensure_ascii=False)
    for delta in intended(played):
        payload = delta["payload"]
        if delta["operation"] != "ADD":
            assert all(f'"{value}"' in texts for value in leaves(payload))
            continue
        name = payload[_FIELD_OF_NAME.get(delta["section"], "name")]
        told = {
            field: value
            for field, value in payload.items()
            if isinstance(value, str) and field not in (*_REPLACED.get(name, ()), *_OF_IDS)
        }
        assert told.items() <= items[name].items()
    later = ("Cells that change late", "Seventh hypothesis", "Conflicts with nothing")
    assert {*later, "Base written otherwise", "Sent without the secret"} <= items.keys()
    assert items["Lineage"]["claim"] == "Lineage, made precise"


def check_trust(played: Played) -> None:
    """Verified for who has shown the secret, in each of three ways; and who has not is named."""
    for name in (GENERATOR, DESIGNER, CRITIC):
        found = messages(played, name)
        unproven = [each for each in found if each["trust"] != "verified"]
        assert len(unproven) == (name == CRITIC), name
        for each in unproven:
            assert each["trust"] == "unverified"
            assert "Sent without the secret" in each["body"]
    assert played.compiled[0]["unverified"]


def check_news(played: Played) -> None:
    """Each sees what has changed since the first version, and who has changed it."""
    for agent in played.agents.values():
        last = [each for each in agent.calls if each["call"] == "brenner_artifact"][-1]
        assert (last["value"]["version"], last["value"]["since"]) == (2, 1)
        for text in ("Lineage, made precise", "Graft across the gradient", "Seventh hypothesis"):
            assert text in last["value"]["changes"]
        assert [each["is_apart"] for each in agent.lines if "done" in each] == [True] * 3


def check_secrets(played: Played) -> None:
    """They are in no answer but the one, in no log, export, file of the project or commit."""
    secrets = [each.secret.read_text("utf-8") for each in played.agents.values()]
    assert len(set(secrets)) == len(secrets)
    assert all(each.startswith("brs_") for each in secrets)
    export = brenner("mail", "export", "-", cwd=played.folder)
    assert "Seventh hypothesis" in export.out
    said = [played.log, export.out, export.err, json.dumps([played.status, played.compiled])]
    said += [path.read_text("utf-8") for a in played.agents.values() for path in (a.said, a.errors)]
    said.append(git("log", "--patch", "--all", cwd=played.folder))
    assert "Seventh hypothesis" in said[-1]
    files = [path for path in played.folder.rglob("*") if path.is_file()]
    kept = [path.read_bytes() for path in files]
    for secret in secrets:
        assert not any(secret in each for each in said)
        assert not any(secret.encode() in each for each in kept)


def check_warnings(played: Played) -> None:
    """No answer has a warning twice, neither in its text nor in its structured content."""
    calls = [each for agent in played.agents.values() for each in agent.calls]
    assert sum(bool(warnings_in(each["value"])) for each in calls) > len(FIRST_ROUND) // 2
    for each in calls:
        found = warnings_in(each["value"])
        assert len(found) == len(set(found)), each
        for told in map(json.loads, found):
            line = f"{told['id']} body line {told['line']}: {told['message']}"
            assert each["text"].count(line) <= 1, each
            assert each["text"].count(json.dumps(told["message"], ensure_ascii=False)) == 0, each
