"""Style and scripts: read once, served under their digest, so that browsers keep them for good."""

import gzip
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

_FOLDER = Path(__file__).parent / "static"
_KINDS = MappingProxyType({".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"})
# One sheet of many files, in the order in which they may say something else than those before
_STYLE = (
    "base",
    "live",
    "frame",
    "home",
    "artifact",
    "thread",
    "versions",
    "evidence",
    "lab",
    "print",
)
_SCRIPTS = ("live", "keys", "forms")
_HTMX = "vendor/htmx-4.0.0.min.js"
_DIGITS = 16


class Asset(NamedTuple):
    """A file as it is served."""

    name: str
    media_type: str
    content: bytes
    packed: bytes

    @property
    def digest(self) -> str:
        """What its address has: another content has another address."""
        return sha256(self.content).hexdigest()[:_DIGITS]

    @property
    def url(self) -> str:
        """Its address."""
        return f"/assets/{self.digest}/{self.name}"


def style() -> str:
    """The whole style sheet; the report of a session has it inside."""
    parts = [_FOLDER / "css" / f"{name}.css" for name in _STYLE]
    return "\n".join(part.read_text("utf-8") for part in parts)


def load() -> dict[str, Asset]:
    """Every asset by its name."""
    files = {"htmx.js": _HTMX, **{f"{name}.js": f"{name}.js" for name in _SCRIPTS}}
    contents = {name: (_FOLDER / path).read_bytes() for name, path in files.items()}
    contents["brenner.css"] = style().encode()
    contents["mark.svg"] = (_FOLDER / "mark.svg").read_bytes()
    return {
        name: Asset(name, _KINDS[Path(name).suffix], content, gzip.compress(content, mtime=0))
        for name, content in contents.items()
    }
