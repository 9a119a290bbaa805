"""The place where a `server` case is played: a project whose mail is on a server, behind a door.

Nothing is there at first, not even the mailbox: commands make it, or other programs. What is seen
of the mail is read past the door.
"""

import os
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from brenner.config import Project, find_project
from brenner.mail.mailbox import Mailbox
from brenner.mail.memory import MemoryMailbox
from brenner.mail.model import Profile
from brenner.mail.open import open_mailbox
from brenner.protocol.messages import Message
from conformance.server_backends import TOKEN, AgentMailSide, Side, side_of
from conformance.session_scene import SessionScene
from conformance.session_shorthand import Step
from mail.backends import Backend, sqlite_file

OPERATOR = "GoldRiver"
_SETTINGS = f'store = "STORE"\noperator = "{OPERATOR}"\n'
_PLACED = re.compile(r"\b(?:ELSEWHERE|STORE|OTHER|FOLDER|PORT|TOKEN)\b")


class ServerScene(SessionScene):
    """A session scene on a server."""

    def __init__(self, case: dict[str, Any], home: Backend, folder: Path) -> None:
        self._open = ExitStack()
        place = folder / case.get("folder", "project")
        self.side: Side = side_of(home, place, closed=case.get("closed", False))
        self._open.callback(self.side.close)
        said = {"settings": _SETTINGS} | case
        try:
            super().__init__(said, home, folder)
            self._set_up(said)
        except BaseException:
            self._open.close()
            raise

    def _set_up(self, case: dict[str, Any]) -> None:
        """The environment, and the mailbox with some names in it, where the case wants one."""
        (self.folder / "elsewhere").mkdir()  # a store given by hand does not make it
        said = case.get("environment", {})
        environment = {name: self._placed(text) for name, text in said.items()}
        self._open.enter_context(mock.patch.dict(os.environ, environment))
        if "agents" in case:
            with open_mailbox(self.project_of("home"), create=True) as mailbox:
                for name in case["agents"]:
                    mailbox.register(Profile(name))

    def __exit__(self, *error: object) -> None:
        try:
            super().__exit__(*error)
        finally:
            self._open.close()
        self.side.check(is_over=error[0] is None)

    def leave(self, name: str) -> None:
        """What is on the server goes with its side."""

    def addressed(self, message: Message) -> Message:
        """What goes to the operator goes to her name."""
        return message._replace(recipients=(self.project.operator,))

    @property
    def agent_mail(self) -> AgentMailSide:
        """The server, where it is an Agent Mail server."""
        assert isinstance(self.side, AgentMailSide), "only Agent Mail has that"
        return self.side

    def options(self) -> list[str]:
        """The settings say where the mail is."""
        return []

    def store(self, name: str) -> Mailbox:
        """The mail as it is now; nobody's, as long as there is none."""
        if name not in self._stores:
            mailbox = open_mailbox(self.project_of(name), create=False)
            if isinstance(mailbox, MemoryMailbox):
                return mailbox
            self._stores[name] = mailbox
        return self._stores[name]

    def project_of(self, store: str) -> Project:
        """The project with the store `home`, past the door, or `elsewhere`."""
        address = self.side.direct if store == "home" else self._elsewhere
        token = {"AGENT_MAIL_BEARER_TOKEN": self.side.token or ""}
        return find_project(str(self.folder), token, address)

    @property
    def _elsewhere(self) -> str:
        return f"sqlite:///{sqlite_file(self.folder / 'elsewhere')}"

    def configure(self, settings: str) -> None:
        """Give the project other settings."""
        super().configure(self._placed(settings))

    def snapshot(self) -> object:
        """Beside the mail and the files: whether the server knows of the project at all."""
        mail = [self.look_at(self.store(name)) for name in ("home", "elsewhere")]
        return mail, self.side.has_nothing(), dict(self._contents())

    def filled(self, step: Step) -> Step:
        """Beside what session cases have: addresses."""
        filled = super().filled(step)
        if isinstance(filled, list):
            return [self._placed(each) for each in filled]
        return self._placed(filled)

    def _placed(self, text: str) -> str:
        meant = {
            "ELSEWHERE": self._elsewhere,
            "STORE": self.side.through,
            "OTHER": self.side.other,
            "FOLDER": str(self.folder),
            "PORT": str(self.side.door.port),
            "TOKEN": TOKEN,
        }
        return _PLACED.sub(lambda found: meant[found[0]], text)
