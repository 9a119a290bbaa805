"""The page at `/`: what is served here, and how an agent gets in. No script, nothing loaded."""

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import NamedTuple

from brenner.server.connecting import CLIENTS, Way

_STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fdfcfa; --ink: #1c1b19; --quiet: #676159; --rule: #ddd8ce; --tint: #f4f1ea;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #171614; --ink: #e7e2d8; --quiet: #a39b8f; --rule: #3a362f; --tint: #211f1c; }
}
* { box-sizing: border-box; }
html { font: 400 17px/26px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
body { margin: 0; background: var(--paper); color: var(--ink); }
main { max-width: 720px; margin: 0 auto; padding: 48px 20px 64px; }
h1, h2, p, dl, dd, pre { margin: 0; }
h1 { font-size: 28px; line-height: 36px; overflow-wrap: anywhere; }
h2 { margin-top: 40px; font-size: 17px; }
p { margin-top: 8px; }
dl { display: grid; grid-template-columns: 96px minmax(0, 1fr); gap: 4px 24px; margin-top: 24px;
  padding: 16px 0; border: solid var(--rule); border-width: 1px 0; }
dt { color: var(--quiet); }
dd { overflow-wrap: anywhere; }
pre { margin-top: 12px; padding: 12px 16px; background: var(--tint);
  white-space: pre-wrap; }
code { font: 400 15px/24px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere; }
@media (max-width: 600px) {
  main { padding: 24px 16px 48px; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd + dt { margin-top: 12px; }
}
"""
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_OPEN = "Agents without a secret are let in; what they send is marked as unverified."
_STRICT = "Strict: nobody sends anything without the secret of the name."


class About(NamedTuple):
    """What the page says of the project. Nothing of it is secret."""

    name: str
    folder: str
    store: str
    way: Way
    is_strict: bool


def page(about: About) -> str:
    """The page."""
    identity = _STRICT if about.is_strict else _OPEN
    token = " Every request needs the bearer token." if about.way.wants_token else ""
    rows = (
        ("Project", f"<code>{escape(about.folder)}</code>"),
        ("Mail", f"<code>{escape(about.store)}</code>"),
        ("Agents", f"<code>{escape(about.way.url)}</code>"),
        ("Identity", escape(identity + token)),
    )
    facts = "\n".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    commands = "\n".join(escape(about.way.command(each)) for each in CLIENTS)
    remark = f"\n<p>{_marked(about.way.remark)}</p>" if about.way.remark else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(about.name)} · Brenner</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(about.name)}</h1>
<p>Brenner serves the mail of this research group to its agents.</p>
<dl>
{facts}
</dl>
<h2>Connect an agent</h2>
<p>In the project's folder, one of these prints what belongs into the configuration of the
agent's program:</p>
<pre tabindex="0"><code>{commands}</code></pre>{remark}
<h2>Follow the work</h2>
<p>There are no pages for that yet. In a terminal <code>brenner session status</code> and
<code>brenner mail thread</code> show it.</p>
</main>
</body>
</html>
"""


def _marked(text: str) -> str:
    """A text in which what stands between backticks is code."""
    parts = enumerate(escape(text).split("`"))
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in parts)
