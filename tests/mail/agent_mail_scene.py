"""A project on the real server: who is there, and other programs that use the server directly."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brenner.mail.agent_mail.client import Client, path_segment
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Profile
from brenner.store_url import AgentMailAddress
from mail.backends import AGENT_MAIL, Place, agent_mail_address, give_names_back
from mail.sample_mail import ANN, THREAD, introduce
from servers import agent_mail


class Project(Place):
    """A project with the usual agents, and one next door that may take them away."""

    def __init__(self, folder: Path) -> None:
        super().__init__(AGENT_MAIL, folder)
        introduce(self.mailbox)
        self.address = agent_mail_address(folder)
        self.key = str(self.address.project)
        self._neighbour: Mailbox | None = None

    def next_door(self) -> Mailbox:
        """The mailbox of another project on the same server."""
        if not self._neighbour:
            self._neighbour = AgentMailMailbox.create(self._next, None)
        return self._neighbour

    @property
    def _next(self) -> AgentMailAddress:
        return AgentMailAddress(self.address.url, f"{self.key}/next-door")

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._neighbour:
            self._neighbour.close()
            give_names_back(self._next)

    def lose(self, *names: str) -> None:
        """Another project takes names over."""
        for name in names:
            self.next_door().register(Profile(name, "claude-code", "opus"), update=True)

    def regain(self, *names: str) -> None:
        """They come back."""
        for name in names:
            self.mailbox.register(Profile(name, "claude-code", "opus"), update=True)

    def sent_by_hand(self, **arguments: object) -> int:
        """The id of a message that another program sends."""
        usual = {"sender_name": ANN, "subject": "Hello", "body_md": "By hand.", "thread_id": THREAD}
        given = {"project_key": self.key, **usual, **arguments}
        known = {name: value for name, value in given.items() if value is not None}
        answer = agent_mail.running().tool("send_message", **known)
        number: int = answer["deliveries"][0]["payload"]["id"]
        return number

    def resource(self, path: str, query: Mapping[str, str]) -> Any:
        """What the server itself says."""
        client = Client(agent_mail.running().url)
        try:
            return client.read(path, query)
        finally:
            client.close()

    def unread(self, name: str) -> int:
        """How many messages the server says that somebody has not read."""
        listed = self.resource(f"agents/{path_segment(self.key)}", {})["agents"]
        return next(int(each["unread_count"]) for each in listed if each["name"] == name)
