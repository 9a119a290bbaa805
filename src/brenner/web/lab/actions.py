"""All actions of the lab."""

from brenner.web.lab import (
    acknowledge,
    compiling,
    complete,
    critique,
    next_round,
    persisting,
    reply,
    start,
)

ACTIONS = (
    *(start.ACTION, compiling.ACTION, persisting.ACTION, reply.ACTION),
    *(acknowledge.ACTION, critique.ACTION, next_round.ACTION, complete.ACTION),
)
