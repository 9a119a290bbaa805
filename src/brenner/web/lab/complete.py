"""Complete a session in the lab: its last version, seen before it is published."""

from functools import partial

from brenner.web.lab import compile_acting
from brenner.web.lab.action import Action
from brenner.web.lab.compile_acting import Publishing

_KIND = Publishing("lab/compile.html", "Complete the session", close=True)

ACTION = Action(
    "complete",
    partial(compile_acting.form, _KIND),
    partial(compile_acting.do, _KIND),
    partial(compile_acting.preview, _KIND),
)
