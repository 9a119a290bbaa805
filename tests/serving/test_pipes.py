"""Lines out of chunks, wherever the chunks are cut."""

from hypothesis import given
from hypothesis import strategies as st

from brenner.mcp.stdio import LineSplitter

MOST = 5
BYTES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r"]), max_size=40).map(b"".join)


@given(BYTES, st.lists(st.integers(1, 8), min_size=1))
def test_lines_do_not_depend_on_chunks(data: bytes, sizes: list[int]) -> None:
    """Law: the lines are those of the whole; one that is too long is None, and no other is lost."""
    lines, found, rest = LineSplitter(MOST), [], data
    while rest:
        size = sizes[len(rest) % len(sizes)]
        found += list(lines.of(rest[:size]))
        rest = rest[size:]
    found += list(lines.of(b""))
    assert found == [line if len(line) <= MOST else None for line in data.split(b"\n")]
