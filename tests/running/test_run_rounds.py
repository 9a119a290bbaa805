"""`session run`: rounds, what text agents answer, what programs do wrong, and why it stops."""

import json
from pathlib import Path
from typing import Any

import pytest

from program import brenner
from running.group import CRITIC, DESIGNER, GENERATOR, THREAD, Group, stop_of, turns

EVENT_KEYS = ["event", "at", "run", "thread_id"]
ENDED_KEYS = [
    *("round", "agent", "attempt", "why", "state", "outcome", "fault", "reason", "messages"),
    *("applied", "rejected", "tool_calls", "tool_errors", "seconds", "tokens", "cost_usd", "log"),
]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [each["event"] for each in events if each["event"] not in ("tool", "usage")]


def test_two_rounds(tmp_path: Path) -> None:
    """Generators go first and are compiled; then all have their turn; the mail is as by hand."""
    group = Group(
        tmp_path,
        {
            "BlueLake": f"codex {GENERATOR} contribute",
            "RedSky": f"claude {DESIGNER} contribute",
            "GreenDog": f"gemini {CRITIC} contribute",
            "PinkFox": f"text {CRITIC} contribute",
        },
    )
    code, events = group.run_json(*group.start, "--rounds", "2")
    assert (code, stop_of(events)["reason"]) == (0, "rounds")
    started = [e["agent"] for e in events if e["event"] == "turn" and e["state"] == "started"]
    assert started == ["BlueLake", "BlueLake", "RedSky", "GreenDog", "PinkFox"]
    assert [(e["round"], e["agents"]) for e in events if e["event"] == "round"] == [
        (1, ["BlueLake"]),
        (2, ["BlueLake", "RedSky", "GreenDog", "PinkFox"]),
    ]
    assert [e["version"] for e in events if e["event"] == "compile"] == [1, 2]
    ended = next(e for e in events if e["event"] == "turn" and e["state"] == "ended")
    assert list(ended) == [*EVENT_KEYS, *ENDED_KEYS]
    assert (ended["tool_calls"], ended["tokens"]["output"], ended["cost_usd"]) == (2, 100, None)
    agents = stop_of(events)["agents"]
    assert (agents["BlueLake"]["contributed"], agents["BlueLake"]["tokens"]["input"]) == (2, 1800)
    assert (agents["RedSky"]["cost_usd"], agents["GreenDog"]["tokens"]["input"]) == (0.5, 900)
    assert group.log == events
    assert (group.folder / ended["log"]).read_text().count("called brenner_post") == 1
    status = group.status().status
    assert (status.version and status.version.number, status.refusals) == (2, ())
    ignored = group.folder / ".brenner" / ".gitignore"
    assert ignored.read_text() == "*\n"


def test_text_answers(tmp_path: Path) -> None:
    """A faulty answer comes back once with its errors; other messages, passes and fences are read;
    a rejected block is asked for again; an agent without an answer is reminded once.
    """
    group = Group(
        tmp_path,
        {
            "BlueLake": f"text {GENERATOR} malformed as-corrected",
            "RedSky": f"text {GENERATOR} partly contribute",
            "GreenDog": f"text {GENERATOR} pass",
            "PinkFox": f"text {GENERATOR} fenced",
            "GoldOwl": f"text {GENERATOR} silent",
            "GreyElk": f"text {GENERATOR} malformed",
            "IvoryHen": f"text {GENERATOR} critique",
        },
    )
    code, events = group.run_json(*group.start, "--rounds", "1")
    assert code == 0
    assert {name: turns(events, name) for name in stop_of(events)["agents"]} == {
        "BlueLake": ["task: rejected", "reminder: contributed"],
        "RedSky": ["task: rejected", "reminder: rejected"],
        "GreenDog": ["task: passed"],
        "PinkFox": ["task: contributed"],
        "GoldOwl": ["task: rejected", "reminder: rejected"],
        "GreyElk": ["task: rejected", "reminder: rejected"],
        "IvoryHen": ["task: mail"],
    }
    assert "TRAILING_COMMA" in group.task("GreyElk", 2)
    assert "EMPTY_MESSAGE" in group.task("GoldOwl", 2)
    assert "H99" in group.task("RedSky", 2)
    agents = stop_of(events)["agents"]
    assert {agents[name]["state"] for name in ("GreyElk", "GoldOwl", "RedSky")} == {"silent"}
    assert "TRAILING_COMMA" in agents["GreyElk"]["reason"]
    mailed = [each.message.sender for each in group.status().messages if each.type == "CRITIQUE"]
    assert mailed == ["IvoryHen"]


def test_faults(tmp_path: Path) -> None:
    """Each fault is recognised; one retry or parked; none stops the others."""
    group = Group(
        tmp_path,
        {
            "BlueLake": f"claude {GENERATOR} contribute",
            "RedSky": f"claude {GENERATOR} crash contribute",
            "GreenDog": f"claude {GENERATOR} crash",
            "PinkFox": f"claude {GENERATOR} unauthorised",
            "GoldOwl": f"claude {GENERATOR} limited contribute",
            "GreyElk": f"claude {GENERATOR} away",
            "IvoryHen": f"claude {GENERATOR} loop",
            "TealCat": f"claude {GENERATOR} silent",
            "OpalBat": f"claude {GENERATOR} silent pass",
        },
    )
    code, events = group.run_json(*group.start, "--rounds", "1")
    assert code == 0
    agents = stop_of(events)["agents"]
    assert {name: turns(events, name) for name in agents} == {
        "BlueLake": ["task: contributed"],
        "RedSky": ["task: fault crash", "retry: contributed"],
        "GreenDog": ["task: fault crash", "retry: fault crash", "parked"],
        "PinkFox": ["task: fault login", "parked"],
        "GoldOwl": ["task: fault rate_limit", "waiting", "retry: contributed"],
        "GreyElk": ["task: fault no_tools", "parked"],
        "IvoryHen": ["task: fault loop", "retry: fault loop", "parked"],
        "TealCat": ["task: silent", "reminder: silent"],
        "OpalBat": ["task: silent", "reminder: passed"],
    }
    parked = {name for name, each in agents.items() if each["state"] == "parked"}
    assert parked == {"PinkFox", "GreyElk"}
    assert "authentication_error" in agents["PinkFox"]["reason"]
    assert "is not complete" in group.task("TealCat", 2)


def test_time_limit_of_a_turn(tmp_path: Path) -> None:
    """A program that hangs is stopped, tried again and parked; after two rounds for good."""
    hangs = {"BlueLake": f"text {GENERATOR} hang", "RedSky": f"claude {CRITIC} contribute"}
    group = Group(tmp_path, hangs, settings="minutes = 0.005\n")
    code, events = group.run_json(*group.start, "--rounds", "3")
    assert code == 0
    one_round = ["task: fault timeout", "retry: fault timeout", "parked"]
    assert turns(events, "BlueLake") == one_round * 2
    assert stop_of(events)["agents"]["BlueLake"]["state"] == "parked"
    assert len(group.starts("RedSky")) == 3  # in round 1, too: no hypothesis came in


@pytest.mark.parametrize(
    ("agents", "options", "reason", "code"),
    [
        ("text contribute", ["--rounds", "1"], "rounds", 0),
        ("text contribute pass", [], "nothing_new", 0),
        ("text silent", [], "nothing_new", 1),
        ("claude unauthorised", [], "no_agents", 1),
        ("claude contribute", ["--budget-tokens", "1500"], "tokens", 0),
        ("claude spend", ["--budget-tokens", "1000"], "tokens", 1),
        ("claude contribute", ["--budget-usd", "0.9"], "usd", 0),
        ("text hang", ["--minutes", "0.01"], "minutes", 1),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_stop_rules(
    tmp_path: Path, agents: str, options: list[str], reason: str, code: int
) -> None:
    """Each rule, and the exit code; limits end running turns, and what arrived is compiled."""
    driver, rest = agents.split(" ", 1)
    group = Group(tmp_path, {"BlueLake": f"{driver} {GENERATOR} {rest}"})
    done, events = group.run_json(*group.start, *options)
    assert (stop_of(events)["reason"], done) == (reason, code)
    assert kinds(events)[-2:] == ["compile", "stop"]


def test_reports_in_words(tmp_path: Path) -> None:
    """One line for each thing that happens, and what to do next."""
    group = Group(tmp_path, {"BlueLake": f"text {GENERATOR} contribute"})
    done = group.run(*group.start, "--rounds", "1")
    lines = [line.partition("Z  ")[2] or line for line in done.out.splitlines()]
    assert lines[:2] == ["Round 1: turns of BlueLake", "BlueLake: working"]
    assert lines[2].startswith("BlueLake: contributed: 1 applied (")
    assert lines[3].startswith("Round 1: v1: added H1")
    assert lines[4].startswith("The requested rounds are finished.")
    assert [line.partition(": `")[2] for line in lines[5:]] == [
        f"brenner session status {THREAD}`",
        f"brenner session runs {THREAD}`",
        f"brenner artifact show {THREAD}`",
    ]


def test_session_ended_meanwhile(tmp_path: Path) -> None:
    """An ended session is refused, with the command that reopens it."""
    group = Group(tmp_path, {"BlueLake": f"text {GENERATOR} contribute"})
    group.run(*group.start, "--rounds", "1")
    ended = brenner("session", "cancel", THREAD, "--reason", "Answered", cwd=group.folder)
    assert ended.code == 0, ended.err
    code, events = group.run_json(THREAD)
    assert (code, [each["event"] for each in events]) == (1, ["stop"])
    found = stop_of(events)["violations"][0]
    assert (found["id"], "--reopen" in found["fix"]) == ("SESSION_CANCELLED", True)
    assert json.dumps(events[-1])


def test_independent_first_round(tmp_path: Path) -> None:
    """All have their turn at once, and none sees what the others sent."""
    agents = {"BlueLake": f"text {GENERATOR} contribute", "RedSky": f"claude {CRITIC} contribute"}
    group = Group(tmp_path, agents)
    code, events = group.run_json(*group.start, "--independent", "--rounds", "1")
    assert (code, events[0]["agents"]) == (0, ["BlueLake", "RedSky"])
    assert (stop_of(events)["versions"], stop_of(events)["reason"]) == ([1], "rounds")


@pytest.mark.thorough
def test_everything_answered(tmp_path: Path) -> None:
    """A sound version stops the run, once its last critiques are closed."""
    group = Group(tmp_path, dict.fromkeys(("BlueLake", "RedSky"), f"text {GENERATOR} pass"))
    (group.actions / "GreenDog").write_text("resolve")
    folder = tmp_path / "demo"
    assert brenner("demo", str(folder), cwd=tmp_path).code == 0
    settings = (group.folder / "brenner.toml").read_text()
    for program in ("codex-cli", "claude-code", "gemini-cli"):
        settings += (
            "\n"
            if f"[programs.{program}]" in settings
            else settings.partition("\n[")[0].replace("my-agent", program)
        )
    with (folder / "brenner.toml").open("a") as file:
        file.write(
            settings.replace(
                "[programs.claude-code]\n", '[programs.claude-code]\ndriver = "text"\n'
            )
        )
    group.folder = folder
    code, events = group.run_json("--rounds", "2")
    assert (code, stop_of(events)["reason"]) == (0, "all_answered"), events
