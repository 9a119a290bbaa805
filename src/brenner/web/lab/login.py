"""The door of the lab: who shows the operator's secret comes in, and nobody else.

A browser shows it once and gets a cookie. A script shows it with each request, in the header
`Brenner-Secret`.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.mailbox import Capability
from brenner.services.identity import digest_of, is_secret_of, operator_digest
from brenner.services.workspace import Workspace
from brenner.web.auth import LoginThrottle, WaitError
from brenner.web.lab.actions import IdempotencyKeys
from brenner.web.request import TOKEN

# Who has logged in to the lab. It is kept in memory: the server's end is every login's end.


_BYTES = 32
_IDLE_SECONDS = 12 * 3600.0
_MOST = 50


class Login:
    """The operator, logged in. The form token stands in every form: no other page knows it.

    `digest` is the one of the secret that was shown: with another secret the login is over.
    """

    def __init__(self, operator: str, form_token: str = "", digest: str = "") -> None:
        self.operator = operator
        self.form_token = form_token or secrets.token_urlsafe(_BYTES)
        self.digest = digest
        self.once = IdempotencyKeys()


class Logins:
    """All logins by a digest of their cookies, so that nobody who sees this memory has one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logins: OrderedDict[str, tuple[Login, float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, login: Login) -> str:
        """Let somebody in; what her browser has to show from now on."""
        cookie = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._logins[_digest(cookie)] = (login, self._clock())
            while len(self._logins) > _MOST:
                self._logins.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Login | None:
        """The login of a cookie, which is in use from now on again."""
        name, now = _digest(cookie), self._clock()
        with self._lock:
            login, last = self._logins.pop(name, (None, 0.0))
            if login is None or now - last > _IDLE_SECONDS:
                return None
            self._logins[name] = (login, now)
        return login

    def end(self, cookie: str) -> None:
        """Log out."""
        with self._lock:
            self._logins.pop(_digest(cookie), None)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode(errors="surrogatepass")).hexdigest()


_DIGITS = 8


class LabAuth:
    """The door of one project's lab. `secret` is one for this run, where the home keeps none."""

    def __init__(
        self,
        workspace: Workspace,
        secret: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mailbox = workspace.mailbox
        self.operator = workspace.project.operator
        self._own_digest = digest_of(secret) if secret else None
        self._logins = Logins(clock)
        self._tries = LoginThrottle(clock)
        self._script: Login | None = None
        self._lock = threading.Lock()
        # Two servers on one machine share the cookies of its name: each has its own.
        folder = str(workspace.project.folder).encode(errors="surrogateescape")
        self.cookie = f"brenner_lab_{sha256(folder).hexdigest()[:_DIGITS]}"

    @property
    def digest(self) -> str | None:
        """Of the secret that opens it now; None where there is none."""
        if Capability.SECRETS in self._mailbox.lacks:
            return self._own_digest
        return operator_digest(self._mailbox, self.operator)

    def enter(self, secret: str, address: str) -> str:
        """Log in; what the browser has to show from now on. It is new each time."""
        return self._logins.begin(Login(self.operator, digest=self._shown(secret, address)))

    def leave(self, cookies: Mapping[str, str]) -> None:
        """Log out."""
        self._logins.end(cookies.get(self.cookie, ""))

    def login(self, cookies: Mapping[str, str]) -> Login | None:
        """Who is logged in. One who has shown a secret that was replaced since is not."""
        cookie = cookies.get(self.cookie)
        login = self._logins.find(cookie) if cookie else None
        if login is None:
            return None
        current = self.digest
        if current is None or not hmac.compare_digest(current, login.digest):
            self.leave(cookies)
            return None
        return login

    def login_to_read(self, cookies: Mapping[str, str], *, is_away: bool = False) -> Login | None:
        """The same for a page that is only read: it is shown while the store is away, too.

        Where it is known that it `is_away` it is not asked: that could take long.
        """
        if is_away:
            return self._logins.find(cookies.get(self.cookie, ""))
        try:
            return self.login(cookies)
        except UnavailableError:
            return self._logins.find(cookies.get(self.cookie, ""))

    def script(self, secret: str, address: str) -> Login:
        """The login of all scripts that show the secret."""
        digest = self._shown(secret, address)
        with self._lock:
            if self._script is None or self._script.digest != digest:
                self._script = Login(self.operator, digest=digest)
            return self._script

    def check_form(self, login: Login, form: Mapping[str, str]) -> None:
        """Whether a form is one of ours, shown to this login."""
        given = form.get(TOKEN, "").encode(errors="surrogatepass")
        if not hmac.compare_digest(given, login.form_token.encode()):
            raise RequestError(codes.FORGED_FORM.at())

    def _shown(self, secret: str, address: str) -> str:
        """The digest of the secret, if it is the right one. What was wrong is not told.

        The right one never waits, so that nobody keeps the operator out by failing. It is 256
        random bits: the waits are for those who try, and nobody finds it by trying.
        """
        digest = self.digest  # first: a store that is away is nobody's failure
        if digest is not None and is_secret_of(digest, secret.strip()):
            self._tries.forget(address)
            return digest
        seconds = self._tries.begin(address)
        if seconds:
            raise WaitError(seconds)
        raise RequestError(codes.LOGIN_REFUSED.at(operator=self.operator))
