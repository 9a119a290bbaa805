"""Whether what would be published is still what somebody looked at before she decided to.

Only what a version depends on counts. Acknowledgements and critiques that come in meanwhile change
nothing of it, and in a lively session would never let anybody publish.
"""

from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.diagnostics.codes.publishing import PREVIEW_OVERTAKEN
from brenner.diagnostics.model import Refused
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.session.rebuild import text_hash
from brenner.session.versions import Chain
from brenner.session.versions import chain_messages_is_decision as is_decision
from brenner.text import joined
from brenner.workflows.chains import filed

_READ = frozenset({KICKOFF.name, DELTA.name, COMPILED.name})
_GONE = "it has fewer messages"
_ELSEWHERE = "another session has changed, and with it what refers to it"


def arrived_since(mailbox: Mailbox, thread_id: str, position: int) -> tuple[Stored, ...]:
    """What came in after the first so many messages, as they came in."""
    return mailbox.thread_arrivals(thread_id, 0)[position:]


def check_as_seen(mailbox: Mailbox, chain: Chain, position: int | None) -> None:
    """Refuse where the next version is not the one that was seen; None is whoever did not look."""
    if position is None or chain.position == position:
        return
    arrived = arrived_since(mailbox, chain.thread_id, position)
    counts = [each for each in arrived if each.type in _READ or is_decision(filed(each))]
    if counts or chain.position < position:
        news = joined(f"message {each.id} is {_said(each)}" for each in counts) or _GONE
        raise Refused(PREVIEW_OVERTAKEN.at(thread_id=chain.thread_id, news=news))


def digest_of(artifact: Artifact) -> str:
    """What stands for a version that is to come, whenever it is compiled."""
    timeless = artifact.metadata._replace(updated_at=None, compiled_at=None)
    return text_hash(render_artifact(artifact._replace(metadata=timeless)))


def check_proposed(thread_id: str, artifact: Artifact, seen: str | None) -> None:
    """Refuse another version than the one that was seen, where the thread is the same: references
    depend on other sessions, too.
    """
    if seen is not None and seen != digest_of(artifact):
        raise Refused(PREVIEW_OVERTAKEN.at(thread_id=thread_id, news=_ELSEWHERE))


def _said(stored: Stored) -> str:
    return f"a {stored.type or 'message'} of {stored.message.sender}"
