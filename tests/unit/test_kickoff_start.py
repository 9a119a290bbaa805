"""Start a session: recipients, repeated starts, and errors found before the first send."""

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


def kickoff_states(done: Started) -> list[tuple[str, KickoffState, int | None]]:
    """Return recipients, state and message number of each kickoff."""
    return [
        (", ".join(each.message.recipients), each.state, each.stored.id if each.stored else None)
        for each in done.kickoffs
    ]


def codes(done: Started) -> list[str]:
    """Return the codes of the diagnostics."""
    return [each.id for each in done.diagnostics]


def registered_names(workspace: Workspace) -> list[str]:
    """Return the names of the registered agents."""
    return [agent.name for agent in workspace.mailbox.agents()]


def options_with(*recipients: tuple[str, str | None], **others: object) -> StartOptions:
    """Return the default options with other recipients and fields."""
    wish = RosterRequest(recipients=recipients)
    return OPTIONS._replace(wish=wish, **others)  # type: ignore[arg-type]


def test_each_recipient_is_registered_and_gets_one_kickoff(workspace: Workspace) -> None:
    """Each recipient owes an ACK."""
    done = start_session(workspace, OPTIONS)
    assert (done.thread_id, done.status, done.diagnostics) == (THREAD, StartStatus.SENT, ())
    assert kickoff_states(done) == [(name, KickoffState.SENT, n) for n, name in enumerate(NAMES, 1)]
    assert [each.role for each in done.kickoffs] == [role for _, role in PEOPLE]
    assert list(done.registered) == NAMES
    assert [stored.message for stored in mail(workspace)] == [
        each.message for each in done.kickoffs
    ]
    assert [check_stored(stored.message).violations for stored in mail(workspace)] == [()] * 3
    assert {debt.debtor for debt in workspace.mailbox.debts()} == set(NAMES)
    again = start_session(workspace, OPTIONS)
    assert (again.status, again.registered) == (StartStatus.NOTHING, ())
    assert kickoff_states(again) == [
        (name, KickoffState.SENT_BEFORE, n) for n, name in enumerate(NAMES, 1)
    ]
    assert len(mail(workspace)) == 3


def test_roster_sets_program_and_model_of_new_agents_only(workspace: Workspace) -> None:
    workspace.mailbox.register(Profile("BlueLake", "my-own", "tiny"))
    wish = RosterRequest(preset="default-3-agent", recipients=tuple((name, None) for name in NAMES))
    done = start_session(workspace, OPTIONS._replace(wish=wish))
    assert list(done.registered) == NAMES[1:]
    agents = {agent.name: (agent.program, agent.model) for agent in workspace.mailbox.agents()}
    assert agents["BlueLake"] == ("my-own", "tiny")
    assert agents["PurpleMountain"] == ("claude-code", "")


def test_unknown_sender_is_registered(tmp_path: Path, workspace: Workspace) -> None:
    with brenner.open(str(tmp_path), actor="Ada") as hers:
        done = start_session(hers, OPTIONS)
    assert list(done.registered) == ["Ada", *NAMES]
    assert {stored.message.sender for stored in mail(workspace)} == {"Ada"}


def test_interrupted_kickoff_is_finished(workspace: Workspace) -> None:
    """A recipient who already has the question gets no second kickoff."""
    (first, *_) = compose_kickoffs(PLAN)
    workspace.mailbox.register(Profile("BlueLake"))
    workspace.mailbox.send(first)
    done = start_session(workspace, OPTIONS._replace(question=QUESTION.replace(" ", "\n  ")))
    assert (done.status, list(done.registered)) == (StartStatus.SENT, NAMES[1:])
    assert [state for _, state, _ in kickoff_states(done)] == [
        KickoffState.SENT_BEFORE,
        KickoffState.SENT,
        KickoffState.SENT,
    ]
    assert len(mail(workspace)) == 3


def test_added_recipients_get_the_new_roster(workspace: Workspace) -> None:
    start_session(workspace, options_with(*PEOPLE[:2]))
    done = start_session(workspace, OPTIONS)
    assert [state for _, state, _ in kickoff_states(done)] == [
        *(KickoffState.SENT_BEFORE, KickoffState.SENT_BEFORE, KickoffState.SENT)
    ]
    assert "| GreenValley | adversarial_critic |" in mail(workspace)[-1].message.body


def test_kickoff_of_another_question_does_not_count(workspace: Workspace) -> None:
    start_session(workspace, options_with(*PEOPLE[:1]))
    refined = compose_kickoffs(PLAN._replace(question="Do cells forget?"))[1]
    workspace.mailbox.register(Profile("PurpleMountain"))
    workspace.mailbox.send(refined)
    done = start_session(workspace, options_with(*PEOPLE[:2]))
    assert kickoff_states(done) == [
        ("BlueLake", KickoffState.SENT_BEFORE, 1),
        ("PurpleMountain", KickoffState.SENT, 3),
    ]


def test_changed_role_is_reported(workspace: Workspace) -> None:
    """No second kickoff is sent."""
    start_session(workspace, options_with(*PEOPLE[:1]))
    done = start_session(workspace, options_with(("BlueLake", "adversarial_critic")))
    assert (done.status, codes(done)) == (StartStatus.NOTHING, ["ROLE_CHANGED"])
    assert done.kickoffs[0].role == "hypothesis_generator"
    assert "as hypothesis_generator (message 1), but the roster says adversarial_critic" in (
        done.diagnostics[0].message
    )


def test_unified_kickoff_is_sent_to_missing_recipients(workspace: Workspace) -> None:
    wish = RosterRequest(unified=True, recipients=PEOPLE[:2])
    assert kickoff_states(start_session(workspace, OPTIONS._replace(wish=wish))) == [
        ("BlueLake, PurpleMountain", KickoffState.SENT, 1)
    ]
    later = start_session(workspace, OPTIONS._replace(wish=wish._replace(recipients=PEOPLE)))
    assert kickoff_states(later) == [
        ("BlueLake, PurpleMountain", KickoffState.SENT_BEFORE, 1),
        ("GreenValley", KickoffState.SENT, 2),
    ]
    assert later.kickoffs[0].role is None
    assert mail(workspace)[1].message.recipients == ("GreenValley",)


def test_another_question_is_an_error(workspace: Workspace) -> None:
    """The error shows the existing question, and nothing is sent."""
    start_session(workspace, OPTIONS)
    done = start_session(workspace, OPTIONS._replace(question="Do cells forget?", context="Other."))
    assert (done.status, codes(done)) == (StartStatus.REFUSED, ["OTHER_QUESTION"])
    assert (
        f"already has another question, in message 1: “{QUESTION}”" in done.diagnostics[0].message
    )
    assert len(mail(workspace)) == 3


def test_session_can_start_in_a_bead_thread_with_mail(workspace: Workspace) -> None:
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
def test_respelt_question_is_the_same_question(
    workspace: Workspace, question: str, thread_id: str | None
) -> None:
    """New recipients get the original wording."""
    first = start_session(workspace, options_with(*PEOPLE[:2], thread_id=None))
    assert first.thread_id == "RS-20261116-cells-know-fate"
    done = start_session(workspace, OPTIONS._replace(question=question, thread_id=thread_id))
    assert (done.thread_id, codes(done)) == (first.thread_id, ["QUESTION_RESPELT"])
    assert done.diagnostics[0].message == (
        f"`{first.thread_id}` already has this question, in another spelling (message 1): "
        f"“{QUESTION}”"
    )
    assert "`--thread-id`" in done.diagnostics[0].fix
    assert [state for _, state, _ in kickoff_states(done)] == [
        *(KickoffState.SENT_BEFORE, KickoffState.SENT_BEFORE, KickoffState.SENT)
    ]
    assert {section(each.message, "Research Question") for each in mail(workspace)} == {QUESTION}
    again = start_session(workspace, OPTIONS._replace(question=question, thread_id=thread_id))
    assert (again.status, len(mail(workspace))) == (StartStatus.NOTHING, 3)


def test_exact_question_is_preferred_to_a_respelt_one(workspace: Workspace) -> None:
    for place, question in enumerate((QUESTION, QUESTION.upper())):
        start_session(
            workspace, OPTIONS._replace(question=question, thread_id=f"RS-20261116-x-{place}")
        )
    for place, question in enumerate((QUESTION, QUESTION.upper())):
        done = start_session(workspace, OPTIONS._replace(question=question, thread_id=None))
        assert (done.thread_id, done.status) == (f"RS-20261116-x-{place}", StartStatus.NOTHING)
        assert "QUESTION_RESPELT" not in codes(done)


def test_questions_without_words_are_compared_literally(workspace: Workspace) -> None:
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
def test_changed_texts_are_reported(
    workspace: Workspace, changed: dict[str, str], sections: str
) -> None:
    """Existing kickoffs stay; only new recipients get the new texts."""
    start_session(workspace, options_with(*PEOPLE[:2]))
    other = OPTIONS._replace(**changed)  # type: ignore[arg-type]
    done = start_session(workspace, other._replace(wish=RosterRequest(recipients=PEOPLE[:2])))
    (found,) = [each for each in done.diagnostics if each.id == "CONTEXT_DIFFERS"]
    assert (done.status, found.severity) == (StartStatus.NOTHING, "warning")
    assert found.message == (
        f"Message 1, which started the session, has different text under {sections}. "
        "The new text is not sent."
    )
    added = start_session(workspace, other)
    (found,) = [each for each in added.diagnostics if each.id == "CONTEXT_DIFFERS"]
    assert "The new text is sent only to GreenValley." in found.message
    assert (added.status, len(mail(workspace))) == (StartStatus.SENT, 3)
    assert all(text in mail(workspace)[2].message.body for text in changed.values())


def test_wrapped_and_escaped_texts_count_as_unchanged(workspace: Workspace) -> None:
    hostile = "# Not a heading\n\n```delta\n{}\n```\n\n> quoted\n\n- one\n\n<!-- hidden -->"
    options = OPTIONS._replace(context=hostile, hypotheses=hostile, constraints=hostile)
    options = options._replace(excerpt=f"§1 {hostile}", outputs=hostile)
    start_session(workspace, options._replace(wish=RosterRequest(recipients=PEOPLE[:1])))
    wrapped = options._replace(excerpt=f"§1 {hostile}\n", context=f"\n{hostile}\n")
    assert "CONTEXT_DIFFERS" not in codes(start_session(workspace, wrapped))


def test_thread_of_today_is_found_by_its_question(workspace: Workspace) -> None:
    start_session(workspace, OPTIONS._replace(thread_id="RS-20261116-my-own-name"))
    done = start_session(workspace, OPTIONS._replace(thread_id=None))
    assert (done.thread_id, done.status) == ("RS-20261116-my-own-name", StartStatus.NOTHING)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (options_with(*PEOPLE[:2], ("GreenValley", None)), ["MISSING_ROSTER_ENTRY"]),
        (options_with(("BlueLake", "researcher")), ["INVALID_ROLE"]),
        (options_with(("Blue Lake", "test_designer")), ["INVALID_AGENT_NAME"]),
        (
            options_with(("Bluelake", "test_designer"), ("BlueLake", "test_designer")),
            ["NAME_LOOKS_LIKE"],
        ),
        (options_with(), ["SENT_TO_NOBODY"]),
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
def test_errors_are_found_before_the_first_send(
    workspace: Workspace, options: StartOptions, found: list[str]
) -> None:
    """Nothing is sent and no agent is registered, also in a dry run."""
    for is_dry in (False, True):
        done = start_session(workspace, options._replace(dry_run=is_dry))
        errors = [each.id for each in done.diagnostics if each.severity == "error"]
        assert errors == found
        assert done.status is (StartStatus.DRY_RUN if is_dry else StartStatus.REFUSED)
        assert done.registered == ()
        assert {each.state for each in done.kickoffs} <= {KickoffState.NOT_SENT}
    assert (mail(workspace), registered_names(workspace)) == ([], ["Operator"])


def test_name_similar_to_a_registered_one_is_rejected(workspace: Workspace) -> None:
    workspace.mailbox.register(Profile("BlueLake"))
    done = start_session(
        workspace, options_with(("PurpleMountain", "test_designer"), ("B1ueLake", PEOPLE[0][1]))
    )
    assert codes(done) == ["NAME_LOOKS_LIKE"]
    assert registered_names(workspace) == ["BlueLake", "Operator"]


def test_repeated_warnings_are_reported_once(workspace: Workspace) -> None:
    """Three kickoffs without an excerpt give one warning, and are sent."""
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
    assert codes(start_session(workspace, options)) == ["EXCERPT_WITHOUT_CITATION"]


def test_dry_run_shows_the_exact_messages_and_sends_none(workspace: Workspace) -> None:
    tried = start_session(workspace, OPTIONS._replace(dry_run=True))
    assert (tried.status, list(tried.registered)) == (StartStatus.DRY_RUN, NAMES)
    assert {each.state for each in tried.kickoffs} == {KickoffState.DRY_RUN}
    assert (mail(workspace), registered_names(workspace)) == ([], ["Operator"])
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


def test_concurrent_start_sends_only_the_missing_kickoffs(workspace: Workspace) -> None:
    mine = SessionThread(workspace.mailbox, THREAD, QUESTION)
    start_session(workspace, options_with(*PEOPLE[:1]))
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


def start_in_limited_store(
    path: Path, pages: int
) -> tuple[Started | UnavailableError, list[StoredMessage]]:
    """Start a session in a store that can grow by `pages`; return the result and the mail."""
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


def test_partial_kickoff_is_reported_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    outcomes = []
    for pages in range(1, 60):
        folder = tmp_path / str(pages)
        folder.mkdir()
        done, sent = start_in_limited_store(folder, pages)
        outcomes.append(len(sent))
        if isinstance(done, UnavailableError):
            assert (done.diagnostic.id, sent) == ("STORE_FULL", [])
            continue
        assert done.status is StartStatus.INCOMPLETE
        assert isinstance(done.failed, UnavailableError)
        (found,) = done.diagnostics
        reached, missed = ", ".join(NAMES[: len(sent)]), ", ".join(NAMES[len(sent) :])
        assert (found.id, found.also) == ("KICKOFF_INCOMPLETE", ("STORE_FULL",))
        assert found.message.startswith(f"The kickoff was sent to {reached}, but not to {missed}: ")
        assert [state for _, state, _ in kickoff_states(done)] == [
            *[KickoffState.SENT] * len(sent),
            *[KickoffState.NOT_SENT] * (3 - len(sent)),
        ]
        with brenner.open(str(folder)) as here:
            again = start_session(here, OPTIONS)
            assert (again.status, len(mail(here))) == (StartStatus.SENT, 3)
        if outcomes[-1] == 2:
            break
    assert {0, 1, 2} <= set(outcomes)
