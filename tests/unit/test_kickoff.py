"""Kickoffs: their sections, their prompts, their examples."""

import pytest

from brenner.cli import artifact, mail
from brenner.cli.main import COMMANDS
from brenner.diagnostics.model import RequestError
from brenner.protocol.delta.parse import read_deltas
from brenner.protocol.delta.schema import MOST_SCORE, SCORE_PARTS, Operation
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.roster import Roster, RosterEntry
from brenner.protocol.subjects import check_subject, parse_subject
from brenner.protocol.validate import check_message
from brenner.session.kickoff import compose_kickoffs, shorthand_of
from brenner.session.prompts import (
    PROMPTS,
    SCORES,
    UNIFIED_PROMPT,
    Prompt,
    how_to_contribute,
)
from kickoffs import CONTEXT, PLAN, QUESTION, ROSTER, SECTIONS, THREAD, headings, section, shown

UNIFIED = PLAN._replace(roster=ROSTER._replace(mode="unified"))
EVERY_KICKOFF = (*compose_kickoffs(PLAN), *compose_kickoffs(UNIFIED))
KICKOFFS = pytest.mark.parametrize(
    "message", EVERY_KICKOFF, ids=lambda message: "-".join(message.recipients)
)
LONG = "RS-20251230-a-slug-as-long-as-a-slug-may-ever-be-abc"
# What each role is for: the issue, and agent_roster_schema, Why This Matters
WORDS = {
    "hypothesis_generator": ("paradox", "pattern", "levels apart", "third alternative", "Anchor"),
    "test_designer": ("kill", "potency", "Score honestly", "Outcomes first", "feasibility"),
    "adversarial_critic": ("framing", "Calculate", "Quarantine", "real third", "scale_check"),
}


def prompt_of(message: Message) -> Prompt:
    """The prompt that a kickoff was made from."""
    role = section(message, "Your Role")
    return next(each for each in (*PROMPTS.values(), UNIFIED_PROMPT) if each.role == role)


def test_one_for_each_recipient() -> None:
    """Role-separated: each gets her own, which names her and asks for an ACK."""
    messages = compose_kickoffs(PLAN)
    assert [message.recipients for message in messages] == [(name,) for name in ROSTER.names]
    for message, entry in zip(messages, ROSTER.entries, strict=True):
        assert (message.thread_id, message.sender, message.ack_required) == (
            THREAD,
            "Operator",
            True,
        )
        to = f"From Operator, for **{entry.agent_name}**. Your role is `{entry.role}`."
        assert message.body.startswith(f"# {QUESTION}\n\n{to}\n\n")
        assert section(message, "Your Role") == PROMPTS[entry.role].role


def test_all_sections_in_their_order() -> None:
    """The document's, then ours; what was not given is left out."""
    whole = PLAN._replace(
        title="Fate",
        hypotheses="- It is counting.\n- It is position.",
        constraints="Two rounds.",
        outputs="One table.",
    )
    (message, *_) = compose_kickoffs(whole)
    assert headings(message) == SECTIONS
    assert message.body.startswith("# Fate\n\n")
    assert section(message, "Research Question") == QUESTION
    assert section(message, "Context") == CONTEXT
    assert section(message, "Excerpt") == '> §42: "The cells count."'
    assert section(message, "Initial Hypotheses") == "- It is counting.\n- It is position."
    assert section(message, "Constraints") == "Two rounds."
    assert section(message, "Requested Outputs") == "One table."
    bare = compose_kickoffs(PLAN._replace(excerpt=" \n"))[0]
    assert headings(bare) == [SECTIONS[n] for n in (0, 1, 5, 6, 7, 8)]
    assert section(bare, "Requested Outputs") == PROMPTS["hypothesis_generator"].outputs


def test_roster_as_the_document_has_it() -> None:
    """The document's example, byte for byte."""
    assert section(EVERY_KICKOFF[0], "Session Configuration") == (
        "**Roster Mode**: role_separated\n"
        "**Roster Name**: Default 3-Agent Setup\n\n"
        "| Agent | Role | Program | Model |\n"
        "|-------|------|---------|-------|\n"
        "| BlueLake | hypothesis_generator | codex-cli | GPT-5.2 |\n"
        "| PurpleMountain | test_designer | claude-code | Opus 4.5 |\n"
        "| GreenValley | adversarial_critic | gemini-cli | Gemini 3 |\n\n---"
    )


def test_unified() -> None:
    """One message for all, whatever their roles, with the three lines of work in it."""
    (message,) = compose_kickoffs(UNIFIED)
    assert message.recipients == ROSTER.names
    assert (
        "From Operator, for **BlueLake**, **PurpleMountain**, **GreenValley**. All of you have the "
        "same task."
    ) in message.body
    role = section(message, "Your Role")
    assert role == UNIFIED_PROMPT.role
    for word in ("**Generate.**", "paradox", "**Test.**", "potency", "**Attack.**", "framing"):
        assert word in role
    assert compose_kickoffs(UNIFIED._replace(recipients=())) == ()


@pytest.mark.parametrize(("role", "words"), WORDS.items())
def test_prompts_say_how_the_role_thinks(role: str, words: tuple[str, ...]) -> None:
    """Each in its own words, none in another's."""
    prompt = PROMPTS[role]
    assert [word for word in words if word not in prompt.role] == []
    assert len({each.role for each in PROMPTS.values()}) == len(PROMPTS)


def test_rule_3_and_rule_4() -> None:
    """A recipient without an entry stops all; an entry without a recipient is told and not sent."""
    short = PLAN._replace(roster=ROSTER._replace(entries=ROSTER.entries[:2]))
    with pytest.raises(RequestError) as refused:
        compose_kickoffs(short)
    message = refused.value.diagnostic.message
    assert message == "Missing roster entry for recipient: GreenValley"
    (only,) = compose_kickoffs(PLAN._replace(recipients=("BlueLake", "BlueLake")))
    assert only.recipients == ("BlueLake",)
    assert "| GreenValley | adversarial_critic |" in only.body
    wrong = Roster((RosterEntry("BlueLake", "researcher"),))
    with pytest.raises(RequestError) as refused:
        compose_kickoffs(PLAN._replace(roster=wrong, recipients=("BlueLake",)))
    assert refused.value.diagnostic.message == "Invalid role for BlueLake: researcher"


def test_heuristic() -> None:
    """Deprecated: the name tells the role, where no entry does."""
    names = ("CodexOne", "ClaudeTwo", "BlueLake")
    entries = (RosterEntry("BlueLake", "test_designer"),)
    plan = PLAN._replace(roster=Roster(entries, "heuristic"), recipients=names)
    roles = [section(message, "Your Role") for message in compose_kickoffs(plan)]
    wanted = ("hypothesis_generator", "test_designer", "test_designer")
    assert roles == [PROMPTS[role].role for role in wanted]


@pytest.mark.parametrize(
    ("title", "thread_id", "subject"),
    [
        ("", THREAD, f"{QUESTION} ({THREAD})"),
        ("Cell fate", THREAD, f"Cell fate ({THREAD})"),
        ("A title that goes on, and on, and on", LONG, f"A title that goes on… ({LONG})"),
        ("W" * 90, THREAD, f"{'W' * 45}… ({THREAD})"),
        ("Two\nlines \x1b[2J", THREAD, rf"Two lines \x1b[2J ({THREAD})"),
        ("Fate", "a" * 100, "Fate"),
        ("W " * 90, "a" * 100, f"{'W ' * 39}W…"),
    ],
)
def test_subject(title: str, thread_id: str, subject: str) -> None:
    """Title and thread; the title gives way, so that the subject has no fault."""
    message = compose_kickoffs(PLAN._replace(title=title, thread_id=thread_id))[0]
    assert message.subject == f"KICKOFF: {subject}"
    assert check_subject(message.subject) == []


def test_title_is_one_line_and_no_markup() -> None:
    """It is cut at a word, and shown as it is."""
    plan = PLAN._replace(title="*What* is\n# this " + "word " * 30)
    message = compose_kickoffs(plan)[0]
    title = message.body.split("\n")[0]
    assert title.startswith(r"# \*What\* is # this word ")
    assert title.endswith(" word…")
    assert len(title) <= 84


@KICKOFFS
def test_kickoffs_pass_the_check(message: Message) -> None:
    """No error, no warning, no info; and they are short enough to be read."""
    assert check_message(render_message_file(message), "Operator").violations == ()
    assert message.body.count("\n") <= 210
    assert len(message.body) <= 13_000


@KICKOFFS
def test_examples_are_what_they_teach(message: Message) -> None:
    """The head and the blocks of the examples, sent as they are, pass the check without a word."""
    head, deltas = shown(message)
    file = head + "\n" + "\n".join(deltas)
    report = check_message(file, message.recipients[0])
    assert report.violations == ()
    assert report.type == "DELTA"
    assert [delta.valid for delta in report.deltas] == [True] * len(deltas)
    read = [block.delta for block in read_deltas(file)]
    assert {delta.operation for delta in read if delta} == set(Operation)
    assert any(delta and delta.local_id for delta in read)
    prompt = prompt_of(message)
    assert [delta for _, delta in prompt.examples] == read[: len(prompt.examples)]
    writes = {each.id for each in prompt.sections}
    assert {delta.section for _, delta in prompt.examples} <= writes


@KICKOFFS
def test_examples_stand_alone_in_longer_fences(message: Message) -> None:
    """One block to a fence: so nothing is a contribution even in a fence that ends too early."""
    _, deltas = shown(message)
    assert [len(read_deltas(delta)) for delta in deltas] == [1] * len(deltas)
    assert message.body.count("\n````markdown\n```delta\n") == len(deltas)


@KICKOFFS
def test_sections_and_fields_come_from_the_schema(message: Message) -> None:
    """Every field of every section that the role writes is named, the needed ones as needed."""
    prompt = prompt_of(message)
    told = message.body.split("### The sections that you write\n\n")[1].split("\n\n### ")[0]
    lines = {line.split("`")[1]: line for line in told.split("\n") if line.startswith("- `")}
    assert list(lines) == [each.id for each in prompt.sections]
    for each in prompt.sections:
        needed, _, optional = lines[each.id].partition(" Optional: ")
        for field in each.fields.values():
            if field.name != "references":
                assert f"`{field.name}` (" in (needed if field.required else optional)
    assert "`references`" in told


def test_scores_are_those_of_the_schema() -> None:
    """Each part has a meaning for every number."""
    assert tuple(SCORES) == SCORE_PARTS
    assert {len(meanings) for meanings in SCORES.values()} == {MOST_SCORE + 1}


def test_how_to_speaks_to_its_reader() -> None:
    """Her name, her model's shorthand, the others, the version that there is."""
    plan = PLAN._replace(base=3)
    head, _ = shown(compose_kickoffs(plan)[0])
    assert head.startswith(
        f"Thread: {THREAD}\nFrom: BlueLake\nTo: Operator, PurpleMountain, GreenValley\n"
        "Subject: DELTA[gpt]: "
    )
    assert "\n**Base Version**: v3\n" in head
    body = compose_kickoffs(plan)[0].body
    assert "not your role: `gpt` for you." in body
    for command in (
        "brenner mail ack NUMBER --as BlueLake",
        f"brenner artifact show {THREAD}",
        "brenner check message.md",
        "brenner mail send message.md",
    ):
        assert f"`{command}`" in body
    assert "`brenner check message.md` lists every error with its line." in body
    assert "If the warning `WOULD_BE_REFUSED` appears, the message was sent" in body
    (together,) = compose_kickoffs(UNIFIED)
    assert "not your role: one of `opus`, `gpt`, `gemini`, `claude`, `human`." in together.body
    assert "`brenner mail ack NUMBER --as NAME`" in together.body
    alone = PLAN._replace(sender="BlueLake", recipients=("BlueLake",))
    assert "\nTo: BlueLake\n" in shown(compose_kickoffs(alone)[0])[0]


def test_thread_that_looks_like_an_option() -> None:
    """A command that is copied from the kickoff must not take the ID for an option."""
    message = Message("-x", "BlueLake", ("Operator",), "", "")
    assert "`brenner artifact show -- -x`" in how_to_contribute(UNIFIED_PROMPT, message)


def test_commands_that_are_told_exist() -> None:
    """What a prompt tells an agent to type is a command of the program."""
    groups = {"mail": mail.COMMANDS, "artifact": artifact.COMMANDS}
    told = {
        tuple(piece.split()[1:3])
        for message in EVERY_KICKOFF
        for piece in message.body.split("`")
        if piece.startswith("brenner ")
    }
    assert len(told) > 5
    for name, *rest in told:
        assert name in COMMANDS
        assert name not in groups or rest[0] in groups[name]


@pytest.mark.parametrize(
    ("program", "model", "shorthand"),
    [
        ("codex-cli", "GPT-5.2", "gpt"),
        ("claude-code", "Opus 4.5", "opus"),
        ("claude-code", "claude-opus-4-5", "opus"),
        ("claude-code", "Sonnet", "claude"),
        ("claude-code", None, None),
        ("gemini-cli", None, "gemini"),
        (None, "gemini-3", "gemini"),
        ("my-own", "llama", None),
        (None, None, None),
    ],
)
def test_shorthand(program: str | None, model: str | None, shorthand: str | None) -> None:
    """The model tells, else the program, where it runs one kind of model only."""
    assert shorthand_of(RosterEntry("BlueLake", "test_designer", program, model)) == shorthand
    assert shorthand_of(None) is None


def test_subject_of_the_examples_is_valid() -> None:
    """It has a shorthand that is known."""
    for message in EVERY_KICKOFF:
        head, _ = shown(message)
        subject = parse_subject(head.split("Subject: ")[1].split("\n")[0])
        assert subject is not None
        assert check_subject(subject.render()) == []
