"""HTML blocks: the seven ways in which CommonMark lets one begin, and how each of them ends.

The functions see one line, from its first character that is no blank. Where the edition of
CommonMark that cmark-gfm implements differs from the newest text, they follow cmark-gfm: `<source`
still begins a block and `<search` does not yet, a declaration begins with a capital letter, and
`<![cdata[` may be written in any case.
"""

import re

# Condition 1: tags whose content is taken as it is, until any of them is closed.
_RAW = ("pre", "script", "style", "textarea")

# Condition 6: tags that begin a block even inside a paragraph.
_BLOCK = (
    " address article aside base basefont blockquote body caption center col colgroup dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option"
    " p param section source summary table tbody td tfoot th thead title tr track ul "
)

# Conditions 1 and 6 look at a name and at what may stand behind it.
_NAME = r"<(/?)([A-Za-z][A-Za-z0-9]*+)(?:(?P<raw>[ \t\v\f>]|$)|(?P<slash>/>))?"

# Condition 7: a complete opening or closing tag, alone on its line.
_LONELY_TAG = r"""(?x)
    <(?: [A-Za-z][A-Za-z0-9-]*+
         (?: [ \t\v\f]++ [A-Za-z_:][A-Za-z0-9_.:-]*+                            # an attribute
             (?: [ \t\v\f]*+ = [ \t\v\f]*+ (?: [^ \t\v\f"'=<>`]++ | '[^']*+' | "[^"]*+" ) )?+
         )*+ [ \t\v\f]*+ /?
       | / [A-Za-z][A-Za-z0-9-]*+ [ \t\v\f]*+
     )> [ \t\f]*+ $"""

# Conditions 2, 3 and 5 begin with these, and 2 to 5 end with those.
_OPENERS = (("<!--", 2), ("<?", 3), ("<![CDATA[", 5))
_CLOSERS = {2: "-->", 3: "?>", 4: ">", 5: "]]>"}

_BLOCK_TAG = 6
LONELY_TAG = 7  # the only condition that does not interrupt a paragraph


def start_condition(text: str) -> int:
    """The number of the start condition that a line meets, 0 if it begins no HTML block."""
    if text.startswith(("<!", "<?")):
        for opener, condition in _OPENERS:
            if text[: len(opener)].upper() == opener:
                return condition
        return 4 if "A" <= text[2:3] <= "Z" else 0
    named = re.match(_NAME, text)
    if named:
        name = named[2].lower()
        if name in _RAW and not named[1] and named["raw"] is not None:
            return 1
        if f" {name} " in _BLOCK and named.lastgroup:
            return _BLOCK_TAG
    return LONELY_TAG if re.match(_LONELY_TAG, text) else 0


def ended_by_blank(condition: int) -> bool:
    """Tell whether a blank line ends an HTML block that met this start condition."""
    return condition >= _BLOCK_TAG


def ends(condition: int, text: str) -> bool:
    """Tell whether an HTML block of conditions 1 to 5 ends with this line."""
    if condition == 1:
        lower = text.lower()
        return "</" in lower and any(f"</{name}>" in lower for name in _RAW)
    closer = _CLOSERS.get(condition)
    return closer is not None and closer in text
