"""Codes for the web pages, the lab and its forms."""

from __future__ import annotations

from brenner.diagnostics.model import error

PAGE_FAILED = error(
    "PAGE_FAILED",
    "Brenner failed while it answered {method} {path}. That is a fault of ours, not of yours.",
    "Try it again. Whether something was done or sent before it failed is seen in the thread: "
    "`brenner mail thread` lists all of them. Where it failed, the server has written to its "
    "standard error: please report that line.",
    "RFC 9110, HTTP Semantics, 500 Internal Server Error",
)

# The lab, and logging in with a browser

_LAB_SPEC = "design, Web page"

NOT_LOGGED_IN = error(
    "NOT_LOGGED_IN",
    "Whoever sent this is not logged in, or not any more. Nothing was done now.",
    "Log in at /lab/login with the secret of {operator}; `brenner agent secret {operator}` "
    "makes it. If you had sent the same before the login ended, look at the thread first: it may "
    "have been done then.",
    _LAB_SPEC,
)
LOGIN_REFUSED = error(
    "LOGIN_REFUSED",
    "That was not right. Nobody was let in.",
    "Paste the whole secret of the operator, `brs_` included. `brenner agent secret "
    "{operator}` makes it where there is none; with `--new` it replaces one that is lost. In a "
    "home that keeps no secrets, `brenner serve --lab` has printed one for this run.",
    _LAB_SPEC,
)
TOO_MANY_ATTEMPTS = error(
    "TOO_MANY_ATTEMPTS",
    "There were too many attempts that failed. Nobody was let in.",
    "Wait for {seconds} s and try again.",
    "RFC 6585, 429 Too Many Requests",
)
FORGED_FORM = error(
    "FORGED_FORM",
    "The form does not bear the mark of your login. Nothing was done.",
    "Open the form again and send it from there. Scripts send JSON with the header "
    "`Brenner-Secret` instead.",
    _LAB_SPEC,
)
FORM_FROM_ELSEWHERE = error(
    "FORM_FROM_ELSEWHERE",
    "The form was sent by {origin}, which is not the page that it belongs to. Nothing was done.",
    "Open the page at the address that `brenner serve` printed, and send the form from there. "
    "Behind a proxy, `--allow-host NAME` says under which name people come. Scripts send JSON with "
    "the header `Brenner-Secret`, and no Origin.",
    _LAB_SPEC,
)
FORM_UNKNOWN = error(
    "FORM_UNKNOWN",
    "This form was made before the server was started, or so long ago that it is "
    "forgotten. Nothing was done now; whether it was done then is not known.",
    "Look at the thread first. If it is not there, open the form again.",
    _LAB_SPEC,
)
FORM_CHANGED = error(
    "FORM_CHANGED",
    "This form has been sent already, with other contents. Nothing was done now.",
    "Look at what became of it, or at the thread. The form that comes back has what you typed "
    "and is a new one: to send it sends that, too. A script gives it a key of its own.",
    _LAB_SPEC,
)
FORM_UNREADABLE = error(
    "FORM_UNREADABLE",
    "What was sent cannot be read: {reason}. Nothing was done.",
    "Send fields as the page's form does, or one JSON object.",
    _LAB_SPEC,
)
ENTRY_REFUSED = error(
    "ENTRY_REFUSED",
    "That was not right. Nobody was let in.",
    "Paste the token that stands in the file of `--token-file`, or in BRENNER_TOKEN, where the "
    "server was started; or ask for a link to a session.",
    "RFC 6750, Bearer Token Usage",
)
LINK_BROKEN = error(
    "LINK_BROKEN",
    "This link was not made here, or something in it was changed or lost.",
    "Copy it again, whole; or ask for a new one: `brenner session link THREAD`.",
    _LAB_SPEC,
)
LINK_EXPIRED = error(
    "LINK_EXPIRED",
    "This link was good until {until}.",
    "Ask for a new one: `brenner session link THREAD --days N`.",
    _LAB_SPEC,
)
GUESTS_STAY = error(
    "GUESTS_STAY",
    "You are here by a link to one session, and this page is not part of it.",
    "Go back to {session}. Who has the server's token comes in at /enter.",
    _LAB_SPEC,
)
MAIL_AWAY = error(
    "MAIL_AWAY",
    "The mail of this session cannot be read just now.",
    "Wait a moment: the page comes up to date by itself. If it does not, tell whoever gave you "
    "the link.",
    _LAB_SPEC,
)

# Missing and contradicting fields in the lab's forms, or in the same as JSON

_LAB_FORM_SPEC = "look, Forms"

FIELD_EMPTY = error(
    "FIELD_EMPTY", "The {field} is missing: {expected}.", "Fill it in{otherwise}.", _LAB_FORM_SPEC
)
FIELDS_CONTRADICT = error(
    "FIELDS_CONTRADICT",
    "`{one}` and `{other}` do not go together.",
    "Leave one of them empty.",
    _LAB_FORM_SPEC,
)
