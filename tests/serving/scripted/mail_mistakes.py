"""The mistakes in a DELTA that the documents of bodies, subjects and threads know.

`message_body_schema_v0.1.md` and `thread_subject_conventions_v0.1.md`.
"""

from collections.abc import Iterator

from serving.scripted.contributions import critique, fenced, proper, written
from serving.scripted.mistake import ADVISED, APPLIED, REFUSED, Mistake


def _bodies() -> Iterator[Mistake]:
    """What the document of message bodies wants of a DELTA, and of other types with a block."""
    meant = critique("Words only")
    yield Mistake("no block", "MB-004", (meant,), "# Delta Contribution\n\nWords only.\n")
    meant = critique("Asked for an ACK")
    asked = Mistake("ACK wanted", "ACK_MISMATCH", (meant,), proper(meant), APPLIED)
    yield asked._replace(more={"ack_required": True})
    meant = critique("In a CRITIQUE")
    parts = {"Target": "H1", "Attack": "Weak.", "Evidence": "None.", "Severity": "Minor"}
    text = "\n\n".join(["# Critique", *(f"## {name}\n{said}" for name, said in parts.items())])
    sent = f"{text}\n\n{fenced(written(meant))}\n"
    other = Mistake("block in a CRITIQUE", "DELTA_NOT_CONTRIBUTED", (meant,), sent, ADVISED)
    yield other._replace(subject="CRITIQUE: H1 is weak")
    meant = critique("As a reply")
    reply = Mistake("reply to the kickoff", "NOT_COMPILED", (meant,), proper(meant), ADVISED)
    yield reply._replace(tool="reply_message", has_correction=True)
    meant = critique("Without any prefix")
    plain = Mistake("no prefix", "NOT_COMPILED", (meant,), proper(meant), ADVISED, True)
    yield plain._replace(subject="My critique of the framing")


def _subjects() -> Iterator[Mistake]:
    """What the document of subjects and threads wants."""
    subjects = {
        "delta[gemini] An attack": ("INVALID_SUBJECT_PREFIX", True),
        "DELTA[Gemini]: An attack": ("INVALID_SUBJECT_PREFIX", True),
        "DELTA: An attack": ("INVALID_SUBJECT_PREFIX", True),
        "DELTA[gemini-3]: An attack": ("INVALID_SUBJECT_PREFIX", True),
        "DELTA[gemini]:": ("EMPTY_SUBJECT_DESCRIPTION", False),
        f"DELTA[gemini]: {'An attack ' * 12}": ("SUBJECT_TOO_LONG", False),
    }
    for number, (subject, (code, has_correction)) in enumerate(subjects.items(), 1):
        meant = critique(f"Subject {number}")
        name = f"subject: {subject[:30]}"
        found = Mistake(name, code, (meant,), proper(meant), REFUSED, has_correction)
        yield found._replace(subject=subject)
    allowed = {
        "DELTA[grok]: An attack": "UNKNOWN_ROLE_SHORTHAND",
        f"DELTA[gemini]: {'An attack ' * 9}": "SUBJECT_DESCRIPTION_LONG",
    }
    for subject, code in allowed.items():
        meant = critique(f"Told of {code}")
        name = f"subject: {subject[:30].strip()}…"
        yield Mistake(name, code, (meant,), proper(meant), APPLIED)._replace(subject=subject)
    meant = critique("Thread in capitals")
    found = Mistake("thread", "INVALID_RS_THREAD_ID", (meant,), proper(meant), REFUSED, True)
    yield found._replace(more={"thread_id": "RS-20251230-Cell-Fate-Clock"})
    yield found._replace(
        name="no thread",
        code="NO_THREAD_NAMED",
        meant=(critique("Thread left out"),),
        body_md=proper(critique("Thread left out")),
        has_correction=False,
        more={"thread_id": None},
    )


def _told() -> Iterator[Mistake]:
    """What is applied, and told of: nothing of it needs to be sent again."""
    meant = critique("No rationale")
    without = {key: value for key, value in meant.items() if key != "rationale"}
    yield Mistake("no rationale", "MISSING_RATIONALE", (meant,), proper(without), APPLIED)
    meant = critique("Field that is none")
    more = {**meant, "payload": {**meant["payload"], "severity": "high"}}
    yield Mistake("unknown field", "UNKNOWN_FIELD", (meant,), proper(more), APPLIED)
    references = [{"session": "RS-20251228-nowhere", "item": "C2", "relation": "extends"}]
    meant = critique("Refers to nowhere", references=references)
    code = "UNKNOWN_REFERENCED_SESSION"
    yield Mistake("unknown session", code, (meant,), proper(meant), APPLIED)


MAIL_MISTAKES: tuple[Mistake, ...] = (*_bodies(), *_subjects(), *_told())
