"""The agents' real programs with the settings that `brenner agent config` writes.

Only their model is scripted. `make test-clients` runs this.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clients.lab import (
    AGENT,
    HTTP,
    OTHER,
    STDIO,
    THREAD,
    Lab,
    Ready,
    check_round,
    good_round,
    open_lab,
)
from clients.programs import CLAUDE, CODEX, CODEX_CODE, GEMINI, PROGRAMS, Ended, Program
from clients.scripted_model import Call, Cut, Do, Fail, Found, Say, ScriptedModel
from serving.scripted.contributions import critique, proper

every_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
RIGHT, WRONG = "right", "wrong"  # tokens
every_transport = pytest.mark.parametrize("transport", [HTTP, STDIO])


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """The service of the models."""
    with ScriptedModel() as model:
        yield model


@every_transport
@every_program
def test_round(program: Program, transport: str, tmp_path: Path, model: ScriptedModel) -> None:
    """It connects, reads its task, corrects what is refused, posts, and acknowledges."""
    script = model.script(AGENT, good_round(program, AGENT, "Gradient"))
    with open_lab(tmp_path, transport) as lab:
        lab.connect(program)
        ended = lab.ready(program, AGENT, model).run()
        script.check()
        assert says_well(program, ended), ended
        assert "MISSING_REQUIRED_FIELD" in script.results[3]
        check_round(lab, AGENT)


@every_transport
@every_program
def test_newcomer(program: Program, transport: str, tmp_path: Path, model: ScriptedModel) -> None:
    """Without a secret in its environment, an agent passes the token that it got to every tool."""
    token = {"registration_token": Found(r"brs_[\w-]+")}
    script = model.script(AGENT, good_round(program, AGENT, "Gradient", **token))
    with open_lab(tmp_path, transport) as lab:
        lab.connect(program)
        lab.newcomer(program, AGENT, model).run()
        script.check()
        check_round(lab, AGENT)


def test_round_by_code(tmp_path: Path, model: ScriptedModel) -> None:
    """Codex with a model that calls tools from code."""
    script = model.script(AGENT, good_round(CODEX, AGENT, "Gradient"))
    with open_lab(tmp_path) as lab:
        lab.connect(CODEX)
        lab.ready(CODEX_CODE, AGENT, model).run()
        script.check()
        assert "mcp__brenner__brenner_task" not in script.offered
        check_round(lab, AGENT)


def says_well(program: Program, ended: Ended) -> bool:
    """Return whether the program itself reports success."""
    last = ended.events[-1]
    if program == CODEX:
        return bool(last["type"] == "turn.completed")
    return bool(last["type"] == "result") and not last.get("is_error") and "error" not in last


@every_transport
@every_program
def test_two_agents(program: Program, transport: str, tmp_path: Path, model: ScriptedModel) -> None:
    """Two agents of one program and one login, at work at the same time, each have their name."""
    meet = threading.Barrier(2, timeout=300)
    scripts = [
        model.script("shared", [*work[:2], Do(meet.wait), *work[2:]], about=f"You are {agent}")
        for agent, name in ((AGENT, "Gradient"), (OTHER, "Clock"))
        for work in [good_round(program, agent, name)]
    ]
    with open_lab(tmp_path, transport) as lab:
        lab.connect(program)
        runs = [lab.ready(program, each, model).with_key("shared") for each in (AGENT, OTHER)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(Ready.run, runs))
        for each in scripts:
            each.check()
        check_round(lab, AGENT, OTHER)


@every_program
def test_restart(program: Program, tmp_path: Path, model: ScriptedModel) -> None:
    """The server is started anew in the middle of the round, and the program goes on.

    Gemini never begins a new session. Its model reads that the call failed, and calls again.
    """
    with open_lab(tmp_path) as lab:
        assert lab.server
        work = good_round(program, AGENT, "Gradient")
        failed = work[2:3] if program == GEMINI else []
        script = model.script(AGENT, [*work[:2], Do(lab.server.restart), *failed, *work[2:]])
        lab.connect(program)
        lab.ready(program, AGENT, model).run()
        script.check()
        assert ("Call again" in script.results[2]) is (program == GEMINI)
        check_round(lab, AGENT)


@every_program
def test_wrong_token(program: Program, tmp_path: Path, model: ScriptedModel) -> None:
    """With a wrong token there is no connection, and nothing is written."""
    script = model.script(AGENT, [Say("Nothing to do.")])
    with open_lab(tmp_path, token=RIGHT) as lab:
        lab.connect(program, "--token")
        ended = lab.ready(program, AGENT, model, BRENNER_TOKEN=WRONG).run()
        assert not script.offers_ours
        assert lab.messages(AGENT) == []
        assert (ended.code != 0) is (program == CODEX)
        if program == CLAUDE:
            assert ended.events[0]["mcp_servers"][0]["status"] == "failed"
        right = model.script(AGENT, [Call("brenner_task"), Say("Read.")])
        lab.ready(program, AGENT, model, BRENNER_TOKEN=RIGHT).run()
        right.check()
        assert THREAD in right.results[0]


@every_program
def test_long_artifact(program: Program, tmp_path: Path, model: ScriptedModel) -> None:
    """The model sees an outline, and every page of a long version whole."""
    with open_lab(tmp_path) as lab:
        assert lab.server
        publish_long_version(lab, tmp_path / "long.md")
        answer = lab.server.tool("brenner_artifact", thread_id=THREAD)
        assert answer["characters"] > _LONG
        following = Found(r"The next one is `page`: (\d+)", int)
        pages = [{}, *[{"page": following}] * (answer["pages"] - 1)]
        read = [Call("brenner_artifact", {"thread_id": THREAD, **each}) for each in pages]
        script = model.script(AGENT, [*read, Say("Read.")])
        lab.connect(program)
        lab.ready(program, AGENT, model).run()
        script.check()
        assert "C1-C" in script.results[0].partition("Gradient 1.")[0]
        seen = "".join(script.results)
        assert [text for text in _ATTACKS if text.strip() not in seen] == []


_LONG = 100_000
_ATTACKS = [f"Gradient {number}. {'x§' * 1_500} {number} ends." for number in range(1, 41)]


def publish_long_version(lab: Lab, file: Path) -> None:
    """Publish a version with many critiques."""
    deltas = [critique(f"Attack {place}", attack=each) for place, each in enumerate(_ATTACKS)]
    heads = (f"Thread: {THREAD}", f"From: {OTHER}", "To: Operator", "Subject: DELTA[gpt]: Attacks")
    file.write_text("\n".join([*heads, "", proper(*deltas)]), "utf-8")
    lab.ask("mail", "send", str(file), "--as", OTHER)
    assert lab.ask("compile", THREAD)["ledger"]["applied"] == len(_ATTACKS)


@pytest.mark.parametrize("fault", [Fail(429, {"retry-after": "1"}), Cut()], ids=["limit", "cut"])
@every_program
def test_model_fails(
    program: Program, fault: Fail | Cut, tmp_path: Path, model: ScriptedModel
) -> None:
    """A failure of the model's service for a moment loses nothing, and a second run goes on."""
    script = model.script(
        AGENT, [fault, Call("brenner_task"), Say("Read.")], [Call("fetch_inbox"), Say("Read.")]
    )
    with open_lab(tmp_path, STDIO) as lab:
        lab.connect(program)
        ready = lab.ready(program, AGENT, model)
        ready.run()
        assert THREAD in script.results[0]
        ready.run()
        script.check()


@every_program
def test_model_rejects_key(program: Program, tmp_path: Path, model: ScriptedModel) -> None:
    """The scripted service can also be one that does not know the program's user."""
    script = model.script(AGENT, [Fail(401, times=None)])
    with open_lab(tmp_path, STDIO) as lab:
        lab.connect(program)
        assert lab.ready(program, AGENT, model, CLAUDE_CODE_MAX_RETRIES="1").run().code != 0
        assert script.prompts
