"""A file whose authors are known: the one that equals a version of the mail."""

from brenner.artifact.diff import diff
from brenner.cli.artifact.targets import Loaded, Reader
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.model import Refused
from brenner.protocol.thread_ids import is_valid


def with_authors(reader: Reader, loaded: Loaded) -> Loaded:
    """The version itself, with its state and ledger; for a file the version that it equals.

    Its notes name every message of the thread that was altered: the sender may be another one.
    """
    if loaded.version and loaded.version.state:
        return _with_altered(reader, loaded)
    if loaded.version:
        raise _not_known(loaded, "it comes from its file, and its mail is not here")
    return _with_altered(reader, _version_of(reader, loaded))


def _with_altered(reader: Reader, loaded: Loaded) -> Loaded:
    from brenner.services.version_store import altered_in_thread

    if loaded.version is None:
        return loaded
    found = altered_in_thread(reader.desk.mailbox, loaded.version.thread_id)
    new = (each for each in found if each.message_id not in loaded.altered)
    return loaded._replace(version=loaded.version._replace(notes=(*loaded.version.notes, *new)))


def _version_of(reader: Reader, loaded: Loaded) -> Loaded:
    from brenner.services.versions import Target

    session, number = loaded.thread_id, loaded.number
    if not session or number is None or not is_valid(session):
        raise _not_known(
            loaded, "its front matter does not say which version of which thread it is"
        )
    version = reader.version(Target(session, number), loaded.given, with_state=True)
    if version.version is None or version.version.state is None:
        raise _not_known(loaded, f"the mail of {session} is not here")
    # The file has its message's id besides, which a difference leaves out.
    if not diff(version.artifact, loaded.artifact).is_empty:
        raise _not_known(loaded, f"it is not what v{number} of {session} says")
    return version


def _not_known(loaded: Loaded, reason: str) -> Refused:
    return Refused(codes.AUTHORS_NOT_KNOWN.at(name=loaded.name, reason=reason))
