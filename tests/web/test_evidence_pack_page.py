"""The evidence pack on pages, and what guests and agents can read of it."""

from pathlib import Path

import pytest

from brenner.config import Project
from brenner.diagnostics.model import RequestError
from brenner.mail.memory import MemoryMailbox
from brenner.mcp.tool import Bindings
from brenner.protocol.messages import Message, render_message_file
from brenner.services.send import SendOptions, examine_text
from brenner.services.workspace import Workspace
from brenner.web.auth import check_guest_access
from brenner.web.views import artifact, evidence_pack, exports
from serving.calls import OPERATOR, Place
from session.workspaces import ANN, THREAD, add, contribute, fenced, kickoff, new_workspace
from web.disputed import looked, visit_to

PACK = """
[EV-001]
title = "Clocks <b>"
source = "https://x.org/a"
accessed = 2026-11-19
[EV-001.excerpts]
E1 = "Markers fluctuate."
E2 = "Not cited here."

[EV-002]
title = "Secret plans"
source = "plans.txt"
accessed = 2026-11-19
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A session that cites one excerpt of two, and one record of two."""
    (tmp_path / "brenner.toml").write_text('evidence_pack = "e.toml"\n', "utf-8")
    (tmp_path / "e.toml").write_text(PACK, "utf-8")
    made = new_workspace(tmp_path)
    kickoff(made)
    contribute(made, ANN, add("Gradient", anchors=["EV-001#E1", "EV-009"]))
    made.compile(THREAD)
    return made


def test_anchors_lead_to_their_excerpts(workspace: Workspace) -> None:
    """An anchor that exists is a link to the excerpt among those that the session cites."""
    visit = visit_to(workspace, "/", {"thread": THREAD})
    document, page = looked(artifact.page, visit)
    address = f"/sessions/{THREAD}/excerpts#EV-001-E1"
    assert document["addresses"]["EV-001#E1"] == address
    assert "EV-009" not in document["addresses"]
    assert f'href="{address}"' in page
    document, page = looked(evidence_pack.session_page, visit)
    assert 'id="EV-001-E1"' in page
    assert 'href="https://x.org/a" rel="noreferrer noopener"' in page
    assert "Clocks &lt;b&gt;" in page
    (record,) = document["records"]
    assert [each["items"] for each in record["excerpts"]] == [["H1"]]


def test_guests_see_only_what_their_session_cites(workspace: Workspace) -> None:
    guest = visit_to(workspace, "/", {"thread": THREAD})._replace(guest_of=frozenset({THREAD}))
    document, page = looked(evidence_pack.session_page, guest)
    assert "Markers fluctuate." in page
    for hidden in ("Not cited here", "Secret plans", "EV-002", "/evidence"):
        assert hidden not in page.replace(f"{THREAD}/evidence", "")
        assert hidden not in str(document["records"])
    with pytest.raises(RequestError):
        check_guest_access(
            visit_to(workspace, "/evidence", {})._replace(guest_of=frozenset({THREAD}))
        )


def test_the_whole_pack_is_for_all_other_readers(workspace: Workspace, tmp_path: Path) -> None:
    _, page = looked(evidence_pack.page, visit_to(workspace, "/evidence", {}))
    assert "Not cited here." in page
    assert "Secret plans" in page
    other = new_workspace(tmp_path / "lab")
    _, page = looked(evidence_pack.page, visit_to(other, "/evidence", {}))
    assert "brenner evidence add" in page


def test_agents_read_excerpts_as_a_resource(workspace: Workspace) -> None:
    """A record, one excerpt of it, or the list of all."""
    project = Project(workspace.project.folder, evidence_pack="e.toml")
    place = Place(Workspace(MemoryMailbox(), project, OPERATOR), Bindings())
    one = place.read("evidence/EV-001%23E1")
    assert isinstance(one, dict)
    assert one["excerpts"] == {"E1": "Markers fluctuate."}
    listed = place.read("evidence/*")
    assert isinstance(listed, dict)
    assert [each["anchor"] for each in listed["records"]] == ["EV-001", "EV-002"]


def test_an_export_has_the_cited_sources(workspace: Workspace) -> None:
    """An anchor leads to the excerpt in the same file, which names the source without a link."""
    made = exports.report(visit_to(workspace, "/", {"thread": THREAD}))
    assert 'href="#EV-001-E1"' in made
    assert 'id="EV-001-E1"' in made
    assert "https://x.org/a" in made
    assert 'href="https://x.org/a"' not in made
    assert "Not cited here." not in made


def test_agents_and_the_lab_cannot_cite_what_is_not_there(workspace: Workspace) -> None:
    """Over MCP and in the lab, as on the command line; nothing is posted."""
    count = len(workspace.mailbox.thread(THREAD).messages)
    place = Place(workspace, Bindings())
    delta = add("Other", claim='It says "markers fluctuate" (EV-001#E1)', anchors=["EV-003"])
    found = place.ask("brenner_post", thread_id=THREAD, agent=ANN, deltas=[delta])
    assert found.is_error
    assert isinstance(found.value, dict)
    ids = {each["id"] for each in found.value["violations"]}
    assert {"UNKNOWN_EVIDENCE", "MISQUOTED_EXCERPT"} <= ids
    body = f"# Delta Contribution\n\n{fenced(delta)}"
    message = Message(THREAD, OPERATOR, (ANN,), "DELTA[opus]: News", body)
    options = SendOptions(actor=OPERATOR, project=workspace.project)
    report = examine_text(workspace.mailbox, render_message_file(message), options)
    assert {"UNKNOWN_EVIDENCE", "MISQUOTED_EXCERPT"} <= {each.id for each in report.violations}
    assert len(workspace.mailbox.thread(THREAD).messages) == count
