"""What a `session` case does with sessions: start, compile, complete, void, adopt; and what is
true of everything that comes of it.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

from brenner.diagnostics.model import ERROR, BrennerError, UnavailableError
from brenner.mail.mailbox import Capability
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import StoredMessage, render_message_file
from brenner.protocol.validate import check_message
from brenner.services.compile import CompileOptions, CompileResult, CompileStatus, compile_thread
from brenner.services.complete import complete_session
from brenner.services.decisions import adopt_thread, void_version
from brenner.services.persist import PersistOptions
from brenner.services.start_session import Started, StartOptions, start_session
from brenner.services.start_session import StartStatus as Start
from brenner.services.workspace import Workspace
from conformance.mail_shorthand import THREAD_ID
from conformance.roster_kind import wish_of
from conformance.session_scene import SessionScene, fences, record_of
from conformance.session_shorthand import numbers_in, time_of

Found = re.Match[str]
_OPTIONS = {
    *("--dry-run", "--strict", "--reopen", "--notify", "--anyway"),
    *("--persist", "--commit", "--push", "--archive", "--force"),
}
_QUESTION, _CONTEXT = "Do cells count divisions?", "Grafts keep their fate late."


def compile_(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    said = found["options"].split()
    assert set(said) <= _OPTIONS
    chosen: dict[str, Any] = {option[2:].replace("-", "_"): True for option in said}
    persist: dict[str, Any] = {
        name: chosen.pop(name) for name in PersistOptions._fields if name in chosen
    }
    wanted = PersistOptions(**persist) if chosen.pop("persist", False) else None
    assert wanted or not persist, "what is not persisted is not committed"
    options = CompileOptions(persist=wanted, **chosen)

    def work(workspace: Workspace) -> CompileResult:
        if found["what"] == "complete":
            return complete_session(workspace, THREAD_ID, options, found["conclusion"] or "")
        return compile_thread(workspace, THREAD_ID, options)

    done = attempt(scene, found, outcome, work)
    if not isinstance(done, CompileResult):
        return
    scene.result, scene.notes = done, done.notes
    assert _ended(done) == (outcome or f"v{done.version}"), done
    assert (done.status is CompileStatus.PUBLISHED) <= (done.message is not None)
    if done.status is CompileStatus.PUBLISHED and done.message:
        came = numbers_in(found["numbers"])
        is_concluded = scene.message(came[0]).type == DELTA.name
        assert done.message.arrival == came[is_concluded], "the version comes first"
        _check_published(scene, done, done.message)


def _ended(done: CompileResult) -> str:
    words = {
        CompileStatus.PUBLISHED: f"v{done.version}",
        CompileStatus.DRY_RUN: f"dry run v{done.version}",
    }
    return words.get(done.status, "nothing" if done.status is CompileStatus.NOTHING else "refused")


def adopt(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    done = attempt(scene, found, outcome, lambda workspace: adopt_thread(workspace, THREAD_ID))
    assert done is None or f"v{done[0].number}" == outcome


def void(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    number = int(found["version"])
    attempt(scene, found, outcome, lambda workspace: void_version(workspace, THREAD_ID, number, ""))


def attempt(scene: SessionScene, found: Found, outcome: str, work: Callable[[Any], Any]) -> Any:
    """Do it at the right time; what stops it leaves no trace, else exactly the messages come."""
    numbers = numbers_in(found["numbers"])
    at = found.groupdict().get("at")
    scene.clock.now = time_of(numbers[0] if numbers else scene.mailbox.position() + 1, at)
    scene.found, scene.corrected = (), None
    overtaking = len(scene.meanwhile)
    is_stopped = outcome.startswith(("stopped ", "unavailable "))
    before, position = is_stopped and scene.snapshot(), scene.mailbox.position()
    error: BrennerError | None = None
    try:
        done = work(scene.desk_overtaken(found.groupdict().get("actor")))
        error = done.failed if isinstance(done, CompileResult) else None
    except BrennerError as raised:
        error = raised
    if error:
        scene.found, scene.corrected = (error.diagnostic,), error.diagnostic.repaired
        assert _stopped(error) == outcome, error
        assert scene.snapshot() == before, "what is refused leaves no trace"
        return None
    assert not scene.meanwhile, "it has happened"
    came = scene.mailbox.arrivals(position + overtaking)
    assert [stored.arrival for stored in came] == numbers, "these messages came of it"
    _check_composed(came)
    return done


def _stopped(error: BrennerError) -> str:
    kind = "unavailable" if isinstance(error, UnavailableError) else "stopped"
    return f"{kind} {error.diagnostic.id}"


def _check_composed(messages: Iterable[StoredMessage]) -> None:
    """What we compose passes our own check, and holds nothing that a terminal would obey."""
    for stored in messages:
        report = check_message(render_message_file(stored.message))
        assert not report.violations, report.violations
        assert not report.deltas or "DELTA[human]: Conclusion" in stored.message.subject
        assert stored.message.subject.isprintable()


def _check_published(scene: SessionScene, done: CompileResult, stored: StoredMessage) -> None:
    """All places in a version agree: subject, body, front matter, record, bytes."""
    body, number = stored.message.body, done.version
    text = record_of(stored)
    record = json.loads(text)
    canonical = json.dumps(record, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert text == canonical
    digest = hashlib.sha256(done.text.encode()).hexdigest()
    assert (record["version"], record["artifact_sha256"]) == (number, digest)
    assert done.artifact_sha256 == digest
    assert done.text.endswith("\n")
    assert not done.text.endswith("\n\n")
    assert "\r" not in done.text
    inline = [each for name, info, each in fences(body) if name == "Full Artifact"]
    assert inline in ([done.text], []), "its exact bytes, or a link"
    assert stored.message.subject.startswith(f"COMPILED: v{number} ")
    assert f"\nversion: {number}\n" in done.text
    assert f'\ncompiled_at: "{record["compiled_at"]}"\n' in done.text
    assert f"- **Compiled At**: {record['compiled_at']}\n" in body
    assert "agent_mail_message_id" not in body
    assert scene.version(number).text == done.text


# Starting


def start(scene: SessionScene, found: Found, outcome: str, _: Sequence[str]) -> None:
    words = shlex.split(found["flags"])
    said = {"--question": _QUESTION, "--thread-id": THREAD_ID}
    for name in said:
        if name in words:
            place = words.index(name)
            said[name] = words[place + 1]
            del words[place : place + 2]
    is_dry = "--dry-run" in words
    flags = shlex.join(word for word in words if word != "--dry-run")
    options = StartOptions(
        said["--question"],
        _CONTEXT,
        wish_of(flags, scene.folder),
        excerpt='§42: "It counts."',
        hypotheses="Perhaps a clock.",
        constraints="Two rounds.",
        outputs="Three hypotheses.",
        thread_id=None if said["--thread-id"] == "new" else said["--thread-id"],
        dry_run=is_dry,
        today=date(2025, 12, 30),
        register=not scene.can(Capability.PROJECT_NAMES),
    )
    before = outcome and scene.snapshot()
    done = attempt(scene, found, outcome, lambda workspace: start_session(workspace, options))
    scene.notes = scene.found = done.diagnostics
    assert not done.failed
    errors = [each.id for each in done.diagnostics if each.severity is ERROR]
    if done.status is Start.REFUSED:
        assert f"stopped {', '.join(errors)}" == outcome, done.diagnostics
    else:
        assert not errors
        assert outcome == (f"would send to {_whom(done)}" if is_dry else "")
    if done.status in (Start.REFUSED, Start.DRY_RUN):
        assert scene.snapshot() == before


def _whom(done: Started) -> str:
    return "; ".join(", ".join(each.message.recipients) for each in done.kickoffs)
