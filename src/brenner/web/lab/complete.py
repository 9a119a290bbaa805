"""Complete a session in the lab: its last version, seen before it is published."""

from brenner.web.lab.compile_acting import Publishing, publishing

_KIND = Publishing("lab/compile.html", "Complete the session", close=True)

ACTION = publishing("complete", _KIND)
