"""Compare texts by the vectors of their words, if `brenner[similar]` is installed.

The package `wordllama` contains a table with a vector for each part of a word. Only that table and
its tokenizer are read, because importing the package takes 0.6 s. Nothing is downloaded.
"""

from __future__ import annotations

import json
import struct
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from brenner.session.similarity import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_LENGTH = struct.Struct("<Q")  # of the header of a safetensors file


class TextVectors:
    """A table of vectors, and the tokenizer that splits texts into its rows."""

    def __init__(self, tokenizer: Tokenizer, table: NDArray[np.float16]) -> None:
        self._tokenizer, self._table = tokenizer, table

    def compare(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine between a text and each of the others; 0 if one has no words."""
        if not others:
            return []
        vectors = self._vectors([text, *others])
        return cast("list[float]", (vectors[1:] @ vectors[0]).tolist())

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of the rows of each text's words, at length 1."""
        import numpy as np

        words = [" ".join(content_words(text)) for text in texts]
        encoded = self._tokenizer.encode_batch(words, add_special_tokens=False)
        found = np.zeros((len(texts), self._table.shape[1]), np.float32)
        for place, each in enumerate(encoded):
            if each.ids:
                found[place] = self._table[each.ids].mean(axis=0, dtype=np.float32)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        lengths[lengths == 0] = 1  # a text without words
        return cast("NDArray[np.float32]", found / lengths)


@cache
def load_text_vectors() -> TextVectors | None:
    """Return the vectors; None if the package is missing, or not as expected."""
    try:
        folder = _package_folder()
        return _read(folder) if folder else None
    except (ImportError, OSError, ValueError, KeyError, OverflowError, struct.error):
        return None


def _package_folder() -> Path | None:
    """Return the folder of the package, without importing it."""
    spec = find_spec("wordllama")
    return Path(spec.origin).parent if spec and spec.origin else None


def _read(folder: Path) -> TextVectors:
    import numpy as np
    from tokenizers import Tokenizer

    with (folder / _TABLE).open("rb") as opened:
        [length] = _LENGTH.unpack(opened.read(_LENGTH.size))
        about: dict[str, Any] = json.loads(opened.read(length))[_TENSOR]
        start, end = about["data_offsets"]
        opened.seek(_LENGTH.size + length + start)
        raw = opened.read(end - start)
    if about["dtype"] != "F16":
        raise ValueError(about["dtype"])
    table = np.frombuffer(raw, np.dtype("<f2")).reshape(about["shape"])
    tokenizer = Tokenizer.from_buffer((folder / _TOKENIZER).read_bytes())
    tokenizer.no_padding()
    return TextVectors(tokenizer, table)
