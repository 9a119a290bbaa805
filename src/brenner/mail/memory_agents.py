"""The agents of a mailbox in memory: who they are, their secrets, the files they are at work on."""

import threading
from collections.abc import Iterable
from datetime import timedelta
from itertools import count

from brenner.mail import registering, reserving, rules
from brenner.mail.clock import Clock
from brenner.mail.model import (
    Agent,
    Profile,
    Registered,
    Released,
    Reservation,
    Reserved,
    Wish,
)


class MemoryAgents:
    """What a mailbox knows of its agents."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._agents: dict[str, Agent] = {}
        self._secrets: dict[str, str] = {}
        self._reservations: dict[int, Reservation] = {}
        self._reservation_ids = count(1)

    def register(self, profile: Profile, *, update: bool = False) -> Registered:
        known = self._agents.get(profile.name)
        if known and not update:
            registering.check_same_agent(profile, known, self._agents)
        kept = registering.registration(profile, known, self._agents)
        agent = Agent(*kept, known.registered_at if known else self._clock())
        self._agents[agent.name] = agent
        return Registered(agent, known)

    def agents(self) -> tuple[Agent, ...]:
        return tuple(sorted(self._agents.values()))

    def agent(self, name: str) -> Agent:
        if name not in self._agents:
            raise rules.no_such_agent(name, self._agents)
        return self._agents[name]

    def digest(self, name: str) -> str | None:
        self.agent(name)
        return self._secrets.get(name)

    def named_by(self, digest: str) -> str | None:
        with self._lock:
            names = [name for name, kept in self._secrets.items() if kept == digest]
        return min(names, default=None)

    def claim(self, name: str, digest: str, *, replace: bool = False) -> bool:
        self.agent(name)
        with self._lock:
            is_free = replace or name not in self._secrets
            if is_free:
                self._secrets[name] = digest
        return is_free

    def reserve(self, name: str, wish: Wish) -> Reserved:
        wish = reserving.checked(wish)
        self.agent(name)
        with self._lock:
            now = self._clock()
            held = reserving.holding(self._reservations.values(), now)
            own = [each for each in held if each.agent == name]
            old = reserving.replaced(wish, own, len(held) - len(own))
            granted = [
                Reservation(
                    id=next(self._reservation_ids),
                    agent=name,
                    pattern=pattern,
                    exclusive=wish.exclusive,
                    reason=wish.reason,
                    created_at=now,
                    expires_at=now + timedelta(seconds=wish.seconds),
                )
                for pattern in wish.patterns
            ]
            kept = [each for each in held if each.id not in old]
            self._reservations = {each.id: each for each in (*kept, *granted)}
        return Reserved(tuple(granted), reserving.conflicts(granted, kept))

    def release(
        self, name: str, *, patterns: Iterable[str] | None = None, ids: Iterable[int] | None = None
    ) -> Released:
        self.agent(name)
        with self._lock:
            now = self._clock()
            held = reserving.holding(self._reservations.values(), now)
            own = [each for each in held if each.agent == name]
            released = reserving.chosen(own, patterns, ids)
            for each in released:
                del self._reservations[each.id]
        return Released(len(released), now)

    def reservations(self) -> tuple[Reservation, ...]:
        with self._lock:
            return reserving.holding(self._reservations.values(), self._clock())
