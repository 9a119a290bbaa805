"""Turns of real processes that hang, crash, flood, hide, and ignore signals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from threading import Thread

import pytest

from brenner.integrations.agent_driver import (
    AgentEvent,
    Endpoint,
    EventKind,
    FaultKind,
    TurnReport,
    TurnRequest,
    Usage,
)
from brenner.integrations.agent_process import (
    StopSwitch,
    TurnLimits,
    end_marked,
    run_turn,
    turns_in_list,
)
from brenner.integrations.drivers.table import find_driver
from brenner.program_settings import CLAUDE_CODE, TEXT, ProgramSettings
from servers.lifetime import occupants

LIMITS = TurnLimits(60, grace_seconds=0.3, exit_seconds=0.3)
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "talk-1",
    "mcp_servers": [{"name": "brenner", "status": "connected"}],
}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "usage": {"input_tokens": 7, "output_tokens": 3},
    "total_cost_usd": 0.5,
}
IGNORE_SIGNALS = """
    import signal
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
"""
WAIT = """
    import time
    time.sleep(600)
"""


class Turn:
    """A turn of a Python script, and what it reported."""

    def __init__(self, folder: Path, driver: str, *script: str, prompt: str = "Go on.") -> None:
        path = folder / "program.py"
        path.write_text("\n".join(map(dedent, script)))
        program = ProgramSettings(driver, (sys.executable, "-S", str(path)))
        endpoint = Endpoint("http://127.0.0.1:1/mcp", "token", "brs_secret")
        self.turn = f"{folder.name}/RedSky/1"
        self.request = TurnRequest(
            self.turn, "RedSky", prompt, folder / "RedSky", endpoint, program
        )
        self.driver = find_driver(driver)
        self.stop = StopSwitch()
        self.events: list[AgentEvent] = []

    def run(
        self, limits: TurnLimits = LIMITS, on_event: Callable[[AgentEvent], None] = lambda _: None
    ) -> TurnReport:
        def note(event: AgentEvent) -> None:
            self.events.append(event)
            on_event(event)

        return run_turn(self.driver, self.request, limits=limits, on_event=note, stop=self.stop)

    @property
    def lines(self) -> list[str]:
        return [each.text for each in self.events if each.kind is EventKind.LINE]


def printed(*events: object) -> str:
    """A script that prints events."""
    return f"print({chr(10).join(json.dumps(each) for each in events)!r}, flush=True)"


def test_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large task goes in while output comes out; the operator's variables stay with us."""
    monkeypatch.setenv("BRENNER_STORE", "postgresql://secret@host/db")
    monkeypatch.setenv("AGENT_NAME", "Operator")
    monkeypatch.setenv("AGENT_SECRET", "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    script = """
        import json, os, sys
        sys.stdout.write("x" * 300_000 + "\\n")
        sys.stdout.flush()
        task = sys.stdin.read()
        names = ("BRENNER_", "AGENT_", "LANG")
        print(json.dumps({k: v for k, v in os.environ.items() if k.startswith(names)}))
        print(os.getcwd(), os.getpgid(0) == os.getpid(), len(task), end="")
    """
    turn = Turn(tmp_path, TEXT, script, prompt="Ünï " * 100_000)
    report = turn.run()
    assert (report.fault, report.exit_code) == (None, 0)
    first, environment, last = report.text.split("\n")
    assert len(first) == 300_000
    assert json.loads(environment) == {
        "AGENT_NAME": "RedSky",
        "BRENNER_TURN": turn.turn,
        "LANG": "C.UTF-8",
    }
    assert last == f"{tmp_path.resolve() / 'RedSky' / 'work'} True 400000"
    assert turn.lines == report.text.split("\n")


def test_a_program_that_does_not_read(tmp_path: Path) -> None:
    """It blocks nothing, whether it closes its input or leaves it alone."""
    for script in ("print('short')", "import os; os.close(0); print('short')"):
        report = Turn(tmp_path, TEXT, script, prompt="long " * 500_000).run()
        assert (report.fault, report.text.strip()) == (None, "short")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import sys; sys.exit('Error: no key')", "it ended with exit code 1: Error: no key"),
        ("import sys; print('half a message'); sys.exit(3)", "exit code 3: no error message"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9 ended it: no error message"),
    ],
)
def test_a_crash(tmp_path: Path, script: str, reason: str) -> None:
    turn = Turn(tmp_path, TEXT, script)
    report = turn.run()
    assert report.fault
    assert (report.fault.kind, report.text) == (FaultKind.CRASH, "")
    assert report.fault.reason.endswith(reason)
    assert turn.events[-1].fault == report.fault


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    turn = Turn(tmp_path, TEXT)
    program = ProgramSettings(TEXT, (str(tmp_path / "nothing"),))
    turn.request = turn.request._replace(program=program)
    report = turn.run()
    assert report.fault
    assert report.fault.kind is FaultKind.NOT_INSTALLED
    assert report.fault.reason.endswith("nothing` cannot be run: no such file or directory")


def test_the_time_limit(tmp_path: Path) -> None:
    """Neither the program nor its child survives, although both ignore signals."""
    turn = Turn(tmp_path, CLAUDE_CODE, IGNORE_SIGNALS, "import os; os.fork()", WAIT)
    report = turn.run(LIMITS._replace(seconds=1))
    assert report.fault
    assert (report.fault.kind, report.exit_code) == (FaultKind.TIMEOUT, -signal.SIGKILL)
    assert report.fault.reason == "its turn took longer than 1 s"
    assert occupants(tmp_path) == {}


def test_a_daemon(tmp_path: Path) -> None:
    """A process that leaves the group and writes for ever ends with the turn."""
    daemon = """
        import os
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(write, b"It runs.")
                while True:
                    os.write(1, b"more\\n" * 1000)
            os._exit(0)
        os.write(2, os.read(read, 20))
    """
    report = Turn(tmp_path, CLAUDE_CODE, IGNORE_SIGNALS, printed(INIT, RESULT), daemon).run()
    assert (report.fault, report.exit_code) == (None, 0)
    assert report.errors == "It runs."
    assert occupants(tmp_path) == {}


@pytest.mark.parametrize(
    ("driver", "piece", "reason"),
    [
        (TEXT, "line " * 20 + "\\n", "its output has more than 4,194,304 bytes"),
        (CLAUDE_CODE, "no end", "a line of its output has more than 16,777,216 bytes"),
    ],
)
def test_a_flood(tmp_path: Path, driver: str, piece: str, reason: str) -> None:
    """It fills neither the memory nor the log."""
    flood = f"""
        import os
        while True:
            os.write(2, b"e" * 10_000)
            os.write(1, b"{piece}" * 10_000)
    """
    turn = Turn(tmp_path, driver, flood)
    report = turn.run()
    assert report.fault
    assert report.fault.reason == reason
    assert len(report.errors) <= 16 * 1024


def test_a_request_to_stop(tmp_path: Path) -> None:
    """The program may still report what it used."""
    polite = f"""
        import signal, sys
        def stop(*_):
            {printed(RESULT)}
            sys.exit(0)
        signal.signal(signal.SIGINT, stop)
        {printed(INIT)}
    """
    turn = Turn(tmp_path, CLAUDE_CODE, polite, WAIT)
    on_start = stop_when(turn, EventKind.CONNECTED)
    report = turn.run(LIMITS._replace(grace_seconds=60), on_start)
    assert report.fault
    assert (report.fault.kind, report.fault.reason) == (
        FaultKind.STOPPED,
        "the operator stopped it",
    )
    assert (report.conversation, report.exit_code) == ("talk-1", 0)
    assert report.usage == Usage(7, 0, 3, 0.5)


def test_a_stop_at_once(tmp_path: Path) -> None:
    """Nothing is waited for."""
    turn = Turn(tmp_path, CLAUDE_CODE, IGNORE_SIGNALS, printed(INIT), WAIT)
    on_start = stop_when(turn, EventKind.CONNECTED, at_once=True)
    report = turn.run(LIMITS._replace(grace_seconds=60), on_start)
    assert report.fault
    assert (report.fault.kind, report.exit_code) == (FaultKind.STOPPED, -signal.SIGKILL)


def stop_when(
    turn: Turn, kind: EventKind, *, at_once: bool = False
) -> Callable[[AgentEvent], None]:
    """Stop the turn from another thread at an event."""

    def stop() -> None:
        turn.stop.stop("the operator stopped it", at_once=at_once)

    def on_event(event: AgentEvent) -> None:
        if event.kind is kind:
            thread = Thread(target=stop)
            thread.start()
            thread.join()

    return on_event


def calls(count: int, *, is_same: bool) -> list[object]:
    """The events of calls of one tool."""
    events: list[object] = [INIT]
    for number in range(count):
        arguments = {"thread_id": "T" if is_same else f"T{number}"}
        use = {"type": "tool_use", "id": str(number), "name": "mcp__brenner__x", "input": arguments}
        result = {"type": "tool_result", "tool_use_id": str(number)}
        events.append({"type": "assistant", "message": {"id": str(number), "content": [use]}})
        events.append({"type": "user", "message": {"content": [result]}})
    return events


def test_a_loop(tmp_path: Path) -> None:
    """The same call with the same arguments, or too many of any."""
    report = Turn(tmp_path, CLAUDE_CODE, printed(*calls(8, is_same=True)), WAIT).run()
    assert report.fault
    assert report.fault.kind is FaultKind.LOOP
    assert report.fault.reason == "it called x 8 times with the same arguments"
    report = Turn(tmp_path, CLAUDE_CODE, printed(*calls(201, is_same=False)), WAIT).run()
    assert report.fault
    assert (report.fault.kind, report.tool_calls) == (FaultKind.LOOP, 201)
    script = (printed(*calls(7, is_same=True)), printed(*calls(100, is_same=False), RESULT))
    report = Turn(tmp_path, CLAUDE_CODE, *script).run()
    assert (report.fault, report.tool_calls) == (None, 107)


RETRY = {"type": "system", "subtype": "api_retry", "error": "rate_limit", "error_status": 429}


def test_a_long_wait(tmp_path: Path) -> None:
    """A program that would wait for minutes is ended, and the loop waits instead."""
    turn = Turn(tmp_path, CLAUDE_CODE, printed(INIT, {**RETRY, "retry_delay_ms": 900_000}), WAIT)
    fault = turn.run().fault
    assert fault
    assert (fault.kind, fault.retry_after) == (FaultKind.RATE_LIMIT, 900)


def test_retries_without_progress(tmp_path: Path) -> None:
    """A program that tries again without end is ended."""
    turn = Turn(tmp_path, CLAUDE_CODE, printed(INIT, {**RETRY, "retry_delay_ms": 900}), WAIT)
    fault = turn.run(LIMITS._replace(retry_seconds=0)).fault
    assert fault
    assert (fault.kind, fault.is_final) == (FaultKind.RATE_LIMIT, True)


@pytest.mark.thorough
def test_what_was_waited_for_at_the_time_limit(tmp_path: Path) -> None:
    """A program that was rate limited to the end did not just take long."""
    turn = Turn(tmp_path, CLAUDE_CODE, printed(INIT, {**RETRY, "retry_delay_ms": 900}), WAIT)
    fault = turn.run(LIMITS._replace(seconds=6)).fault
    assert fault
    assert (fault.kind, fault.is_final) == (FaultKind.RATE_LIMIT, True)


def test_a_lost_conversation(tmp_path: Path) -> None:
    """A new one begins, and its usage counts from its own start."""
    words = "No conversation found with session ID: talk-0"
    lost = {"type": "result", "subtype": "error_during_execution", "errors": [words]}
    script = f"import sys\nif '--resume' in sys.argv:\n    {printed(lost)}\n    sys.exit(1)"
    turn = Turn(tmp_path, CLAUDE_CODE, script, printed(INIT, RESULT))
    turn.request = turn.request._replace(conversation="talk-0", used_before=Usage(5, 0, 1))
    report = turn.run()
    assert (report.fault, report.conversation) == (None, "talk-1")
    assert report.usage == Usage(7, 0, 3, 0.5)
    assert [each.text for each in turn.events if each.kind is EventKind.FAULT] == [words]


def test_a_program_that_does_not_exit(tmp_path: Path) -> None:
    """Its turn is over all the same."""
    report = Turn(tmp_path, CLAUDE_CODE, IGNORE_SIGNALS, printed(INIT, RESULT), WAIT).run()
    assert (report.fault, report.exit_code) == (None, -signal.SIGKILL)


def test_a_callback_that_fails(tmp_path: Path) -> None:
    """Such as a log on a full disk: the program ends with it."""

    def fail(_: AgentEvent) -> None:
        raise OSError(28, "No space left on device")

    turn = Turn(tmp_path, CLAUDE_CODE, printed(INIT), WAIT)
    with pytest.raises(OSError, match="No space"):
        turn.run(on_event=fail)
    assert occupants(tmp_path) == {}


def test_what_a_killed_run_left() -> None:
    """All turns of one run, not those of a run whose id begins with the same characters."""
    script = "print(flush=True); import time; time.sleep(600)"

    def started(turn: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            (sys.executable, "-S", "-c", script),
            env={"BRENNER_TURN": turn},
            stdout=subprocess.PIPE,
        )
        assert process.stdout
        process.stdout.readline()
        return process

    run = f"run-{os.getpid()}"
    ours, other = [started(f"{run}/A/1"), started(f"{run}/B/12")], started(f"{run}0/A/1")
    try:
        assert end_marked(f"{run}/A") == 1
        assert end_marked(run) == 1
        assert [each.wait(60) for each in ours] == [-signal.SIGTERM] * 2
        assert other.poll() is None
    finally:
        for each in (*ours, other):
            each.kill()
            each.communicate()


def test_marks_in_a_list_of_processes() -> None:
    """As `ps` prints them where there is no /proc."""
    listed = (
        "    1 /sbin/launchd\n"
        "  512 node /usr/bin/gemini -p  PATH=/bin BRENNER_TURN=run-1/RedSky/2 TERM=xterm\n"
        " 9001 grep XBRENNER_TURN=run-1/RedSky/2\n"
    )
    assert list(turns_in_list(listed)) == [(512, "run-1/RedSky/2")]
