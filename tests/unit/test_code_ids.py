"""The life cycle of codes: an id that was ever published stays, and keeps its severity."""

from pathlib import Path

from brenner.diagnostics.catalogue import CATALOGUE

LEDGER = Path(__file__).parent / "code_ids.txt"


def test_no_id_disappears() -> None:
    """`code_ids.txt` lists every id ever published. A code may be retired, never removed."""
    published = dict(line.split() for line in LEDGER.read_text("utf-8").splitlines())
    current = {code.id: str(code.severity) for code in CATALOGUE.values()}
    assert published == current, "add new ids to code_ids.txt; never change or remove one"
