"""Authentication of the operator in the lab, by secret.

A browser shows the secret once and gets a cookie. A script sends it with each request, in the
header `Brenner-Secret`.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import RequestError, UnavailableError
from brenner.mail.mailbox import Capability
from brenner.services.identity import matches_digest, operator_digest, secret_digest
from brenner.web.auth import LoginThrottle
from brenner.web.form_tokens import masked, unmasked
from brenner.web.lab.actions import IdempotencyKeys
from brenner.web.request import CSRF_FIELD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from brenner.services.workspace import Workspace

# Logins, in memory: they end with the server


_TOKEN_BYTES = 32
_IDLE_SECONDS = 12 * 3600.0
_MAX_LOGINS = 50


class Login:
    """A login of the operator, with the CSRF token of its forms.

    `digest` is the digest of the secret that was shown. If the secret changes, the login ends.
    """

    def __init__(self, operator: str, digest: str = "") -> None:
        self.operator = operator
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        self.digest = digest
        self.once = IdempotencyKeys()

    @property
    def form_token(self) -> str:
        """The CSRF token, masked with fresh random bytes.

        So the size of a compressed page reveals nothing of it (BREACH).
        """
        return masked(self._token)

    def is_own_token(self, given: str) -> bool:
        """Return whether a form token is of this login, whatever its mask."""
        return hmac.compare_digest(unmasked(given), self._token)


def _cookie_digest(cookie: str) -> str:
    return sha256(cookie.encode(errors="surrogatepass")).hexdigest()


_COOKIE_DIGITS = 8


class LabAuth:
    """Authentication for the lab of one project. A store without secrets has one for this run."""

    def __init__(
        self,
        workspace: Workspace,
        secret: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mailbox = workspace.mailbox
        self.operator = workspace.project.operator
        self._own_digest = secret_digest(secret) if secret else None
        self._clock = clock
        # By a digest of their cookies, so that the memory contains no usable cookie; with last use
        self._logins: OrderedDict[str, tuple[Login, float]] = OrderedDict()
        self._throttle = LoginThrottle(clock)
        self._script: Login | None = None
        self._lock = threading.Lock()
        # Servers on one host share cookies, so each project has its own name.
        folder = str(workspace.project.folder).encode(errors="surrogateescape")
        self.cookie = f"brenner_lab_{sha256(folder).hexdigest()[:_COOKIE_DIGITS]}"

    @property
    def digest(self) -> str | None:
        """The digest of the current secret, None if there is none."""
        if Capability.SECRETS in self._mailbox.lacks:
            return self._own_digest
        return operator_digest(self._mailbox, self.operator)

    def enter(self, secret: str, address: str) -> str:
        """Log in and return a new cookie."""
        login = Login(self.operator, digest=self._check_secret(secret, address))
        cookie = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._logins[_cookie_digest(cookie)] = (login, self._clock())
            while len(self._logins) > _MAX_LOGINS:
                self._logins.popitem(last=False)
        return cookie

    def leave(self, cookies: Mapping[str, str]) -> None:
        with self._lock:
            self._logins.pop(_cookie_digest(cookies.get(self.cookie, "")), None)

    def login(self, cookies: Mapping[str, str]) -> Login | None:
        """Return the login of the browser. A login with a replaced secret ends."""
        login = self._known_login(cookies)
        if login is None:
            return None
        current = self.digest
        if current is None or not hmac.compare_digest(current, login.digest):
            self.leave(cookies)
            return None
        return login

    def login_to_read(self, cookies: Mapping[str, str], *, is_away: bool = False) -> Login | None:
        """Return the login for a read-only page, also while the store is away.

        If it is known that the store `is_away`, it is not asked, because that could take long.
        """
        if is_away:
            return self._known_login(cookies)
        try:
            return self.login(cookies)
        except UnavailableError:
            return self._known_login(cookies)

    def _known_login(self, cookies: Mapping[str, str]) -> Login | None:
        """Return the login of the cookie, and restart its idle timeout."""
        name, now = _cookie_digest(cookies.get(self.cookie, "")), self._clock()
        with self._lock:
            login, last = self._logins.pop(name, (None, 0.0))
            if login is None or now - last > _IDLE_SECONDS:
                return None
            self._logins[name] = (login, now)
        return login

    def script(self, secret: str, address: str) -> Login:
        """Return the shared login of all scripts that send the secret."""
        digest = self._check_secret(secret, address)
        with self._lock:
            if self._script is None or self._script.digest != digest:
                self._script = Login(self.operator, digest=digest)
            return self._script

    def check_form(self, login: Login, form: Mapping[str, str]) -> None:
        """Raise RequestError if the CSRF token of a form is not of this login."""
        if not login.is_own_token(form.get(CSRF_FIELD, "")):
            raise RequestError(codes.FORGED_FORM.at())

    def _check_secret(self, secret: str, address: str) -> str:
        """Return the digest of the secret if it is right, else raise RequestError.

        The right secret is never throttled, so failed attempts cannot lock out the operator. It has
        256 random bits, so it cannot be guessed.
        """
        digest = self.digest  # first: a store that is away must not count as a failed attempt
        if digest is not None and matches_digest(digest, secret.strip()):
            self._throttle.forget(address)
            return digest
        seconds = self._throttle.begin(address)
        if seconds:
            raise RequestError(codes.TOO_MANY_ATTEMPTS.at(seconds=seconds))
        raise RequestError(codes.LOGIN_REFUSED.at(operator=self.operator))
