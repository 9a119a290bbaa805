"""Compile in the lab: the next version of a session, seen before it is published."""

from functools import partial

from brenner.web.lab import compile_acting
from brenner.web.lab.action import Action
from brenner.web.lab.compile_acting import Publishing

_KIND = Publishing("lab/compile.html", "Compile", close=False)

ACTION = Action(
    "compile",
    partial(compile_acting.form, _KIND),
    partial(compile_acting.do, _KIND),
    partial(compile_acting.preview, _KIND),
)
