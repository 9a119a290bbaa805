"""Print how well killed hypotheses are recognised, with and without vectors.

    python tools/similarity_figures.py

The pairs are those of tests/similarity/ideas.toml. Ideas with an even position chose the
thresholds.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from brenner.integrations.text_vectors import load_text_vectors
from similarity_pairs import IDEAS, Figures, measure


def main() -> None:
    """Print a table for the words alone, and one with vectors."""
    vectors = load_text_vectors()
    ways = {"words": None, **({"words and vectors": vectors.compare} if vectors else {})}
    count = len(IDEAS)
    parts = {"all": range(count), "chose": range(0, count, 2), "others": range(1, count, 2)}
    for name, compare in ways.items():
        for part, ideas in parts.items():
            print(_line(f"{name}, {part} ideas", measure(compare, ideas)))


def _line(title: str, found: Figures) -> str:
    labels = ", ".join(f"{label} {some}/{total}" for label, (some, total) in found.warned.items())
    return f"{title}: precision {found.precision:.3f}, recall {found.recall:.3f}\n  {labels}"


if __name__ == "__main__":
    main()
