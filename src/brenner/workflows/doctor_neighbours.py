"""The programs beside ours, which nobody has to have: where they are, and which version."""

from collections.abc import Iterator

from brenner.integrations.programs import find, run
from brenner.text import visible
from brenner.workflows.neighbours import BD, NTM, TMUX
from brenner.workflows.surroundings import OK, Check

_SECONDS = 3
_ASKED = {NTM: "--version", TMUX: "-V", BD: "--version"}
_WITHOUT = {
    NTM: "not installed (optional); --spawn takes tmux then",
    TMUX: "not installed (optional); --spawn needs it, or ntm",
    BD: "not installed (optional); no bead is shown then",
}
_MOST = 60


def neighbour_checks() -> Iterator[Check]:
    """One line each; that one is missing is no fault."""
    for name, option in _ASKED.items():
        path = find(name)
        if path is None:
            yield Check(name, OK, _WITHOUT[name])
            continue
        ran = run([path, option], _SECONDS)
        said = ran.out.strip().partition("\n")[0].removeprefix(f"{name} ") if ran.is_fine else ""
        version = f"{visible(said, _MOST)}, " if said else ""
        yield Check(name, OK, f"{version}{visible(path)}")
