"""Several sessions in one project, and short ways to let one refer to another."""

import json
from pathlib import Path

import pytest

from brenner.diagnostics.codes.merging import UNKNOWN_REFERENCED_ITEM, UNKNOWN_REFERENCED_SESSION
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.compile import CompileOptions, CompileResult, compile_thread
from session.workspaces import ANN, KICKOFF, add, new_workspace

FIRST = "RS-20251228-initial-idea"
SECOND = "RS-20251230-second-look"
THIRD = "RS-20260105-third-turn"


class Referring:
    """A project whose sessions begin with two hypotheses each, as soon as they are started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = new_workspace(folder)

    def start(self, *threads: str) -> None:
        """Begin these sessions and publish their first versions."""
        for thread in threads:
            message = Message(thread, "Operator", (ANN,), "KICKOFF: The question", KICKOFF)
            self.workspace.mailbox.send(message)
            self.send(thread, add(f"One of {thread}"), add(f"Two of {thread}"))
            self.compile(thread)

    def send(self, thread: str, *blocks: dict[str, object]) -> StoredMessage:
        """A DELTA to one of them."""
        fences = "".join(f"```delta\n{json.dumps(block)}\n```\n\n" for block in blocks)
        message = Message(thread, ANN, ("Operator",), "DELTA[opus]: News", fences)
        return self.workspace.mailbox.send(message).stored

    def compile(self, thread: str) -> CompileResult:
        """The next version, if there is one."""
        return compile_thread(self.workspace, thread, CompileOptions())

    def file(self, thread: str, *lines: str) -> Path:
        """A file in `artifacts/` as a person might write it."""
        artifacts = self.folder / "artifacts"
        artifacts.mkdir(exist_ok=True)
        path = artifacts / f"{thread}.md"
        text = f'---\nsession_id: "{thread}"\nversion: 1\n---\n\n## 2. Hypothesis Slate\n\n'
        path.write_text(text + "\n".join(lines) + "\n", "utf-8")
        return path


@pytest.fixture
def place(tmp_path: Path) -> Referring:
    """A project without sessions."""
    return Referring(tmp_path / "project")


def to(session: str, item: str, relation: str = "extends") -> dict[str, str]:
    """A reference."""
    return {"session": session, "item": item, "relation": relation}


def hypothesis(item: str, *references: str) -> str:
    """An item in a file, with what it refers to."""
    lines = [f"### {item}: {item}\n\n**Claim**: It is so."]
    lines += ["\n**References**:\n", *(f"- {each}" for each in references)] if references else []
    return "\n".join(lines) + "\n"


def nowhere(done: CompileResult) -> list[str]:
    """The codes of what leads nowhere."""
    codes = (UNKNOWN_REFERENCED_SESSION, UNKNOWN_REFERENCED_ITEM)
    return [each.id for each in done.warnings if each.code in codes]


def references_of(done: CompileResult, item: str) -> list[str]:
    """What an item refers to in a version."""
    [found] = [each for _, each in done.artifact.all_items() if each.id == item]
    return [f"{each.relation} {each.session} {each.item}" for each in found.references]
