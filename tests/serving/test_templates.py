"""Addresses of resources: which one is meant, and what they say."""

from collections.abc import Mapping
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brenner.diagnostics.model import Diagnostic
from brenner.mcp.arguments import find_resource, unknown_resource
from brenner.mcp.tool import Resource

FORMS = (
    "resource://agents",
    "resource://agents/{project}",
    "resource://inbox/{agent}{?project,limit,since_ts}",
    "resource://thread/{thread_id*}{?project,include_bodies}",
    "resource://message/{message_id}{?project}",
)
RESOURCES = tuple(Resource(form, form, "", lambda call: call.arguments) for form in FORMS)


def found(uri: str) -> tuple[Resource, Mapping[str, object], tuple[Diagnostic, ...]]:
    """What an address that is known means."""
    match = find_resource(RESOURCES, uri)
    assert match is not None
    return match


@pytest.mark.parametrize(
    ("uri", "form", "said"),
    [
        ("resource://agents", 0, {}),
        ("resource://agents/%2Fhome%2Fada%2Flab", 1, {"project": "/home/ada/lab"}),
        ("resource://inbox/BlueLake", 2, {"agent": "BlueLake"}),
        (
            "resource://inbox/BlueLake?limit=5&since_ts=2026-11-16T14:44:45+00:00",
            2,
            {"agent": "BlueLake", "limit": "5", "since_ts": "2026-11-16T14:44:45+00:00"},
        ),
        ("resource://inbox/BlueLake?project=", 2, {"agent": "BlueLake"}),
        ("resource://thread/a/b/c", 3, {"thread_id": "a/b/c"}),
        ("resource://thread/a%2Fb?project=x", 3, {"thread_id": "a/b", "project": "x"}),
        ("resource://message/12%3Fproject%3D%252Flab", 4, {"message_id": "12", "project": "/lab"}),
        ("resource://message/12%3Fno%3Dkey", 4, {"message_id": "12?no=key"}),
    ],
)
def test_an_address_is_taken_apart(uri: str, form: int, said: dict[str, str]) -> None:
    """What is left out is empty; a query may hide in the last segment, encoded once more."""
    match = found(uri)
    assert match[0].template == FORMS[form]
    assert match[2] == ()
    assert {name: value for name, value in match[1].items() if value} == said


@pytest.mark.parametrize(
    "uri",
    [
        *("resource://nothing/1", "resource://inbox", "resource://inbox/", "resource://inbox/a/b"),
        *("http://inbox/a", "inbox/a", "", "resource://inbox/%FF"),
    ],
)
def test_an_unknown_address_means_nothing(uri: str) -> None:
    """It is not an empty inbox."""
    assert find_resource(RESOURCES, uri) is None
    assert unknown_resource(RESOURCES, uri).message == f"Unknown resource: '{uri}'."


def test_the_resource_that_was_meant_is_named() -> None:
    """By the first segment."""
    meant = unknown_resource(RESOURCES, "resource://inboxs/BlueLake")
    assert meant.suggestion == "resource://inbox/{agent}"
    assert "`inbox`" in meant.fix


@pytest.mark.parametrize(
    ("uri", "names"),
    [
        ("resource://inbox/BlueLake?limt=5", [("limt", "limit")]),
        ("resource://inbox/BlueLake?agent=RedStone", [("agent", None)]),
        ("resource://inbox/BlueLake%3Flimit%3D5%26prject%3Dx", [("prject", "project")]),
        ("resource://agents?project=x", [("project", None)]),
    ],
)
def test_an_unknown_key_is_refused(uri: str, names: list[tuple[str, str | None]]) -> None:
    """What is asked for under a wrong name would be lost without a word."""
    match = found(uri)
    assert [(each.message.split("`")[3], each.suggestion) for each in match[2]] == names


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_put_into_an_address_comes_out(agent: str, project: str, limit: str) -> None:
    """Law: any text survives in the path and in the query, however the query is passed."""
    assume("?" not in agent)
    query = f"?project={quote(project, safe='')}&limit={quote(limit, safe='')}"
    path = f"resource://inbox/{quote(agent, safe='')}"
    for uri in (path + query, path + quote(query, safe="")):
        match = found(uri)
        assert match[2] == ()
        assert match[1] == {
            "agent": agent,
            "project": project,
            "limit": limit,
            "since_ts": "",
        }


@given(st.text())
def test_no_address_raises(text: str) -> None:
    """Law: whatever is asked for, there is an answer."""
    for uri in (text, f"resource://inbox/{text}", f"resource://thread/a?{text}"):
        match = find_resource(RESOURCES, uri)
        assert match is not None or unknown_resource(RESOURCES, uri).message
