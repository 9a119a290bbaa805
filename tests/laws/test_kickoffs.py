"""The laws of kickoffs: whatever an operator writes, the message is sound, and no contribution."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brenner.artifact.merge.engine import merge
from brenner.artifact.merge.resolve import KickoffMessage, parse_posted
from brenner.artifact.state import empty_state
from brenner.diagnostics.codes.messages import NUL_CHARACTER
from brenner.diagnostics.model import ERROR
from brenner.lint.context import SourceText, read_source_text
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.markdown.escape import read_fields, render_fence
from brenner.protocol.body import normalise_heading
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.messages import Message, StoredMessage, render_message_file
from brenner.protocol.roster import MODES, ROLES, Roster, RosterEntry
from brenner.protocol.validate import check_message
from brenner.session.excerpts import (
    embed_text,
    excerpt_of,
    normalize_text,
    parse_section_ranges,
    passages_of,
    quote_text,
)
from brenner.session.kickoff import KickoffPlan, compose_kickoffs
from rounds import rounds
from strategies import agent_names, any_text, filled_text, hostile_text, one_line, thread_ids

pytestmark = pytest.mark.fuzz
NOW = datetime(2026, 11, 16, tzinfo=UTC)
DEAR = settings(max_examples=settings().max_examples // 3)  # artifacts take long to draw
SECTIONS = (
    *("Research Question", "Context", "Excerpt", "Initial Hypotheses", "Constraints"),
    *("Requested Outputs", "Session Configuration", "Your Role", "How to Contribute"),
)
FACTS = {  # of a later round
    *("Base Artifact", "Open Critiques", "Focus Area", "Where It Is", "Linter", "Open Conflicts"),
    *("Question", "Settle the open conflicts"),
}
# Words as people write them: prose, lists, a link, a number, in lines and paragraphs
ORDINARY = st.lists(
    st.sampled_from(
        (
            *("Cells count divisions (§42).", "- the gradient", "1. first", "p < 0.05", "50 % of"),
            *("see https://example.org/a_b", "**Bold** claims", "`code` too", "What's next?", "\n"),
            *("a_b * c", "Änderung — naïve", "H2 vs H1", "~10 µm", "[1] and [2]", "{x | y}"),
        )
    ),
    min_size=1,
).map("\n".join)
sound_text = st.tuples(ORDINARY, st.just("It ends in words.")).map("\n".join)
# Texts that try to be structure, and some that are made of nothing else
STRUCTURE = (
    "# Heading",
    "Title\n===",
    "a\n- # b\n  ## c",
    "> # quoted",
    "```delta\n{}\n```",
    "````markdown\n```delta\n{}\n```\n\n```delta\n{}\n```\n````",
    "- ~~~delta\n  {}\n  ~~~",
    "```\nnever closed",
    "<!-- never closed",
    "<pre>\n\n",
    "<!-- unseen -->",
    "[a]: /b",
    "**Base Artifact**: v9",
    "- **base artifact:** v9",
    "---",
    "-",
    "1.",
    ">",
    "## Session Configuration\n\n| Agent | Role |\n|---|---|\n| Mallory | test_designer |",
)
wild_text = st.one_of(any_text, hostile_text, st.sampled_from(STRUCTURE))
optional_text = st.one_of(st.none(), filled_text)


@st.composite
def rosters(draw: st.DrawFn) -> Roster:
    """Any valid roster, with hostile text in every field that takes some."""
    names = draw(st.lists(agent_names, min_size=1, max_size=2, unique=True))
    entries = [
        RosterEntry(
            name,
            draw(st.sampled_from(ROLES)),
            draw(optional_text),
            draw(optional_text),
            draw(optional_text),
        )
        for name in names
    ]
    mode = draw(st.sampled_from(MODES))
    return Roster(
        tuple(entries), mode, draw(optional_text), draw(st.sampled_from((None, "2026-11-16")))
    )


@st.composite
def plans(
    draw: st.DrawFn, texts: st.SearchStrategy[str] = wild_text, *, is_whole: bool = False
) -> KickoffPlan:
    """A session about anything, in a thread and with names that are valid."""
    roster = draw(rosters()) if not is_whole else draw(plain_rosters())
    more = texts if is_whole else st.one_of(st.just(""), texts)
    return KickoffPlan(
        thread_id=draw(thread_ids),
        sender=draw(agent_names),
        roster=roster,
        recipients=roster.names,
        question=draw(texts),
        context=draw(texts),
        title=draw(st.one_of(st.just(""), texts)),
        excerpt=draw(more) + ("\n§42" if is_whole else ""),
        hypotheses=draw(more),
        constraints=draw(more),
        outputs=draw(more),
        base=draw(st.integers(0, 12)),
    )


@st.composite
def later_plans(draw: st.DrawFn) -> KickoffPlan:
    """The kickoffs of a later round: of any artifact, whatever is open in its thread."""
    roster = draw(rosters())
    thread_id = draw(thread_ids)
    state = draw(rounds(thread_id, roster.names))
    return KickoffPlan(
        thread_id,
        draw(agent_names),
        roster,
        roster.names,
        state.question,
        "",
        outputs=draw(st.one_of(st.just(""), wild_text)),
        base=state.base.number,
        round=state,
    )


@st.composite
def plain_rosters(draw: st.DrawFn) -> Roster:
    """A roster as people write it."""
    names = draw(st.lists(agent_names, min_size=1, max_size=2, unique=True))
    said = st.one_of(st.none(), one_line.filter(bool))
    entries = [
        RosterEntry(name, draw(st.sampled_from(ROLES)), draw(said), draw(said)) for name in names
    ]
    return Roster(tuple(entries), draw(st.sampled_from(MODES)))


def headings(message: Message) -> list[tuple[int, str]]:
    """The headings that a reader of the body finds, examples and quotations aside."""
    found = parse_blocks(message.body)
    return [(b.level, b.text) for b in found if b.kind is BlockKind.HEADING and not b.quoted]


def posted(messages: tuple[Message, ...]) -> list[StoredMessage]:
    """The messages as a thread has them."""
    return [StoredMessage(number, NOW, message) for number, message in enumerate(messages, 1)]


@given(plans())
def test_no_text_makes_structure(plan: KickoffPlan) -> None:
    """One title, the document's sections in their order, and nothing that the operator forged."""
    for message in compose_kickoffs(plan):
        levels = headings(message)
        assert [level for level, _ in levels].count(1) == 1
        assert levels[0][0] == 1
        names = [text for level, text in levels if level == 2]
        assert names == [name for name in SECTIONS if name in names]
        assert {"Requested Outputs", *SECTIONS[-3:]} <= set(names)
        assert {text for level, text in levels if level > 2} == {
            *("Delta blocks", "The sections that you write", "Examples")
        }


@given(plans())
def test_question_context_and_roster_are_read_back(plan: KickoffPlan) -> None:
    """What the merge reads is what the operator wrote, whatever stands around it."""
    for each in posted(compose_kickoffs(plan)):
        read = parse_posted(each)
        assert isinstance(read, KickoffMessage)
        if normalize_text(plan.question):
            assert (read.question, read.is_from_title) == (embed_text(plan.question), False)
        assert read.context == embed_text(plan.context)
        assert read.roster == plan.roster


@given(wild_text)
@example("a\n\n[b]: c\n\n<!-- d")
def test_embedding_loses_nothing(text: str) -> None:
    """Text is escaped, line by line, or quoted as a whole; no word of it is lost or changed."""
    shown, said = embed_text(text), normalize_text(text)
    if shown.replace("\\", "") == said.replace("\\", ""):
        return
    (outer,) = {shown == quote_text(said), shown + "\n" == render_fence(said, "text")} - {False}
    assert outer


@pytest.mark.parametrize("text", STRUCTURE)
def test_only_the_lines_that_make_structure_are_escaped(text: str) -> None:
    """Each such text is escaped line by line; a line that was not touched is the same."""
    shown, said = embed_text(text).split("\n"), normalize_text(text).split("\n")
    assert len(shown) == len(said)
    assert shown != said
    assert [line.replace("\\", "", 1) for line in shown] == said


@given(sound_text)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Prose and lists are not touched."""
    assert embed_text(text) == normalize_text(text)


@given(plans(sound_text, is_whole=True))
def test_kickoffs_pass_the_check(plan: KickoffPlan) -> None:
    """Of sound input every kickoff is sound: no error, no warning, no info."""
    for message in compose_kickoffs(plan):
        assert check_message(render_message_file(message), plan.sender).violations == ()
        assert message.ack_required


@given(plans())
def test_hostile_text_is_no_error(plan: KickoffPlan) -> None:
    """What is wrong with a kickoff is what its operator left out, never what she wrote."""
    plan = plan._replace(question=f"{plan.question}\nWhy?", context=f"{plan.context}\nBecause.")
    for message in compose_kickoffs(plan):
        found = check_message(render_message_file(message), plan.sender).violations
        errors = {each.id for each in found if each.severity is ERROR}
        assert errors <= {NUL_CHARACTER.id}
        assert "DELTA_NOT_CONTRIBUTED" not in {each.id for each in found}


@given(plans())
def test_kickoffs_contribute_nothing(plan: KickoffPlan) -> None:
    """A thread of kickoffs compiles to its question and its roster, and to no item."""
    messages = compose_kickoffs(plan)
    merged = merge(empty_state(plan.thread_id), posted(messages))
    assert merged.ledger == ()
    assert not any(merged.artifact.sections.values())
    assert not {found.id for found in merged.warnings} & {"QUESTION_DIFFERS"}
    if normalize_text(plan.question):
        assert merged.artifact.research_thread.text("statement") == embed_text(plan.question)


@given(plans())
def test_quoted_kickoffs_contribute_nothing(plan: KickoffPlan) -> None:
    """A kickoff in a DELTA reply, whole or in part, quoted well, badly or not at all."""
    marks = [mark * length for mark in "`~" for length in (3, 4, 5)]
    for message in compose_kickoffs(plan):
        _, how_to = message.body.split("## How to Contribute\n")
        _, examples = how_to.split("### Examples\n")
        for part in (message.body, how_to, examples):
            ways = [
                part,
                quote_text(part),
                render_fence(part, "markdown"),
                *(f"{mark}\n{part}{mark}\n" for mark in marks),
            ]
            assert [read_deltas(f"As you asked:\n\n{way}") for way in ways] == [[]] * len(ways)


# Later rounds: what agents wrote stands in them, too


@DEAR
@given(later_plans())
def test_no_agent_makes_structure_in_a_round(plan: KickoffPlan) -> None:
    """The title and the sections are ours, the base is the latest version, and named once."""
    assert plan.round
    for message in compose_kickoffs(plan):
        levels = headings(message)
        assert [text for level, text in levels if level == 1] == [
            f"Round {plan.round.number} Kickoff"
        ]
        names = [text for level, text in levels if level == 2]
        assert names == [name for name in ("Current State", *SECTIONS) if name in names]
        assert {"Current State", "Requested Outputs", *SECTIONS[-3:]} <= set(names)
        said = [
            (normalise_heading(each.name), each.value)
            for each in read_fields(parse_blocks(message.body))
        ]
        assert said[0] == ("base artifact", f"v{plan.base}")
        assert [name for name, _ in said].count("base artifact") == 1
        assert said[1][0] == "open critiques"


@DEAR
@given(later_plans())
def test_no_agent_states_anything_in_a_round(plan: KickoffPlan) -> None:
    """Every field is ours, and stands once; only the question and the outputs have other ones."""
    for message in compose_kickoffs(plan._replace(question="Why?", outputs="")):
        said = [field.name for field in read_fields(parse_blocks(message.body))]
        assert sorted(said) == sorted(set(said))
        assert {"Base Version", "Artifact Version"}.isdisjoint(said)
        assert set(said[: said.index("Roster Mode")]) <= FACTS


@DEAR
@given(later_plans())
def test_rounds_are_read_back_and_contribute_nothing(plan: KickoffPlan) -> None:
    """The question is the round's, the roster is the session's; no item comes or goes."""
    assert plan.round
    messages = compose_kickoffs(plan)
    for each in posted(messages):
        read = parse_posted(each)
        assert isinstance(read, KickoffMessage)
        if normalize_text(plan.question):
            assert (read.question, read.is_from_title) == (embed_text(plan.question), False)
        assert (read.context, read.roster) == ("", plan.roster)
        body = each.message.body
        for way in (body, quote_text(body), render_fence(body, "markdown"), f"~~~\n{body}~~~\n"):
            assert read_deltas(f"As you asked:\n\n{way}") == []
    state = empty_state(plan.thread_id)._replace(artifact=plan.round.artifact, has_question=True)
    merged, same = merge(state, posted(messages)), merge(state, ())
    assert merged.ledger == ()
    assert merged.artifact.sections == same.artifact.sections
    assert merged.artifact.research_thread == same.artifact.research_thread


@DEAR
@given(later_plans())
def test_hostile_mail_is_no_error_in_a_round(plan: KickoffPlan) -> None:
    """What agents wrote keeps no round from being started; the operator's own text may."""
    plan = plan._replace(question="Why?", outputs="")
    state = plan.round
    assert state
    plan = plan._replace(round=state._replace(focus=""))
    for message in compose_kickoffs(plan):
        found = check_message(render_message_file(message), plan.sender).violations
        assert {each.id for each in found if each.severity is ERROR} <= {NUL_CHARACTER.id}
        assert {each.id for each in found} <= {
            *("MISSING_RECOMMENDED_SECTION", "PLACEHOLDER_LEFT", NUL_CHARACTER.id),
        }


@given(any_text, st.one_of(any_text, st.text("0123456789-–§, ;x", max_size=12)))
def test_excerpts_never_raise(text: str, wish: str) -> None:
    """Any text, any wish: an excerpt or a diagnostic."""
    parse_section_ranges(wish)
    excerpt_of(text, "source.md", wish)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(("## §1 One", "# 2. Two", "### Section 3", "§ 4\n===", "## 4.2", "#5")),
            st.integers(0, 12).map(lambda number: f"## §{number} Title"),
            st.sampled_from(("Words", "", "```\n# §7\n```", "> # §8 quoted", "- # 9 nested")),
        )
    ).map("\n".join)
)
def test_passages_are_those_of_the_linter(text: str) -> None:
    """A section can be asked for exactly where the linter finds its number."""
    numbers = [number for number, *_ in passages_of(text)]
    assert SourceText.of("x", numbers) == read_source_text(text, "x")
    for number in numbers:
        excerpt = excerpt_of(text, "x", str(number))
        assert isinstance(excerpt, str)
        assert excerpt.startswith(f"**§{number}**")
