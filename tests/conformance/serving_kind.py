"""The case kind `serving`: agents call the tools and read the resources of our own server.

A scene is played in one home of the contract suite, with the tools themselves and the reading of
their arguments, but without a network: the protocol has its own tests.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from brenner.config import OPERATOR, Project
from brenner.mail.model import Profile
from brenner.mcp import errors as told
from brenner.mcp.resources import RESOURCES
from brenner.mcp.server import TOOLS, ResourceError, call_tool, read_resource
from brenner.mcp.tool import Bindings, Call, Caller, ToolResult
from brenner.services.identity import renew_secret
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import StartOptions, start_session
from brenner.services.workspace import Workspace
from mail.backends import Backend, Place

Case = dict[str, Any]
THREAD = "RS-20251230-cell-fate-dichotomy"
_BODIES = tomllib.loads((Path(__file__).parent / "bodies.toml").read_text("utf-8"))
_KEYS = {"file", "name", "proves", "kind", "codes", "agents", "strict", "scene"}
_ASKED = {"on", "call", "read", "with"}
_EXPECTED = {"refused", "codes", "gives", "lacks", "keeps", "says", "never"}
_MISSING = object()


def serving_codes(case: Case) -> list[str]:
    """The codes that a scene speaks of."""
    steps = case["scene"]
    return [code for step in steps for code in (*step.get("codes", ()), *_refused(step))]


def _refused(step: Case) -> tuple[str, ...]:
    return (step["refused"],) if "refused" in step else ()


def check_serving(case: Case, home: Backend, folder: Path) -> None:
    """Play the scene and compare everything that the case states."""
    assert case.keys() <= _KEYS
    with Place(home, folder) as place:
        scene = _Scene(place, folder, is_strict=case.get("strict", False))
        for name in (OPERATOR, *case.get("agents", ())):
            place.mailbox.register(Profile(name))
        for number, step in enumerate(case["scene"], 1):
            try:
                scene.play(step)
            except AssertionError as error:
                error.add_note(f"in step {number} of {case['name']}: {step}")
                raise


class _Scene:
    """A server, what its agents have learnt from it, and what they were told last."""

    def __init__(self, place: Place, folder: Path, *, is_strict: bool) -> None:
        self._place = place
        self._desk = Workspace(place.mailbox, Project(folder), OPERATOR)
        self._caller = Caller(Bindings(), is_strict=is_strict)
        self._tools = {tool.name: tool for tool in TOOLS}
        self._kept: dict[str, object] = {"PROJECT": str(folder)}
        self._asked: dict[str, object] = {}
        self._steps: dict[str, Callable[[Any, Case], None]] = {
            "call": lambda _, step: self._ask(step),
            "read": lambda _, step: self._ask(step),
            "start": self._start,
            "secret": self._make_secret,
            "compile": self._compile,
            "wait": lambda seconds, _: _nothing(place.clock.move(timedelta(seconds=seconds))),
            "stored": self._see_stored,
            "unread": self._see_unread,
            "owes": self._see_debts,
            "message": self._see_message,
        }

    def play(self, step: Case) -> None:
        """One step: what is done, or what is seen."""
        name = next(name for name in self._steps if name in step)
        if name in ("call", "read"):
            assert step.keys() <= _ASKED | _EXPECTED, step
        self._steps[name](step[name], step)

    # What is done

    def _ask(self, step: Case) -> None:
        before = self._place.mailbox.position()
        found = self._answer(step, self._caller._replace(connection=step.get("on")))
        text = found.text if found.text is not None else json.dumps(found.value)
        told = f"{text} {json.dumps(found.value, ensure_ascii=False)}"
        said = {"result": found.value} if isinstance(found.value, list) else found.value
        assert found.is_error == ("refused" in step), told
        if "refused" in step:
            assert step["refused"] in _codes_of(said), told
            assert self._place.mailbox.position() == before
        else:
            wanted = sorted(step.get("codes", ()))
            assert sorted(set(_codes_of(said))) == wanted, told
        self._compare(step, said, told)

    def _answer(self, step: Case, caller: Caller) -> ToolResult:
        if "read" in step:
            address = step["read"].replace("PROJECT", quote(str(self._kept["PROJECT"]), safe=""))
            return self._read(address, caller)
        given = step.get("with", {})
        if isinstance(given, str):
            corrected = self._filled(given)
            assert isinstance(corrected, dict)
            given = self._asked | {key: value for key, value in corrected.items() if value}
        self._asked = {key: self._filled(value) for key, value in given.items()}
        return call_tool(self._tools, step["call"], Call(self._desk, caller, self._asked))

    def _read(self, address: str, caller: Caller) -> ToolResult:
        """A resource; what cannot be read is told as by a tool."""
        try:
            return ToolResult(read_resource(RESOURCES, address, Call(self._desk, caller, {})))
        except ResourceError as failed:
            return told.refused_result(failed.faults)

    def _compare(self, step: Case, said: object, told: str) -> None:
        for path, wanted in step.get("gives", {}).items():
            filled = None if wanted == "null" else self._filled(wanted)
            assert at(said, path) == filled, (path, told)
        for path in step.get("lacks", ()):
            assert at(said, path) is _MISSING, (path, told)
        for name, path in step.get("keeps", {}).items():
            assert at(said, path) is not _MISSING, (path, told)
            self._kept[name] = at(said, path)
        for text in step.get("says", ()):
            assert str(self._filled(text)) in told, (text, told)
        for text in step.get("never", ()):
            assert text not in told, (text, told)

    def _start(self, names: list[str], _: Case) -> None:
        for name in names:
            self._place.mailbox.register(Profile(name, "codex", "gpt-5"))
        wish = RosterRequest(recipients=tuple((name, "hypothesis_generator") for name in names))
        question, context = "What tells a cell where it is?", "Cells differ by place."
        options = StartOptions(question, context, wish, excerpt="§42-44: Where.", thread_id=THREAD)
        assert start_session(self._desk, options).kickoffs

    def _make_secret(self, name: str, _: Case) -> None:
        """As the operator makes one, and gives it to whom it belongs."""
        self._kept["secret"] = renew_secret(self._place.mailbox, name)

    def _compile(self, status: str, _: Case) -> None:
        assert self._desk.compile(THREAD).status == status

    # What is seen

    def _see_stored(self, count: int, _: Case) -> None:
        assert self._place.mailbox.position() == count

    def _see_unread(self, counts: dict[str, int], _: Case) -> None:
        assert {name: self._place.mailbox.unread(name) for name in counts} == counts

    def _see_debts(self, wanted: list[str], _: Case) -> None:
        debts = self._place.mailbox.debts()
        assert [f"{debt.debtor} {debt.first.id}" for debt in debts] == wanted

    def _see_message(self, number: int, step: Case) -> None:
        stored = self._place.mailbox.message(number)
        facts: dict[str, object] = {
            "type": stored.type,
            "sender": stored.message.sender,
            "acknowledges": list(stored.acknowledges),
            "trust": stored.envelope.trust,
        }
        assert {name: facts[name] for name in step["is"]} == step["is"]
        assert all(text in stored.message.body for text in step.get("has", ()))
        assert not any(text in stored.message.body for text in step.get("never", ()))

    def _filled(self, value: object) -> object:
        """A value of a case, with what it names put in."""
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, str):
            return value
        if found := re.fullmatch(r"<<(.+)>>", value):
            return text_of(found[1])
        if found := re.fullmatch(r"\{(\w+)\}", value):
            return self._kept[found[1]]
        return value.replace("PROJECT", str(self._kept["PROJECT"])).replace("THREAD", THREAD)


def _nothing(_: object) -> None:
    """A step that has no outcome."""


def text_of(name: str) -> object:
    """A text of bodies.toml: the body of a type, a DELTA with blocks, or a block as an object."""
    kind, _, blocks = name.partition(" ")
    if kind == "DELTA":
        fences = [f"```delta\n{_BODIES['block'][each]}```\n" for each in blocks.split(", ")]
        return "# Delta Contribution\n\n" + "\n".join(fences)
    if kind in _BODIES["body"]:
        return _BODIES["body"][kind]
    return json.loads(_BODIES["block"][kind])


def at(value: object, path: str) -> object:
    """What stands at a path of keys and numbers."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part, _MISSING)
        elif isinstance(value, list) and part.isdigit():
            value = value[int(part)] if int(part) < len(value) else _MISSING
        else:
            return _MISSING
    return value


def _codes_of(said: object) -> list[str]:
    """The codes of an answer: of its error, and of what else was found."""
    return list(_ids(said, is_diagnostic=False))


def _ids(value: object, *, is_diagnostic: bool) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _ids(each, is_diagnostic=is_diagnostic)
    if not isinstance(value, Mapping):
        return
    if is_diagnostic and isinstance(value.get("id"), str):
        yield value["id"]
    for name, inner in value.items():
        yield from _ids(inner, is_diagnostic=name in ("error", "violations"))
