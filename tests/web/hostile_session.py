"""A session in which every text that somebody else writes means harm.

For each hostile text there is an item in every section with that text in all its fields, an agent
of that name, a message with it as subject and body, and a thread of that name.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from brenner.config import OPERATOR, Project
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import MessageRecord, Profile
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    SECTIONS,
    Delta,
    Field,
    FieldKind,
    Operation,
    Section,
)
from brenner.protocol.messages import Message, StoredMessage, content_hash
from brenner.services.workspace import Workspace
from web.hostile import HOSTILE

THREAD = "RS-20260101-hostile-texts"
ANN, BEA = "BlueLake", "RedSky"
_MOST_FILE_NAME = 200
_AN_HOUR = timedelta(hours=1)


def hostile_desk(mailbox: Mailbox, folder: Path) -> Workspace:
    """The session, compiled twice, with files of hostile names beside it."""
    project = Project(folder, source_text="source.md")
    sections = (f"## §{number} {_line(text)}\n\n{text}\n" for number, text in enumerate(HOSTILE, 1))
    (folder / "source.md").write_text("\n".join(sections).replace("\0", ""), "utf-8")
    workspace = Workspace(mailbox, project, project.operator)
    for name in (OPERATOR, ANN, BEA):
        mailbox.register(Profile(name, HOSTILE[0], HOSTILE[1], HOSTILE[2]))
    _send(workspace, OPERATOR, f"KICKOFF: {_line(HOSTILE[0])}", _kickoff())
    mailbox.restore((), list(_strangers(mailbox.position())))
    for text in HOSTILE:
        _contribute(workspace, ANN, [_added(section, text) for section in SECTIONS.values()])
    assert workspace.compile(THREAD).version == 1
    _contribute(workspace, BEA, list(_edited()))
    _contribute(workspace, ANN, [_fence(text) for text in HOSTILE])
    assert workspace.compile(THREAD).version == 2
    _contribute(workspace, ANN, [_fence(text) for text in HOSTILE[:3]])
    _write_files(folder / "artifacts")
    return workspace


def _contribute(workspace: Workspace, sender: str, blocks: list[str]) -> None:
    body = "\n".join(["# Delta Contribution\n\n## Deltas\n", *blocks])
    _send(workspace, sender, f"DELTA[opus]: {_line(HOSTILE[len(blocks) % len(HOSTILE)])}", body)


def _send(workspace: Workspace, sender: str, subject: str, body: str) -> StoredMessage:
    to = tuple(name for name in (OPERATOR, ANN, BEA) if name != sender)
    return workspace.mailbox.send(Message(THREAD, sender, to, subject, body)).stored


def _kickoff() -> str:
    question = " ".join(map(_line, HOSTILE[:3]))
    return f"# {question}\n\n## Research Question\n{question}\n\n## Context\n{HOSTILE[3]}\n"


def _added(section: Section, text: str) -> str:
    """An ADD, or of the question an EDIT, with the text in every field."""
    payload = {
        name: _value(field, text)
        for name, field in section.fields.items()
        if not field.operator_only
    }
    if section is RESEARCH_THREAD:
        return render_delta(Delta(Operation.EDIT, section.id, "RT", payload, text))
    return render_delta(Delta(Operation.ADD, section.id, None, payload, text))


def _value(field: Field, text: str) -> Any:
    values: Mapping[FieldKind, Any] = {
        FieldKind.TEXT: text,
        FieldKind.CHOICE: field.choices[0] if field.choices else "",
        FieldKind.FLAG: True,
        FieldKind.ANCHORS: ["§1", "inference"],
        FieldKind.ITEMS: ["H1"],
        FieldKind.OUTCOMES: {"H1": text, "H2": f"not {text}"},
        FieldKind.SCORE: dict.fromkeys(SCORE_PARTS, 2),
        FieldKind.DESCRIPTIONS: {"fell": text},
        FieldKind.RESULTS: [{"outcome": text, "potency": "passed", "note": text}],
        FieldKind.REFERENCES: [{"session": THREAD, "item": "H1", "relation": "extends"}],
        FieldKind.DESCRIPTIONS: {"slow": text, "fast": f"not {text}"},
        FieldKind.RESULTS: [
            {"outcome": text, "potency": "passed", "contradicts": ["H1"], "note": text}
        ],
    }
    return values[field.kind]


def _edited() -> Iterator[str]:
    """Another author displaces some of it, and kills some, with reasons that mean harm."""
    for number, text in enumerate(HOSTILE, 1):
        section = HYPOTHESIS_SLATE.id
        payload: dict[str, Any] = {"claim": f"{text} and {text}"}
        yield render_delta(Delta(Operation.EDIT, section, f"H{number}", payload, text))
    for number, text in enumerate(HOSTILE, 1):
        payload = {"reason": text}
        yield render_delta(
            Delta(Operation.KILL, "adversarial_critique", f"C{number}", payload, text)
        )


def _fence(text: str) -> str:
    """A block that is refused, whatever the text makes of it."""
    return f"```delta\n{text}\n```\n"


def _strangers(position: int) -> Iterator[MessageRecord]:
    """Mail of another store: names, subjects, threads and bodies that ours would not have taken."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for number, text in enumerate(HOSTILE, position + 1):
        name = _line(text)[:100]
        for offset, thread in enumerate((THREAD, name)):
            message = Message(thread, name, (OPERATOR, name), _line(text), text, True)
            yield MessageRecord(
                StoredMessage(
                    10_000 * offset + number,
                    at + _AN_HOUR * number,
                    message,
                    content_hash(message),
                    number,
                    10_000 * offset + number,
                )
            )


def _line(text: str) -> str:
    """As much of a text as fits into one line of a header; a name is not empty."""
    return " ".join(text.replace("\0", " ").split())[:2_000] or "nothing"


def _write_files(folder: Path) -> None:
    """Artifacts whose file names mean harm, as far as a file system takes them."""
    folder.mkdir(exist_ok=True)
    for text in HOSTILE:
        name = _line(text).replace("/", "_").encode()[:_MOST_FILE_NAME].decode(errors="ignore")
        (folder / f"{name}.md").write_text(text.replace("\0", ""), "utf-8", "surrogateescape")
