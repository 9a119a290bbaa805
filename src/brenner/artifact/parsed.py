"""What reading an artifact's text gives: the artifact, and where in the text everything stands."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.diagnostics.model import Diagnostic

# ("H1",) an item; ("H1", "claim") a field; ("P1", "predictions", "H2") a cell;
# ("metadata", "session_id") a line of the front matter; ("hypothesis_slate",) a section's heading.
Place = tuple[str, ...]
NO_LINES: Mapping[Place, int] = MappingProxyType({})


class Outline(NamedTuple):
    """What only the text can show: the rules about files look at this (rulings, Small decisions).

    `headings` are the sections found, with their lines, in the order of the text. `front_matter`
    is None where there is none, or where `no_front_matter` says why it could not be read.
    """

    front_matter: Mapping[str, object] | None
    no_front_matter: str
    headings: tuple[tuple[str, int], ...]
    columns: tuple[str, ...] | None
    tests: tuple[str, ...]
    says_none_registered: bool


class ParsedArtifact(NamedTuple):
    """An artifact as it was read; `diagnostics` tell where the text departs from the format.

    `lines` goes by ID: where an ID stands twice, it knows the first. `item_lines` has one mapping
    for each item of `artifact.sections`, in the same order: `()` is the item's line, `("claim",)`
    a field's, `("predictions", "H2")` a cell's.
    """

    artifact: Artifact
    diagnostics: tuple[Diagnostic, ...]
    lines: Mapping[Place, int]
    outline: Outline
    item_lines: Mapping[str, tuple[Mapping[Place, int], ...]]
