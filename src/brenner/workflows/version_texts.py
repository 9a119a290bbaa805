"""The text of any version of a thread: from its COMPILED message, or else rebuilt."""

from collections.abc import Callable

from brenner.mail.mailbox import Mailbox
from brenner.session.chain import Chain
from brenner.session.rebuild import Candidate, Rebuilt, text_hash
from brenner.thread.compiled_body import read_compiled
from brenner.workflows.chains import replay_chain


def version_texts(mailbox: Mailbox, chain: Chain, operator: str) -> Callable[[int], str | None]:
    """A function from the number of a version to its text; None for one that does not exist."""
    ids = {version.number: version for version in chain.versions}

    def text_of(number: int) -> str | None:
        version = ids.get(number)
        if version is None:
            return None
        inline = read_compiled(mailbox.message(version.message_id).message).inline
        if inline is not None and text_hash(inline) == version.artifact_sha256:
            return inline
        return rebuilt_texts().get(number)

    found: dict[int, str] = {}

    def rebuilt_texts() -> dict[int, str]:
        """All of them: a version too large for its message is seldom looked at."""
        if not found:

            def watch(candidate: Candidate, rebuilt: Rebuilt) -> None:
                found[candidate.number] = rebuilt.text

            replay_chain(mailbox, chain.thread_id, operator, watch)
        return found

    return text_of
