"""The *Latest Artifact* card of the publish document."""

from collections import Counter
from collections.abc import Mapping

from brenner.artifact.model import Artifact
from brenner.lint.linter import LintReport
from brenner.protocol.message_types import DELTA
from brenner.session.compiled_message import schema_verdict, statistics, third_alternative
from brenner.session.versions import type_of
from brenner.web.reading import Session


def card(artifact: Artifact, report: LintReport) -> dict[str, object]:
    """What the version itself tells, under the publish document's names."""
    return {
        "version": artifact.metadata.version,
        "statistics": statistics(artifact),
        "schema": schema_verdict(report),
        "lint": report.summary._asdict(),
        "valid": report.valid,
        "third_alternative": third_alternative(artifact),
    }


def contributors(session: Session) -> list[Mapping[str, object]]:
    """Who made the artifact: her DELTA messages, and the items that have something of hers now."""
    deltas = session.once(deltas_sent)
    items: dict[str, int] = {}
    for changes in session.chain.state.blame.values():
        hands = (change.source.agent for change in changes.values() if change.value)
        for agent in dict.fromkeys(hands):  # each once, in the same order every time
            items[agent] = items.get(agent, 0) + 1
    # Nobody knows who set what in a version that was adopted: then as its front matter says
    names = items or dict.fromkeys(session.chain.state.artifact.metadata.contributors, 0)
    return [
        {"name": name, "deltas": deltas.get(name, 0), "items": items.get(name, 0)} for name in names
    ]


def deltas_sent(session: Session) -> Mapping[str, int]:
    """How many DELTA messages everybody has sent, the operator among them: she may take no part."""
    senders = (
        each.posted.message.sender for each in session.messages if type_of(each) == DELTA.name
    )
    return Counter(senders)
