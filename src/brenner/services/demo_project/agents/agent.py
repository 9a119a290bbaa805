"""A small agent without a model: it reads its task and writes one message.

Brenner starts it for each turn. The task on standard input names the role and the round, and
contains the latest version of the artifact. What this program prints becomes a message. Its ideas
are in `ideas.json`; the IDs of other items are not: it finds them in its task, by name.
"""

import json
import re
import sys
from pathlib import Path

PASS = "ACK: nothing to add in this round"
# The designer writes like this at first: with a section that does not exist, and commas too many.
MISTAKES = (('"discriminative_tests"', '"tests"'), ('"\n}', '",\n}'))


def main() -> None:
    """Print the message for the task on standard input."""
    task = sys.stdin.read()
    print(corrected_message(task) or new_message(task))


def corrected_message(task: str) -> str:
    """Return the corrected message that came back with the errors, if any did."""
    found = re.search(r"^# The corrected message\n.*?^(```+)markdown\n(.*?)^\1$", task, re.M | re.S)
    return found[2] if found else ""


def new_message(task: str) -> str:
    """Return what this agent has to say in its role and round."""
    role, number = re.findall(r"^You are \w+, the (\w+) .* turn in round (\d+)\.", task, re.M)[0]
    ideas = json.loads(Path(__file__).with_name("ideas.json").read_text("utf-8"))
    idea = ideas.get(f"{role}, round {number}")
    if idea is None:
        return PASS
    ids = {name: item for item, name in re.findall(r"^### ([A-Z]\d+): ([^(\n]+\w)", task, re.M)}
    blocks = [block_text(each, ids) for each in idea["blocks"]]
    version = re.findall(r"^# The artifact, v(\d+)", task, re.M) or ["0"]
    text = f"# Delta Contribution\n\n**Base Version**: v{version[0]}\n\n{idea['summary']}\n\n"
    text += "## Deltas\n\n" + "\n\n".join(blocks)
    if role == "test_designer":
        for right, wrong in MISTAKES:
            text = text.replace(right, wrong)
    return text


def block_text(block: dict[str, object], ids: dict[str, str]) -> str:
    """Return a delta block in which each `<name>` is the ID of the item with that name."""
    text = json.dumps(block, indent=2, ensure_ascii=False)
    text = re.sub("<(.+?)>", lambda name: ids[name[1]], text)
    return f"```delta\n{text}\n```"


main()
