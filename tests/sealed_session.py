"""A session in an independent first round, whose contributions contain a marker in every field."""

import json
from pathlib import Path

from brenner.mail.model import Profile
from brenner.protocol.messages import Envelope, Message, StoredMessage, Trust
from brenner.services.identity import secret_digest
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import StartOptions, StartStatus, start_session
from brenner.services.workspace import Workspace, workspace_in
from session.workspaces import project_in

THREAD = "RS-20251230-blind-fate-round"
AUTHOR, READER = "BlueLake", "RedSky"
OPERATOR = "Operator"
SECRETS = {name: f"brs_{name.lower()}_{'0' * 32}" for name in (AUTHOR, READER, OPERATOR)}
# One word per field, each found nowhere else. Search finds words, so that each is one.
MARKERS = (
    *("zqsubject", "zqprose", "zqname", "zqclaim", "zqmechanism", "zqrationale", "zqlocal"),
    *("zqcritique", "zqattack", "zqevidence", "zqack", "zqreply", "zqrefused"),
)


def block(name: str, **more: object) -> dict[str, object]:
    """An ADD of a hypothesis."""
    payload = {"name": name, "claim": f"{name} is", "mechanism": f"{name} acts", "anchors": ["§1"]}
    return {
        "operation": "ADD",
        "section": "hypothesis_slate",
        "payload": payload | more,
        "rationale": f"Why {name}",
    }


def marked_block() -> dict[str, object]:
    """An ADD with a marker in each field."""
    added = block("zqname", claim="zqclaim it is", mechanism="zqmechanism it acts")
    return added | {"rationale": "zqrationale", "local_id": "zqlocal"}


def delta(name: str, subject: str, *blocks: object, prose: str = "") -> Message:
    """A DELTA to the operator and all others."""
    fences = "".join(f"```delta\n{json.dumps(each)}\n```\n\n" for each in blocks)
    to = tuple(each for each in (OPERATOR, AUTHOR, READER) if each != name)
    body = f"# Delta Contribution\n\n{prose}\n\n## Deltas\n\n{fences}"
    return Message(THREAD, name, to, f"DELTA[opus]: {subject}", body)


def started(folder: Path, *, independent: bool = True, question: str = "Who decides?") -> Workspace:
    """The operator's workspace after the kickoffs; every name has a secret."""
    folder.mkdir(exist_ok=True)
    here = workspace_in(project_in(folder), None, create=True)
    for name in (AUTHOR, READER):
        here.mailbox.register(Profile(name, "claude-code", "opus"))
    for name, secret in SECRETS.items():
        here.mailbox.claim(name, secret_digest(secret))
    roles = ((AUTHOR, "hypothesis_generator"), (READER, "test_designer"))
    done = start_session(
        here,
        StartOptions(
            question=question,
            context="Cells that look alike become different. Nobody knows why.",
            wish=RosterRequest(recipients=roles),
            thread_id=THREAD,
            independent=independent,
        ),
    )
    assert done.status is StartStatus.SENT
    return here


def contributed(here: Workspace) -> list[StoredMessage]:
    """What was contributed and must be sealed: by the author, and by the operator about it."""
    envelope = Envelope(trust=Trust.VERIFIED)
    sent = here.mailbox.send(
        delta(AUTHOR, "zqsubject", marked_block(), prose="zqprose @zqlocal H1"), envelope=envelope
    ).stored
    refused = here.mailbox.send(
        delta(AUTHOR, "zqsubject again", {**block("zqrefused"), "target_id": "H9"})
    ).stored
    critique = (
        "# Critique\n\n## Target\nH1\n\n## Severity\nMajor\n\n## Attack\nzqattack\n\n"
        "## Evidence\nzqevidence\n"
    )
    attack = here.mailbox.send(
        Message(THREAD, AUTHOR, (READER, OPERATOR), "CRITIQUE: zqcritique", critique)
    ).stored
    about = Message(THREAD, OPERATOR, (AUTHOR,), "INFO: On zqsubject", "zqreply: you wrote zqname")
    quoted = here.mailbox.send(about, reply_to=refused.id).stored
    body = f"## Message ID\n{attack.id}\n\n## Status\nReceived\n\n## Notes\nzqack\n"
    ack = Message(THREAD, OPERATOR, (AUTHOR,), "ACK: CRITIQUE: zqcritique", body)
    return [sent, refused, attack, quoted, here.mailbox.send(ack, reply_to=attack.id).stored]


def leaks(*outputs: str) -> set[str]:
    """The markers that occur in some outputs."""
    return {each for each in MARKERS for output in outputs if each in output.lower()}
