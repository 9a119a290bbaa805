"""How long a message may be that comes in: at the command line, from agents, in the lab.

What is stored, imported or composed already may be longer, so that every version still rebuilds.
"""

from pathlib import Path

import pytest

from brenner.config import Project, inspect_project
from brenner.limits import MOST_BODY_BYTES, MOST_SENT_KIB
from brenner.mcp.tool import Caller
from brenner.protocol.messages import Message, render_message_file
from brenner.services.receive import receive
from brenner.web.lab import messages as reply
from brenner.web.request import Page
from mail_shell import THREAD, Shell, posted
from serving.sessions import ADD, ANN, codes, fine, in_session, post
from session.round_play import THREAD as SESSION
from unit.receiving import make_message, workspace_in_memory
from web.lab_visits import Operator

_MOST = MOST_SENT_KIB * 1024
CODE = "MESSAGE_TOO_LARGE"


def long_message(size: int) -> str:
    """An INFO whose file has exactly so many bytes."""
    message = Message(THREAD, "Operator", ("BlueLake",), "INFO: x", "x\n")
    text = render_message_file(message)
    return text + "é" * ((size - len(text)) // 2) + "x" * ((size - len(text)) % 2)


def setting(office: Shell, kib: int) -> None:
    """The project takes messages of that length."""
    (office.folder / "brenner.toml").write_text(f"max_message_kib = {kib}\n")


# The command line


@pytest.mark.parametrize("command", [("check",), ("mail", "send"), ("mail", "send", "--no-check")])
def test_at_the_command_line(office: Shell, command: tuple[str, ...]) -> None:
    """The same limit for checking and sending, also unchecked; nothing is stored beyond it."""
    for size, expected in ((_MOST, []), (_MOST + 1, [CODE]), (5_000_000, [CODE])):
        raw = long_message(size).encode()
        assert len(raw) == size
        done = office(*command, "--json", "-", stdin=raw)
        assert [code for code in done.codes if code != "LARGE_MESSAGE"] == expected
        assert done.code == bool(expected)
        if expected:
            (found,) = done.json["violations"]
            assert str(_MOST) in found["message"]
            assert "`max_message_kib` in `brenner.toml`" in found["fix"]
    if "send" in command:
        assert len(office.mail("thread", THREAD, "--json").json["messages"]) == 1
    setting(office, 1024)
    longer = office(*command, "--json", "-", stdin=long_message(_MOST + 1).encode())
    assert longer.code == 0
    again = office(*command, "--json", "-", stdin=long_message(1024 * 1024 + 1).encode())
    assert again.codes == [CODE]
    assert str(1024 * 1024) in again.json["violations"][0]["message"]


def test_by_options(office: Shell, tmp_path: Path) -> None:
    """A body from a file is as long as a message may be, with its headers."""
    file = tmp_path / "body.md"
    file.write_text("x" * _MOST)
    options = ("--thread", THREAD, "--to", "BlueLake", "--subject", "INFO: x")
    done = office("mail", "send", "--json", *options, "--body", f"@{file}")
    assert (done.code, done.codes) == (1, [CODE])


def test_a_short_message_needs_no_project(office: Shell) -> None:
    """Settings that cannot be read do not keep a message from being checked."""
    (office.folder / "brenner.toml").write_text("max_message_kib = 3\n")
    assert office("check", "--json", "-", stdin=long_message(1_000).encode()).codes == []
    assert office("check", "--json", "-", stdin=long_message(_MOST).encode()).codes == []


@pytest.mark.parametrize("value", ["63", "4097", "0", "-1", "512.0", '"512"', "true"])
def test_settings_that_are_refused(tmp_path: Path, value: str) -> None:
    """From 64 KiB to what is stored, and nothing else."""
    (tmp_path / "brenner.toml").write_text(f"max_message_kib = {value}\n")
    project = inspect_project(str(tmp_path), {})
    assert [each.id for each in project.diagnostics] == ["INVALID_SETTINGS"]
    assert "`max_message_kib` must be a whole number of KiB" in project.diagnostics[0].message
    assert project.most_message_bytes == _MOST


def test_settings_that_are_followed(tmp_path: Path) -> None:
    """Both ends of the range."""
    for value in (64, 4096):
        (tmp_path / "brenner.toml").write_text(f"max_message_kib = {value}\n")
        assert inspect_project(str(tmp_path), {}).most_message_bytes == value * 1024
    assert value * 1024 == MOST_BODY_BYTES


# Agents


def test_mail_of_agents() -> None:
    """Whatever its subject; what a program of ours sends may be a version, and longer."""
    workspace = workspace_in_memory()
    for subject in ("Hello", "INFO: x", "DELTA[gpt]: x"):
        long = make_message(subject, "x" * (_MOST + 1))
        receipt = receive(workspace, long)
        assert receipt.sent is None
        assert [each.id for each in receipt.violations] == [CODE]
        assert receive(workspace, long._replace(is_checked=True)).sent is not None
    assert receive(workspace, make_message("Hello", "x" * _MOST)).sent is not None
    wide = workspace._replace(project=workspace.project._replace(max_message_kib=1024))
    assert receive(wide, make_message("Hello", "x" * (_MOST + 1))).sent is not None


def test_tools() -> None:
    """`send_message`, `reply_message`, `brenner_check` and `brenner_post` refuse the same."""
    here = in_session()
    before = len(here.mailbox.thread(SESSION).messages)
    body = "x" * (_MOST + 1)
    about = {"project_key": str(here.workspace.project.folder), "sender_name": ANN, "body_md": body}
    sent = here.ask("send_message", **about, to=["Operator"], subject="INFO: x", thread_id=SESSION)
    replied = here.ask("reply_message", **about, message_id=1)
    for answer in (sent, replied, post(here, ANN, ADD, summary=body)):
        assert answer.is_error
        assert codes(answer) == [CODE]
        assert len(str(answer.value)) < 20_000
    checked = fine(here.ask("brenner_check", subject="INFO: x", body_md=body, thread_id=SESSION))
    assert (checked["valid"], [each["id"] for each in checked["violations"]]) == (False, [CODE])
    assert len(here.mailbox.thread(SESSION).messages) == before


def test_a_program_of_ours() -> None:
    """It shows that it is one with each call."""
    here = in_session()
    caller = Caller(here.bindings, is_checked=True)
    arguments = {
        "project_key": str(here.workspace.project.folder),
        "sender_name": ANN,
        "to": ["Operator"],
        "subject": "INFO: x",
        "thread_id": SESSION,
        "body_md": "x" * (_MOST + 1),
    }
    assert not here.ask("send_message", caller, **arguments).is_error


# The lab


def test_the_lab() -> None:
    """A letter that is too long is shown again with the reason, and not sent."""
    workspace = in_session().workspace
    operator = Operator(workspace, SESSION)
    before = len(workspace.mailbox.thread(SESSION).messages)
    fields = {"to": ANN, "subject": "INFO: x", "body": "x" * (_MOST + 1)}
    answer = operator.send(reply.REPLY_ACTION, fields)
    assert isinstance(answer, Page)
    assert [each["id"] for each in answer.document["violations"]] == [CODE]  # type: ignore[attr-defined]
    assert len(workspace.mailbox.thread(SESSION).messages) == before


# What is there already


def test_stored_mail_may_be_longer(office: Shell, tmp_path: Path) -> None:
    """It is exported, imported, checked and compiled as before."""
    body = "x" * 2_000_000
    posted(office.folder, Message(THREAD, "BlueLake", ("Operator",), "DELTA[gpt]: x", body))
    archive = tmp_path / "mail.jsonl"
    assert office.mail("export", str(archive)).code == 0
    other = tmp_path / "other"
    other.mkdir()
    assert office("init", "--project", str(other)).code == 0
    assert office("mail", "import", str(archive), "--project", str(other)).code == 0
    shown = office("mail", "show", "1", "--json", "--project", str(other)).json
    assert shown["body"] == body
    checked = office("check", f"--thread={THREAD}", "--json").json
    assert CODE not in str(checked)
    assert office("compile", THREAD, "--json").json["status"] == "nothing_to_compile"


def test_without_a_project_there_is_the_limit_of_what_is_stored() -> None:
    """The Python functions check any message that can be stored."""
    assert Project(Path("/x")).most_message_bytes == _MOST
