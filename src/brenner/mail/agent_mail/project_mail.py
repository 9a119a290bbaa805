"""The mail of one project, as its server can be asked about it."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote

from brenner.diagnostics.codes import stores as codes
from brenner.diagnostics.model import Refused, Unavailable
from brenner.mail.agent_mail.client import Client, segment
from brenner.mail.agent_mail.items import (
    Fields,
    Item,
    Unreadable,
    agent_of,
    fields_of,
    item_of,
    list_of,
    number_of,
    text_of,
)
from brenner.mail.model import Agent

_MOST = 1_000_000  # messages of one answer; a server shows only a few where nobody says how many
_SEARCH = "search_mailbox"
# Words of our own server
_TOTAL, _ONE_PROJECT = "messages_so_far", "OTHER_PROJECT"
_LEFT_OUT, _BEFORE = "body_left_out", "bodies_before"


class Identity(NamedTuple):
    """A project as its server knows it."""

    id: int
    slug: str
    key: str


class Directory(NamedTuple):
    """Who is there. Some servers have an agent that gets a copy of everything, `collector`.

    `told` is all that the server said: who was active when, how much nobody has read yet. Where
    there is a collector, it is the same only as long as nothing has been sent. A server of ours
    says how many messages there are, `total`.
    """

    agents: Mapping[str, Agent]
    collector: str | None
    collected: int
    total: int | None
    told: object

    def has_no_more_than(self, before: "Directory") -> bool:
        """Whether it is certain that nothing has been sent since."""
        if self.total is not None:
            return self.total == before.total
        return self.collector is not None and self == before


class ProjectMail:
    """The questions. Times are exclusive; lists may hold mail of other projects."""

    def __init__(self, client: Client, identity: Identity) -> None:
        self.client = client
        self.identity = identity

    def directory(self) -> Directory:
        """The agents of the project."""
        document = self.client.read(f"agents/{segment(self.identity.key)}", {})
        with understood(self.client):
            fields = fields_of(document, "the directory")
            listed = list_of(fields.get("agents"), "`agents`")
            agents = {agent.name: agent for agent in map(agent_of, listed)}
            name = f"global-inbox-{self.identity.slug}"
            collector = agents.pop(name, None) and name
            total = number_of(fields, _TOTAL) if _TOTAL in fields else None
            unread = [_unread(each) for each in listed if fields_of(each, "").get("name") == name]
        return Directory(agents, collector, sum(unread), total, document)

    def inbox(self, name: str, since: datetime | None) -> list[Item]:
        """What somebody got, with bodies; few servers tell there who else did."""
        asked = {
            "project_key": self.identity.key,
            "agent_name": name,
            "limit": _MOST,
            "include_bodies": True,
            "since_ts": _written(since),
        }
        return self._items(self.client.call("fetch_inbox", asked))

    def outbox(self, name: str, since: datetime | None, *, bodies: bool) -> list[Item]:
        """What somebody sent, and to whom."""
        query = {"project": self.identity.key, "limit": str(_MOST), "since_ts": _written(since)}
        query["include_bodies"] = "true" if bodies else "false"
        listed: dict[int, object] = {}
        while True:
            given = {name: value for name, value in query.items() if value}
            document = self.client.read(f"outbox/{segment(name)}", given)
            with understood(self.client):
                fields = fields_of(document, "an outbox")
                messages = list_of(fields.get("messages"), "a list of messages")
                listed |= {number_of(fields_of(each, ""), "id"): each for each in messages}
                # A server of ours goes on with the bodies there, where they were too many.
                before = str(number_of(fields, _BEFORE)) if _BEFORE in fields else None
            if before in (None, query.get("before")):
                return self._items(list(listed.values()))
            query["before"] = before

    def with_word(self, word: str) -> list[Item]:
        """The messages in which a word stands, and to whom they were sent, if one can search."""
        if not self.client.offers(_SEARCH):
            return []
        asked = {
            "project_key": self.identity.key,
            "query": f'"{word}"',
            "limit": _MOST,
            "include_bodies": False,
        }
        return self._items(self.client.call(_SEARCH, asked))

    def elsewhere(self, names: Iterable[str]) -> dict[str, str]:
        """Those of the names that live in another project, and in which."""
        return elsewhere(self.client, names, self.identity.slug)

    def is_ours(self, item: Item) -> bool:
        """Whether it was sent in this project."""
        return item.project in (None, self.identity.id)

    def _items(self, document: object) -> list[Item]:
        with understood(self.client):
            listed = list_of(document, "a list of messages")
            return [item_of(self._whole(fields_of(each, "a message"))) for each in listed]

    def _whole(self, fields: Fields) -> Fields:
        """A message with its body. A server of ours leaves long ones out of lists, and says so."""
        if _LEFT_OUT not in fields:
            return fields
        found = self.client.read(f"message/{number_of(fields, 'id')}", {})
        return {**fields, "body_md": text_of(fields_of(found, "a message"), "body_md")}


def elsewhere(client: Client, names: Iterable[str], slug: str | None) -> dict[str, str]:
    """Those of the names that live in another project than that one, and in which.

    Only servers that keep names for all projects list the agents of all.
    """
    try:
        document = client.read("agents", {})
    except Refused:
        return {}
    except Unavailable as error:
        if error.diagnostic.code != codes.SERVER_LACKS:
            raise
        return {}
    with understood(client):
        listed = list_of(fields_of(document, "the directory").get("agents"), "`agents`")
        places = {_folded(text_of(each, "name")): each for each in map(_agent, listed)}
        found = {name: places.get(_folded(name)) for name in names}
        return {
            name: text_of(agent, "project_human_key")
            for name, agent in found.items()
            if agent and agent.get("project_slug") != slug
        }


@contextmanager
def understood(client: Client) -> Iterator[None]:
    """Say of what cannot be read whose it is."""
    try:
        yield
    except Unreadable as error:
        found = codes.SERVER_NONSENSE.at(where=client.where, reason=str(error))
        raise Unavailable(found) from None


def find(client: Client, key: str) -> Identity | None:
    """A project, if the server knows it; it is not made."""
    try:
        document = client.read(f"project/{segment(key)}", {})
    except Refused as refused:
        _check_not_alone(client, refused)
        if any(key in each for each in _listed(client)):
            raise
        return None
    return _identity(client, key, document)


def make(client: Client, key: str) -> Identity:
    """A project, made where there is none."""
    try:
        document = client.call("ensure_project", {"human_key": key})
    except Refused as refused:
        _check_not_alone(client, refused)
        raise
    return _identity(client, key, document)


def _check_not_alone(client: Client, refused: Refused) -> None:
    """A server of ours has one project. Another one is not there, and never will be."""
    for _, key in _listed(client) if _ONE_PROJECT in refused.diagnostic.message else ():
        reason = f"it serves `{key}` alone; write `?project={quote(key)}` behind its address"
        raise Refused(codes.SERVER_REFUSED.at(where=client.where, reason=reason)) from None


def _identity(client: Client, key: str, document: object) -> Identity:
    """Servers take keys for one that differ only in marks or in case.

    Then the mail of two projects is one, of which neither knows.
    """
    with understood(client):
        fields = fields_of(document, "a project")
        found = Identity(
            number_of(fields, "id"), text_of(fields, "slug"), text_of(fields, "human_key")
        )
    if key not in (found.key, found.slug):
        reason = f"it takes the project `{key}` for `{found.key}`, which it knows already"
        raise Refused(codes.SERVER_REFUSED.at(where=client.where, reason=reason))
    return found


def _listed(client: Client) -> list[tuple[str, str]]:
    """The slug and the key of each project that the server lists."""
    document = client.read("projects", {})
    with understood(client):
        projects = [fields_of(each, "a project") for each in list_of(document, "the projects")]
        return [(text_of(each, "slug"), text_of(each, "human_key")) for each in projects]


def _agent(document: object) -> Fields:
    return fields_of(document, "an agent")


def _unread(document: object) -> int:
    fields = _agent(document)
    return number_of(fields, "unread_count") if "unread_count" in fields else 0


def _folded(name: str) -> str:
    """What counts of a name on a server that drops marks and does not look at case."""
    return "".join(filter(str.isalnum, name)).lower()


def _written(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
