"""A hypothesis generator: the official client over HTTP, in a session of the protocol.

python -m serving.scripted.generator URL NAME SECRET_FILE
"""

import sys
from pathlib import Path

import anyio
from mcp import Client

from serving.scripted.contributions import add, edit
from serving.scripted.diary import done
from serving.scripted.sdk_agent import Agent
from serving.scripted.second_round import items_in, named


async def main(*given: str) -> None:
    """Both rounds."""
    url, name, secrets = given
    async with Client(url, mode="legacy") as client:
        agent = Agent(client, name, Path(secrets))
        await agent.begin("claude-code", "opus-4.5")
        inbox = await agent.call("fetch_inbox", agent_name=name, limit=1)
        lineage = add("hypothesis_slate", "Lineage") | {"local_id": "lineage"}
        gradient = add("hypothesis_slate", "Gradient") | {"local_id": "gradient"}
        row = add("predictions_table", "Graft before division")
        row["payload"]["predictions"] = {"@lineage": "old fate", "@gradient": "new fate"}
        await agent.post(lineage, gradient, row, summary="Two answers and where they differ.")
        done("round 1")
        await agent.until_kickoff(inbox.value["result"][0]["created_ts"])
        await agent.work()
        items = items_in(await agent.artifact())
        better = edit(named(items, "Lineage"), "hypothesis_slate", claim="Lineage, made precise")
        await agent.post(better, summary="What the critic attacked, made precise.")
        done("round 2")
        await agent.until_version(2)
        await agent.artifact(since=1)
        done("all")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
