"""`session round --spawn --broadcast` with a real tmux: a round is sent, opened and told of."""

import brenner
from integrations.terminals import PROGRAMS, Terminals, eventually
from integrations.test_broadcast_tmux import arguments, typed_line
from session.round_play import NAMES, THREAD, first_round

STARTED = "Started BlueLake (claude), RedSky (codex --no-daemon) and GreenDog (gemini)"
ROUND = ("session", "round", THREAD, "--spawn", "--broadcast")


def played(at_work: Terminals) -> Terminals:
    """A session with v1, whose agents are registered with their programs."""
    for name, program in PROGRAMS.items():
        assert at_work("mail", "register", name, "--program", program).code == 0
    with brenner.open(str(at_work.project)) as workspace:
        first_round(workspace)
    return at_work


def test_a_whole_round(at_work: Terminals) -> None:
    """Kickoffs of round 2 are out, each has a window, and each was told by its name."""
    played(at_work)
    done = at_work(*ROUND)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:6] == [
        f"Sent message 7 to BlueLake (hypothesis_generator) in {THREAD}.",
        f"Sent message 8 to RedSky (test_designer) in {THREAD}.",
        f"Sent message 9 to GreenDog (adversarial_critic) in {THREAD}.",
        f"{STARTED} in {THREAD}, with tmux.",
        "Notified BlueLake, RedSky and GreenDog of new mail.",
        f"  To see them: `tmux attach -t '={THREAD}'`",
    ]
    assert at_work.windows(THREAD) == list(NAMES)
    for name in NAMES:
        started = at_work.started(name)
        assert (started["env"]["AGENT_NAME"], started["argv"]) == (name, arguments(name, THREAD))
        assert at_work.typed(name) == ""
    with brenner.open(str(at_work.project)) as workspace:
        sent = workspace.mailbox.thread(THREAD).messages[-3:]
    assert [(each.type, each.message.recipients) for each in sent] == [
        ("KICKOFF", (name,)) for name in NAMES
    ]
    assert all("# Round 2 Kickoff" in each.message.body for each in sent)


def test_the_same_again(at_work: Terminals) -> None:
    """Nobody is asked twice; who is there is typed to, a lost window comes back with the line."""
    played(at_work)
    assert at_work(*ROUND).code == 0
    for name in NAMES:
        at_work.started(name)
    at_work.tmux("kill-window", "-t", f"={THREAD}:=RedSky")
    done = at_work(*ROUND, "--json")
    assert (done.code, done.json["status"], done.json["round"]) == (0, "nothing_to_send", 2)
    found = done.json["neighbours"]
    assert [each["agent"] for each in found["spawn"]["opened"]] == ["RedSky"]
    assert found["spawn"]["open_before"] == ["BlueLake", "GreenDog"]
    assert found["broadcast"] == {"told": list(NAMES), "all_panes": False, "not_told": []}
    for name, times in (("BlueLake", 1), ("RedSky", 0), ("GreenDog", 1)):
        expected = typed_line(name, THREAD) * times
        eventually(lambda name=name, expected=expected: at_work.typed(name) == expected)  # type: ignore[misc]


def test_dry_run(at_work: Terminals) -> None:
    """It says what would be opened and told; nothing is sent, and no window opens."""
    played(at_work)
    done = at_work(*ROUND, "--dry-run", "--json")
    assert (done.code, done.json["status"]) == (0, "dry_run")
    assert done.json["neighbours"]["status"] == "dry_run"
    assert done.json["neighbours"]["broadcast"]["told"] == list(NAMES)
    assert at_work.tmux("list-sessions", is_fine=False) == []
    with brenner.open(str(at_work.project)) as workspace:
        assert len(workspace.mailbox.thread(THREAD).messages) == 6


def test_nobody_to_open(at_work: Terminals) -> None:
    """Known to fail, so refused before a kickoff of the round goes out."""
    with brenner.open(str(at_work.project)) as workspace:
        first_round(workspace)
    done = at_work(*ROUND, "--json")
    assert (done.code, done.codes, done.json["status"]) == (1, ["NOBODY_TO_OPEN"], "refused")
    with brenner.open(str(at_work.project)) as workspace:
        assert len(workspace.mailbox.thread(THREAD).messages) == 6
