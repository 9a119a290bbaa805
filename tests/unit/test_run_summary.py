"""Runs folded from their events: what is known of each agent, of each round, and of the end."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brenner.config import Project
from brenner.services import run_summary
from brenner.services.run_summary import Activity, RunFold, RunState, run_json, summarize_runs
from effort import effort
from run_events import ANN, BEA, CYD, RUN, RunScript, evening, finished, locked

THREAD = "RS-20260102-cell-fate"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def one(project: Project) -> dict[str, Any]:
    """The only run, as JSON."""
    (found,) = summarize_runs(project, THREAD)
    document = run_json(found, NOW)
    assert json.loads(json.dumps(document)) == document
    return document


def in_round(document: dict[str, Any], number: int) -> dict[str, dict[str, Any]]:
    """The agents of a round, by name."""
    found = next(each for each in document["rounds"] if each["round"] == number)
    return {each["agent"]: each for each in found["agents"]}


def test_a_finished_run(project: Project) -> None:
    finished(THREAD).write(project)
    run = one(project)
    assert (run["state"], run["reason"], run["versions"]) == ("stopped", "rounds", [1, 2])
    assert run["message"] == "Both rounds are done."
    first, second = in_round(run, 1), in_round(run, 2)
    # The reminder counts as a turn; its outcome is that of the round
    assert (first[BEA]["turns"], first[BEA]["outcome"]) == (2, "contributed")
    assert (first[BEA]["applied"], first[BEA]["rejected"]) == (1, 1)
    assert len(first[BEA]["logs"]) == 2
    assert (first[CYD]["activity"], first[CYD]["fault"]) == ("parked", "login")
    assert (second[ANN]["outcome"], second[BEA]["outcome"]) == ("contributed", "passed")
    # A usage event is replaced by the turn's own figures, and one unknown cost hides no known one
    assert second[ANN]["tokens"]["input"] + second[ANN]["tokens"]["output"] == 40_000
    assert run["cost_usd"] == pytest.approx(0.62)
    assert [each["name"] for each in run["agents"]] == [ANN, BEA, CYD]
    assert run["agents"][0]["program"] == "claude-code"
    assert run["rounds"][1]["compile"]["killed"] == ["H2"]


def test_a_round_without_a_version(project: Project) -> None:
    """The event names the latest version, which an earlier round published."""
    script = evening(THREAD).compiled(2, status="nothing_to_compile", version=1).stopped()
    script.write(project)
    (found,) = summarize_runs(project, THREAD)
    assert found.versions == (1,)
    compiled = found.rounds[1].compiled
    assert compiled is not None
    assert run_summary.compiled_text(compiled) == "nothing to compile"


def test_a_run_in_progress_and_the_same_after_a_kill(project: Project) -> None:
    """The lock decides. The last line is cut, as a kill leaves it."""
    script = evening(THREAD)
    script.write(project, cut=20)
    with locked(project, THREAD):
        run = one(project)
    assert (run["state"], run["ended_at"]) == ("running", None)
    ann = in_round(run, 2)[ANN]
    assert (ann["activity"], ann["tool_calls"], ann["tool_errors"]) == ("working", 2, 1)
    assert ann["tokens"]["input"] == 0  # the usage was in the cut line
    killed = one(project)
    assert (killed["state"], killed["reason"]) == ("killed", None)
    cut_off = in_round(killed, 2)[ANN]
    assert cut_off["activity"] == "cut_off"
    # Until the last event that is whole, not until today
    assert cut_off["seconds"] == 15.0


def test_only_the_newest_run_can_be_running(project: Project) -> None:
    evening(THREAD).write(project)
    evening(THREAD, "20260103-120000-cd34").write(project)
    evening("RS-20260102-other", "20260104-120000-ef56").write(project)
    with locked(project, THREAD):
        states = [(each.id, each.state) for each in summarize_runs(project, THREAD)]
    assert states == [("20260103-120000-cd34", RunState.RUNNING), (RUN, RunState.KILLED)]


def test_pauses(project: Project) -> None:
    """A pause lasts until the next turn begins, and not beyond the run."""
    until = (NOW + timedelta(minutes=5)).isoformat()
    script = (
        RunScript(THREAD).round(1, ANN).started(1, ANN).ended(1, ANN, "fault", fault="rate_limit")
    )
    script.held(1, ANN, "waiting", until=until, fault="rate_limit", reason="Usage limit.")
    fold = RunFold(script.about)
    for each in script.events:
        fold.add(each)
    (agent,) = fold.summary().rounds[0].agents
    assert (agent.activity, agent.reason) == (Activity.WAITING, "Usage limit.")
    assert run_summary.state_text(agent, agent.turns) == "waiting: rate limit"
    (agent,) = fold.summary(is_running=False).rounds[0].agents
    assert agent.activity is Activity.DONE
    fold.add(script.started(1, ANN, 2, "retry").events[-1])
    (agent,) = fold.summary().rounds[0].agents
    assert (agent.activity, len(agent.turns)) == (Activity.WORKING, 2)
    assert run_summary.state_text(agent, agent.turns) == "trying again"


def test_a_very_long_file_has_its_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out is in the middle, so the reason of the stop is there."""
    script = finished(THREAD)
    middle = [dict(script.events[3]) for _ in range(2_000)]
    script.events[4:4] = middle
    script.write(project)
    monkeypatch.setattr(run_summary, "_MOST_BYTES", 2_000)
    monkeypatch.setattr(run_summary, "_END_BYTES", 3_000)
    run = one(project)
    assert (run["state"], run["reason"]) == ("stopped", "rounds")
    assert in_round(run, 2)[BEA]["outcome"] == "passed"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_KEYS = ("round", "agent", "attempt", "state", "tokens", "cost_usd", "at", "until", "messages")
_EVENTS = st.fixed_dictionaries(
    {"event": st.sampled_from(["round", "turn", "tool", "usage", "compile", "stop"]) | _VALUES},
    optional={
        **dict.fromkeys((*_KEYS, "agents", "seconds", "lint", "version", "added", "log"), _VALUES),
        "agent": st.sampled_from([ANN, BEA]) | _VALUES,
        "state": st.sampled_from(["started", "ended", "waiting", "parked"]) | _VALUES,
    },
)


@settings(max_examples=effort(100, 1_000))
@given(st.lists(_EVENTS, max_size=8), _VALUES)
def test_no_file_is_too_odd(events: list[dict[str, Any]], about: object) -> None:
    """Any JSON folds, in any state, to JSON and to words."""
    fold = RunFold(about if isinstance(about, dict) else None)
    for each in events:
        fold.add(each)
    for is_running in (True, False):
        run = fold.summary(is_running=is_running)
        json.dumps(run_json(run, NOW), allow_nan=False)
        run_summary.describe_stop(run)
        run_summary.run_text(run, NOW)
        for found in run.rounds:
            for agent in found.agents:
                assert run_summary.state_text(agent, agent.turns)
                assert run_summary.weight_of(agent)


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (999, "999"), (45_240, "45.2k"), (172_000, "172k"), (999_600, "1.0M")],
)
def test_tokens_in_words(count: int, words: str) -> None:
    assert run_summary.tokens_text(count) == words
