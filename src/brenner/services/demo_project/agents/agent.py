"""A small agent without a model: it reads its task and writes one message.

Brenner starts it for each turn. The task on standard input names the role and the round, and
contains the latest version of the artifact. What this program writes becomes a message. Its ideas
are in `ideas.json`; the IDs of other items are not: it finds them in its task, by name.
"""

import json
import re
import sys
from pathlib import Path

IDEAS = Path(__file__).with_name("ideas.json")
NOTHING_TO_ADD = "ACK: nothing to add in this round"
# The designer writes like this at first: with a section that does not exist, and commas too many.
MISTAKES = (('"discriminative_tests"', '"tests"'), ('"\n}', '",\n}'))

ROLE_AND_ROUND = re.compile(r"(?m)^You are \w+, the (\w+) .* turn in round (\d+)\.")
VERSION = re.compile(r"(?m)^# The artifact, v(\d+)")
ITEM = re.compile(r"(?m)^### ([A-Z]\d+): ([^(\n]+\w)")
CORRECTED = re.compile(r"(?ms)^# The corrected message\n.*?^(```+)markdown\n(.*?)^\1$")


def main() -> None:
    """Write the message for the task on standard input."""
    task = sys.stdin.buffer.read().decode()
    message = corrected_message(task) or new_message(task)
    sys.stdout.buffer.write(message.encode())


def corrected_message(task: str) -> str:
    """Return the corrected message that came back with the errors, if any did."""
    found = CORRECTED.search(task)
    return found[2] if found else ""


def new_message(task: str) -> str:
    """Return what this agent has to say in its role and round."""
    role, round_number = ROLE_AND_ROUND.findall(task)[0]
    idea = json.loads(IDEAS.read_text("utf-8")).get(f"{role}, round {round_number}")
    if idea is None:
        return NOTHING_TO_ADD
    ids = {name: item for item, name in ITEM.findall(task)}
    blocks = "\n\n".join(block_text(each, ids) for each in idea["blocks"])
    version = VERSION.findall(task) or ["0"]
    head = f"# Delta Contribution\n\n**Base Version**: v{version[0]}\n\n{idea['summary']}"
    text = f"{head}\n\n## Deltas\n\n{blocks}\n"
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
