"""Compile in the lab: the next version of a session, seen before it is published."""

from brenner.web.lab.compile_acting import Publishing, publishing

_KIND = Publishing("lab/compile.html", "Compile", close=False)

ACTION = publishing("compile", _KIND)
