"""Regular expressions that are compiled on first use.

A module may define dozens of patterns of which one command uses three. Compiling all of them at
import took a fifth of the start of `compile`.
"""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast


class LazyPattern(Generic[AnyStr]):
    """A pattern that looks like `re.Pattern`; methods of `re` itself do not accept it."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags
        self._compiled: re.Pattern[AnyStr] | None = None

    def __getattr__(self, name: str) -> object:
        """Compile the pattern; later uses of the attribute find it on the instance."""
        compiled = self._compiled = self._compiled or re.compile(self.pattern, self._flags)
        value = getattr(compiled, name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled when it is first used."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
