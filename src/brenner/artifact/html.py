"""Render an artifact as one page of HTML: no scripts, no external resources, every text escaped.

Items are anchors (`#H2`). IDs become links where the schema says that they are IDs. Prose is not
searched for IDs here, since `H4` may be a histone.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter, defaultdict
from functools import cache
from hashlib import sha256
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from unicodedata import category

from brenner.artifact.format import sort_outcomes
from brenner.artifact.model import (
    CONDITION_COLUMN,
    ID_COLUMN,
    KILLED_BY,
    LAYOUT,
    LAYOUT_BY_SECTION,
    NONE_REGISTERED,
    REASON,
    SCORE_LABELS,
    TITLE,
    Artifact,
    Item,
    KillRecord,
    Metadata,
    Reference,
    Result,
    SectionLayout,
    in_display_order,
    prediction_columns,
    total_score,
)
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import (
    HYPOTHESIS_SLATE,
    MOST_SCORE,
    PREDICTIONS_TABLE,
    RESEARCH_THREAD,
    SCORE_PARTS,
    Field,
    FieldKind,
    Section,
)
from brenner.protocol.grammar import EVIDENCE_FILE, HYPOTHESIS_REFERENCE, ITEM_ID, MENTION
from brenner.text import escape_control

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jinja2 import Template

    from brenner.artifact.state import Conflict

# Values of an item as HTML: every text escaped, invisible characters made visible, IDs as links


class LinkTargets(NamedTuple):
    """The addresses that a page can link to.

    Keys are items of this session by ID (`H2`), items of other sessions by both IDs
    (`RS-20251228-initial H2`), sections of the source text (`§42`), and records and excerpts of the
    evidence pack (`EV-001#E1`). With `links_in_prose`, the page links them in every text. Otherwise
    it links only fields that the schema declares as IDs.
    """

    session_id: str
    addresses: Mapping[str, str]
    links_in_prose: bool = False

    def link(self, name: str, shown: str) -> str:
        """Return a link if the name has an address, else only the text."""
        address = self.addresses.get(name)
        return f'<a href="{escape(address)}">{shown}</a>' if address else shown


NO_LINK_TARGETS = LinkTargets("", MappingProxyType({}))
# Joiners of scripts and of emoji shape letters and hide nothing.
_JOINERS = "\u200c\u200d"
_SPACE_CATEGORY = "Zs"
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_EXCESS_MARKS = lazy_pattern(f"({_MARK}{{6}})({_MARK}+)")


def text_html(text: str) -> str:
    """Escape a text of one line, including invisible and control characters."""
    return escape(escape_invisible(text))


def lines_html(text: str) -> str:
    """Escape a text of several lines. Keep its line breaks and tabs."""
    return "\n".join("\t".join(map(text_html, line.split("\t"))) for line in text.split("\n"))


def escape_invisible(text: str) -> str:
    """Replace control and format characters by visible escapes. Keep spaces and joiners.

    Keep combining marks too, up to the number that languages use. More of them would cover other
    text.
    """
    if not text.isascii():
        text = _EXCESS_MARKS.sub(_escape_excess_marks, text)
    if text.isprintable():
        return text
    return "".join(
        each
        if each.isprintable() or each in _JOINERS or category(each) == _SPACE_CATEGORY
        else escape_control(each)
        for each in text
    )


def _escape_excess_marks(tower: re.Match[str]) -> str:
    return tower[1] + "".join(f"\\u{ord(each):04x}" for each in tower[2])


def strike_if_killed(html: str, is_killed: bool) -> str:
    """Strike the HTML through if the item is killed."""
    return f"<s>{html}</s>" if is_killed and html else html


def prose_html(text: str, is_killed: bool = False, targets: LinkTargets = NO_LINK_TARGETS) -> str:
    """Render paragraphs, which are separated by blank lines. Line breaks in a paragraph stay."""
    paragraphs = text.replace("\r\n", "\n").split("\n\n")
    return "".join(
        f"<p>{strike_if_killed(_lines_with_links(part, targets), is_killed)}</p>"
        for part in paragraphs
        if part.strip()
    )


def _lines_with_links(text: str, targets: LinkTargets) -> str:
    """Render lines and tabs as they are. The style sheet preserves spaces."""
    return "\n".join(
        "\t".join(_link_mentions(part, targets) for part in line.split("\t"))
        for line in text.strip("\n").split("\n")
    )


def _link_mentions(text: str, targets: LinkTargets) -> str:
    """Escape a text and link the items and sections that the page has addresses for."""
    if not targets.links_in_prose:
        return text_html(text)
    parts, end = [], 0
    for match in MENTION.finditer(text):
        name = _mention_name(match)
        if name in targets.addresses:
            shown = text_html(match[0])
            parts += [text_html(text[end : match.start()]), targets.link(name, shown)]
            end = match.end()
    return "".join([*parts, text_html(text[end:])])


def mentioned_names(text: str) -> Iterator[str]:
    """Yield the keys of `LinkTargets` that a text may refer to."""
    return map(_mention_name, MENTION.finditer(text))


def _mention_name(match: re.Match[str]) -> str:
    """Return the key of a mention. Use the first section of a range. An item after a session ID
    belongs to that session.
    """
    if match["section"]:
        return f"§{int(match['section'])}"
    return f"{match['session']} {match['its']}" if match["session"] else match[0]


def item_link(item_id: str, targets: LinkTargets) -> str:
    """Return an ID, as a link if it has an address."""
    shown = text_html(item_id)
    if item_id in targets.addresses:
        return f'<a class="id" href="{escape(targets.addresses[item_id])}">{shown}</a>'
    return f'<span class="id">{shown}</span>'


def value_html(field: Field, value: Any, targets: LinkTargets, *, is_killed: bool) -> str:
    kind = field.kind
    if kind is FieldKind.OUTCOMES or kind is FieldKind.DESCRIPTIONS:
        linked = targets if kind is FieldKind.OUTCOMES else NO_LINK_TARGETS
        return _plain_list(
            (
                f"{item_link(key, linked)} {_lines_with_links(outcome, targets)}"
                for key, outcome in sort_outcomes(value)
            ),
            is_killed,
        )
    if kind is FieldKind.RESULTS or kind is FieldKind.REFERENCES:
        return _plain_list((_element_html(each, targets) for each in value), is_killed)
    if kind is FieldKind.ANCHORS:
        return prose_html(", ".join(value), is_killed, targets)
    if kind is FieldKind.FLAG:
        html = "yes"
    elif kind is FieldKind.ITEMS:
        html = ", ".join(item_link(each, targets) for each in value)
    elif kind is FieldKind.SCORE:
        html = ", ".join(
            f"{SCORE_LABELS[part]} {value[part]}" for part in SCORE_LABELS if part in value
        )
    elif field.names_items:
        html = _link_hypotheses(value, targets)
    else:
        return prose_html(value, is_killed, targets)
    return f"<p>{strike_if_killed(html, is_killed)}</p>"


def entry_html(field: Field, value: object, targets: LinkTargets, *, is_killed: bool) -> str:
    """Render one entry of a field: an element of a list, or the value under a key of a map.

    Any other value is rendered as text.
    """
    if field.kind is FieldKind.ANCHORS:
        return strike_if_killed(_link_mentions(str(value), targets), is_killed)
    if field.kind is FieldKind.ITEMS:
        return strike_if_killed(item_link(str(value), targets), is_killed)
    if isinstance(value, Reference | Result):
        return strike_if_killed(_element_html(value, targets), is_killed)
    if field.names_items:
        return f"<p>{strike_if_killed(_link_hypotheses(str(value), targets), is_killed)}</p>"
    if field.kind is FieldKind.SCORE or isinstance(value, bool):
        return strike_if_killed("yes" if value is True else text_html(str(value)), is_killed)
    return prose_html(str(value), is_killed, targets)


def conflict_value_html(value: object) -> str:
    """Render a value of a conflict; None means that it was removed."""
    if value is None:
        return "<p>(removed)</p>"
    if isinstance(value, tuple):
        return prose_html(", ".join(map(str, value)))
    return prose_html("yes" if value is True else str(value))


def _link_hypotheses(text: str, targets: LinkTargets) -> str:
    parts, end = [], 0
    for match in HYPOTHESIS_REFERENCE.finditer(text):
        parts += [text_html(text[end : match.start()]), item_link(match[0], targets)]
        end = match.end()
    return "".join([*parts, text_html(text[end:])])


def _element_html(element: Reference | Result, targets: LinkTargets) -> str:
    if isinstance(element, Result):
        return _result_html(element, targets)
    return _reference_html(element, targets)


def _reference_html(reference: Reference, targets: LinkTargets) -> str:
    if reference.session == targets.session_id:
        return f"{text_html(reference.relation)} {item_link(reference.item, targets)}"
    name = f"{reference.session} {reference.item}"
    place = targets.link(name, text_html(name))
    return f'{text_html(reference.relation)} <span class="id">{place}</span>'


def _result_html(result: Result, targets: LinkTargets) -> str:
    """Render a result in lines: what was observed, what it means, its evidence, and the note."""
    verdict = ", and ".join(
        f"{word} {' and '.join(item_link(each, targets) for each in ids)}"
        for word, ids in (("contradicts", result.contradicts), ("supports", result.supports))
        if ids
    )
    derived = " (derived from the expected outcomes)" if result.derived else ""
    potency = f"potency {text_html(result.potency.replace('_', ' '))}"
    evidence = ", ".join(_evidence_html(each, targets) for each in result.evidence)
    origin = f"evidence {evidence}" if evidence else "claimed, without evidence"
    at = _FRACTION.sub("", result.observed_at or "")
    lines = [
        f"<strong>{_lines_with_links(result.outcome, targets)}</strong>",
        f"{verdict or 'no verdict'}{derived}; {potency}",
        f"{origin}; observed {text_html(at)}" if at else origin,
        _lines_with_links(result.note, targets) if result.note else "",
    ]
    return "<br>".join(filter(None, lines))


_FRACTION = lazy_pattern(r"(?<=:[0-9]{2})[.,][0-9]+")  # of a second
_DIGITS_OF_HASH = 12


def _evidence_html(evidence: str, targets: LinkTargets) -> str:
    """Render an anchor with its link, or a file with the beginning of its SHA-256."""
    file = EVIDENCE_FILE.fullmatch(evidence)
    if not file:
        return _link_mentions(evidence, targets)
    digest = file["sha256"][:_DIGITS_OF_HASH]
    whole = f'<span title="SHA-256 {file["sha256"]}">SHA-256 {digest}…</span>'
    return f"<code>{text_html(file['path'])}</code> ({whole})"


def _plain_list(entries: Iterable[str], is_killed: bool) -> str:
    rows = "".join(f"<li>{strike_if_killed(entry, is_killed)}</li>" for entry in entries)
    return f'<ul class="plain">{rows}</ul>'


# The page: a template escapes every value with `text_html`, unless a function made HTML of it

_NOT_STATED = "not stated"
# Fields that the heading of an item shows already
_IN_HEADING = {RESEARCH_THREAD.id: "statement", HYPOTHESIS_SLATE.id: "third_alternative"}


def artifact_html(artifact: Artifact, conflicts: Iterable[Conflict] = (), verdict: str = "") -> str:
    """Return the whole page. `verdict` is the linter's result as text."""
    metadata = artifact.metadata
    version = f"v{metadata.version}" if metadata.version is not None else ""
    by_item: dict[str, list[Conflict]] = defaultdict(list)
    for conflict in conflicts:
        by_item[conflict.item_id].append(conflict)
    names = ", ".join(metadata.contributors)
    return _template().render(
        _page_functions(_page_targets(artifact)),
        hypotheses=prediction_columns(artifact),
        killed_hypotheses={i.id for i in artifact.sections[HYPOTHESIS_SLATE.id] if i.killed},
        metadata=metadata,
        version=version,
        facts=_join_nonempty([version, metadata.status or "", verdict, names and f"from {names}"]),
        times=_join_nonempty(_times(metadata)),
        conflicts=by_item,
        sections=[(layout, _items(artifact, layout.section)) for layout in LAYOUT],
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def escape_value(value: object) -> Markup:
        return value if isinstance(value, Markup) else Markup(text_html(str(value)))  # noqa: S704

    jinja = Environment(
        loader=PackageLoader("brenner.artifact"),
        autoescape=True,
        finalize=escape_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.globals |= {
        "policy": _content_security_policy,
        "name": TITLE,
        "none_registered": NONE_REGISTERED,
        "id_column": ID_COLUMN,
        "condition_column": CONDITION_COLUMN,
        "max_points": MOST_SCORE * len(SCORE_PARTS),
        "total_score": total_score,
    }
    return jinja.get_template("artifact.html")


def _content_security_policy(style: str) -> str:
    """Load nothing, run nothing, and allow only this style sheet."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    allowed = f"style-src 'sha256-{digest}'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _page_targets(artifact: Artifact) -> LinkTargets:
    """Return the anchors of the page. Only a well-formed, unique ID can be an anchor."""
    times = Counter(item.id for _, item in artifact.all_items())
    anchors = (item_id for item_id, count in times.items() if count == 1)
    addresses = {item_id: f"#{item_id}" for item_id in filter(ITEM_ID.fullmatch, anchors)}
    return LinkTargets(artifact.metadata.session_id or "", addresses)


def _page_functions(targets: LinkTargets) -> dict[str, Callable[..., object]]:
    """Return the functions of the template. Those that make HTML mark it as such."""
    from markupsafe import Markup

    def value(section: Section, name: str, item: Item) -> Markup:
        is_killed = not item.is_active
        html = value_html(section.fields[name], item.fields[name], targets, is_killed=is_killed)
        return Markup(html)  # noqa: S704

    def prose(text: str, is_killed: object = None) -> Markup:
        return Markup(prose_html(text, bool(is_killed)))  # noqa: S704

    def kill_fields(killed: KillRecord | None) -> list[tuple[str, Markup]]:
        """Return the agent and time, and the reason, not struck through."""
        if killed is None:
            return []
        who = _join_nonempty([killed.agent, killed.at], ", ")
        both = ((KILLED_BY, who), (REASON, killed.reason))
        return [(label, prose(text or _NOT_STATED)) for label, text in both]

    def item_fields(item: Item, layout: SectionLayout) -> list[tuple[str, Markup]]:
        hidden = _IN_HEADING.get(layout.section.id)
        shown = [
            (label, value(layout.section, name, item))
            for name, label in layout.labels.items()
            if name in item.fields and name != hidden
        ]
        return shown + kill_fields(item.killed)

    def row_fields(row: Item) -> list[tuple[str, Markup]]:
        """Return the fields of a prediction that have no column."""
        shown = [
            (label, value(PREDICTIONS_TABLE, name, row))
            for name, label in LAYOUT_BY_SECTION[PREDICTIONS_TABLE.id].labels.items()
            if name in row.fields
        ]
        fields = shown + kill_fields(row.killed)
        return [(f"{row.id} {label.lower()}", text) for label, text in fields]

    return {
        "anchor": lambda item: Markup(f' id="{item.id}"' if item.id in targets.addresses else ""),  # noqa: S704
        "link": lambda item_id: Markup(item_link(item_id, targets)),  # noqa: S704
        "prose": prose,
        "conflict_value": lambda value: Markup(conflict_value_html(value)),  # noqa: S704
        "item_fields": item_fields,
        "row_fields": row_fields,
    }


def _items(artifact: Artifact, section: Section) -> list[Item]:
    if section is RESEARCH_THREAD:
        return [artifact.research_thread] if artifact.research_thread.fields else []
    return in_display_order(section, artifact.sections[section.id])


def _times(metadata: Metadata) -> list[str]:
    by = f" by {metadata.compiled_by}" if metadata.compiled_by else ""
    return [
        f"Compiled {metadata.compiled_at}{by}" if metadata.compiled_at else "",
        f"last change {metadata.updated_at}" if metadata.updated_at else "",
        f"begun {metadata.created_at}" if metadata.created_at else "",
    ]


def _join_nonempty(facts: Iterable[str], between: str = " · ") -> str:
    return between.join(filter(None, facts))
