"""What a `server` case may do beside what `session` cases do: the door, and other programs."""

import re
from collections.abc import Callable, Sequence

from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.workspace import Workspace, workspace_in
from conformance.mail_shorthand import LETTER, THREAD_ID, letter
from conformance.recording_proxy import Reply
from conformance.server_scene import ServerScene
from conformance.session_actions import Action
from conformance.session_scene import SessionScene
from conformance.session_shorthand import written

Found = re.Match[str]
_SEND = "send_message"
_VERSION = "COMPILED: v"  # what a request holds that sends one
Doing = Callable[[ServerScene, Found, Sequence[str]], None]


def _acting(act: Doing) -> Action:
    def acted(scene: SessionScene, found: Found, outcome: str, lines: Sequence[str]) -> None:
        assert isinstance(scene, ServerScene)
        assert not outcome
        act(scene, found, lines)

    return acted


# The door


def _away(scene: ServerScene, _: Found, __: Sequence[str]) -> None:
    scene.side.door.refuse()
    scene.side.door.cut()


def _back(scene: ServerScene, _: Found, __: Sequence[str]) -> None:
    scene.side.door.pass_on()


def _lose_answer(scene: ServerScene, found: Found, _: Sequence[str]) -> None:
    """The request gets through, its answer does not; perhaps the server is away from then on."""
    scene.side.lose_answer(_SEND, scene.side.door.refuse if found["away"] else None)


def _answer_instead(scene: ServerScene, found: Found, _: Sequence[str]) -> None:
    scene.agent_mail.between.instead[found["marker"]] = Reply(int(found["status"]), found["text"])


def _hide(scene: ServerScene, found: Found, _: Sequence[str]) -> None:
    scene.agent_mail.between.hidden.update(found["names"].split(", "))


def _compile_before(scene: ServerScene, found: Found, lines: Sequence[str]) -> None:
    """When the next version is on its way, somebody compiles first, and perhaps writes, too."""

    def first() -> None:
        with _past_the_door(scene, found["who"]) as workspace:
            assert compile_thread(workspace, THREAD_ID, CompileOptions()).message
            if lines:
                workspace.mailbox.send(scene.addressed(written(list(lines)).message))

    scene.agent_mail.between.before[_VERSION] = first


def _come_before(scene: ServerScene, found: Found, _: Sequence[str]) -> None:
    """When the next version is on its way, a message that was written elsewhere arrives first."""
    message_id = scene.id_of(int(found["number"]), "elsewhere")
    message = scene.store("elsewhere").message(message_id).message

    def first() -> None:
        with _past_the_door(scene, message.sender) as workspace:
            workspace.mailbox.send(message)

    scene.agent_mail.between.before[_VERSION] = first


def _past_the_door(scene: ServerScene, actor: str) -> Workspace:
    return workspace_in(scene.project_of("home"), actor, create=False)


# Other programs


def _register(scene: ServerScene, found: Found, _: Sequence[str]) -> None:
    scene.agent_mail.server.tool("ensure_project", human_key=scene.agent_mail.project)
    for name in found["names"].split(", "):
        answer = scene.agent_mail.tool(
            "register_agent", program="claude-code", model="opus", name=name
        )
        assert answer["name"] == name


def _send(scene: ServerScene, found: Found, lines: Sequence[str]) -> None:
    """A message by the server's own tool; delta messages are written as in `thread` cases."""
    if LETTER.fullmatch(found["letter"]):
        given = letter(found["letter"], tuple(lines) or None)
        message, text = given.message, given.text
    else:
        message, text = scene.addressed(written([found["letter"], *lines]).message), ""
    asked = re.search("^Ack-Required: (true|false)$", text, re.MULTILINE)
    position = scene.mailbox.position()
    scene.agent_mail.tool(
        _SEND,
        sender_name=message.sender,
        to=list(message.recipients),
        subject=message.subject,
        body_md=message.body,
        thread_id=message.thread_id,
        ack_required=bool(asked and asked[1] == "true"),
    )
    assert scene.mailbox.position() == position + 1


def _acknowledge(scene: ServerScene, found: Found, _: Sequence[str]) -> None:
    message_id = scene.id_of(int(found["number"]))
    scene.agent_mail.tool("acknowledge_message", agent_name=found["name"], message_id=message_id)


def _write(scene: ServerScene, found: Found, lines: Sequence[str]) -> None:
    scene.write(found["path"], "\n".join(lines) + "\n")


SERVER_ACTIONS: tuple[tuple[re.Pattern[str], Action], ...] = tuple(
    (re.compile(shape), _acting(act))
    for shape, act in (
        ("the server is away", _away),
        ("the server is back", _back),
        ("the answer to the next send is lost(?P<away>, and the server is away)?", _lose_answer),
        (
            r'asked for "(?P<marker>[^"]+)" it answers (?P<status>\d+): (?P<text>.*)',
            _answer_instead,
        ),
        ("it does not offer (?P<names>.+)", _hide),
        (r"before a version arrives (?P<who>\w+) compiles", _compile_before),
        (r"before a version arrives message (?P<number>\d+) of elsewhere does", _come_before),
        ("another program registers (?P<names>.+)", _register),
        (r"another program acknowledges (?P<number>\d+) as (?P<name>\w+)", _acknowledge),
        ("another program sends (?P<letter>.+)", _send),
        (r"file (?P<path>\S+)", _write),
    )
)
