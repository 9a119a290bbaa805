"""Golden histories: whole threads as files, and what every version of them must be, byte for byte.

A folder is a history: `thread.toml` lists its steps, the message files stand beside it. README.md
says how they look and how the expected files are made.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import empty_state, ledger_json
from brenner.lint.linter import lint
from brenner.protocol.messages import Message, StoredMessage, iso, parse_message_file

HERE = Path(__file__).parent
HISTORIES = sorted(path.parent for path in HERE.glob("*/thread.toml"))


class Version(NamedTuple):
    """One published version: its number, its artifact with the compiler's stamp, and its merge."""

    number: int
    artifact: Artifact
    merged: Merge

    def files(self) -> dict[str, str]:
        """The expected files by name."""
        warnings = [found.to_json() for found in self.merged.warnings]
        conflicts = [conflict.to_json() for conflict in self.merged.conflicts]
        return {
            f"v{self.number}.artifact.md": render_artifact(self.artifact),
            f"v{self.number}.ledger.json": _json(ledger_json(self.merged.ledger)),
            f"v{self.number}.lint.json": _json(lint(self.artifact).to_json()),
            f"v{self.number}.merge.json": _json({"conflicts": conflicts, "warnings": warnings}),
        }


def messages(history: Path) -> dict[str, Message]:
    """The message files of a history by name."""
    return {
        path.name: parse_message_file(path.read_bytes().decode("utf-8")).message
        for path in sorted(history.glob("[0-9]*.md"))
    }


def versions(history: Path) -> Iterator[Version]:
    """Play a history: every version that it publishes."""
    sent = messages(history)
    (thread_id,) = {message.thread_id for message in sent.values()}
    state = empty_state(thread_id)
    unread: list[StoredMessage] = []
    for step in tomllib.loads((history / "thread.toml").read_text("utf-8"))["step"]:
        if "message" in step:
            unread.append(StoredMessage(step["id"], step["at"], sent[step["message"]]))
            continue
        merged = merge(state, unread)
        state = merged.publish(message_id=step["publish"], at=step["at"])
        number = merged.artifact.metadata.version or 0
        yield Version(number, _stamped(merged.artifact, step), merged)
        unread = []
    assert not unread, "the last messages are in no version"


def _stamped(artifact: Artifact, step: Mapping[str, Any]) -> Artifact:
    """With what the compiler adds and no message holds."""
    metadata = artifact.metadata._replace(
        compiled_at=iso(step["at"]), compiled_by=step["compiled_by"], status=step["status"]
    )
    return artifact._replace(metadata=metadata)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
