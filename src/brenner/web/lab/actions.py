"""All actions of the lab."""

from brenner.web.lab import (
    acknowledge,
    compiling,
    critique,
    next_round,
    persisting,
    reply,
    start,
)

ACTIONS = (
    *(start.ACTION, compiling.COMPILE, persisting.ACTION, reply.ACTION),
    *(acknowledge.ACTION, critique.ACTION, next_round.ACTION, compiling.COMPLETE),
)
