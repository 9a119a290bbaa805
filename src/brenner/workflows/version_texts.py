"""The text of any version of a thread, from its COMPILED message or else rebuilt; and what of it is
persisted.
"""

from collections.abc import Callable

from brenner.mail.mailbox import Mailbox
from brenner.persist.artifact_file import VersionText
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject
from brenner.session.rebuild import Candidate, Rebuilt, text_hash
from brenner.session.versions import Chain
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


def version_text(
    chain: Chain, number: int, message_id: int, text: str, message: Message
) -> VersionText:
    """What is persisted of a version; the commit says of it what the subject of its message says.

    A message that is not posted yet has no id (0).
    """
    subject = parse_subject(message.subject)
    said = (subject.description if subject else "").removeprefix(f"v{number}").strip()
    spare = [each for each in chain.spare if chain.is_void(each)]
    void = tuple(each.inline for each in spare if each.inline)
    return VersionText(chain.thread_id, number, message_id, text, said, void)
