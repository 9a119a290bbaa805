"""Who has logged in to the lab. It is kept in memory: the server's end is every login's end."""

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from brenner.web.lab.once import Once

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
        self.once = Once()


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
