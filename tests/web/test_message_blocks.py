"""COMPILED messages and delta blocks in the thread: versions, outcomes, reasons, fixes."""

import pytest

from brenner.services.decisions import dismiss
from brenner.web.views import thread
from web.mail_scene import ANN, BEA, REFUSED, THREAD, Scene, added
from web.test_thread_page import look, message

EDIT = """```delta
{"operation": "EDIT", "section": "research_thread", "target_id": "RT",
 "payload": {"context": "The context, %d"}, "rationale": "Better"}
```
"""


@pytest.fixture
def scene() -> Scene:
    """A session with a question, and nothing else."""
    made = Scene()
    made.kickoff(ANN)
    return made


def alone(scene: Scene, number: int) -> str:
    """The page of one message, with all its blocks."""
    return scene.look(thread.message_page, {"message": str(number)})[1]


def test_compiled_by_others(scene: Scene) -> None:
    """A COMPILED message that is no version says so."""
    number = scene.send(BEA, "COMPILED: v1", "# Compiled Artifact v1\n\n## Contributors\nMe\n")
    document, page = look(scene)
    assert message(document, number)["version"] is None
    assert [each["id"] for each in message(document, number)["faults"]] == [
        "COMPILED_WITHOUT_RECORD"
    ]
    assert "COMPILED_WITHOUT_RECORD" in page
    assert "This is <a" not in page


def test_blocks_before_the_compile(scene: Scene) -> None:
    """What would become of them; the reason and the fix of those that would be refused."""
    number = scene.delta(ANN, added("One"), REFUSED)
    document, page = look(scene)
    first, second = message(document, number)["blocks"]
    assert (first["outcome"], first["version"]) == ("would be applied as H1", None)
    assert first["payload"]["claim"] == "It is One"
    assert second["outcome"] == "would be rejected"
    assert second["violations"][0]["id"] == "INVALID_SECTION"
    assert message(document, number)["block_counts"] == {"applied": 1, "refused": 1, "duplicate": 0}
    assert f'<details class="delta refused" id="m{number}-block-2" open>' in page
    assert f'<details class="delta applied" id="m{number}-block-1">' in alone(scene, number)
    assert "Use one of <code>research_thread" in page
    assert "expected; not compiled yet" in page


def test_equal_errors_are_shown_once(scene: Scene) -> None:
    """With the first block; the others are folded and refer to it."""
    number = scene.delta(ANN, REFUSED, REFUSED, REFUSED)
    _, page = look(scene)
    assert page.count("Use one of <code>research_thread") == 1
    assert "Also in blocks 2 and 3." in page
    assert page.count("Same error as in block 1.") == 2
    assert f'<details class="delta refused" id="m{number}-block-1" open>' in page
    assert f'<details class="delta refused" id="m{number}-block-2">' in page


def test_blocks_after_the_compile(scene: Scene) -> None:
    """What became of them, with links to the item and the version; and what was corrected."""
    number = scene.delta(ANN, added("One"), REFUSED)
    scene.delta(ANN, added("One"))
    scene.compile()
    document, page = look(scene)
    first, second = message(document, number)["blocks"]
    assert (first["state"], first["item_id"], first["version"]) == ("applied", "H1", 1)
    assert (second["state"], second["settled"]) == ("refused", None)
    whole = alone(scene, number)
    assert '<span class="outcome applied">applied as H1</span>' in whole
    assert (
        f'<p class="note">See <a class="id" href="/sessions/{THREAD}/items/H1">H1</a> in' in whole
    )
    assert whole.count(">See <") == 1  # a refused block has no item
    assert '<span class="mono">ADD Hypotheses</span>' in whole
    assert message(document, number + 1)["blocks"][0]["state"] == "duplicate"
    corrected = scene.delta(ANN, added("Wrong"))
    _, page = look(scene, round="1")
    assert f'corrected in <a class="id" href="/messages/{corrected}">' in page
    assert f'<details class="delta refused" id="m{number}-block-2">' in page


def test_dismissed_blocks(scene: Scene) -> None:
    """The operator has let one be, and the page says where."""
    number = scene.delta(ANN, added("One"), REFUSED)
    scene.compile()
    dismiss(scene.workspace, THREAD, number, 2, "Enough")
    document, page = look(scene, round="1")
    settled = message(document, number)["blocks"][1]["settled"]
    assert settled["how"] == "dismissed"
    assert f'dismissed in <a class="id" href="/messages/{settled["message_id"]}">' in page


def test_blocks_that_contribute_nothing(scene: Scene) -> None:
    """In a message of another type; in a fence of another name; or none at all."""
    aside = scene.send(ANN, "INFO: Not a DELTA", added("Lost"))
    stray = scene.send(ANN, "DELTA[opus]: Json", added("Lost").replace("```delta", "```json"))
    empty = scene.send(ANN, "DELTA[opus]: Nothing", "Words only.")
    document, page = look(scene)
    assert message(document, aside)["blocks"][0]["violations"][0]["id"] == "DELTA_NOT_CONTRIBUTED"
    assert [each["id"] for each in message(document, stray)["faults"]] == ["INLINE_DELTA"]
    assert message(document, empty)["blocks_total"] == 0
    assert (
        page.count("This message contains no delta block, so it changes nothing in the artifact.")
        == 2
    )


def test_many_blocks(scene: Scene) -> None:
    """A bounded number is shown, and every refused one before all others."""
    number = scene.delta(ANN, *(EDIT % each for each in range(60)), REFUSED)
    document, page = look(scene)
    shown = message(document, number)["blocks"]
    assert (len(shown), shown[-1]["block"], shown[-1]["state"]) == (40, 61, "refused")
    assert message(document, number)["blocks_total"] == 61
    assert "21 more blocks are in the <a" in page


def edit(section: str, target: str, **payload: str) -> str:
    """A block that edits some fields."""
    fields = ", ".join(f'"{key}": "{value}"' for key, value in payload.items())
    return (
        f'```delta\n{{"operation": "EDIT", "section": "{section}", "target_id": "{target}", '
        f'"payload": {{{fields}}}, "rationale": "Better"}}\n```\n'
    )


def test_contributions_are_sentences(scene: Scene) -> None:
    """Before and after the compile: what was added, changed from what to what, and killed."""
    first = scene.delta(ANN, added("One"), added("Two"), REFUSED)
    page = look(scene)[1]
    assert (
        f'<strong>added</strong> <a class="id" href="/sessions/{THREAD}/items/H1">H1</a> One'
        in page
    )
    scene.compile()
    kill = edit("hypothesis_slate", "H2", reason="Refuted").replace("EDIT", "KILL")
    second = scene.delta(BEA, edit("hypothesis_slate", "H1", claim="It is another"), kill)
    expected = [
        {"does": "changed", "item_id": "H1", "old": "It is One", "new": "It is another"},
        {"does": "killed", "item_id": "H2", "old": "", "new": "Refuted"},
    ]
    for _ in range(2):
        document, page = look(scene, round="2")
        said = message(document, second)["sentences"]
        assert [{key: each[key] for key in expected[0]} for each in said] == expected
        assert "’s claim: <del>It is One</del> → <ins>It is another</ins>" in page
        scene.compile()
    told = message(look(scene, round="1")[0], first)["sentences"]
    assert [(each["does"], each["item_id"], each["new"]) for each in told] == [
        ("added", "H1", "One"),
        ("added", "H2", "Two"),
    ]
