"""Artifacts for the laws: hostile text in every field, killed items, fields that are missing."""

from typing import Any

from hypothesis import strategies as st

from brenner.artifact.model import (
    ITEM_SECTIONS,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    Result,
    item_sort_key,
    make_fields,
)
from brenner.protocol.delta.field_checks import WHITE_SPACE
from brenner.protocol.delta.schema import (
    POTENCIES,
    RELATIONS,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Field,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import ITEM_ID
from strategies import (
    EVIDENCE,
    HOSTILE,
    agent_names,
    hypothesis_ids,
    outcome_keys,
    scalar_text,
    thread_ids,
)

# Text that tries to be a part of this format: an ending of a heading, a cell, an element, a mark.
FORMS = (
    *("(Score: 9/12)", " (Score: 9/12)", "(Third Alternative)", "third alternative", "[KILLED]"),
    *(
        "(KILLED)",
        " (killed by Ann)",
        " — killed by Ann: x",
        " - KILLED",
        "[KILLED 2025-12-30",
        "killed",
    ),
    *(
        "Killed by Ann",
        "\nKilled by Ann: x",
        "\nMechanism: x",
        "\nStatus: KILLED",
        "(Score 9/12)",
        "<del>",
    ),
    *("~~", "~", "~~x~~", "\n~~### H2: x~~", "**Killed by**: x, y", "\n**Reason**: z", "KILLED"),
    *("## 7. Adversarial Critique", "\n### H9: Fake\n", "### ", " #", "#", "\n# ", "\n#", "N/A"),
    *("None registered", "\n- H1: x", "- ", "\n1. ", "\n2) x", "\n+ ", "\n= ", "\n===", "\n---"),
    *("|", "\\|", "\\\\|", "\n|---|---|\n", "\n-:\n", "\n:-:", "<br>", "<br/>", "<b>", "</b>"),
    *("`", "``", "`a\\`", "*", "**", "_", "__", "_a_", "a_b", "$", "$$x$$", "&", "&amp;", "&#0;"),
    *("&#x41;", "&copy", "]", "](x)", "[a](b)", "![a](b)", "[a]: b", "\n[a]: b", "[^1]", "[[a]]"),
    *(",", ", ", "\\,", "§1, §2", "[external: a, b]", "LR=3", "H1:", ": ", ":", "true", "- [ ] x"),
    *(
        "https://a.org/b_c",
        "https://a.org/*",
        "www.a.org/~x",
        "a@b.org",
        "http://a.org\n",
        "<5",
        "< 5",
    ),
    *("<5", "< 5", "\\", "\\\n", "\n\n", "  \n", "\n  ", "\n\t", " ", "\u00a0", "\u3000", "\x1c"),
    *("; **potency**: failed", "; **note**: x", "claimed", "Outcome: ", "derived", ";", "**note**"),
    *("\u200b", "\u200f", "\u2066", "\u061c", "\ufffe", "\uffff", "\x7f", "---", "...", "\n\u3000"),
)
_PIECES = st.one_of(st.sampled_from(FORMS), st.sampled_from(HOSTILE), scalar_text)
texts = st.lists(_PIECES, min_size=1, max_size=8).map("".join).filter(bool)
said = texts.filter(lambda text: bool(text.strip(WHITE_SPACE)))
# An ID or a key as another program may write it: any word.
words = texts.map(lambda text: "".join(text.split())).filter(
    lambda text: bool(text.strip(WHITE_SPACE)) and not ITEM_ID.fullmatch(text)
)
keys = st.one_of(hypothesis_ids, hypothesis_ids, hypothesis_ids, words)
_names = st.lists(st.one_of(hypothesis_ids, texts), max_size=2).map(tuple)
_ANCHORS = ("§42", "§42-45", "§127-§129", "EV-001#E1", "inference", "§1, §2 [inference]")
_EXTERNAL = st.sampled_from(["[external: Smith, 2020]", "[external: a[b, *c*]", "[axiomatic]"])
_VALUES: dict[FieldKind, st.SearchStrategy[Any]] = {
    FieldKind.TEXT: said,
    FieldKind.FLAG: st.just(True),
    FieldKind.ANCHORS: st.lists(
        st.one_of(st.sampled_from(_ANCHORS), _EXTERNAL, texts), min_size=1, max_size=3
    ),
    FieldKind.ITEMS: st.lists(st.one_of(hypothesis_ids, texts), min_size=1, max_size=3),
    FieldKind.OUTCOMES: st.dictionaries(keys, texts, min_size=1, max_size=3),
    FieldKind.SCORE: st.dictionaries(st.sampled_from(SCORE_PARTS), st.integers(0, 3), min_size=1),
    FieldKind.REFERENCES: st.lists(
        st.builds(
            Reference,
            st.one_of(thread_ids, texts),
            st.one_of(hypothesis_ids, texts),
            st.sampled_from(RELATIONS),
        ),
        min_size=1,
        max_size=2,
    ),
    FieldKind.DESCRIPTIONS: st.dictionaries(st.one_of(outcome_keys, words), texts, min_size=1),
    FieldKind.RESULTS: st.lists(
        st.builds(
            Result,
            st.one_of(outcome_keys, texts),
            st.sampled_from(POTENCIES),
            _names,
            _names,
            st.one_of(st.none(), texts),
            st.lists(st.one_of(st.sampled_from(EVIDENCE), texts), max_size=2).map(tuple),
            st.one_of(st.none(), texts),
            st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ),
}
_times = st.sampled_from(["2025-12-30T10:00:00Z", "2026-01-05T23:59:59.5+02:00"])
kills = st.builds(KillRecord, st.one_of(agent_names, said), st.one_of(_times, _times, said), said)


def _values(field: Field) -> st.SearchStrategy[Any]:
    if field.kind is FieldKind.CHOICE:
        return st.one_of(st.sampled_from(field.choices), st.sampled_from(field.choices), said)
    return _VALUES[field.kind]


@st.composite
def items(draw: st.DrawFn, section: Section, item_id: str | None = None) -> Item:
    """Any item of a section: every field is there or not."""
    chosen = draw(st.lists(st.sampled_from(list(section.fields.values())), unique=True))
    values = {field.name: draw(_values(field)) for field in chosen}
    is_killed = section is not RESEARCH_THREAD and draw(st.integers(0, 3)) == 0
    named = item_id or draw(st.one_of(st.just(section.example_id), words))
    return Item(named, make_fields(values), draw(kills) if is_killed else None)


@st.composite
def _section(draw: st.DrawFn, section: Section) -> tuple[Item, ...]:
    numbered = st.integers(1, 12).map(lambda number: f"{section.prefix}{number}")
    ids = draw(st.lists(st.one_of(numbered, numbered, words), max_size=2, unique=True))
    return tuple(draw(items(section, item_id)) for item_id in sorted(ids, key=item_sort_key))


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
        st.just(""),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
_maps = st.dictionaries(texts, json_values, max_size=3)
_extra_keys = st.one_of(texts, st.sampled_from(["null", "Yes", "on", "1", "---", "a: b"])).filter(
    lambda key: key not in Metadata._fields
)
metadata = st.builds(
    Metadata,
    session_id=st.one_of(st.none(), thread_ids, thread_ids, texts),
    version=st.one_of(st.none(), st.integers(0, 99)),
    created_at=st.one_of(st.none(), _times, texts),
    updated_at=st.one_of(st.none(), _times),
    compiled_at=st.one_of(st.none(), _times),
    compiled_by=st.one_of(st.none(), agent_names, texts),
    status=st.sampled_from([None, "draft", "active", "closed", "true", "null"]),
    contributors=st.lists(st.one_of(st.sampled_from(["opus", "gpt"]), texts), max_size=3).map(
        tuple
    ),
    agent_mail_message_id=st.one_of(st.none(), st.integers()),
    roster=_maps,
    research_program=_maps,
    extra=st.dictionaries(_extra_keys, json_values, max_size=2),
)


@st.composite
def artifacts(draw: st.DrawFn) -> Artifact:
    """Any artifact in the model's canonical form. A few sections hold items, to stay small."""
    filled = draw(st.lists(st.sampled_from(ITEM_SECTIONS), max_size=3, unique=True))
    return Artifact(
        draw(metadata),
        draw(items(RESEARCH_THREAD, RESEARCH_THREAD.prefix)),
        {s.id: draw(_section(s)) if s in filled else () for s in ITEM_SECTIONS},
    )
