"""Finding, decoding and validating delta blocks against decoding the same JSON alone."""

import json
from functools import partial

from brenner import check_message, read_deltas
from brenner.markdown.blocks import parse_blocks as find_blocks
from measure import best_of, heading, milliseconds, row
from messages import blocks, body, message


def run() -> None:
    """1, 10, 100 and 1,000 blocks in one body."""
    heading(
        "Delta blocks: find, decode, validate",
        *("blocks", "json.loads", "find", "find to validate", "whole check", "aim"),
    )
    for count in (1, 10, 100, 1000):
        texts, one_body, one_message = blocks(count), body(count), message(count)
        assert all(block.delta for block in read_deltas(one_body))
        bound = best_of(partial(_decode, texts))
        find = best_of(partial(find_blocks, one_body))
        read = best_of(partial(read_deltas, one_body))
        check = best_of(partial(check_message, one_message))
        ratios = [f"{taken / bound:.2f} ×" for taken in (find, read, check)]
        row(str(count), milliseconds(bound), *ratios, "4 ×" if count == 1000 else "")


def _decode(texts: list[str]) -> list[object]:
    return [json.loads(text) for text in texts]
