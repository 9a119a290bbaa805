"""The block structure of texts that were once read wrongly, or are easily read wrongly."""

import pytest

from brenner.markdown.blocks import MOST_NESTING, Block, BlockKind, parse_blocks


def fence(lines: tuple[int, int], text: str, info: str = "", marker: str = "```") -> Block:
    return Block(
        BlockKind.FENCE, *lines, text, quoted=False, nested=False, info=info, marker=marker
    )


def heading(lines: tuple[int, int], level: int, text: str) -> Block:
    return Block(BlockKind.HEADING, *lines, text, quoted=False, nested=False, level=level)


def code(lines: tuple[int, int], text: str) -> Block:
    return Block(BlockKind.CODE, *lines, text, quoted=False, nested=False)


def html(lines: tuple[int, int], text: str) -> Block:
    return Block(BlockKind.HTML, *lines, text, quoted=False, nested=False)


def paragraph(lines: tuple[int, int], text: str) -> Block:
    return Block(BlockKind.PARAGRAPH, *lines, text, quoted=False, nested=False)


def quoted(block: Block) -> Block:
    return block._replace(quoted=True, nested=True)


def nested(block: Block) -> Block:
    return block._replace(nested=True)


def unclosed(block: Block) -> Block:
    return block._replace(closed=False)


def marked(text: str) -> list[Block]:
    """All but the paragraphs."""
    return [block for block in parse_blocks(text) if block.kind is not BlockKind.PARAGRAPH]


def table(*cases: tuple[str, str, list[Block]]) -> pytest.MarkDecorator:
    rows = [pytest.param(text, expected, id=name) for name, text, expected in cases]
    return pytest.mark.parametrize(("text", "expected"), rows)


@table(
    ("nothing", "", []),
    ("one", "```delta\n{}\n```\n", [fence((1, 3), "{}\n", "delta")]),
    ("empty", "```\n```", [fence((1, 2), "")]),
    ("of one line at the end", "```", [unclosed(fence((1, 1), ""))]),
    ("never closed", "a\n```\nb\n\n", [unclosed(fence((2, 4), "b\n\n"))]),
    ("not closed by fewer", "````\n```\n````", [fence((1, 3), "```\n", marker="````")]),
    ("closed by more", "```\na\n`````", [fence((1, 3), "a\n")]),
    (
        "of more characters than are counted, as in cmark",
        f"{'`' * 300}\na\n{'`' * 254}\n{'`' * 255}",
        [fence((1, 4), f"a\n{'`' * 254}\n", marker="`" * 300)],
    ),
    ("not closed by the other", "```\n~~~\n```", [fence((1, 3), "~~~\n")]),
    ("not closed by an info string", "```\n```x\n```", [fence((1, 3), "```x\n")]),
    ("closed with blanks", "```\na\n   ``` \t \n", [fence((1, 3), "a\n")]),
    (
        "closed at once, with blanks",
        "```\n  ```\n# a",
        [fence((1, 2), ""), heading((3, 3), 1, "a")],
    ),
    ("not closed from column 4", "```\n    ```\n```", [fence((1, 3), "    ```\n")]),
    ("not closed from a tab", "```\n\t```\n```", [fence((1, 3), "\t```\n")]),
    ("marker inside of a line", "```\na ```\n``` b\n```", [fence((1, 4), "a ```\n``` b\n")]),
    ("too deep to be one", "    ```\n    a\n", [code((1, 2), "```\na\n")]),
    ("interrupts a paragraph", "a\n```\nb\n```\nc", [fence((2, 4), "b\n")]),
    ("two in a row", "```\na\n```\n```\nb\n```", [fence((1, 3), "a\n"), fence((4, 6), "b\n")]),
    ("backtick in the info string", "``` a`b\n", []),
    ("backtick in the info string of tildes", "~~~ a`b\n~~~", [fence((1, 2), "", "a`b", "~~~")]),
    ("two backticks", "``\na\n``", []),
    ("info string of several words", "~~~  a b \n~~~", [fence((1, 2), "", "a b", "~~~")]),
    ("escape in the info string", "```a\\*b\\c\n```", [fence((1, 2), "", "a*b\\c")]),
    (
        "entities in the info string",
        "```&auml;&#65;&#x42;&nope;&#0;&#xD800;&#99999999;&#123456789;&\n```",
        [fence((1, 2), "", "äAB&nope;���&#123456789;&")],
    ),
    ("escaped entity, as in cmark", "```\\&amp;\n```", [fence((1, 2), "", "&")]),
    ("entity of a blank is trimmed", "```&#32;a\n```", [fence((1, 2), "", "a")]),
    ("form feed in the info string is kept", "```\f\n```", [fence((1, 2), "", "\f")]),
    ("indent is taken off", "  ```\n   a\n b\n  ```", [fence((1, 4), " a\nb\n")]),
    ("indent out of a tab", " ```\n\ta\n ```", [fence((1, 3), "   a\n")]),
    (
        "carriage returns",
        "```\r\na\r\rb\r\n```\r\n# c",
        [
            fence((1, 5), "a\n\nb\n"),
            heading((6, 6), 1, "c"),
        ],
    ),
    ("other line separators", "```\na\u2028b\x85c\vd\n```", [fence((1, 3), "a\u2028b\x85c\vd\n")]),
    ("byte order mark", "\ufeff```\na\n```", [fence((1, 3), "a\n")]),
    ("lone surrogate", "```\ud800\n\udfff\n```", [fence((1, 3), "\udfff\n", "\ud800")]),
    ("null", "```\0\n\0\n```", [fence((1, 3), "\0\n", "\0")]),
)
def test_fences(text: str, expected: list[Block]) -> None:
    assert marked(text) == expected


@table(
    ("quoted", "> ```x\n> a\n> ```", [quoted(fence((1, 3), "a\n", "x"))]),
    ("ended with its quotation", "> ```\n> a\nb", [quoted(unclosed(fence((1, 2), "a\n")))]),
    (
        "no lazy line",
        "> ```\na\n```\nb",
        [
            quoted(unclosed(fence((1, 1), ""))),
            unclosed(fence((3, 4), "b\n")),
        ],
    ),
    ("in an item", "- ```x\n  a\n  ```", [nested(fence((1, 3), "a\n", "x"))]),
    ("blank lines in an item", "- ```\n\n  a\n\n  ```", [nested(fence((1, 5), "\na\n\n"))]),
    ("not closed far in", "- ```\n      ```\n  ```", [nested(fence((1, 3), "    ```\n"))]),
    (
        "in an item, of more characters than are counted, as in cmark",
        f"- {'`' * 300}\n  {'`' * 254}\n  {'`' * 255}",
        [nested(fence((1, 3), f"{'`' * 254}\n", marker="`" * 300))],
    ),
    ("ended with its item", "- ```\n  a\nb", [nested(unclosed(fence((1, 2), "a\n")))]),
    ("below an item, not in it", "- a\n```\nb\n```", [fence((2, 4), "b\n")]),
    ("numbered", "10. ```\n    a\n    ```", [nested(fence((1, 3), "a\n"))]),
    ("quoted in an item", "- > ```\n  > a\n  > ```", [quoted(fence((1, 3), "a\n"))]),
    ("in a quoted item", "> 1) ```\n>    a\n>    ```", [quoted(fence((1, 3), "a\n"))]),
    ("behind a tab", "-\t```\n\ta\n\t```", [nested(fence((1, 3), "a\n"))]),
    ("content behind a half eaten tab", "- ```\n\ta\n  ```", [nested(fence((1, 3), "  a\n"))]),
    (
        "fence behind a half eaten tab, as in cmark",
        "+\n\t~~~\n\ta",
        [
            nested(unclosed(fence((2, 3), " a\n", marker="~~~"))),
        ],
    ),
    ("item that begins with code", "-     a\n\n      b", [nested(code((1, 3), "a\n\nb\n"))]),
    ("item that begins with four blanks", "-    a\n\n     # b", [nested(heading((3, 3), 1, "b"))]),
    ("item of four blanks left", "-    a\n\n    # b", [code((3, 3), "# b\n")]),
    ("item after a marker alone", "-\n  # a", [nested(heading((2, 2), 1, "a"))]),
    ("item that begins with two blank lines", "-\n\n  # a", [heading((3, 3), 1, "a")]),
    (
        "item that begins with an indented blank line",
        "-\n  \n  # a",
        [
            nested(heading((3, 3), 1, "a")),
        ],
    ),
    ("item emptied of definitions, as in cmark", "- [a]: b\n\n\n  # c", [heading((4, 4), 1, "c")]),
    ("item continued after blank lines", "- a\n\n\n  # b", [nested(heading((4, 4), 1, "b"))]),
    ("item left by a shorter indent", "- a\n\n # b", [heading((3, 3), 1, "b")]),
    ("empty item in a paragraph", "a\n*\n# b", [heading((3, 3), 1, "b")]),
    ("item in a paragraph", "a\n* # b", [nested(heading((2, 2), 1, "b"))]),
    ("item 1 in a paragraph", "a\n1. # b", [nested(heading((2, 2), 1, "b"))]),
    ("item 01 in a paragraph", "a\n01) # b", [nested(heading((2, 2), 1, "b"))]),
    ("item 2 in a paragraph", "a\n2. # b", []),
    ("item 2 below a quotation", "> a\n2. # b", [nested(heading((2, 2), 1, "b"))]),
    ("nine digits", "123456789. # a", [nested(heading((1, 1), 1, "a"))]),
    ("ten digits", "1234567890. # a", []),
    ("marker without a blank", "-# a\n1.# a\n>>-# a", []),
    ("quotation without a blank", ">># a", [quoted(heading((1, 1), 1, "a"))]),
    ("quotation takes one column of a tab", ">\t\ta", [quoted(code((1, 1), "  a\n"))]),
    ("too far in for a quotation", "    > a", [code((1, 1), "> a\n")]),
    ("lazy underline", "> a\n===", []),
    ("lazy break", "> a\n---", []),
    ("lazy code", "> a\n    b", []),
    ("lazy heading", "> a\n# b", [heading((2, 2), 1, "b")]),
    ("lone tag below a quotation, as in cmark", "> a\n<b>", [html((2, 2), "<b>\n")]),
)
def test_containers(text: str, expected: list[Block]) -> None:
    assert marked(text) == expected


@table(
    ("levels", "# a\n###### b\n####### c", [heading((1, 1), 1, "a"), heading((2, 2), 6, "b")]),
    ("no blank", "#a\n#\va", []),
    (
        "empty",
        "#\n## ##\n### ",
        [
            heading((1, 1), 1, ""),
            heading((2, 2), 2, ""),
            heading((3, 3), 3, ""),
        ],
    ),
    (
        "closed",
        "# a ### \n## b#\n# c \\#\n#\td\t#",
        [
            heading((1, 1), 1, "a"),
            heading((2, 2), 2, "b#"),
            heading((3, 3), 1, "c \\#"),
            heading((4, 4), 1, "d"),
        ],
    ),
    ("hash between the closing ones", "# a # b #", [heading((1, 1), 1, "a # b")]),
    ("indented", "   # a\n\n    # b", [heading((1, 1), 1, "a"), code((3, 3), "# b\n")]),
    ("underlined", "a\n= \n\nb\n   --\t", [heading((1, 2), 1, "a"), heading((4, 5), 2, "b")]),
    ("underlined over several lines", "a\n  b\nc\n===", [heading((1, 4), 1, "a\nb\nc")]),
    ("underline with a gap", "a\n= =", []),
    ("underline too far in", "a\n    ===", []),
    ("underline below nothing", "===\n\n===", []),
    ("dashes below nothing", "---\na", []),
    ("underline in an item", "- a\n  ---", [nested(heading((1, 2), 2, "a"))]),
    ("break below an item", "- a\n---", []),
    ("dash and blank below a paragraph", "a\n-\n-", [heading((1, 2), 2, "a")]),
    ("underline before a list item", "a\n- \nb", [heading((1, 2), 2, "a")]),
    ("underline below a definition", "[a]: b\n===\nc", []),
    ("dashes below a definition, as in cmark", "[a]: b\n---\n---", [heading((1, 3), 2, "---")]),
    ("text below a definition", "[a]: b\nc\n===", [heading((1, 3), 1, "c")]),
    ("break in three ways", "***\n* * *\n _ _ _\t_\n# a", [heading((4, 4), 1, "a")]),
    ("break of two characters", "* * -\n# a", [heading((2, 2), 1, "a")]),
)
def test_headings(text: str, expected: list[Block]) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize(
    "definition",
    [
        "[a]: b",
        "[a]:\nb",
        "[a]: <>",
        "[a]: <b c>",
        "[a]: b 'c\nd'",
        "[a]: b\n(c)",
        "[a]: (b(c))",
        "[\\]]: b",
        '[a]: b\n[c]: d "e"',
        "[a]:(",  # as in cmark
        "[a]:\v",  # as in cmark
        "[\\\n]:b",
        "[a]:<\\\na>",  # as in cmark
        "[a]: b 'c\\'",  # as in cmark
        "[a]: b 'c\\' d'",
        "[a]: b (c\\) \\( d)",
        '[a]: b "c\\"\nd\\"',  # as in cmark
    ],
)
def test_link_definition_is_not_a_paragraph(definition: str) -> None:
    assert parse_blocks(definition) == []
    assert marked(f"{definition}\n===") == []


@pytest.mark.parametrize(
    "text",
    [
        "[a]:",
        "[ ]: b",
        "[]: b",
        "[a[b]: c",
        "[a]: b c",
        "[a]: <b",
        "[a]: <b>(c)",
        "[a]: b)",
        "[a]: )",
        "[a]: b 'c' d",
        "[a]: b (c(d)",
        "[a]: " + "(" * 33,
        f"[{'a' * 1001}]: b",
        f"[{'é' * 501}]: b",
        "\\[a]: b",
    ],
)
def test_invalid_link_definition_is_a_paragraph(text: str) -> None:
    assert parse_blocks(f"{text}\n===") == [heading((1, 2), 1, text)]


def test_invalid_title_is_a_paragraph_after_the_definition() -> None:
    assert parse_blocks("[a]: b\n'c' d") == [paragraph((1, 2), "'c' d")]


def test_lazy_continuation_does_not_start_a_definition() -> None:
    assert parse_blocks("- [a]:b\n [a]:b") == [nested(paragraph((1, 2), "[a]:b"))]


@table(
    ("ends before blank lines", "    a\n\n  \n     b\n      \n\nc", [code((1, 4), "a\n\n\n b\n")]),
    ("keeps what is blank beyond column 4", "    a\n      \n    b", [code((1, 3), "a\n  \nb\n")]),
    ("form feed is not blank", "    a\n    \f\n\n", [code((1, 2), "a\n\f\n")]),
    ("does not interrupt a paragraph", "a\n    b", []),
    ("below a heading", "# a\n    b", [heading((1, 1), 1, "a"), code((2, 2), "b\n")]),
    ("of tabs", "\ta\n  \tb\n\t\tc", [code((1, 3), "a\nb\n\tc\n")]),
    ("behind a tab in an item", "-\t\ta", [nested(code((1, 1), "  a\n"))]),
)
def test_indented_code(text: str, expected: list[Block]) -> None:
    assert marked(text) == expected


@table(
    (
        "script",
        "<script>\n\n# a\n</script> b\n# c",
        [
            html((1, 4), "<script>\n\n# a\n</script> b\n"),
            heading((5, 5), 1, "c"),
        ],
    ),
    (
        "closed by another raw tag",
        "<PRE\n\n</TextArea>\na",
        [html((1, 3), "<PRE\n\n</TextArea>\n")],
    ),
    ("comment", "  <!-- a\n\n# b\n--> c\nd", [html((1, 4), "  <!-- a\n\n# b\n--> c\n")]),
    (
        "comment of one line",
        "<!-- a -->\n# b",
        [html((1, 1), "<!-- a -->\n"), heading((2, 2), 1, "b")],
    ),
    ("instruction", "<?a\n\n?>\nb", [html((1, 3), "<?a\n\n?>\n")]),
    ("declaration", "<!A\n\n>\nb", [html((1, 3), "<!A\n\n>\n")]),
    ("declaration in small letters, as in cmark", "<!doctype html>\n", []),
    ("character data in small letters, as in cmark", "<![cdata[", [html((1, 1), "<![cdata[\n")]),
    ("character data", "<![CDATA[\n\n]]>\nb", [html((1, 3), "<![CDATA[\n\n]]>\n")]),
    (
        "block tag",
        "a\n</DIV x\n# b\n\n# c",
        [html((2, 3), "</DIV x\n# b\n"), heading((5, 5), 1, "c")],
    ),
    ("name that only begins so", "a\n<divx>\n<h7>\n<div-x>", []),
    ("old block tag, as in cmark", "a\n<source", [html((2, 2), "<source\n")]),
    ("new block tag, as in cmark", "a\n<search", []),
    ("lone closing tag", "</a-b >\n", [html((1, 1), "</a-b >\n")]),
    ("closing script tag", "</script>\na\n\nb", [html((1, 2), "</script>\na\n")]),
    (
        "lone tag",
        "<a b='c' d=\"e\" f=g :h />\ni\n\nj",
        [
            html((1, 2), "<a b='c' d=\"e\" f=g :h />\ni\n"),
        ],
    ),
    ("lone tag in a paragraph", "a\n<b>\n", []),
    ("tag not alone", "<b>a\n", []),
    ("tag not complete", "<a b=>\n\n<a b='>\n\n<a'b'>\n\n</a b>\n\n< a>\n\n<1>", []),
    ("form feed behind a lone tag, as in cmark", "<b>\f", [html((1, 1), "<b>\f\n")]),
    ("vertical tab behind a lone tag", "<b>\v", []),
    ("vertical tab behind a name", "<div\va", [html((1, 1), "<div\va\n")]),
    (
        "ended with its quotation",
        "> <!--\n# a",
        [
            quoted(html((1, 1), "<!--\n")),
            heading((2, 2), 1, "a"),
        ],
    ),
    (
        "in an item",
        "- <div>\n\n  # a",
        [
            nested(html((1, 1), "<div>\n")),
            nested(heading((3, 3), 1, "a")),
        ],
    ),
)
def test_html_blocks(text: str, expected: list[Block]) -> None:
    assert marked(text) == expected


def test_paragraphs() -> None:
    text = "a\n  b  \n\n> c\nd\n\n- e\n\n      f\n1. g\n"
    assert parse_blocks(text) == [
        paragraph((1, 2), "a\nb"),
        quoted(paragraph((4, 5), "c\nd")),
        nested(paragraph((7, 7), "e")),
        nested(code((9, 9), "f\n")),
        nested(paragraph((10, 10), "g")),
    ]


def test_nesting_is_limited() -> None:
    deepest = "> " * MOST_NESTING
    assert parse_blocks(deepest + "# a") == [quoted(heading((1, 1), 1, "a"))]
    assert parse_blocks(deepest + "> # a") == [quoted(paragraph((1, 1), "> # a"))]
    assert parse_blocks("- " * MOST_NESTING + "- a") == [nested(paragraph((1, 1), "- a"))]


def test_marker_beyond_the_nesting_limit_continues_the_paragraph() -> None:
    deepest = "> " * MOST_NESTING
    assert parse_blocks(f"{deepest}a\n{deepest}> b") == [quoted(paragraph((1, 2), "a\n> b"))]


MANY = 20_000


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        pytest.param("`" * MANY, {BlockKind.FENCE: 1}, id="backticks"),
        pytest.param("`" * MANY + "a`", {BlockKind.PARAGRAPH: 1}, id="backticks that open nothing"),
        pytest.param("`\n" * MANY, {BlockKind.PARAGRAPH: 1}, id="a backtick a line"),
        pytest.param("```\n" * MANY, {BlockKind.FENCE: MANY // 2}, id="a fence a line"),
        pytest.param(
            "\n".join("`" * length for length in range(255, 2, -1)),
            {BlockKind.FENCE: 1},
            id="falling",
        ),
        pytest.param("````\n" + "a ``` " * MANY, {BlockKind.FENCE: 1}, id="markers in one line"),
        pytest.param("> " * MANY, {BlockKind.PARAGRAPH: 1}, id="quotations"),
        pytest.param("- " * MANY, {}, id="a long break"),
        pytest.param("- " * MANY + "a", {BlockKind.PARAGRAPH: 1}, id="no break"),
        pytest.param("* - " * MANY, {BlockKind.PARAGRAPH: 1}, id="markers in turn"),
        pytest.param(
            "- " * 90 + "a\n" + "\n" * MANY, {BlockKind.PARAGRAPH: 1}, id="deep, then blank"
        ),
        pytest.param(
            "> " * 90 + "a\n" + "b\n" * MANY, {BlockKind.PARAGRAPH: 1}, id="deep, then lazy"
        ),
        pytest.param(
            "- " * 90 + "a\n" + " " * MANY + "b", {BlockKind.PARAGRAPH: 1}, id="deep, far in"
        ),
        pytest.param(
            "- " * 90 + "a\n" + "\t" * MANY + "b", {BlockKind.PARAGRAPH: 1}, id="deep, tabs"
        ),
        pytest.param("- " * 90 + "```\n" + "\n" * MANY, {BlockKind.FENCE: 1}, id="deep fence"),
        pytest.param("[" * MANY, {BlockKind.PARAGRAPH: 1}, id="brackets"),
        pytest.param("[a\n" * MANY, {BlockKind.PARAGRAPH: 1}, id="labels never closed"),
        pytest.param("[a]: b\n" * MANY, {}, id="definitions"),
        pytest.param("[a]: b '" + "c\n" * MANY, {BlockKind.PARAGRAPH: 1}, id="title never closed"),
        pytest.param("[a]: b (" + "\\(" * MANY, {BlockKind.PARAGRAPH: 1}, id="escapes in a title"),
        pytest.param(
            "[a]: b\n===\n" * MANY, {BlockKind.HEADING: MANY // 2}, id="underlined definitions"
        ),
        pytest.param("a\n" * MANY, {BlockKind.PARAGRAPH: 1}, id="a long paragraph"),
        pytest.param("2.\n" * MANY, {}, id="empty items"),
        pytest.param("<!--\n" * MANY, {BlockKind.HTML: 1}, id="comments never closed"),
        pytest.param("<!-- -->\n" * MANY, {BlockKind.HTML: MANY}, id="comments"),
        pytest.param("<a" + " b" * MANY, {BlockKind.PARAGRAPH: 1}, id="attributes"),
        pytest.param("# " + "#" * MANY, {BlockKind.HEADING: 1}, id="hashes"),
        pytest.param(
            "    a\n" + "\n" * MANY + "    b", {BlockKind.CODE: 1}, id="blank lines in code"
        ),
        pytest.param("```" + "&amp;\\!" * MANY, {BlockKind.FENCE: 1}, id="a long info string"),
    ],
)
def test_hostile_texts_are_read_to_their_end(text: str, kinds: dict[BlockKind, int]) -> None:
    found = [block.kind for block in parse_blocks(text)]
    assert {kind: found.count(kind) for kind in set(found)} == kinds
