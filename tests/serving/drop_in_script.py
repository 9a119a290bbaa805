"""The same calls for two servers, one after the other: each tool, each resource, the errors.

What one server does and the other refuses comes last: it would change what is read before.
"""

from typing import Any, NamedTuple

ANN, BEA, CAT, DAN = "BlueLake", "RedStone", "GreenHill", "PurpleBear"
THREAD, SESSION = "T-1", "RS-20251230-cell-fate"
KICKOFF = "# Fate\n\n## Research Question\nWhat decides?\n\n## Context\nCells.\n"
_DELTA = """# Contribution

```delta
{"operation": "ADD", "section": "hypothesis_slate", "target_id": null,
 "payload": {"name": "Gradient", "claim": "A gradient decides", "mechanism": "It acts",
 "anchors": ["§42"]}, "rationale": "It explains more"}
```
"""


class Id(NamedTuple):
    """The id of the message that was sent in that step."""

    step: str


class At(NamedTuple):
    """Its time."""

    step: str


class Key(NamedTuple):
    """The key of the project, and what is put behind it."""

    behind: str = ""


class Step(NamedTuple):
    """One request: the method, and what it is asked with. `{key}` stands for the project."""

    name: str
    method: str
    params: dict[str, Any]


KEY = Key()


def _tool(name: str, tool: str, /, **arguments: object) -> Step:
    given = {"project_key": KEY, **arguments}
    return Step(name, "tools/call", {"name": tool, "arguments": given})


def _bare(name: str, tool: str, /, **arguments: object) -> Step:
    """Without the key of the project."""
    return Step(name, "tools/call", {"name": tool, "arguments": arguments})


def _read(name: str, address: str) -> Step:
    return Step(name, "resources/read", {"uri": f"resource://{address}"})


def _register(name: str, who: str, **more: object) -> Step:
    about = {"program": "codex", "model": "gpt", "name": who}
    return _tool(name, "register_agent", **about | more)


def _send(name: str, sender: str = ANN, **more: object) -> Step:
    usual = {"to": [BEA], "subject": name, "body_md": f"About {name}."}
    return _tool(name, "send_message", sender_name=sender, **usual | more)


def _reply(name: str, sender: str, to: Id | int, **more: object) -> Step:
    given = {"sender_name": sender, "message_id": to, "body_md": f"About {name}."}
    return _tool(name, "reply_message", **given, **more)


def _inbox(name: str, who: str = BEA, **more: object) -> Step:
    return _tool(name, "fetch_inbox", agent_name=who, **more)


def _mine(name: str, tool: str, who: str, **more: object) -> Step:
    return _tool(name, tool, agent_name=who, **more)


_LISTS = (
    Step("the tools", "tools/list", {}),
    Step("the resources", "resources/list", {}),
    Step("the templates", "resources/templates/list", {}),
    Step("a ping", "ping", {}),
    Step("a method that is not there", "foo/bar", {}),
    _bare("a tool that is not there", "nothing"),
    _read("a resource that is not there", "nothing/1"),
    _bare("health", "health_check"),
)

_NAMES = (
    _bare("the project", "ensure_project", human_key=KEY),
    _register("a name", ANN, task_description="t"),
    _register("the name again", ANN, task_description="t2"),
    _register("a second name", BEA),
    _register("a third name", CAT, auto_fetch_inbox=True),
    _tool("a name of its own", "create_agent_identity", program="x", model="y", name_hint=DAN),
    _tool("who somebody is", "whois", agent_name=ANN),
    _tool("who nobody is", "whois", agent_name="Nobody"),
)

_MAIL = (
    _send("hello", cc=[CAT], importance="high", ack_required=True, thread_id=THREAD),
    _send("in no thread"),
    _send("to all", to=[BEA, CAT, DAN], thread_id=THREAD, body_md="- [ ] do it\n- [x] done\n"),
    _reply("an answer", BEA, Id("hello")),
    _reply("an answer to an answer", ANN, Id("an answer")),
    _reply("an answer in no thread", BEA, Id("in no thread"), subject_prefix="AW:"),
    _reply("an answer to nothing", BEA, 999_999),
)

_READING = (
    _inbox("an inbox", include_bodies=True),
    _inbox("an inbox without bodies"),
    _inbox("an urgent inbox", urgent_only=True),
    _inbox("one of an inbox", limit=1),
    _inbox("an inbox since its second", since_ts=At("in no thread")),
    _inbox("an inbox since now", since_ts="2999-01-01T00:00:00+00:00"),
    _inbox("a copy", CAT, include_bodies=True),
    _inbox("an empty inbox", DAN, since_ts="2999-01-01T00:00:00Z"),
    _read("the agents", "agents/{key}"),
    _read("all agents", "agents"),
    _read("the project itself", "project/{slug}"),
    _read("an inbox to read", f"inbox/{BEA}?project={{key}}&include_bodies=true&limit=2"),
    _read("an inbox by a query in its name", f"inbox/{BEA}{{hidden}}"),
    _read("an outbox", f"outbox/{ANN}?project={{key}}&include_bodies=true&limit=9"),
    _read("an outbox without bodies", f"outbox/{ANN}?project={{key}}&limit=2"),
    _read("a thread", f"thread/{THREAD}?project={{key}}&include_bodies=true"),
    _read("a thread without bodies", f"thread/{THREAD}?project={{key}}"),
    _read("a thread that has no name", "thread/{in no thread}?project={key}"),
    _read("a thread that is not there", "thread/nothing?project={key}"),
    _read("a message", "message/{hello}?project={key}"),
    _read("a message that is not there", "message/999999?project={key}"),
    _tool("found", "search_messages", query="hello"),
    _tool("found at most one", "search_messages", query="about", limit=1),
    _tool("nothing found", "search_messages", query="xylophone"),
    _tool("a phrase", "search_messages", query='"About hello"'),
    _tool("a summary", "summarize_thread", thread_id=THREAD, llm_mode=False),
    _tool(
        "a summary with examples",
        "summarize_thread",
        thread_id=THREAD,
        include_examples=True,
        llm_mode=False,
    ),
)

_FILES = (
    _mine("reserved", "file_reservation_paths", ANN, paths=["src/*.py", "README.md"], reason="r"),
    _mine("reserved by two", "file_reservation_paths", BEA, paths=["src/a.py", "b"]),
    _mine("reserved to share", "file_reservation_paths", CAT, paths=["c"], exclusive=False),
    _mine("nothing reserved", "file_reservation_paths", BEA, paths=[]),
    _read("the reservations", "file_reservations/{slug}?active_only=true"),
    _mine("released", "release_file_reservations", ANN, paths=["README.md"]),
    _mine("all released", "release_file_reservations", ANN),
    _mine("none released", "release_file_reservations", ANN),
    _mine("all released by an empty list", "release_file_reservations", BEA, paths=[]),
    _bare(
        "a session",
        "macro_start_session",
        human_key=KEY,
        program="codex",
        model="gpt",
        agent_name=CAT,
        file_reservation_paths=["d"],
        inbox_limit=1,
    ),
)

_MARKS = (
    _mine("marked", "mark_message_read", BEA, message_id=Id("hello")),
    _mine("marked again", "mark_message_read", BEA, message_id=Id("hello")),
    _mine("marked by another", "mark_message_read", DAN, message_id=Id("hello")),
    _mine("nothing marked", "mark_message_read", BEA, message_id=999_999),
    _mine("acknowledged", "acknowledge_message", BEA, message_id=Id("hello")),
    _mine("acknowledged again", "acknowledge_message", BEA, message_id=Id("hello")),
    _mine("acknowledged by another", "acknowledge_message", DAN, message_id=Id("hello")),
    _mine("nothing acknowledged", "acknowledge_message", BEA, message_id=999_999),
    _inbox("an inbox after an ACK", ANN, limit=1),
)

_WRONG = (
    _send("an argument too many", foo=1),
    _bare("arguments missing", "send_message", project_key=KEY, sender_name=ANN, to=[BEA]),
    _bare("no name", "fetch_inbox", project_key=KEY),
    _inbox("a number as text", limit="1"),
    _inbox("not a number", limit="many"),
    _inbox("not a time", since_ts="yesterday"),
    _inbox("the inbox of nobody", "Nobody"),
    _send("to a text", to=BEA),
    _send("to none", to=[]),
    _send("null for what is left out", cc=None, thread_id=None, importance="normal"),
    _tool("a summary of nothing", "summarize_thread", thread_id="nothing", llm_mode=False),
    _tool("an empty query", "search_messages", query=""),
    _tool("a query with OR", "search_messages", query="hello OR all"),
    _read("a message without a number", "message/x?project={key}"),
    _mine("files of nobody", "file_reservation_paths", "Nobody", paths=["x"]),
    _mine("a path out of the project", "file_reservation_paths", ANN, paths=["../x"]),
    _mine("reserved for long", "file_reservation_paths", ANN, paths=["y"], ttl_seconds=10**8),
)

# Here one server does what the other refuses.
_APART = (
    _reply("an answer to oneself", ANN, Id("to all")),
    _send("before the kickoff", thread_id=SESSION, subject="DELTA[gpt]: A start", body_md=_DELTA),
    _send("a kickoff", thread_id=SESSION, subject="KICKOFF: Fate", body_md=KICKOFF),
    _send("a session's mail", thread_id=SESSION, subject="DELTA[gpt]: A start", body_md=_DELTA),
    _send("an aside", thread_id=SESSION, subject="By the way"),
    _send("wrong mail", thread_id=SESSION, subject="DELTA[gpt]: No block", body_md="None."),
    _send("blind copies", bcc=[CAT]),
    _send("attachments", attachment_paths=["/etc/hostname"]),
    _send("another importance", importance="hugely"),
    _send("an odd thread", thread_id="two\nlines"),
    _send("a long subject", subject="x" * 1_001),
    _send("to nobody known", to=["Nobody"]),
    _send("from nobody known", "Nobody"),
    _send("into another project", project_key=Key("-next-door")),
    _bare("another project", "ensure_project", human_key=Key("-next-door")),
    _bare("a relative project", "ensure_project", human_key="somewhere"),
    _register("no name that can be", "bad name!"),
    _register("a name that looks like another", "B1ueLake"),
    _register("a name of another program", ANN, program="gemini"),
)

SCRIPT: tuple[Step, ...] = (
    *_LISTS,
    *_NAMES,
    *_MAIL,
    *_READING,
    *_FILES,
    *_MARKS,
    *_WRONG,
    *_APART,
)
