"""Starting a session: who gets what, once, and what stops it before anything is sent."""

from datetime import date
from pathlib import Path

import pytest

import brenner
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.model import Profile
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.messages import Message, StoredMessage
from brenner.protocol.validate import check_stored
from brenner.services.rosters import RosterRequest
from brenner.services.start_session import (
    KickoffState,
    SessionThread,
    Started,
    StartOptions,
    StartStatus,
    start_session,
)
from brenner.services.workspace import Workspace
from brenner.session.excerpts import MOST_EXCERPT_CHARACTERS
from brenner.session.kickoff import compose_kickoffs
from kickoffs import CONTEXT, EXCERPT, PLAN, QUESTION, THREAD, section
from operator_workspace import SETTINGS, workspace

TODAY = date(2026, 11, 16)
PEOPLE = (
    ("BlueLake", "hypothesis_generator"),
    ("PurpleMountain", "test_designer"),
    ("GreenValley", "adversarial_critic"),
)
NAMES = [name for name, _ in PEOPLE]
OPTIONS = StartOptions(
    QUESTION,
    CONTEXT,
    RosterRequest(recipients=PEOPLE),
    excerpt=EXCERPT,
    thread_id=THREAD,
    today=TODAY,
)
__all__ = ["workspace"]


def mail(workspace: Workspace) -> list[StoredMessage]:
    """Everything that was sent."""
    return list(workspace.mailbox.arrivals(0))


def states(done: Started) -> list[tuple[str, KickoffState, int | None]]:
    """What became of each kickoff."""
    return [
        (", ".join(each.message.recipients), each.state, each.stored.id if each.stored else None)
        for each in done.kickoffs
    ]


def codes(done: Started) -> list[str]:
    """The codes of what was found."""
    return [each.id for each in done.diagnostics]


def known(workspace: Workspace) -> list[str]:
    """Who is registered."""
    return [agent.name for agent in workspace.mailbox.agents()]


def asked(*recipients: tuple[str, str | None], **others: object) -> StartOptions:
    """The usual options with other recipients, and whatever else is other."""
    wish = RosterRequest(recipients=recipients)
    return OPTIONS._replace(wish=wish, **others)  # type: ignore[arg-type]


def test_each_gets_one_and_is_made_known(workspace: Workspace) -> None:
    """Names are registered with program and model of the roster; each owes an ACK."""
    done = start_session(workspace, OPTIONS)
    assert (done.thread_id, done.status, done.diagnostics) == (THREAD, StartStatus.SENT, ())
    assert states(done) == [(name, KickoffState.SENT, n) for n, name in enumerate(NAMES, 1)]
    assert [each.role for each in done.kickoffs] == [role for _, role in PEOPLE]
    assert list(done.registered) == NAMES
    assert [stored.message for stored in mail(workspace)] == [
        each.message for each in done.kickoffs
    ]
    assert [check_stored(stored.message).violations for stored in mail(workspace)] == [()] * 3
    assert {debt.debtor for debt in workspace.mailbox.debts()} == set(NAMES)
    again = start_session(workspace, OPTIONS)
    assert (again.status, again.registered) == (StartStatus.NOTHING, ())
    assert states(again) == [(name, KickoffState.SENT_BEFORE, n) for n, name in enumerate(NAMES, 1)]
    assert len(mail(workspace)) == 3


def test_program_and_model_of_the_roster(workspace: Workspace) -> None:
    """Only of those who are new: what is known of others stays."""
    workspace.mailbox.register(Profile("BlueLake", "my-own", "tiny"))
    wish = RosterRequest(preset="default-3-agent", recipients=tuple((name, None) for name in NAMES))
    done = start_session(workspace, OPTIONS._replace(wish=wish))
    assert list(done.registered) == NAMES[1:]
    agents = {agent.name: (agent.program, agent.model) for agent in workspace.mailbox.agents()}
    assert agents["BlueLake"] == ("my-own", "tiny")
    assert agents["PurpleMountain"] == ("claude-code", "Opus 4.5")


def test_sender_who_is_not_known(tmp_path: Path, workspace: Workspace) -> None:
    """Whoever starts the session is made known, too."""
    with brenner.open(str(tmp_path), actor="Ada") as hers:
        done = start_session(hers, OPTIONS)
    assert list(done.registered) == ["Ada", *NAMES]
    assert {stored.message.sender for stored in mail(workspace)} == {"Ada"}


def test_interrupted_kickoff_is_finished(workspace: Workspace) -> None:
    """Whoever has got the question gets no second one, also if she got it in another way."""
    (first, *_) = compose_kickoffs(PLAN)
    workspace.mailbox.register(Profile("BlueLake"))
    workspace.mailbox.send(first)
    done = start_session(workspace, OPTIONS._replace(question=QUESTION.replace(" ", "\n  ")))
    assert (done.status, list(done.registered)) == (StartStatus.SENT, NAMES[1:])
    assert [state for _, state, _ in states(done)] == [
        KickoffState.SENT_BEFORE,
        KickoffState.SENT,
        KickoffState.SENT,
    ]
    assert len(mail(workspace)) == 3


def test_more_recipients_later(workspace: Workspace) -> None:
    """A changed roster: those who are new get theirs, and see the new roster."""
    start_session(workspace, asked(*PEOPLE[:2]))
    done = start_session(workspace, OPTIONS)
    assert [state for _, state, _ in states(done)] == [
        *(KickoffState.SENT_BEFORE, KickoffState.SENT_BEFORE, KickoffState.SENT)
    ]
    assert "| GreenValley | adversarial_critic |" in mail(workspace)[-1].message.body


def test_kickoff_of_another_question_does_not_count(workspace: Workspace) -> None:
    """Who was asked something else in the thread has not been asked this."""
    start_session(workspace, asked(*PEOPLE[:1]))
    refined = compose_kickoffs(PLAN._replace(question="Do cells forget?"))[1]
    workspace.mailbox.register(Profile("PurpleMountain"))
    workspace.mailbox.send(refined)
    done = start_session(workspace, asked(*PEOPLE[:2]))
    assert states(done) == [
        ("BlueLake", KickoffState.SENT_BEFORE, 1),
        ("PurpleMountain", KickoffState.SENT, 3),
    ]


def test_changed_role_is_told(workspace: Workspace) -> None:
    """No second kickoff goes out, and the operator hears that the first one said otherwise."""
    start_session(workspace, asked(*PEOPLE[:1]))
    done = start_session(workspace, asked(("BlueLake", "adversarial_critic")))
    assert (done.status, codes(done)) == (StartStatus.NOTHING, ["ROLE_CHANGED"])
    assert done.kickoffs[0].role == "hypothesis_generator"
    assert "as hypothesis_generator (message 1); the roster says adversarial_critic now" in (
        done.diagnostics[0].message
    )


def test_unified_goes_to_those_who_are_missing(workspace: Workspace) -> None:
    """One message for all; later one for those who have come to it."""
    wish = RosterRequest(unified=True, recipients=PEOPLE[:2])
    assert states(start_session(workspace, OPTIONS._replace(wish=wish))) == [
        ("BlueLake, PurpleMountain", KickoffState.SENT, 1)
    ]
    later = start_session(workspace, OPTIONS._replace(wish=wish._replace(recipients=PEOPLE)))
    assert states(later) == [
        ("BlueLake, PurpleMountain", KickoffState.SENT_BEFORE, 1),
        ("GreenValley", KickoffState.SENT, 2),
    ]
    assert later.kickoffs[0].role is None
    assert mail(workspace)[1].message.recipients == ("GreenValley",)


def test_another_question_is_an_error(workspace: Workspace) -> None:
    """The question that is there is shown, and nothing is sent."""
    start_session(workspace, OPTIONS)
    done = start_session(workspace, OPTIONS._replace(question="Do cells forget?", context="Other."))
    assert (done.status, codes(done)) == (StartStatus.REFUSED, ["OTHER_QUESTION"])
    assert f"asked in message 1: “{QUESTION}”" in done.diagnostics[0].message
    assert len(mail(workspace)) == 3


def test_thread_with_other_mail_can_be_used(workspace: Workspace) -> None:
    """A bead has mail before it has a session; who asks there is asked what the bead is about."""
    note = Message(
        "brenner_bot-5so.1", "Operator", ("Operator",), "INFO: x", "# Information\n\nx\n"
    )
    workspace.mailbox.send(note)
    options = OPTIONS._replace(thread_id=None, bead="brenner_bot-5so.1")
    done = start_session(workspace, options)
    assert (done.thread_id, done.status) == ("brenner_bot-5so.1", StartStatus.SENT)
    wrong = start_session(workspace, OPTIONS._replace(thread_id=None, bead="RS-20251230-cell-fate"))
    assert (wrong.thread_id, codes(wrong)) == (None, ["INVALID_BEAD_ID"])


def test_generated_thread(workspace: Workspace) -> None:
    """Named after the question; of today, with the very question, it is the one to finish."""
    options = OPTIONS._replace(thread_id=None)
    first = start_session(workspace, options)
    assert first.thread_id == "RS-20261116-cells-know-fate"
    assert start_session(workspace, options).status is StartStatus.NOTHING
    other = start_session(
        workspace, options._replace(question="How do cells know their fate, though?")
    )
    assert other.thread_id == "RS-20261116-cells-know-fate-though"
    same_words = options._replace(question="Know the cells fate?")
    assert start_session(workspace, same_words).thread_id == "RS-20261116-know-cells-fate"
    tomorrow = start_session(workspace, options._replace(today=date(2026, 11, 17)))
    assert tomorrow.thread_id == "RS-20261117-cells-know-fate"


RESPELT = ["how do cells know their fate", "HOW do cells  know their fate?!", f" {QUESTION} …"]


@pytest.mark.parametrize("question", RESPELT)
@pytest.mark.parametrize("thread_id", [None, "RS-20261116-cells-know-fate"])
def test_question_written_otherwise(
    workspace: Workspace, question: str, thread_id: str | None
) -> None:
    """It is the same: nobody is asked twice, and whoever comes to it is asked in its words."""
    first = start_session(workspace, asked(*PEOPLE[:2], thread_id=None))
    assert first.thread_id == "RS-20261116-cells-know-fate"
    done = start_session(workspace, OPTIONS._replace(question=question, thread_id=thread_id))
    assert (done.thread_id, codes(done)) == (first.thread_id, ["QUESTION_RESPELT"])
    assert f"`{first.thread_id}`, asked in message 1: “{QUESTION}”" in done.diagnostics[0].message
    assert "`--thread-id`" in done.diagnostics[0].fix
    assert [state for _, state, _ in states(done)] == [
        *(KickoffState.SENT_BEFORE, KickoffState.SENT_BEFORE, KickoffState.SENT)
    ]
    assert {section(each.message, "Research Question") for each in mail(workspace)} == {QUESTION}
    again = start_session(workspace, OPTIONS._replace(question=question, thread_id=thread_id))
    assert (again.status, len(mail(workspace))) == (StartStatus.NOTHING, 3)


def test_the_very_words_are_found_first(workspace: Workspace) -> None:
    """Where two threads of today ask alike, the one with these words is meant."""
    for place, question in enumerate((QUESTION, QUESTION.upper())):
        start_session(
            workspace, OPTIONS._replace(question=question, thread_id=f"RS-20261116-x-{place}")
        )
    for place, question in enumerate((QUESTION, QUESTION.upper())):
        done = start_session(workspace, OPTIONS._replace(question=question, thread_id=None))
        assert (done.thread_id, done.status) == (f"RS-20261116-x-{place}", StartStatus.NOTHING)
        assert "QUESTION_RESPELT" not in codes(done)


def test_only_marks_are_a_question_of_their_own(workspace: Workspace) -> None:
    """What has no words is compared as it stands."""
    start_session(workspace, OPTIONS._replace(question="??"))
    assert codes(start_session(workspace, OPTIONS._replace(question="!")))[0] == "OTHER_QUESTION"


@pytest.mark.parametrize(
    ("changed", "sections"),
    [
        ({"context": "More is known."}, "`## Context`"),
        ({"excerpt": "§43: other"}, "`## Excerpt`"),
        ({"excerpt": "", "constraints": "Soon."}, "`## Excerpt`, `## Constraints`"),
        ({"outputs": "A table."}, "`## Requested Outputs`"),
    ],
)
def test_other_texts_are_told(workspace: Workspace, changed: dict[str, str], sections: str) -> None:
    """What is there stays; whoever is new gets what was asked for; nothing happens in silence."""
    start_session(workspace, asked(*PEOPLE[:2]))
    other = OPTIONS._replace(**changed)  # type: ignore[arg-type]
    done = start_session(workspace, other._replace(wish=RosterRequest(recipients=PEOPLE[:2])))
    (found,) = [each for each in done.diagnostics if each.id == "CONTEXT_DIFFERS"]
    assert (done.status, found.severity) == (StartStatus.NOTHING, "warning")
    assert found.message == (
        f"Message 1, with which the session began, has other words under {sections}. "
        "Nobody gets the new ones."
    )
    added = start_session(workspace, other)
    (found,) = [each for each in added.diagnostics if each.id == "CONTEXT_DIFFERS"]
    assert "The new ones are for GreenValley only; the others keep theirs." in found.message
    assert (added.status, len(mail(workspace))) == (StartStatus.SENT, 3)
    assert all(text in mail(workspace)[2].message.body for text in changed.values())


def test_the_same_texts_are_no_others(workspace: Workspace) -> None:
    """However they are wrapped, and whatever in them had to be escaped."""
    hostile = "# Not a heading\n\n```delta\n{}\n```\n\n> quoted\n\n- one\n\n<!-- hidden -->"
    options = OPTIONS._replace(context=hostile, hypotheses=hostile, constraints=hostile)
    options = options._replace(excerpt=f"§1 {hostile}", outputs=hostile)
    start_session(workspace, options._replace(wish=RosterRequest(recipients=PEOPLE[:1])))
    wrapped = options._replace(excerpt=f"§1 {hostile}\n", context=f"\n{hostile}\n")
    assert "CONTEXT_DIFFERS" not in codes(start_session(workspace, wrapped))


def test_finishes_a_thread_of_today_under_another_name(workspace: Workspace) -> None:
    """The question counts, not the ID that somebody chose for it."""
    start_session(workspace, OPTIONS._replace(thread_id="RS-20261116-my-own-name"))
    done = start_session(workspace, OPTIONS._replace(thread_id=None))
    assert (done.thread_id, done.status) == ("RS-20261116-my-own-name", StartStatus.NOTHING)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (asked(*PEOPLE[:2], ("GreenValley", None)), ["MISSING_ROSTER_ENTRY"]),
        (asked(("BlueLake", "researcher")), ["INVALID_ROLE"]),
        (asked(("Blue Lake", "test_designer")), ["INVALID_AGENT_NAME"]),
        (asked(("Bluelake", "test_designer"), ("BlueLake", "test_designer")), ["NAME_LOOKS_LIKE"]),
        (asked(("BlueLake", None)), ["HEURISTIC_NAME_UNMATCHED"]),
        (asked(), ["SENT_TO_NOBODY"]),
        (OPTIONS._replace(thread_id="RS-2025-x"), ["INVALID_RS_THREAD_ID"]),
        (OPTIONS._replace(thread_id=""), ["INVALID_BEAD_ID"]),
        (OPTIONS._replace(context=" \n"), ["MB-003"]),
        (OPTIONS._replace(context="[[fill in: background]]"), ["TEMPLATE_NOT_FILLED_IN"]),
        (OPTIONS._replace(context="half \ud800"), ["NOT_UTF8"]),
        (OPTIONS._replace(context="nothing \0"), ["NUL_CHARACTER"]),
        (OPTIONS._replace(context="x" * 5_000_000), ["MESSAGE_TOO_LARGE"]),
        (OPTIONS._replace(sections="42"), ["NO_SOURCE_TEXT"]),
        (OPTIONS._replace(excerpt="§1" * MOST_EXCERPT_CHARACTERS), ["EXCERPT_TOO_LONG"]),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_everything_is_checked_before_the_first_send(
    workspace: Workspace, options: StartOptions, found: list[str]
) -> None:
    """One error for one fault; nothing is sent and nobody registered, in a dry run neither."""
    for is_dry in (False, True):
        done = start_session(workspace, options._replace(dry_run=is_dry))
        errors = [each.id for each in done.diagnostics if each.severity == "error"]
        assert errors == found
        assert done.status is (StartStatus.DRY_RUN if is_dry else StartStatus.REFUSED)
        assert done.registered == ()
        assert {each.state for each in done.kickoffs} <= {KickoffState.NOT_SENT}
    assert (mail(workspace), known(workspace)) == ([], ["Operator"])


def test_name_that_looks_like_a_known_one(workspace: Workspace) -> None:
    """The name's own diagnostic, before anything is sent."""
    workspace.mailbox.register(Profile("BlueLake"))
    done = start_session(
        workspace, asked(("PurpleMountain", "test_designer"), ("B1ueLake", PEOPLE[0][1]))
    )
    assert codes(done) == ["NAME_LOOKS_LIKE"]
    assert known(workspace) == ["BlueLake", "Operator"]


def test_warnings_are_told_once_and_go_through(workspace: Workspace) -> None:
    """Three kickoffs lack the same excerpt: that is one warning."""
    bare = start_session(workspace, OPTIONS._replace(excerpt=""))
    assert (bare.status, codes(bare)) == (StartStatus.SENT, ["MISSING_RECOMMENDED_SECTION"])
    assert "`--excerpt-file FILE`" in bare.diagnostics[0].fix
    assert "`--excerpt 42,45-47`" in bare.diagnostics[0].fix
    options = OPTIONS._replace(thread_id="RS-20251230-x1", excerpt="No citation.")
    done = start_session(workspace, options)
    assert (done.status, codes(done)) == (
        StartStatus.SENT,
        ["THREAD_ID_ADVICE", "THREAD_ID_ADVICE", "EXCERPT_WITHOUT_CITATION"],
    )


def test_dry_run_shows_everything_and_does_nothing(workspace: Workspace) -> None:
    """What would be sent is exactly what is sent afterwards."""
    tried = start_session(workspace, OPTIONS._replace(dry_run=True))
    assert (tried.status, list(tried.registered)) == (StartStatus.DRY_RUN, NAMES)
    assert {each.state for each in tried.kickoffs} == {KickoffState.DRY_RUN}
    assert (mail(workspace), known(workspace)) == ([], ["Operator"])
    done = start_session(workspace, OPTIONS)
    assert [each.message for each in done.kickoffs] == [each.message for each in tried.kickoffs]
    after = start_session(workspace, OPTIONS._replace(dry_run=True))
    assert {each.state for each in after.kickoffs} == {KickoffState.SENT_BEFORE}


def test_excerpt_from_the_source_text(tmp_path: Path, workspace: Workspace) -> None:
    """By section numbers, where the project names its source."""
    (tmp_path / "talks.md").write_text("# §42 Counting\n\nCells count.\n\n# §43 Next\n", "utf-8")
    (tmp_path / "brenner.toml").write_text('source_text = "talks.md"\n', "utf-8")
    with brenner.open(str(tmp_path)) as here:
        done = start_session(here, OPTIONS._replace(sections="42", excerpt=""))
        excerpt = section(done.kickoffs[0].message, "Excerpt")
        assert excerpt == "> **§42** Counting\n>\n> Cells count."
        missing = start_session(here, OPTIONS._replace(sections="42-50", dry_run=True))
        assert codes(missing) == ["UNKNOWN_SECTION_NUMBER"]
        (tmp_path / "talks.md").unlink()
        with pytest.raises(RequestError) as refused:
            start_session(here, OPTIONS._replace(sections="42"))
        assert refused.value.diagnostic.id == "INVALID_SETTINGS"


def test_somebody_else_is_quicker(workspace: Workspace) -> None:
    """A kickoff is sent to the thread as it was read; whoever comes second sends what is left."""
    mine = SessionThread(workspace.mailbox, THREAD, QUESTION)
    start_session(workspace, asked(*PEOPLE[:1]))
    (message,) = compose_kickoffs(PLAN._replace(roster=PLAN.roster._replace(mode="unified")))
    for name in NAMES[1:]:
        workspace.mailbox.register(Profile(name))
    sent = mine.send(message)
    assert sent is not None
    assert sent.message.recipients == ("PurpleMountain", "GreenValley")
    assert mine.send(message) is None
    theirs = SessionThread(workspace.mailbox, "RS-20261116-other-thread", "Do cells forget?")
    start_session(workspace, OPTIONS._replace(thread_id="RS-20261116-other-thread"))
    with pytest.raises(RequestError) as refused:
        theirs.send(message._replace(thread_id="RS-20261116-other-thread"))
    assert refused.value.diagnostic.id == "OTHER_QUESTION"
    assert len(mail(workspace)) == 2 + 3


def short_of_room(path: Path, pages: int) -> tuple[Started | UnavailableError, list[StoredMessage]]:
    """Start a session in a store that can grow by so many pages; what is in it afterwards."""
    with brenner.open(str(path)) as here:
        assert isinstance(here.mailbox, SqliteMailbox)
        for name in NAMES:
            here.mailbox.register(Profile(name))
        database = here.mailbox.database
        ((count,),) = database.execute("PRAGMA page_count")
        database.execute(f"PRAGMA max_page_count = {count + pages}")
        try:
            return start_session(here, OPTIONS), mail(here)
        except UnavailableError as unavailable:
            return unavailable, mail(here)


def test_kickoff_that_reaches_only_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says who got it and who did not, and the same command finishes it."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    outcomes = []
    for pages in range(1, 60):
        folder = tmp_path / str(pages)
        folder.mkdir()
        done, sent = short_of_room(folder, pages)
        outcomes.append(len(sent))
        if isinstance(done, UnavailableError):
            assert (done.diagnostic.id, sent) == ("STORE_FULL", [])
            continue
        assert done.status is StartStatus.INCOMPLETE
        assert isinstance(done.failed, UnavailableError)
        (found,) = done.diagnostics
        reached, missed = ", ".join(NAMES[: len(sent)]), ", ".join(NAMES[len(sent) :])
        assert (found.id, found.also) == ("KICKOFF_INCOMPLETE", ("STORE_FULL",))
        assert found.message.startswith(f"The kickoff has reached {reached}, but not {missed}: ")
        assert [state for _, state, _ in states(done)] == [
            *[KickoffState.SENT] * len(sent),
            *[KickoffState.NOT_SENT] * (3 - len(sent)),
        ]
        with brenner.open(str(folder)) as here:
            again = start_session(here, OPTIONS)
            assert (again.status, len(mail(here))) == (StartStatus.SENT, 3)
        if outcomes[-1] == 2:
            break
    assert {0, 1, 2} <= set(outcomes)
