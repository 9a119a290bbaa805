"""The specification as data: every requirement has cases, every case has a requirement.

`requirements/*.toml` state, in our own words, what each document and ruling asks for;
`cases/*.toml` hold inputs with the exact result. How both look: README.md beside this file.
"""

import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from brenner.diagnostics.catalogue import CATALOGUE
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.protocol.subjects import check_subject
from brenner.protocol.thread_ids import check_thread_id
from brenner.protocol.validate import Report, check_message
from conformance.artifact_kind import check_artifact
from conformance.following_kind import check_following
from conformance.lint_kind import check_lint
from conformance.mail_kind import check_mail
from conformance.mail_shorthand import mail_codes
from conformance.message_files import changed_message
from conformance.roster_kind import check_roster
from conformance.scene_stores import CHOSEN, homes_of, is_chosen
from conformance.server_kind import check_server, servers_of
from conformance.serving_kind import check_serving, serving_codes
from conformance.session_kind import check_session
from conformance.session_shorthand import session_codes
from conformance.store_kind import check_store
from conformance.thread_kind import check_thread, expected_codes
from conformance.web_kind import check_web, web_codes
from mail.backends import HOMES, Backend
from servers import agent_mail, postgresql_files

HERE = Path(__file__).parent
Case = dict[str, Any]

HEADERS = {
    "Thread": "RS-20251230-cell-fate-dichotomy",
    "From": "BlueLake",
    "To": "Operator",
    "Subject": "DELTA[opus]: A contribution",
}


def load(folder: str, table: str) -> list[Case]:
    """All rows of the TOML files in a folder, each with the file that it came from."""
    return [
        {"file": path.name} | row
        for path in sorted((HERE / folder).glob("*.toml"))
        for row in tomllib.loads(path.read_text("utf-8"))[table]
    ]


REQUIREMENTS = load("requirements", "requirement")
# Kinds whose codes stand among what their cases state, and how they are read from there.
CODES_OF: dict[str, Callable[[Case], list[str]]] = {
    "thread": expected_codes,
    "mail": mail_codes,
    "session": session_codes,
    "following": session_codes,
    "server": session_codes,
    "serving": serving_codes,
    "web": web_codes,
    "store": lambda _: [],
}
# Where the servers of the tests are found
_OF_TESTS = (agent_mail.CHOSEN, postgresql_files.CHOSEN)


def whole(case: Case) -> Case:
    """The case with its codes, and with the text of a message file that it gives by its changes."""
    if case["kind"] in CODES_OF:
        return {"codes": CODES_OF[case["kind"]](case)} | case
    if case["kind"] == "file" and "base" in case:
        return {"input": changed_message(case)} | case
    return case


CASES = [whole(case) for case in load("cases", "case")]


def cases_of(*kinds: str) -> list[Case]:
    """The cases of these kinds."""
    return [case for case in CASES if case["kind"] in kinds]


def message_file(case: Case) -> str:
    """A whole message file from a case that gives only what matters."""
    headers = HEADERS | case.get("headers", {})
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not False]
    return "\n".join([*lines, "", str(case["input"])])


def _block(case: Case) -> list[Diagnostic]:
    body = f"# Delta Contribution\n\n```delta\n{case['input']}\n```\n"
    return list(check_message(message_file(case | {"input": body})).violations)


CHECKS: dict[str, Callable[[Case], list[Diagnostic]]] = {
    "thread_id": lambda case: check_thread_id(case["input"]),
    "subject": lambda case: check_subject(case["input"]),
    "file": lambda case: list(check_message(case["input"], case.get("actor")).violations),
    "body": lambda case: list(check_message(message_file(case)).violations),
    "block": _block,
    "artifact": check_artifact,
    "lint": check_lint,
}


def played(kind: str, where: Callable[[Case], Iterable[Backend]]) -> pytest.MarkDecorator:
    """The cases of a kind, each in the homes that it is played in."""
    pairs = ((case, home) for case in cases_of(kind) for home in where(case))
    scenes = [
        pytest.param(
            case,
            home,
            id=f"{case['name']}-{home.name}",
            marks=[pytest.mark.every_store] if is_chosen(home, case) else [],
        )
        for case, home in pairs
    ]
    return pytest.mark.parametrize(("case", "home"), scenes)


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the machine says of us or of git."""
    ours = ("BRENNER_", "GIT_", "AGENT_")
    for name in [name for name in os.environ if name.startswith(ours) and name not in _OF_TESTS]:
        monkeypatch.delenv(name)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)


@played("mail", homes_of)
def test_mail_case(case: Case, home: Backend, tmp_path: Path) -> None:
    """The scene goes as it says, wherever the mail lives."""
    check_mail(case, home, tmp_path)


@pytest.mark.parametrize("case", cases_of("roster"), ids=lambda case: case["name"])
def test_roster_case(case: Case, tmp_path: Path) -> None:
    """The roster is read, found and written as the case says."""
    check_roster(case, tmp_path)


@pytest.mark.parametrize("case", cases_of("store"), ids=lambda case: case["name"])
def test_store_case(case: Case, tmp_path: Path) -> None:
    """The address means what the case says."""
    check_store(case, tmp_path)


@played("session", homes_of)
@pytest.mark.usefixtures("surroundings")
def test_session_case(case: Case, home: Backend, tmp_path: Path) -> None:
    """The session goes as it says, wherever the mail lives."""
    check_session(case, home, tmp_path)


@played("following", homes_of)
@pytest.mark.usefixtures("surroundings")
def test_following_case(case: Case, home: Backend, tmp_path: Path) -> None:
    """The sessions stand where it says, wherever the mail lives."""
    check_following(case, home, tmp_path)


@played("serving", lambda _: HOMES)
@pytest.mark.usefixtures("surroundings")
def test_serving_case(case: Case, home: Backend, tmp_path: Path) -> None:
    """The tools answer as the case says, wherever the mail lives."""
    check_serving(case, home, tmp_path)


@played("web", lambda _: HOMES)
@pytest.mark.usefixtures("surroundings")
def test_web_case(case: Case, home: Backend, tmp_path: Path) -> None:
    """The pages show what the case says, wherever the mail lives."""
    check_web(case, home, tmp_path)


@played("server", servers_of)
@pytest.mark.usefixtures("surroundings")
def test_server_case(case: Case, home: Backend, tmp_path: Path) -> None:
    """The commands end as the case says, and the server has what it says."""
    check_server(case, home, tmp_path)


@pytest.mark.parametrize("case", cases_of("thread", *CHECKS), ids=lambda case: case["name"])
def test_case(case: Case) -> None:
    """The case gives exactly its codes, and everything else that it states."""
    if case["kind"] == "thread":
        check_thread(case)
        return
    found = CHECKS[case["kind"]](case)
    ignored = set(case.get("ignore", []))
    assert Counter(d.id for d in found if d.id not in ignored) == Counter(case["codes"]), [
        (d.id, d.line, d.message) for d in found
    ]
    for code, lines in case.get("lines", {}).items():
        assert sorted(d.line or 0 for d in found if d.id == code) == sorted(lines)
    for code, also in case.get("also", {}).items():
        assert [list(d.also) for d in found if d.id == code] == [also] * case["codes"].count(code)
    for code, severity in case.get("severities", {}).items():
        assert {d.severity for d in found if d.id == code} == {severity}
    for text in case.get("says", []):
        assert any(text in f"{d.message} {d.fix}" for d in found), text
    if "corrected" in case or case.get("correctable") is not None:
        _check_correction(case)
    if "deltas" in case:
        _check_deltas(case)


def _report(case: Case) -> Report:
    text = case["input"] if case["kind"] == "file" else message_file(case)
    if case["kind"] == "block":
        body = f"# Delta Contribution\n\n```delta\n{case['input']}\n```\n"
        text = message_file(case | {"input": body})
    return check_message(text, case.get("actor"))


def _check_correction(case: Case) -> None:
    report = _report(case)
    assert (report.corrected is not None) == case.get("correctable", True)
    if report.corrected is not None:
        assert check_message(report.corrected, case.get("actor")).valid
        for text in case.get("corrected", []):
            assert text in report.corrected


def _check_deltas(case: Case) -> None:
    deltas = [[d.operation or "", d.section or "", d.valid] for d in _report(case).deltas]
    assert deltas == case["deltas"]


def test_kinds_are_known() -> None:
    """Every case is played by one of the tests above."""
    scenes = {"following", "mail", "server", "serving", "session", "thread", "web"}
    assert {case["kind"] for case in CASES} == {"roster", "store", *scenes, *CHECKS}


def test_chosen_scenes() -> None:
    """Each scene that is chosen for a server is played there, and is chosen once."""
    tests = [test_mail_case, test_session_case, test_following_case]
    tests += [test_serving_case, test_web_case, test_server_case]
    played_there = {
        (scene.values[0]["name"], scene.values[1].name)
        for test in tests
        for mark in test.pytestmark  # type: ignore[attr-defined]
        if mark.name == "parametrize"
        for scene in mark.args[1]
    }
    assert set(CHOSEN) <= played_there
    assert len(CHOSEN) == len(set(CHOSEN))


def fails(case: Case) -> bool:
    """Whether the case shows something being refused or complained of."""
    return bool(case["codes"])


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda row: row["id"])
def test_requirement_has_cases(requirement: Case) -> None:
    """Every requirement is proved: by a case that passes and one that fails, where it can fail."""
    cases = [case for case in CASES if requirement["id"] in case["proves"]]
    assert cases, "no case proves it"
    if requirement.get("kinds", "both") == "both":
        assert {fails(case) for case in cases} == {True, False}


def test_cases_have_requirements() -> None:
    """No case stands for itself, and none is named twice."""
    known = {requirement["id"] for requirement in REQUIREMENTS}
    assert [(c["name"], p) for c in CASES for p in c["proves"] if p not in known] == []
    assert [n for n, count in Counter(c["name"] for c in CASES).items() if count > 1] == []


def test_requirements_name_their_source() -> None:
    """Each requirement says which document and, where there is one, which ruling it comes from."""
    ids = [requirement["id"] for requirement in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    assert all(requirement["source"] and requirement["says"] for requirement in REQUIREMENTS)


def test_codes_are_known() -> None:
    """Cases speak of codes that exist, and a case that expects an error expects a known one."""
    named = {code for case in CASES for code in case["codes"]}
    assert named <= CATALOGUE.keys()
    assert any(CATALOGUE[code].severity is ERROR for code in named)
