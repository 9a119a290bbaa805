"""Codes for the web pages, the lab and its forms."""

from brenner.diagnostics.model import ERROR, Code, Example

PAGE_FAILED = Code(
    id="PAGE_FAILED",
    severity=ERROR,
    title="Brenner itself has failed",
    message="Brenner failed while it answered {method} {path}. That is a fault of ours, not of "
    "yours.",
    fix="Try it again. Whether something was done or sent before it failed is seen in the thread: "
    "`brenner mail thread` lists all of them. Where it failed, the server has written to its "
    "standard error: please report that line.",
    why="What nobody has foreseen is not hidden behind an empty page, nor is anything of it shown "
    "that belongs to somebody else.",
    spec="RFC 9110, HTTP Semantics, 500 Internal Server Error",
    example=Example("text", "a page that cannot be written", "the same page, once that is mended"),
)

WEB_CODES: tuple[Code, ...] = (PAGE_FAILED,)


# The lab, and logging in with a browser


_LAB_SPEC = "design, Web page"
_LOGIN_URL = "http://127.0.0.1:8765/lab/login"
_FORM_EXAMPLE = "a form that is sent once"

NOT_LOGGED_IN = Code(
    id="NOT_LOGGED_IN",
    severity=ERROR,
    title="Nobody is logged in",
    message="Whoever sent this is not logged in, or not any more. Nothing was done now.",
    fix="Log in at /lab/login with the secret of {operator}; `brenner agent secret {operator}` "
    "makes it. If you had sent the same before the login ended, look at the thread first: it may "
    "have been done then.",
    why="A login ends after 12 hours without a request, with the server, and when the operator "
    "gets a new secret.",
    spec=_LAB_SPEC,
    example=Example("text", "POST /lab/start    (after the server was restarted)", _LOGIN_URL),
)
LOGIN_REFUSED = Code(
    id="LOGIN_REFUSED",
    severity=ERROR,
    title="That does not open the lab",
    message="That was not right. Nobody was let in.",
    fix="Paste the whole secret of the operator, `brs_` included. `brenner agent secret "
    "{operator}` makes it where there is none; with `--new` it replaces one that is lost. In a "
    "home that keeps no secrets, `brenner serve --lab` has printed one for this run.",
    why="Who acts in the lab acts as the operator, and is believed by everybody.",
    spec=_LAB_SPEC,
    example=Example("text", "Operator", "brs_…"),
)
TOO_MANY_ATTEMPTS = Code(
    id="TOO_MANY_ATTEMPTS",
    severity=ERROR,
    title="Too many attempts to come in",
    message="There were too many attempts that failed. Nobody was let in.",
    fix="Wait for {seconds} s and try again.",
    why="Nobody is to find out a secret by trying.",
    spec="RFC 6585, 429 Too Many Requests",
    example=Example("text", "a sixth wrong token in a row", "the right one, a little later"),
)
FORGED_FORM = Code(
    id="FORGED_FORM",
    severity=ERROR,
    title="The form is not one of this login",
    message="The form does not bear the mark of your login. Nothing was done.",
    fix="Open the form again and send it from there. Scripts send JSON with the header "
    "`Brenner-Secret` instead.",
    why="Another page in your browser can send a form here, but it cannot read ours: the mark "
    "tells them apart.",
    spec=_LAB_SPEC,
    example=Example("text", "a form from before you logged in again", "the same form, opened now"),
)
FORM_FROM_ELSEWHERE = Code(
    id="FORM_FROM_ELSEWHERE",
    severity=ERROR,
    title="The form does not come from a page of this server",
    message="The form was sent by {origin}, which is not the page that it belongs to. Nothing was "
    "done.",
    fix="Open the page at the address that `brenner serve` printed, and send the form from there. "
    "Behind a proxy, `--allow-host NAME` says under which name people come. Scripts send JSON with "
    "the header `Brenner-Secret`, and no Origin.",
    why="Any page in your browser can send a form here; it must not act for you.",
    spec=_LAB_SPEC,
    example=Example("text", "Origin: http://127.0.0.1:3000", "Origin: http://127.0.0.1:8765"),
)
FORM_UNKNOWN = Code(
    id="FORM_UNKNOWN",
    severity=ERROR,
    title="It is not known what became of this form",
    message="This form was made before the server was started, or so long ago that it is "
    "forgotten. Nothing was done now; whether it was done then is not known.",
    fix="Look at the thread first. If it is not there, open the form again.",
    why="Each form is done once. One that nobody remembers could be done twice.",
    spec=_LAB_SPEC,
    example=Example("text", f"{_FORM_EXAMPLE}, after a restart of the server", _FORM_EXAMPLE),
)
FORM_CHANGED = Code(
    id="FORM_CHANGED",
    severity=ERROR,
    title="The form was sent before, with other contents",
    message="This form has been sent already, with other contents. Nothing was done now.",
    fix="Look at what became of it, or at the thread. The form that comes back has what you typed "
    "and is a new one: to send it sends that, too. A script gives it a key of its own.",
    why="Each form is done once, so that a double click or a reload does nothing twice.",
    spec=_LAB_SPEC,
    example=Example("text", "back, a word changed, sent again", "a form that was opened anew"),
)
FORM_UNREADABLE = Code(
    id="FORM_UNREADABLE",
    severity=ERROR,
    title="The form cannot be read",
    message="What was sent cannot be read: {reason}. Nothing was done.",
    fix="Send fields as the page's form does, or one JSON object.",
    why="What is read only halfway could do something else than was meant.",
    spec=_LAB_SPEC,
    example=Example("text", '["reply"]', '{"body": "…"}'),
)
ENTRY_REFUSED = Code(
    id="ENTRY_REFUSED",
    severity=ERROR,
    title="That is not the token of this server",
    message="That was not right. Nobody was let in.",
    fix="Paste the token that stands in the file of `--token-file`, or in BRENNER_TOKEN, where the "
    "server was started; or ask for a link to a session.",
    why="Whoever runs the server has said that only bearers of the token may use it.",
    spec="RFC 6750, Bearer Token Usage",
    example=Example("text", "brs_…    (the secret of a name)", "the token of the server"),
)
LINK_BROKEN = Code(
    id="LINK_BROKEN",
    severity=ERROR,
    title="The link is not whole",
    message="This link was not made here, or something in it was changed or lost.",
    fix="Copy it again, whole; or ask for a new one: `brenner session link THREAD`.",
    why="A link says itself what it opens. It is signed, so that nobody makes one of her own.",
    spec=_LAB_SPEC,
    example=Example("text", "/guest/UlM…    (cut off in an e-mail)", "/guest/UlM….1767052800.9f…"),
)
LINK_EXPIRED = Code(
    id="LINK_EXPIRED",
    severity=ERROR,
    title="The link has expired",
    message="This link was good until {until}.",
    fix="Ask for a new one: `brenner session link THREAD --days N`.",
    why="A link is passed on, and found again years later.",
    spec=_LAB_SPEC,
    example=Example("text", "a link of last month", "brenner session link THREAD --days 30"),
)
GUESTS_STAY = Code(
    id="GUESTS_STAY",
    severity=ERROR,
    title="The link does not open this page",
    message="You are here by a link to one session, and this page is not part of it.",
    fix="Go back to {session}. Who has the server's token comes in at /enter.",
    why="Who shares a session shares that one.",
    spec=_LAB_SPEC,
    example=Example("text", "/search?q=secret", "/sessions/RS-20251230-cell-fate"),
)
MAIL_AWAY = Code(
    id="MAIL_AWAY",
    severity=ERROR,
    title="The mail cannot be read just now",
    message="The mail of this session cannot be read just now.",
    fix="Wait a moment: the page comes up to date by itself. If it does not, tell whoever gave you "
    "the link.",
    why="Guests are not told where the mail is kept, nor what is wrong with it.",
    spec=_LAB_SPEC,
    example=Example("text", "/sessions/T    (the server of the mail is down)", "a moment later"),
)

LAB_CODES: tuple[Code, ...] = (
    NOT_LOGGED_IN,
    LOGIN_REFUSED,
    TOO_MANY_ATTEMPTS,
    FORGED_FORM,
    FORM_FROM_ELSEWHERE,
    FORM_UNKNOWN,
    FORM_CHANGED,
    FORM_UNREADABLE,
    ENTRY_REFUSED,
    LINK_BROKEN,
    LINK_EXPIRED,
    GUESTS_STAY,
    MAIL_AWAY,
)


# Missing and contradicting fields in the lab's forms, or in the same as JSON


_LAB_FORM_SPEC = "look, Forms"

FIELD_EMPTY = Code(
    id="FIELD_EMPTY",
    severity=ERROR,
    title="Something is not filled in",
    message="The {field} is missing: {expected}.",
    fix="Fill it in{otherwise}.",
    why="Nothing is guessed that somebody is going to be asked.",
    spec=_LAB_FORM_SPEC,
    example=Example("text", '{"question": ""}', '{"question": "How do cells know their fate?"}'),
)
FIELDS_CONTRADICT = Code(
    id="FIELDS_CONTRADICT",
    severity=ERROR,
    title="Of two fields only one can be filled in",
    message="`{one}` and `{other}` do not go together.",
    fix="Leave one of them empty.",
    why="Both say the same thing, and nobody knows which of them is meant.",
    spec=_LAB_FORM_SPEC,
    example=Example(
        "text",
        '{"excerpt": "§42: …", "sections": "42,45-47"}',
        '{"sections": "42,45-47"}',
    ),
)

LAB_FORM_CODES: tuple[Code, ...] = (FIELD_EMPTY, FIELDS_CONTRADICT)
