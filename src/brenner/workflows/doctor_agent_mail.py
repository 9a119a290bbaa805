"""Looking at mail on an Agent Mail server. What is sent there stays, so nothing is sent."""

import time
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

from brenner.diagnostics.codes.stores import SERVER_LACKS
from brenner.diagnostics.model import BrennerError
from brenner.mail.agent_mail.client import Client
from brenner.mail.agent_mail.mailbox import AgentMailMailbox
from brenner.mail.agent_mail.mirror import find, make
from brenner.mail.open import AgentMailStore
from brenner.workflows.doctor_mail import (
    NOT_YET,
    Look,
    Visit,
    identity,
    looked_at,
    new_operator,
    of_mail,
)
from brenner.workflows.doctor_way import milliseconds, way_check
from brenner.workflows.surroundings import OK, WARNING, Check

_HEALTH = "health_check"
_NEEDED = ("ensure_project", "register_agent", "send_message", "fetch_inbox")
# What there is else that we use, and what is lost without it
_USEFUL = {
    "mark_message_read": "nothing can be marked as read",
    "acknowledge_message": "agents that ask only the server do not see what is acknowledged",
}


_IN_THE_CLEAR = (
    "Put TLS in front of the server, and write `agent-mail+https://…`; or go through a tunnel, "
    "such as `ssh -L`."
)


def examine_server(visit: Visit, store: AgentMailStore) -> Iterator[Check]:
    """The server, what it offers, then the project on it."""
    try:
        client = Client(store.address.url or "", store.token)
    except BrennerError as error:
        yield Check.of("server", error.diagnostic)
        yield identity(visit, None)
        return
    with closing(client):
        checks = list(looked_at({"server": lambda: _server(client, store)}))
        yield from checks
        if any(check.id for check in checks):  # nobody is there who could be asked more
            yield identity(visit, None)
            return
        yield from looked_at({"tools": lambda: _tools(client)})
        yield from _project(visit, store, client)


def _server(client: Client, store: AgentMailStore) -> Check:
    """Whether it answers as such a server does, how soon, and who can listen on the way."""
    started = time.perf_counter()
    if client.offers(_HEALTH):  # it has connected, and told which tools it has
        started = time.perf_counter()
        client.call(_HEALTH, {})
    taken = milliseconds(time.perf_counter() - started)
    parts = urlsplit(store.address.url or "")
    words = f"{client.where} answers; a round trip takes {taken}"
    is_encrypted = parts.scheme == "https"
    return way_check(words, parts.hostname or "", is_encrypted=is_encrypted, mend=_IN_THE_CLEAR)


def _tools(client: Client) -> Check:
    """Servers differ in what they offer."""
    needed = [name for name in _NEEDED if not client.offers(name)]
    if needed:
        what = f"the tools {', '.join(f'`{name}`' for name in needed)}"
        return Check.of("tools", SERVER_LACKS.at(where=client.where, what=what))
    lost = [f"no `{name}`: {why}" for name, why in _USEFUL.items() if not client.offers(name)]
    if lost:
        fix = "Mail works without; a server started with all its tools has them."
        return Check("tools", WARNING, f"It offers what is needed, but {'; '.join(lost)}.", fix)
    return Check("tools", OK, "it offers all that is used")


def _project(visit: Visit, store: AgentMailStore, client: Client) -> Iterator[Check]:
    """What can be seen of the project and its mail."""
    try:
        is_known = find(client, store.address.project or "") is not None
        mailbox = AgentMailMailbox.open(store.address, store.token) if is_known else None
    except BrennerError as error:
        yield Check.of("store", error.diagnostic)
        yield identity(visit, None)
        return
    if mailbox is None:
        yield Check("store", OK, f"the project `{store.address.project}` {NOT_YET}")
        yield _lacks()
        yield new_operator(visit.project, store.shown)
        yield identity(visit, None)
        return
    with mailbox:
        yield from looked_at(_looks(mailbox, visit, store, client))


def _looks(
    mailbox: AgentMailMailbox, visit: Visit, store: AgentMailStore, client: Client
) -> dict[str, Look]:
    return {
        "store": lambda: _known(visit, store),
        "write": lambda: _write(client, store),
        "lacks": _lacks,
        **of_mail(mailbox, visit, store.shown),
    }


def _known(visit: Visit, store: AgentMailStore) -> Check:
    words = f"the project `{store.address.project}` ({visit.project.store_from})"
    return Check("store", OK, f"{words} is known there")


def _write(client: Client, store: AgentMailStore) -> Check:
    """A message would stay. To ask for a project that is there changes nothing, but needs the
    right to write.
    """
    started = time.perf_counter()
    make(client, store.address.project or "")
    taken = milliseconds(time.perf_counter() - started)
    words = (
        f"allowed, as `ensure_project` answers in {taken}; a message was not tried: it would stay"
    )
    return Check("write", OK, words)


def _lacks() -> Check:
    """What this home cannot do, which is no fault."""
    lacks = AgentMailMailbox.lacks
    words = "; ".join(f"{ability} ({reason})" for ability, reason in lacks.items())
    return Check("lacks", OK, f"this home is without {words}")
