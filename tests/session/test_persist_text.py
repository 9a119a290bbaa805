"""The id of a message in the text of a version, whatever the artifact (R18)."""

from hypothesis import given
from hypothesis import strategies as st

from artifacts import artifacts
from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.persist.artifact_file import canonical_text, same_version, with_message_id

IDS = st.integers(1, 2**53)


def without_id(artifact: Artifact) -> Artifact:
    """As a COMPILED message has it."""
    return artifact._replace(metadata=artifact.metadata._replace(agent_mail_message_id=None))


@given(artifacts(), IDS)
def test_the_id_stands_where_rendering_puts_it(artifact: Artifact, message_id: int) -> None:
    """The file reads as the artifact with its id, and writing it again gives the same bytes."""
    version = without_id(artifact)
    text = render_artifact(version)
    metadata = version.metadata._replace(agent_mail_message_id=message_id)
    stored = with_message_id(text, message_id)
    assert stored == render_artifact(version._replace(metadata=metadata))
    assert parse_artifact(stored).artifact.metadata.agent_mail_message_id == message_id


@given(artifacts(), IDS, IDS)
def test_comparisons_ignore_it(artifact: Artifact, one: int, other: int) -> None:
    """Two files of one version are the same version, also with other line ends."""
    text = render_artifact(without_id(artifact))
    stored = with_message_id(text, one)
    assert canonical_text(text) == canonical_text(stored) == text
    assert same_version(stored, with_message_id(text, other))
    assert same_version(stored.replace("\n", "\r\n"), text)
    assert with_message_id(stored, other) == with_message_id(text, other)


@given(artifacts(), artifacts())
def test_different_artifacts_are_different_versions(one: Artifact, other: Artifact) -> None:
    """Nothing but the id is ignored."""
    first, second = without_id(one), without_id(other)
    texts = [with_message_id(render_artifact(each), 1) for each in (first, second)]
    assert same_version(*texts) == (first == second)


@given(st.text(), IDS)
def test_any_text(text: str, message_id: int) -> None:
    """Whatever it is, reading it raises nothing, and it equals itself."""
    assert same_version(text, text)
    assert same_version(with_message_id(text, message_id), text)
