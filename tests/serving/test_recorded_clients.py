"""Rounds of Claude Code, Codex and Gemini, sent to the server again as the programs sent them.

If the programs or the interface of the tools change, record them again: `make record-clients`.
"""

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from brenner.program_settings import SECRET
from clients.lab import AGENT, HTTP, STDIO, Lab, check_round, open_lab
from clients.programs import PROGRAMS
from serving.recorded_requests import FOLDER, SESSION, Request, read_requests

_SECONDS = 60
_REFUSED = [False, False, False, True, False]  # register, task, ACK, faulty post, corrected post
_AGAIN = "The recorded calls are out of date. To record them again: `make record-clients`."


@pytest.mark.parametrize("program", PROGRAMS)
def test_http(program: str, tmp_path: Path) -> None:
    """Each request gets an answer, and the round leaves what it left when it was recorded."""
    with open_lab(tmp_path, HTTP) as lab:
        answers = send_requests(lab, read_requests(FOLDER / f"{program}-http.jsonl"))
        check_answers(answers)
        check_round(lab, AGENT)


@pytest.mark.parametrize("program", PROGRAMS)
def test_stdio(program: str, tmp_path: Path) -> None:
    """The same with lines."""
    with open_lab(tmp_path, STDIO) as lab:
        check_answers(send_lines(lab, (FOLDER / f"{program}-stdio.jsonl").read_bytes()))
        check_round(lab, AGENT)


def check_answers(answers: list[dict[str, Any]]) -> None:
    """Check that every request was understood, and only the faulty post was refused."""
    assert all("result" in each for each in answers), f"{answers} {_AGAIN}"
    calls = [each["result"] for each in answers if "content" in each["result"]]
    assert [each.get("isError", False) for each in calls] == _REFUSED, f"{calls} {_AGAIN}"
    tools = next(each["result"]["tools"] for each in answers if "tools" in each["result"])
    assert "brenner_post" in [each["name"] for each in tools]


def send_requests(lab: Lab, requests: list[Request]) -> list[dict[str, Any]]:
    """Send requests byte for byte, one after the other; return the answers to those with an id.

    A GET opens a stream of events that stays open to the end, as it does in the programs.
    """
    assert lab.server
    values = {"{host}": f"127.0.0.1:{lab.server.port}", "{secret}": lab.secret(AGENT)}
    answers = []
    with ExitStack() as stack:
        for request in requests:
            connection = socket.create_connection(("127.0.0.1", lab.server.port), _SECONDS)
            stack.enter_context(connection)
            connection.sendall(request.with_values(values))
            response = HTTPResponse(connection, method=request.method)
            response.begin()
            assert response.status < 400, f"{request} {response.read()!r} {_AGAIN}"
            values[SESSION] = response.headers.get("Mcp-Session-Id") or values.get(SESSION, "")
            if request.calls:
                answers.append(_document(response.read().decode()))
    return answers


def _document(text: str) -> dict[str, Any]:
    """Return the one document of an answer, which may be a stream of events."""
    lines = [each.removeprefix("data: ") for each in text.splitlines()]
    found: list[dict[str, Any]] = [json.loads(each) for each in lines if each.startswith("{")]
    (document,) = found
    return document


def send_lines(lab: Lab, recorded: bytes) -> list[dict[str, Any]]:
    """Send lines byte for byte, each after the answer to the one before."""
    answers = []
    others = {name: each for name, each in os.environ.items() if not name.startswith("BRENNER_")}
    with subprocess.Popen(
        [sys.executable, "-m", "brenner", "mcp"],
        cwd=lab.folder,
        env={**others, SECRET: lab.secret(AGENT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        for line in recorded.splitlines(keepends=True):
            process.stdin.write(line)
            process.stdin.flush()
            if "id" in json.loads(line):
                answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(_SECONDS) == 0
    return answers
