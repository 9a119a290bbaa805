"""An adversarial critic that writes its mail by hand, and makes every mistake.

    python -m serving.scripted.critic URL NAME SECRET_FILE

It speaks plain HTTP, one request for each call, and knows the tools of Agent Mail only. Whatever it
is told it follows: it sends `corrected` as it stands, or mends what the fix says.
"""

import json
import sys
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from serving.scripted.contributions import critique, proper
from serving.scripted.delta_mistakes import DELTA_MISTAKES
from serving.scripted.diary import Answer, done, noted, tell, wait_for
from serving.scripted.mail_mistakes import MAIL_MISTAKES
from serving.scripted.mistake import ADVISED, REFUSED, SUBJECT, Mistake
from serving.scripted.second_round import items_in, second_round

_HEADERS = {"Content-Type": "application/json"}


class Critic:
    """One agent, and what it remembers."""

    def __init__(self, url: str, name: str, secrets: Path) -> None:
        self._url, self._name, self._secrets = url, name, secrets
        self.thread = ""
        self.kickoff = 0
        self.others: list[str] = []

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        """One call, in a request of its own."""
        params = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        asked = urllib.request.Request(self._url, json.dumps(request).encode(), _HEADERS)  # noqa: S310
        with urllib.request.urlopen(asked, timeout=60) as response:  # noqa: S310
            result = json.load(response)["result"]
        text = "\n".join(each["text"] for each in result["content"])
        answer = Answer(bool(result.get("isError")), result["structuredContent"], text)
        return noted(tool, arguments, answer, self._secrets)

    @property
    def token(self) -> dict[str, str]:
        """What shows that it is this agent."""
        return {"sender_token": self._secrets.read_text("utf-8")}

    def register(self) -> None:
        """Take the name that the kickoff gave."""
        self.call("register_agent", program="gemini-cli", model="gemini-3", name=self._name)

    def read_kickoff(self) -> dict[str, Any]:
        """The latest kickoff, acknowledged."""
        inbox = self.call("fetch_inbox", agent_name=self._name, limit=50, include_bodies=True)
        mails = inbox.value["result"]
        mine: dict[str, Any] = next(
            each for each in mails if each["subject"].startswith("KICKOFF:")
        )
        token = {"registration_token": self.token["sender_token"]}
        self.call("acknowledge_message", agent_name=self._name, message_id=mine["id"], **token)
        self.thread, self.kickoff, self.others = mine["thread_id"], mine["id"], [mine["from"]]
        return mine

    def send(self, body_md: str, subject: str = SUBJECT, **more: Any) -> Answer:
        """A message in the thread of the session."""
        letter = {
            "sender_name": self._name,
            "to": self.others,
            "subject": subject,
            "body_md": body_md,
            "thread_id": self.thread,
        }
        return self.call("send_message", **(letter | self.token | more))

    def reply(self, body_md: str) -> Answer:
        """An answer to the kickoff, as mail clients do it."""
        said = {"message_id": self.kickoff, "sender_name": self._name, "body_md": body_md}
        return self.call("reply_message", **said, **self.token)

    def follow(self, mistake: Mistake) -> None:
        """Make a mistake, and then what the answer says, until nothing is left to do."""
        if mistake.tool == "reply_message":
            answer = self.reply(mistake.body_md)
        else:
            answer = self.send(mistake.body_md, mistake.subject, **mistake.more)
        outcome = outcome_of(answer)
        corrected = answer.value.get("corrected")
        tell(attempt=mistake.name, outcome=outcome, codes=told(answer), corrected=bool(corrected))
        if outcome not in (REFUSED, ADVISED):
            return
        if corrected:
            again = self.call("send_message", **corrected, **self.token)
        else:
            again = self.send(proper(*mistake.meant, base=mistake.base))
        tell(attempt=f"{mistake.name}, mended", outcome=outcome_of(again), codes=told(again))


_ADVICE = {"NOT_COMPILED", "DELTA_NOT_CONTRIBUTED", "WOULD_BE_REFUSED"}


def told(answer: Answer) -> list[str]:
    """The codes, and those for the same fault."""
    found = answer.value.get("violations", [])
    return [code for each in found for code in (each["id"], *each.get("also", ()))]


def outcome_of(answer: Answer) -> str:
    """What an agent makes of an answer: nothing was done, or not what it wanted, or all of it."""
    if answer.is_error:
        return REFUSED
    return ADVISED if _ADVICE & set(answer.codes) else "applied"


def make_mistakes(critic: Critic, mistakes: Iterable[Mistake]) -> None:
    """One after the other."""
    for each in mistakes:
        critic.follow(each)


def main(url: str, name: str, secrets: str) -> None:
    """Both rounds, and a look at what came of them."""
    critic = Critic(url, name, Path(secrets))
    critic.register()
    first = critic.read_kickoff()
    critic.call("brenner_task", agent=name)
    make_mistakes(critic, (*DELTA_MISTAKES, *MAIL_MISTAKES))
    unproven = proper(critique("Sent without the secret"))
    critic.send(unproven, sender_token=None)
    done("round 1")
    wait_for(lambda: _later(critic, name, first["created_ts"]))
    critic.read_kickoff()
    shown = critic.call("brenner_artifact", thread_id=critic.thread, format="json")
    make_mistakes(critic, second_round(items_in(shown)))
    done("round 2")
    wait_for(lambda: critic.call("brenner_artifact", thread_id=critic.thread).value["version"] == 2)
    critic.call("brenner_artifact", thread_id=critic.thread, since=1)
    done("all")


def _later(critic: Critic, name: str, since: str) -> bool:
    inbox = critic.call("fetch_inbox", agent_name=name, since_ts=since, limit=5)
    return any(each["subject"].startswith("KICKOFF:") for each in inbox.value["result"])


if __name__ == "__main__":
    main(*sys.argv[1:])
