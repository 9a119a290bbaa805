"""What a `following` case may do beside what `session` cases do: rounds, dismissals, and work in
other sessions of the same project.
"""

import re
import shlex
from collections.abc import Sequence

from brenner.diagnostics.model import ERROR
from brenner.protocol.messages import StoredMessage
from brenner.services.acknowledge import RECEIVED, acknowledge
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.decisions import cancel_session, dismiss, dismiss_question
from brenner.services.next_round import RoundOptions, start_round
from brenner.services.start_session import StartStatus
from brenner.services.workspace import Workspace
from conformance.mail_shorthand import THREAD_ID
from conformance.roster_kind import wish_of
from conformance.session_actions import Action
from conformance.session_compile import attempt
from conformance.session_scene import SessionScene
from conformance.session_shorthand import time_of
from conformance.thread_shorthand import THREAD_ID as SHORT_THREAD_ID
from conformance.thread_shorthand import steps

Found = re.Match[str]
_SHORT = re.compile(rf"{SHORT_THREAD_ID}(?!-)")
_TEXTS = ("--focus", "--question", "--outputs")


def _dismiss(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    message = scene.message(int(found["message"])).id
    block = int(found["block"]) if found["block"] else None
    attempt(scene, found, outcome, lambda workspace: dismiss(workspace, THREAD_ID, message, block))


def _keep(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    address, reason = found["address"], found["reason"]

    def work(workspace: Workspace) -> object:
        return dismiss_question(workspace, THREAD_ID, address, reason)

    attempt(scene, found, outcome, work)


def _cancel(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    reason = found["reason"]
    attempt(scene, found, outcome, lambda workspace: cancel_session(workspace, THREAD_ID, reason))


def _round(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    """Send the kickoffs of the next round; ends in nothing, `stopped CODE` or `sent before`."""
    words = shlex.split(found["flags"] or "")
    said = {}
    for name in _TEXTS:
        if name in words:
            place = words.index(name)
            said[name] = words[place + 1]
            del words[place : place + 2]
    reopen = "--reopen" in words
    flags = shlex.join(word for word in words if word != "--reopen")
    wish = wish_of(flags, scene.folder)
    options = RoundOptions(
        wish=wish,
        focus=said.get("--focus", ""),
        question=said.get("--question", ""),
        outputs=said.get("--outputs", ""),
        reopen=reopen,
    )
    stopped = outcome if outcome.startswith("stopped ") else ""
    done = attempt(
        scene, found, stopped, lambda workspace: start_round(workspace, THREAD_ID, options)
    )
    if done is None:
        return
    scene.notes = scene.found = done.diagnostics
    errors = [each.id for each in done.diagnostics if each.severity is ERROR]
    ends = {StartStatus.SENT: "", StartStatus.NOTHING: "sent before"}
    assert ends.get(done.status, f"stopped {', '.join(errors)}") == outcome, done


def _acknowledge(scene: SessionScene, found: Found, _: str, __: Sequence[str]) -> None:
    message_id = scene.id_of(int(found["number"]))
    status, notes = found["status"] or RECEIVED, found["notes"] or ""
    assert acknowledge(scene.mailbox, found["name"], message_id, status, notes).is_new


def _elsewhere(scene: SessionScene, found: Found, outcome: str, lines: Sequence[str]) -> None:
    """A message in another session, or its next version: `in ID: 5 Ann`, `in ID: 6 compile`."""
    thread_id, number, who = found["thread"], int(found["number"]), found["who"]
    scene.clock.now = time_of(number)
    if who == "compile":
        done = compile_thread(scene.workspace(), thread_id, CompileOptions())
        scene.result, scene.notes = done, done.notes
        assert f"v{done.version}" == (outcome or f"v{done.version}")
        assert done.message
        arrival = done.message.arrival
    else:
        (posted,) = steps({"thread": [[found["head"], *lines]]})
        assert isinstance(posted, StoredMessage)
        body = _SHORT.sub(thread_id, posted.message.body)
        message = posted.message._replace(thread_id=thread_id, body=body)
        arrival = scene.mailbox.send(message).stored.arrival
    assert arrival == number, "messages are numbered as they arrive"


_N = r"(?:(?P<numbers>\d+(?:, \d+)*) )?"
_AS = r"(?: as (?P<actor>\w+))?"
FOLLOWING_ACTIONS: tuple[tuple[re.Pattern[str], Action], ...] = (
    (re.compile(rf"{_N}dismiss (?P<message>\d+)(?:\.(?P<block>\d+))?{_AS}"), _dismiss),
    (re.compile(rf"{_N}dismiss (?P<address>[A-Z]\d+(?:/[TA]\d+)?){_AS}: (?P<reason>.*)"), _keep),
    (re.compile(rf"{_N}cancel{_AS}: (?P<reason>.*)"), _cancel),
    (
        re.compile(
            r"(?P<name>\w+) acks (?P<number>\d+)(?: as (?P<status>[^:]+))?(?:: (?P<notes>.+))?"
        ),
        _acknowledge,
    ),
    (re.compile(rf"{_N}round(?P<flags> --.*)?"), _round),
    (re.compile(r"in (?P<thread>\S+): (?P<head>(?P<number>\d+) (?P<who>\w+).*)"), _elsewhere),
)
