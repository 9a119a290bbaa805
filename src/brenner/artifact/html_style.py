"""How the page of an artifact looks: one style sheet, and the policy that lets nothing else in."""

from base64 import b64encode
from hashlib import sha256

# Three sizes, two weights, distances in steps of 4 pixels. Prose is set in a serif at about 70
# characters to the line, the frame in a sans, IDs in a mono.
STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fdfcfa; --ink: #1c1b19; --quiet: #676159; --rule: #ddd8ce; --tint: #f4f1ea;
  --accent: #1d4f7c; --attention: #8c1d4f;
  --prose: Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif;
  --frame: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --exact: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171614; --ink: #e7e2d8; --quiet: #a39b8f; --rule: #3a362f; --tint: #211f1c;
    --accent: #8fbbe3; --attention: #ef9cc0;
  }
}
* { box-sizing: border-box; }
html { font-size: 17px; line-height: 1.5; scroll-padding-top: 16px; }
body { margin: 0; background: var(--paper); color: var(--ink); font-family: var(--prose); }
main { max-width: 816px; margin: 0 auto; padding: 32px 20px 64px; }
h1, h2, h3, p, dl, dd, ul, figure { margin: 0; }
h1, h2 { font: 700 22px/28px var(--frame); overflow-wrap: anywhere; }
h2 { margin-top: 48px; padding-bottom: 8px; border-bottom: 1px solid var(--rule); }
h3 { font: 700 17px/24px var(--prose); overflow-wrap: anywhere; }
header p, nav, dt, th, .who, .label, footer {
  font: 400 13px/20px var(--frame); color: var(--quiet);
}
header > * + * { margin-top: 4px; }
header .session, .id { font-family: var(--exact); }
.id { font-size: 0.88em; font-weight: 400; white-space: nowrap; }
h3 .id { margin-right: 8px; }
a { color: var(--accent); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
nav { margin-top: 24px; padding: 12px 0; border: solid var(--rule); border-width: 1px 0; }
nav p { display: flex; gap: 4px 12px; flex-wrap: wrap; }
nav p > span:first-child { flex: 0 0 176px; }
article { margin-top: 32px; }
article:target, tr:target > * { background: var(--tint); box-shadow: 0 0 0 8px var(--tint); }
tr:target > * { box-shadow: none; }
dl { display: grid; grid-template-columns: 152px minmax(0, 1fr); gap: 8px 24px; margin-top: 8px; }
dt { line-height: 26px; }
dd, td, .side { overflow-wrap: anywhere; tab-size: 4; }
dd p, td p, .side p, li { white-space: pre-wrap; }
dd p + p, dd ul + p { margin-top: 8px; }
dd ul { padding-left: 20px; }
.plain { list-style: none; padding: 0; }
s { color: var(--quiet); }
.mark { margin-left: 4px; white-space: nowrap; font: 400 13px/20px var(--frame);
  color: var(--quiet); }
.mark.killed { color: var(--attention); font-weight: 700; }
.mark.points { font-variant-numeric: tabular-nums; }
.empty { margin-top: 16px; color: var(--quiet); }
.conflict { margin-top: 16px; padding: 8px 16px 12px; border-left: 4px solid var(--attention);
  background: var(--tint); }
.conflict .label { color: var(--attention); font-weight: 700; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(208px, 1fr));
  gap: 8px 24px; margin-top: 4px; }
.scroll { margin-top: 20px; overflow-x: auto; border: 1px solid var(--rule); }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 8px 12px; text-align: left; vertical-align: top; min-width: 128px; }
tr > :first-child { min-width: 0; white-space: nowrap; overflow-wrap: normal; }
tbody th { line-height: 26px; }
td:first-of-type { min-width: 176px; }
tbody tr { border-top: 1px solid var(--rule); }
footer { margin-top: 64px; padding-top: 12px; border-top: 1px solid var(--rule); }
@media (max-width: 600px) {
  main { padding: 20px 16px 48px; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd + dt { margin-top: 12px; }
  dt { line-height: 20px; }
  nav p > span:first-child { flex-basis: 144px; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #444; --rule: #999;
    --tint: #fff; --accent: #000; --attention: #000; }
  html { font-size: 11pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  h2, h3 { break-after: avoid; }
  dt, .conflict, tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  th, td, td:first-of-type { min-width: 0; }
}
"""
# Nothing is loaded, nothing runs, and of styles only the one above counts.
_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
