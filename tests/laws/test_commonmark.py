"""The block structure is the one that the reference implementation of CommonMark finds.

cmarkgfm renders to HTML only, where a raw HTML block cannot be told from what surrounds it. The
reference is read from its tree instead, through the functions that its library exports.
"""

import ctypes
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import pytest
from cmarkgfm import _cmark
from hypothesis import example, given
from hypothesis import strategies as st

from brenner.markdown.blocks import Block, BlockKind, parse_blocks

# --- The reference -------------------------------------------------------------------------------

_LEAVES = {
    "heading": BlockKind.HEADING,
    "code_block": BlockKind.CODE,
    "html_block": BlockKind.HTML,
    "paragraph": BlockKind.PARAGRAPH,
}
_PLAIN = {"text", "softbreak", "linebreak"}


class Cmark:
    """The few functions of the library that a walk through a tree takes."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(_cmark.__file__)
        node = ctypes.c_void_p
        pointers = [ctypes.c_void_p] * 3
        self.parse = self._function(
            "parse_document", node, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
        )
        self.free = self._function("node_free", None, node)
        self.first = self._function("node_first_child", node, node)
        self.next = self._function("node_next", node, node)
        self.type = self._function("node_get_type_string", ctypes.c_char_p, node)
        self.literal = self._function("node_get_literal", ctypes.c_char_p, node)
        self.info = self._function("node_get_fence_info", ctypes.c_char_p, node)
        self.fenced = self._function("node_get_fenced", ctypes.c_int, node, *pointers)
        self.line = self._function("node_get_start_line", ctypes.c_int, node)
        self.end = self._function("node_get_end_line", ctypes.c_int, node)
        self.level = self._function("node_get_heading_level", ctypes.c_int, node)

    def _function(
        self, name: str, result: type | None, *arguments: type
    ) -> "ctypes._NamedFuncPointer":
        function = self._library[f"cmark_{name}"]
        function.restype = result
        function.argtypes = arguments
        return function

    def children(self, node: int) -> Iterator[int]:
        child = self.first(node)
        while child:
            yield child
            child = self.next(child)


CMARK = Cmark()


class Seen(NamedTuple):
    """What the two sides are compared by."""

    kind: BlockKind
    line: int
    text: str | None
    quoted: bool
    nested: bool
    level: int
    info: str
    marker: str
    end: int | None


def reference(text: str) -> list[Seen]:
    encoded = text.encode()
    root = CMARK.parse(encoded, len(encoded), 0)
    try:
        return list(_walk(root, quoted=False, nested=False))
    finally:
        CMARK.free(root)


def _walk(node: int, quoted: bool, nested: bool) -> Iterator[Seen]:
    for child in CMARK.children(node):
        name = CMARK.type(child).decode()
        if name in _LEAVES:
            yield _leaf(child, _LEAVES[name], quoted, nested)
        else:
            inside = name in {"block_quote", "item"}
            yield from _walk(child, quoted or name == "block_quote", nested or inside)


def _leaf(node: int, kind: BlockKind, quoted: bool, nested: bool) -> Seen:
    text: str | None = (CMARK.literal(node) or b"").decode()
    if kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
        text = _plain_text(node)
    length, offset, character = ctypes.c_int(), ctypes.c_int(), ctypes.c_char()
    references = (ctypes.byref(length), ctypes.byref(offset), ctypes.byref(character))
    info = marker = ""
    if kind is BlockKind.CODE and CMARK.fenced(node, *references):
        kind = BlockKind.FENCE
        info = CMARK.info(node).decode()
        marker = character.value.decode() * length.value
    level = CMARK.level(node) if kind is BlockKind.HEADING else 0
    line = CMARK.line(node)
    return Seen(kind, line, text, quoted, nested, level, info, marker, CMARK.end(node))


def _plain_text(node: int) -> str | None:
    """The inline text of a block, if it holds no markup."""
    children = [
        (CMARK.type(child).decode(), CMARK.literal(child)) for child in CMARK.children(node)
    ]
    if any(name not in _PLAIN for name, _ in children):
        return None
    return "".join(
        (literal or b"").decode() if name == "text" else "\n" for name, literal in children
    )


# --- The comparison ------------------------------------------------------------------------------


def comparable(seen: Seen, block: Block) -> Seen:
    """Leave out what the reference has otherwise.

    Escapes, entities and markup are resolved in its inline text, and its last lines are those of
    the source only where a block ends with a line of its own.
    """
    inline = block.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}
    if inline and set(block.text) & set("\\&"):
        seen = seen._replace(text=None)
    elif inline and seen.text is not None:
        seen = seen._replace(text=_trimmed(seen.text))
    one_line = block.kind is BlockKind.HEADING and block.end == block.line
    closed_fence = block.kind is BlockKind.FENCE and block.closed
    if not (block.kind is BlockKind.PARAGRAPH or closed_fence or one_line):
        seen = seen._replace(end=None)
    return seen


def ours(block: Block, like: Seen) -> Seen:
    text: str | None = block.text
    if block.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
        text = None if like.text is None else _trimmed(block.text)
    return Seen(
        block.kind,
        block.line,
        text,
        block.quoted,
        block.nested,
        block.level,
        block.info,
        block.marker[:255],
        None if like.end is None else block.end,
    )


def _trimmed(text: str) -> str:
    return "\n".join(line.strip(" \t") for line in text.split("\n"))


def agree(text: str) -> None:
    found = parse_blocks(text)
    expected = reference(text)
    kinds = [(block.kind, block.line) for block in found]
    assert kinds == [(seen.kind, seen.line) for seen in expected], text
    for block, seen in zip(found, expected, strict=True):
        wanted = comparable(seen, block)
        assert ours(block, wanted) == wanted, text


# --- What is written -----------------------------------------------------------------------------

FRAGMENTS = tuple(
    chain(
        (
            "```",
            "````",
            "``````",
            "~~~",
            "~~~~~",
            "```delta",
            "~~~ json",
            "``` a`b",
            "`",
            "``",
            "~",
        ),
        ("> ", ">", "- ", "* ", "+ ", "-", "*", "+", "1. ", "2) ", "1.", "10) ", "1234567890. "),
        (" ", "  ", "   ", "    ", "     ", "         ", "\t", "\t\t", " \t"),
        ("# ", "## ", "#######", "#", " #", " ##", "===", "---", "--", "="),
        ("***", "* * *", "- - -", "_ _ _", "*x", "**b**", "--x", "1", "12"),
        ("[a]: b", "[a]:", "[a]: <b>", "[b]: c 'd'", '[c]: d "e', "[", "]", "[a", "a]: b"),
        ('"t"', "(t)", "'", '"', "(", ")", "<", "\\", "'d\\'", "(f\\)"),
        ("<div>", "<div", "</div>", "<b>", "</b>", "<a b='c'>", "<a b", "<p/>", "<pre", "</pre>"),
        ("<!--", "-->", "<?", "?>", "<!A", "<![CDATA[", "]]>", "<script>", "</script>", "</style>"),
        ("<textarea>", "<source", "<search", "<h1", "</b >", "<![cdata["),
        ("&amp;", "&#32;", "&#0;", "&lt;", "&nope;", "&#x41;", "&#xD800;", "&#9999999;", "\\`"),
        ('{"a": 1}', "{", "}", "word", "foo bar", "é", "\v", "\f", "", "", ""),
    )
)
PREFIXES = (
    ("", ""),
    ("> ", "> "),
    (">", ">"),
    ("- ", "  "),
    ("-\t", "\t"),
    ("1.  ", "    "),
    ("> - ", ">   "),
    ("- > ", "  > "),
    ("- 1) ", "     "),
    ("   > * ", "   >\t"),
)
ENDINGS = ("\n",) * 9 + ("\r\n", "\r", "\n\n")


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Up to thirty lines of a few fragments, most of them with the prefix of a container."""
    few = draw(st.lists(st.sampled_from(FRAGMENTS), min_size=2, max_size=12, unique=True))
    line = st.lists(st.sampled_from(few), max_size=4).map("".join)
    parts = st.tuples(st.sampled_from(PREFIXES), st.lists(line, min_size=1, max_size=8))
    written = []
    for (opening, going_on), lines in draw(st.lists(parts, min_size=1, max_size=4)):
        prefix = opening
        for text in lines:
            written.append(prefix + text + draw(st.sampled_from(ENDINGS)))
            prefix = "" if draw(st.integers(0, 9)) == 0 else going_on
    document = "".join(written)
    return document.rstrip("\r\n") if draw(st.booleans()) else document


@st.composite
def definitions(draw: st.DrawFn) -> str:
    """A paragraph that may begin with link reference definitions, and an underline."""
    start = draw(
        st.sampled_from(("[a]: ", "[a]: b ", "[a]: b\n", "[", "[a]:", "[a]: <", "- [a]: b\n"))
    )
    middle = draw(st.text("'\"\\()<>[]: \t\nab=", max_size=14))
    return start + middle + draw(st.sampled_from(("", "\n==", "\n==\n---\n", "\nx\n==")))


ALPHABETS = ("` \n>-\ta", "-1. \n\ta>", "#=- \na>\t", "<!->/a \n?A[", "~\n \t>+-x", "\\[]a\n:'\"")
raw = st.sampled_from(ALPHABETS).flatmap(lambda alphabet: st.text(alphabet, max_size=40))


@pytest.mark.fuzz
@given(documents())
@example("+\n\t~~~\n\t")
@example("- [a]:b\n [a]:b")
@example("- [a]: b\n\n\n  x")
@example("-\n  \n  foo")
@example("> foo\n<b>\n")
@example("`" * 300 + "\na\n" + "`" * 254 + "\n" + "`" * 255)
@example("```&#99999999;&#x99999999;&#999999999;")
@example("<b>\f")
@example("<b>\v")
@example("```\f")
def test_documents_have_the_blocks_of_the_reference(text: str) -> None:
    agree(text)


@pytest.mark.fuzz
@given(definitions())
@example(f"[{'é' * 501}]: b\n==")
@example("[a]:(")
@example("[a]:\v")
@example("[\\\n]:b")
@example("[a]:<\\\na>")
@example("[a]: b 'c\\'\n==")
def test_definitions_are_no_text_where_the_reference_has_none(text: str) -> None:
    agree(text)


@pytest.mark.fuzz
@given(raw)
def test_noise_has_the_blocks_of_the_reference(text: str) -> None:
    agree(text)


@pytest.mark.fuzz
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@example("\ufeff# heading")
@example("a\u2028# b\x85# c\x1c# d")
def test_any_text_has_the_blocks_of_the_reference(text: str) -> None:
    agree(text)


@pytest.mark.fuzz
@given(st.text(st.characters() | st.sampled_from("`~>-#\n\r\t [<")))
def test_no_text_is_too_strange(text: str) -> None:
    lines = text.count("\n") + text.count("\r") + 1
    last = 0
    for block in parse_blocks(text):
        assert last < block.line <= block.end <= lines
        last = block.end
