"""What a scripted agent writes down: each call and its answer, one line of JSON each.

The secret of the agent is kept in a file of its own, as an agent would, and nowhere else.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 100.0  # so long an agent waits for the others
_PAUSE = 0.5
_TOKENS = ("sender_token", "registration_token")


class Answer(NamedTuple):
    """What a tool answered, whatever the client."""

    is_error: bool
    value: dict[str, Any]
    text: str

    @property
    def codes(self) -> list[str]:
        """What is told of it."""
        return [each["id"] for each in self.value.get("violations", [])]


def tell(**facts: object) -> None:
    """Write a line that whoever watches may read at once."""
    sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def noted(tool: str, arguments: Mapping[str, object], answer: Answer, secrets: Path) -> Answer:
    """Note a call; a secret in the answer goes into its file, and out of the answer."""
    secret = answer.value.pop("registration_token", None)
    text = answer.text
    if secret is not None:
        with os.fdopen(os.open(secrets, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(secret)
        text = text.replace(secret, "…")
    shown = {key: value for key, value in arguments.items() if key not in _TOKENS}
    tell(call=tool, arguments=shown, error=answer.is_error, value=answer.value, text=text)
    return answer


def done(part: str) -> None:
    """Say that a part of the work is done, and that nothing of the server's was imported."""
    tell(done=part, is_apart="brenner" not in sys.modules)


def wait_for(found: Callable[[], Any]) -> Any:
    """Ask again and again until there is something."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        result = found()
        if result:
            return result
        time.sleep(_PAUSE)
    message = "nothing came"
    raise TimeoutError(message)


def unframed(text: str) -> str:
    """What others wrote, without the two lines around it."""
    return "\n".join(text.split("\n")[1:-1])
