"""A test designer: the official client, with `brenner mcp` as a process of its own over stdio.

python -m serving.scripted.designer FOLDER NAME SECRET_FILE
"""

import os
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

from serving.scripted.contributions import add, edit, written
from serving.scripted.diary import done
from serving.scripted.sdk_agent import Agent
from serving.scripted.second_round import items_in, named


async def main(*given: str) -> None:
    """Both rounds."""
    folder, name, secrets = given
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "brenner", "mcp", "--project", folder],
        env=dict(os.environ),
    )
    async with Client(server, mode="2026-07-28") as client:
        agent = Agent(client, name, Path(secrets))
        await agent.begin("codex-cli", "gpt-5.2")
        inbox = await agent.call("fetch_inbox", agent_name=name, limit=1)
        third = add("hypothesis_slate", "Neither", third_alternative=True) | {"local_id": "third"}
        scale = add("assumption_ledger", "Diffusion is quick enough", scale_check=True)
        odd = add("anomaly_register", "Cells that change late", conflicts_with=["@third"])
        # One of them as a text with a comma too many, as models give it
        text = written(odd).rstrip("}").rstrip() + ",\n}"
        await agent.post(third, scale, text, summary="What every test will rest on.")
        done("round 1")
        await agent.until_kickoff(inbox.value["result"][0]["created_ts"])
        await agent.work()
        items = items_in(await agent.artifact())
        one, two = named(items, "Lineage"), named(items, "Gradient")
        test = add("discriminative_tests", "Graft across the gradient")
        test["payload"] |= {
            "discriminates": f"{one} vs {two}",
            "expected_outcomes": {one: "old fate", two: "new fate"},
        }
        checked = edit(
            named(items, "Diffusion is quick enough"), "assumption_ledger", status="verified"
        )
        await agent.post(test, checked, summary="The test, and what it rests on.")
        done("round 2")
        await agent.until_version(2)
        await agent.artifact(since=1)
        done("all")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
