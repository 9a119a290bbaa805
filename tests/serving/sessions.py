"""A session in memory, and short ways to call our own tools in it."""

import json
from collections.abc import Mapping
from typing import Any

from brenner.mcp.tool import Caller, ToolResult
from brenner.protocol.delta.parse import read_deltas
from serving.calls import Place, place
from serving.frames import split_frames
from session.round_play import NAMES, THREAD, started

ANN, BEA, CAT = NAMES
HYPOTHESIS = {
    "name": "Gradient",
    "claim": "A gradient decides",
    "mechanism": "It acts",
    "anchors": ["§42"],
}
ADD: dict[str, object] = {
    "operation": "ADD",
    "section": "hypothesis_slate",
    "payload": HYPOTHESIS,
    "rationale": "It explains more",
}
EDIT: dict[str, object] = {
    "operation": "EDIT",
    "section": "hypothesis_slate",
    "target_id": "H1",
    "payload": {"claim": "A steep gradient decides"},
    "rationale": "It was too weak",
}
KILL: dict[str, object] = {
    "operation": "KILL",
    "section": "hypothesis_slate",
    "target_id": "H1",
    "payload": {"reason": "Refuted by T1"},
    "rationale": "T1 came out negative",
}


def in_session() -> Place:
    """Three agents, all asked, all of them known with their models."""
    here = place()
    for name in NAMES:
        here.knows(name)
    started(here.workspace)
    return here


def post(here: Place, agent: str, *deltas: object, **more: object) -> ToolResult:
    """Post deltas as somebody who shows no secret."""
    caller = more.pop("caller", None)
    assert caller is None or isinstance(caller, Caller)
    arguments = {"thread_id": THREAD, "agent": agent, "deltas": list(deltas), **more}
    # As it comes over the wire
    return here.ask("brenner_post", caller, **json.loads(json.dumps(arguments)))


def stored(here: Place, message_id: int) -> list[object]:
    """What the message that was stored contributes."""
    body = here.mailbox.message(message_id).message.body
    return [block.value for block in read_deltas(body) if block.delta]


def value(answer: ToolResult) -> dict[str, Any]:
    """The structured content, which must be JSON."""
    assert isinstance(answer.value, dict)
    document: dict[str, Any] = json.loads(json.dumps(answer.value))
    return document


def fine(answer: ToolResult) -> dict[str, Any]:
    """The same of an answer that is no error."""
    assert not answer.is_error, answer.text
    return value(answer)


def codes(answer: ToolResult) -> list[str]:
    """The ids of the violations."""
    return [each["id"] for each in value(answer)["violations"]]


def inside(answer: ToolResult, key: str) -> str:
    """The text of others that stands under a key."""
    document = value(answer)
    outside, (text,) = split_frames(document[key], document["frame"]["token"])
    assert not outside
    return text


def warnings_in(value: Any) -> list[str]:
    """The violations anywhere in a result, each as one text; `error` repeats the first one."""
    if isinstance(value, Mapping):
        found = [warnings_in(each) for key, each in value.items() if key != "error"]
        own = [json.dumps(value, sort_keys=True)] if {"id", "severity"} <= value.keys() else []
        return own + [each for inside in found for each in inside]
    return [each for one in value for each in warnings_in(one)] if isinstance(value, list) else []
