"""What people see of the worst bodies is bounded: pages, their JSON, what a compile prints."""

import contextlib
import io
import json

import pytest

from brenner.cli.compile import report
from brenner.limits import MOST_BLOCKS, MOST_DIAGNOSTICS_OF_A_MESSAGE
from brenner.services.compile import CompileOptions, CompileResult, compile_result_json
from brenner.web.views import thread
from brenner.web.views import versions as ledger
from effort import effort
from hostile_bodies import HOSTILE_BODIES, HostileBody, fence
from web.mail_scene import ANN, THREAD, Scene, added

_SIZE = effort(40_000, 200_000)
_MOST = MOST_DIAGNOSTICS_OF_A_MESSAGE + 1


@pytest.fixture
def scene() -> Scene:
    """A session with a question, and nothing else."""
    made = Scene()
    made.kickoff(ANN)
    return made


def tried(scene: Scene) -> CompileResult:
    """What a compile would do."""
    return scene.workspace.compile(THREAD, CompileOptions(dry_run=True))


def printed(done: CompileResult) -> str:
    """What the command prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        report(done, as_json=False)
    return out.getvalue() + err.getvalue()


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_pages_are_bounded(scene: Scene, body: HostileBody) -> None:
    """The page of the message, of its thread, of the ledger, and their JSON."""
    number = scene.send(ANN, body.subject, body.make(_SIZE))
    for page, named in (
        (thread.message_page, {"message": str(number)}),
        (thread.page, {"thread": THREAD}),
        (ledger.ledger_page, {"thread": THREAD}),
    ):
        document, html = scene.look(page, named)
        assert len(json.dumps(document)) < 2_000_000
        assert len(html) < 2_000_000
        if page is thread.message_page:
            shown = document["message"]
            assert len(shown["faults"]) <= _MOST
            found = [one for block in shown["blocks"] for one in block["violations"]]
            plain = [one for one in found if "left_out" not in one]
            assert len(plain) <= _MOST + len(shown["blocks"])


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_compiles_are_bounded(scene: Scene, body: HostileBody) -> None:
    """As text and as JSON, whether or not anything applies."""
    scene.delta(ANN, added("One"))
    scene.send(ANN, body.subject, body.make(_SIZE))
    done = tried(scene)
    assert len(printed(done)) < 250_000
    document = compile_result_json(done)
    assert len(json.dumps(document)) < 2_500_000
    assert isinstance(document["violations"], list)
    assert len(document["violations"]) <= 2 * _MOST
    assert scene.compile() == 1


def test_what_is_left_out_is_said(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many blocks there are more, and which command lists them.

    Blocks with one cause are one entry, so the limit counts causes.
    """
    scene.delta(ANN, *[fence("{}")] * 60, *[fence("[1]")] * 10)
    shown = printed(tried(scene))
    assert shown.count(" ×60  BlueLake, blocks 1–60:") > 0
    assert "more refused blocks" not in shown
    monkeypatch.setattr("brenner.cli.compile._MAX_REFUSED", 1)
    assert "10 more rejected blocks: `brenner compile --dry-run --json" in printed(tried(scene))
    scene.delta(ANN, added("One"))
    done = scene.workspace.compile(THREAD)
    assert f"10 more rejected blocks: `brenner artifact ledger {THREAD}`" in printed(done)


def test_too_many_blocks(scene: Scene) -> None:
    """The ledger counts all of them and lists as many as would have been read."""
    count = MOST_BLOCKS + 100
    scene.send(ANN, "DELTA[gpt]: x", fence("") * count)
    found = compile_result_json(tried(scene))["ledger"]
    assert isinstance(found, dict)
    assert found["refused"] == count
    assert (len(found["entries"]), found["entries_left_out"]) == (MOST_BLOCKS, 100)
    document, _ = scene.look(ledger.ledger_page, {"thread": THREAD})
    assert document["refused"] == count
