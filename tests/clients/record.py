"""Record what the agents' real programs send to our server in a good round.

`make record-clients` writes `tests/serving/recorded/`, from where `make test` sends the same bytes
to the server again. Over HTTP each request is kept with its headers, over stdio each line.
"""

import json
import shlex
import socket
import sys
import tempfile
from pathlib import Path

from clients.lab import AGENT, HTTP, STDIO, Lab, check_round, good_round, open_lab
from clients.programs import PROGRAMS, Program
from clients.scripted_model import ScriptedModel
from servers.proxy import Connection, Proxy
from serving.recorded_requests import FOLDER, Request, take_request, write_requests

_SETTINGS = (".mcp.json", ".codex/config.toml", ".gemini/settings.json")


def main() -> None:
    """Record every program over both transports."""
    FOLDER.mkdir(exist_ok=True)
    for program in PROGRAMS.values():
        for transport, record in ((HTTP, record_http), (STDIO, record_stdio)):
            file = FOLDER / f"{program.name}-{transport}.jsonl"
            with tempfile.TemporaryDirectory() as folder, open_lab(Path(folder), transport) as lab:
                record(lab, program, file)
                check_round(lab, AGENT)
            sys.stdout.write(f"{file.name}: {len(file.read_bytes())} bytes\n")


class Recorder(Proxy):
    """A proxy that keeps all requests, in the order in which they are complete."""

    def __init__(self, port: int) -> None:
        self.requests: list[Request] = []
        self._parts: dict[socket.socket, bytes] = {}
        super().__init__(port)

    def _pass(self, connection: Connection, to: socket.socket, data: bytes) -> None:
        if to is connection.server:
            request, rest = take_request(self._parts.get(to, b"") + data)
            while request:
                self.requests.append(request)
                request, rest = take_request(rest)
            self._parts[to] = rest
        super()._pass(connection, to, data)


def record_http(lab: Lab, program: Program, file: Path) -> None:
    """Record the requests."""
    assert lab.server
    with Recorder(lab.server.port) as recorder:
        host = f"127.0.0.1:{recorder.port}"
        lab.connect(program, url=f"http://{host}/mcp/")
        secret = play(lab, program)
        names = {host: "{host}", secret: "{secret}"}
        write_requests(file, [each.with_names(names) for each in recorder.requests])


def record_stdio(lab: Lab, program: Program, file: Path) -> None:
    """Record the lines, by a command before the one in the settings."""
    lab.connect(program)
    brenner, tee = str(Path(sys.executable).with_name("brenner")), lab.folder.parent / "tee"
    tee.write_text(f'#!/bin/sh\ntee {shlex.quote(str(file))} | {shlex.quote(brenner)} "$@"\n')
    tee.chmod(0o700)
    for settings in (lab.folder / each for each in _SETTINGS):
        if settings.exists():
            text = settings.read_text("utf-8")
            assert json.dumps(brenner) in text
            settings.write_text(text.replace(json.dumps(brenner), json.dumps(str(tee))), "utf-8")
    play(lab, program)


def play(lab: Lab, program: Program) -> str:
    """Play a good round; return the secret that the program sent."""
    with ScriptedModel() as model:
        script = model.script(AGENT, good_round(program, AGENT, "Gradient"))
        ready = lab.ready(program, AGENT, model)
        ready.run()
        script.check()
        return ready.secret


if __name__ == "__main__":
    main()
