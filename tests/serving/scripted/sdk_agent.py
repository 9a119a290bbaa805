"""An agent over the official client of MCP: what the two that use it have in common."""

import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from serving.scripted.diary import SECONDS, Answer, noted

_PAUSE = 0.5


class Agent:
    """One agent on one connection. It registers first; then the connection knows it."""

    def __init__(self, client: Client, name: str, secrets: Path) -> None:
        self._client, self.name, self._secrets = client, name, secrets
        self.thread = ""

    async def call(self, tool: str, /, **arguments: Any) -> Answer:
        """One call."""
        result = await self._client.call_tool(tool, arguments)
        texts = [each.text for each in result.content if each.type == "text"]
        value = result.structured_content or {}
        answer = Answer(bool(result.is_error), dict(value), "\n".join(texts))
        return noted(tool, arguments, answer, self._secrets)

    async def begin(self, program: str, model: str) -> Answer:
        """Take the name that the kickoff gave, and ask what to do."""
        await self.call("register_agent", program=program, model=model, name=self.name)
        return await self.work()

    async def work(self) -> Answer:
        """What is to be done now, the ACKs that are owed being given."""
        task = await self.call("brenner_task")
        self.thread = task.value["thread_id"]
        for each in task.value["owed_acks"]:
            message = each["message_id"]
            await self.call("acknowledge_message", agent_name=self.name, message_id=message)
        return task

    async def post(self, *deltas: Any, summary: str) -> Answer:
        """Contribute."""
        return await self.call(
            "brenner_post", thread_id=self.thread, deltas=list(deltas), summary=summary
        )

    async def artifact(self, **more: Any) -> Answer:
        """The latest version, as JSON."""
        return await self.call("brenner_artifact", thread_id=self.thread, format="json", **more)

    async def until_kickoff(self, since: str) -> None:
        """Wait for the next kickoff in the inbox."""
        await self._until("KICKOFF:", since)

    async def until_version(self, number: int) -> None:
        """Wait for a version."""
        await self._until(f"COMPILED: v{number}", "")

    async def _until(self, subject: str, since: str) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            inbox = await self.call(
                "fetch_inbox", agent_name=self.name, since_ts=since or None, limit=5
            )
            if any(each["subject"].startswith(subject) for each in inbox.value["result"]):
                return
            await anyio.sleep(_PAUSE)
        message = f"no {subject}"
        raise TimeoutError(message)
