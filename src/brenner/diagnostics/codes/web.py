"""Codes for the web pages, the lab and its forms."""

from __future__ import annotations

from brenner.diagnostics.model import error

PAGE_FAILED = error(
    "PAGE_FAILED",
    "Brenner failed while it answered {method} {path}. This is a fault of Brenner, not yours.",
    "Reload the page. If you sent something, check in the thread whether it took effect. The "
    "server's standard error shows where it failed: please report that line.",
    "RFC 9110, HTTP Semantics, 500 Internal Server Error",
)

# The lab, and logging in with a browser

_LAB_SPEC = "design, Web page"

NOT_LOGGED_IN = error(
    "NOT_LOGGED_IN",
    "You are not logged in, or your login has expired. No changes were made.",
    "Log in at /lab/login with the secret of {operator}. To make one: `brenner agent secret "
    "{operator}`. If you sent the same form before your login expired, check the thread "
    "first.",
    _LAB_SPEC,
)
LOGIN_REFUSED = error(
    "LOGIN_REFUSED",
    "Wrong secret.",
    "Paste the whole secret of the operator, including `brs_`. To make one: `brenner agent "
    "secret {operator}`. Add `--new` to replace a lost one. If the store keeps no secrets, "
    "paste the one that `brenner serve --lab` printed.",
    _LAB_SPEC,
)
TOO_MANY_ATTEMPTS = error(
    "TOO_MANY_ATTEMPTS",
    "Too many failed login attempts.",
    "Wait {seconds} s and try again.",
    "RFC 6585, 429 Too Many Requests",
)
FORGED_FORM = error(
    "FORGED_FORM",
    "The form does not belong to your current login. No changes were made.",
    "Open the form again and send it from there. Scripts send JSON with the header "
    "`Brenner-Secret` instead.",
    _LAB_SPEC,
)
FORM_FROM_ELSEWHERE = error(
    "FORM_FROM_ELSEWHERE",
    "The form was sent by {origin}, not by a page of this server. No changes were made.",
    "Open the page at the address that `brenner serve` printed, and send the form from "
    "there. Behind a proxy, start the server with `--allow-host NAME`. Scripts send JSON "
    "with the header `Brenner-Secret` and no Origin.",
    _LAB_SPEC,
)
FORM_UNKNOWN = error(
    "FORM_UNKNOWN",
    "This form is too old: it was opened before the server started, or long ago. No changes "
    "were made now. It is unknown whether an earlier attempt succeeded.",
    "Check the thread first. If your change is not there, open the form again.",
    _LAB_SPEC,
)
FORM_CHANGED = error(
    "FORM_CHANGED",
    "This form was already sent with other contents. No changes were made.",
    "Check the result of the first send, or the thread. The form below is a new one with your "
    "text: if you send it, it is sent in addition. A script uses a new key.",
    _LAB_SPEC,
)
FORM_UNREADABLE = error(
    "FORM_UNREADABLE",
    "Cannot read the request: {reason}. No changes were made.",
    "Open the form again and send it from there. A script sends the fields of the form, or one "
    "JSON object.",
    _LAB_SPEC,
)
ENTRY_REFUSED = error(
    "ENTRY_REFUSED",
    "Wrong token.",
    "Paste the server's token: the content of its `--token-file`, or BRENNER_TOKEN. Or ask the "
    "operator for a guest link to a session.",
    "RFC 6750, Bearer Token Usage",
)
LINK_BROKEN = error(
    "LINK_BROKEN",
    "This link is not valid: it is not complete, was changed, or is from another server.",
    "Copy the whole link again. Or ask the operator for a new one: `brenner session link THREAD`.",
    _LAB_SPEC,
)
LINK_EXPIRED = error(
    "LINK_EXPIRED",
    "This link expired at {until}.",
    "Ask the operator for a new one: `brenner session link THREAD --days N`.",
    _LAB_SPEC,
)
GUESTS_STAY = error(
    "GUESTS_STAY",
    "Your link opens one session, and this page is not part of it.",
    "Go back to {session}. If you have the server's token, enter it at /enter.",
    _LAB_SPEC,
)
MAIL_AWAY = error(
    "MAIL_AWAY",
    "The mail of this session cannot be read at the moment.",
    "Wait a moment: the page updates itself. If it does not, tell the person who gave you "
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
    "`{one}` and `{other}` cannot be used together.",
    "Leave one of them empty.",
    _LAB_FORM_SPEC,
)
