"""The slips of a first own session: what the program reports, and where it points."""

import json
import re
from pathlib import Path

import pytest

from brenner.lint.context import SourceText
from brenner.session.citations import excerpt_sections
from brenner.session.kickoff import shorthand_of
from program import Run, brenner
from terminal import in_terminal

THREAD = "RS-20260105-phage-proteins"
EXCERPT = "§1 Proteins appear.\n§2 RNA turns over.\n"


class Project:
    """A project with a session: BlueLake and RedSky have a kickoff."""

    def __init__(self, folder: Path, excerpt: str = EXCERPT) -> None:
        self.folder = folder
        assert self("init").code == 0
        (folder / "excerpt.md").write_text(excerpt, "utf-8")
        given = ("--excerpt-file", "excerpt.md") if excerpt else ()
        assert self.start(*given).code == 0

    def __call__(self, *arguments: str, **environment: str) -> Run:
        return brenner(*arguments, cwd=self.folder, **environment)

    def start(self, *options: str) -> Run:
        names = ("--to", "BlueLake", "--role", "hypothesis_generator")
        others = ("--to", "RedSky", "--role", "test_designer")
        texts = ("--question", "Does the phage bring ribosomes?", "--context", "New proteins.")
        return self("session", "start", "--thread-id", THREAD, *texts, *names, *others, *options)

    def send(self, *payloads: dict[str, object], sender: str = "BlueLake") -> Run:
        """Send a DELTA with one ADD to the hypotheses for each payload."""
        blocks = "".join(f"```delta\n{json.dumps(add(each))}\n```\n\n" for each in payloads)
        head = f"Thread: {THREAD}\nFrom: {sender}\nTo: Operator\nSubject: DELTA[gpt]: New\n\n"
        (self.folder / "m.md").write_text(head + blocks, "utf-8")
        return self("mail", "send", "m.md", "--json")

    def compile(self) -> None:
        assert self("compile", THREAD).code == 0


def add(payload: dict[str, object]) -> dict[str, object]:
    """An ADD of a hypothesis."""
    fields = {"name": "New", "claim": "It does", "mechanism": "By RNA", "anchors": ["§1"]}
    delta = {"operation": "ADD", "section": "hypothesis_slate", "target_id": None}
    return {**delta, "payload": fields | payload, "rationale": "Why not"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# Cited sections


def test_a_section_that_no_excerpt_has(project: Project) -> None:
    """Is reported when it is sent, once for each number, with block and line; it is stored."""
    sent = project.send(
        {"anchors": ["§2", "§9", "[inference]"], "claim": "As §9 says"},
        {"name": "Other", "anchors": ["§2-4"], "mechanism": "See [external: Smith §77]"},
    )
    assert (sent.code, sent.json["sent"]) == (0, True)
    found = [(each["id"], each["block"], each["message"]) for each in sent.json["violations"]]
    place = "which is not in the excerpt of the kickoff (message 1: §1-2)."
    assert found == [
        ("UNKNOWN_CITATION", 1, f"Block 1 cites §9, {place}"),
        ("UNKNOWN_CITATION", 2, f"Block 2 cites §2-4, {place}"),
    ]
    lines = (project.folder / "m.md").read_text("utf-8").split("\n")
    assert all('"anchors"' in lines[each["line"] - 1] for each in sent.json["violations"])


def test_a_compiled_version_is_the_same(project: Project) -> None:
    """The warnings are no part of the ledger, of the message or of the verdict."""
    project.send({"anchors": ["§9"]})
    project.compile()
    published = project("mail", "thread", THREAD, "--type", "COMPILED", "--json")
    assert "UNKNOWN_CITATION" not in published.out
    assert "UNKNOWN_CITATION" not in project("artifact", "ledger", THREAD, "--json").out
    found = project("artifact", "lint", THREAD, "--json").json
    assert [each["id"] for each in found["notes"]] == ["UNKNOWN_CITATION"]
    assert found["notes"][0]["message"].startswith("`H1` cites §9, which is not in the excerpt")
    assert not {"UNKNOWN_CITATION", "EP-P01"} & {each["id"] for each in found["violations"]}
    assert project("artifact", "verify", THREAD).code == 0


def test_without_an_excerpt(tmp_path: Path) -> None:
    """The sender gets no warning, and the linter says once that nothing was checked."""
    project = Project(tmp_path, excerpt="")
    assert project.send({"anchors": ["§9"]}, {"name": "Two", "anchors": ["§8"]}).codes == []
    project.compile()
    found = project("artifact", "lint", THREAD, "--json").json
    assert [each["id"] for each in found["notes"]] == ["ANCHORS_NOT_CHECKED"]


def test_with_a_source_text_the_linter_checks(project: Project) -> None:
    """An agent may know more of the source than the excerpt."""
    (project.folder / "brenner.toml").write_text('source_text = "source.md"\n', "utf-8")
    (project.folder / "source.md").write_text("# §1 A\n\n# §2 B\n\n# §9 C\n", "utf-8")
    assert project.send({"anchors": ["§9"]}, {"name": "Two", "anchors": ["§5"]}).codes == []
    project.compile()
    found = project("artifact", "lint", THREAD, "--json").json
    assert found["notes"] == []
    assert [each["item"] for each in found["violations"] if each["id"] == "EP-P01"] == ["H2"]


def test_huge_ranges() -> None:
    """A range costs no more than a number."""
    source = SourceText.of_ranges("", [(7, 9), (1, 10**9), (2, 3)])
    assert (source.firsts, source.lasts) == ((1,), (10**9,))
    assert SourceText.of("", [3, 1, 2, 5]) == SourceText.of_ranges("", [(5, 5), (1, 3)])
    assert excerpt_sections([]) is None


def test_no_excerpt_and_the_operator(tmp_path: Path) -> None:
    """Both are said in the words of the command."""
    project = Project(tmp_path)
    done = project.start("--to", "Operator", "--role", "adversarial_critic", "--dry-run")
    assert "OPERATOR_AS_RECIPIENT  The kickoff goes to `Operator`, the operator." in done.err
    assert "MISSING_RECOMMENDED_SECTION  The kickoff has no excerpt.  → Add" in done.err
    assert "kickoff:1" not in done.err


# Sending


def test_a_block_that_was_sent_before(project: Project) -> None:
    """Is an info with the first message; the message is stored."""
    project.send({})
    again = project.send({}, {"name": "Other"})
    assert again.json["sent"]
    (found,) = again.json["violations"]
    assert (found["id"], found["severity"], found["block"]) == ("DUPLICATE_BLOCK", "info", 1)
    assert "message 3, block 1" in found["message"]
    assert project.send({"name": "Other"}, sender="RedSky").codes == []


def test_a_template_is_not_ready(project: Project) -> None:
    """The check says so in its last line; the verdict and the exit code stay."""
    template = project("new", "DELTA", "--thread", THREAD, "--as", "BlueLake").out
    (project.folder / "t.md").write_text(template, "utf-8")
    done = project("check", "t.md")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "  It cannot be sent yet: first fill in its 5 placeholders."
    assert project("check", "t.md", "--json").json["valid"] is True
    assert "TEMPLATE_NOT_FILLED_IN" in project("mail", "send", "t.md").err


def test_templates_know_the_thread(project: Project) -> None:
    """A DELTA goes to all, states the latest version, and has the model of its sender."""

    def head(*options: str) -> list[str]:
        text = project("new", "DELTA", "--thread", THREAD, *options).out
        return [*text.splitlines()[1:4], *re.findall(r"\*\*Base Version\*\*: v\d+", text)]

    subject = "Subject: DELTA[{}]: [[fill in: what it is about]]"
    blue = ["From: BlueLake", "To: Operator, RedSky", subject.format("opus")]
    assert head("--as", "BlueLake") == blue
    project.send({})
    project.compile()
    assert head("--as", "BlueLake") == [*blue, "**Base Version**: v1"]
    assert head("--as", "Operator")[:3] == [
        *("From: Operator", "To: BlueLake, RedSky", subject.format("human")),
    ]
    assert head("--as", "BlueLake", "--model", "gpt")[2] == subject.format("gpt")
    assert head("--as", "BlueLake", "--role", "gpt")[2] == subject.format("gpt")
    assert head("--as", "BlueLake", "--to", "RedSky")[1] == "To: RedSky"
    assert "--role" not in project("new", "--help").out
    elsewhere = project("new", "DELTA", "--thread", "RS-20260106-other-thread")
    assert (elsewhere.code, "Base Version" in elsewhere.out) == (0, False)


def test_the_registered_model(project: Project) -> None:
    """Comes from the registration of the agent."""
    registered = ("--program", "codex-cli", "--model", "GPT-5.2", "--update")
    assert project("mail", "register", "BlueLake", *registered).code == 0
    assert shorthand_of(None) is None
    assert "DELTA[gpt]" in project("new", "DELTA", "--thread", THREAD, "--as", "BlueLake").out


def test_the_fix_of_an_empty_message(project: Project) -> None:
    """Names the trap: a redirected `check --fix` that could not decide."""
    (project.folder / "e.md").write_text("", "utf-8")
    assert "`brenner check --fix`: it writes nothing" in project("mail", "send", "e.md").err


def test_several_errors_of_one_line(project: Project) -> None:
    """`line 7 … needs`, `lines 7 and 8 … need`."""
    head = f"Thread: {THREAD}\nFrom: BlueLake\nTo: Operator\nSubject: DELTA[gpt]: A\n\n"
    block = '```delta\n{"operation": "ADD", "section": "predictions_table", "payload": {}}\n```\n'
    file = project.folder / "m.md"
    file.write_text(head + block, "utf-8")
    assert "line 7 (MISSING_REQUIRED_FIELD) needs a decision" in project("check", "m.md").out
    file.write_text(head + block + "\n" + block, "utf-8")
    assert "(MISSING_REQUIRED_FIELD) need a decision" in project("check", "m.md").out


def test_words_for_the_model() -> None:
    """A subject with another model gets the allowed words first."""
    from brenner.protocol.subjects import check_subject

    (found,) = check_subject("DELTA[claude-opus]: A")
    assert found.fix.startswith("Write `DELTA[claude]: …`. The brackets take one of `opus`")


# Status, and commands that are slightly wrong


def test_the_status_of_an_agent(project: Project) -> None:
    """Says what the acting name is asked to do, not what the operator is."""
    own = project("session", "status", THREAD, "--as", "BlueLake").out
    assert "You are asked to acknowledge the KICKOFF from Operator. Waiting for RedSky." in own
    assert "Nothing needs you. Waiting for" in project("session", "status", THREAD).out


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("mail inbox ann", "To read the inbox of that agent: `brenner mail inbox --as ann`."),
        ("statsu", "Did you mean `brenner session status`?"),
        ("inbx", "Did you mean `brenner mail inbox`?"),
        ("mail statsu", "Unknown command `statsu`.  → See"),
        ("explain anchor", "To read what the word means: `brenner docs glossary`."),
        ("explain Anchors", "`brenner docs glossary`"),
        (
            "session start --excerpt 1 --excerpt-file x",
            "cannot be used together. A kickoff needs --question and --context.",
        ),
    ],
)
def test_slips(command: str, hint: str, tmp_path: Path) -> None:
    """Exit code 2, and what was meant."""
    done = brenner(*command.split(), cwd=tmp_path)
    assert done.code == 2
    assert hint in done.err


# Pages in a terminal


PAGE = """\
# The `title`

See [a page](other.md#part) and [the site](https://example.org/x), **bold [link](a.md)**.

![A picture](a.png)

~~~console
$ cat > a.md <<'END'
[kept](as it is) | **kept**
END
~~~

| word | meaning |
|---|---|
| **one** | A `a \\| b` and much more text, which is wrapped in its column. |
| two | Short \\<here>. |

| a rather long title of the column | a second one that is as long | third |
|---|---|---|
| x | y | z |
"""


def test_pages_without_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fences, pipes and link targets are hidden; code can be copied."""
    from brenner.cli import markdown_view

    monkeypatch.setattr(markdown_view, "terminal_width", lambda _: 50)
    monkeypatch.setattr("brenner.cli.terminal.terminal_width", lambda _: 50)
    assert (
        "".join(markdown_view.page_lines(PAGE))
        == """\
The `title`

See a page and the site (https://example.org/x),
bold link.

(picture: A picture)

$ cat > a.md <<'END'
[kept](as it is) | **kept**
END

word  meaning
one   A `a | b` and much more text, which is
      wrapped in its column.
two   Short <here>.

x
  a second one that is as long: y
  third: z
"""
    )


def test_every_page_in_a_terminal() -> None:
    """No page shows a fence or a row of pipes; no line of text is too wide."""
    shown = in_terminal(80, "docs", "tutorial")
    assert "~~~" not in shown
    assert "](" not in shown
    glossary = in_terminal(80, "docs", "glossary")
    assert not any(line.startswith("|") for line in glossary.splitlines())
    assert "likelihood ratio" in glossary


def test_a_page_by_its_title(tmp_path: Path) -> None:
    """As a terminal shows the links."""
    assert brenner("docs", "Connect agents", "--path", cwd=tmp_path).out.endswith(
        "how-to/connect-agents.md\n"
    )
