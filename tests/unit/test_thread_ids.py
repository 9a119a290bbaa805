"""Thread IDs: generation from a question, and suggestions."""

from datetime import date

import pytest

from brenner.protocol.thread_ids import (
    ThreadKind,
    check_thread_id,
    classify_thread_id,
    generate_thread_id,
    suggest_thread_id,
)

DAY = date(2025, 12, 30)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do cells decide their fate?", "RS-20251230-cells-decide-fate"),
        ("Is it lineage or gradient?", "RS-20251230-lineage-gradient"),
        ("Does the mRNA's decay explain the paradox?", "RS-20251230-mrnas-decay-explain-paradox"),
        ("¿Cómo se decide el destino celular?", "RS-20251230-como-se-decide-el-destino"),
    ],
)
def test_generate(question: str, expected: str) -> None:
    """The telling words of the question, in its order."""
    assert generate_thread_id(question, DAY) == expected


@pytest.mark.parametrize("question", ["Why?", "", "为什么细胞会分裂？", "x" * 500, "a b", "?!"])
def test_generate_from_little(question: str) -> None:
    """Too few Latin words: the ID is still valid, keeps the advice, and is the question's own."""
    found = generate_thread_id(question, DAY)
    assert check_thread_id(found) == []
    assert found == generate_thread_id(question, DAY)
    assert found != generate_thread_id(question + " 2", DAY)


def test_generate_avoids_what_is_taken() -> None:
    """The second session on one question gets a number, the third the next one."""
    question = "How do cells decide their fate?"
    taken: set[str] = set()
    for _ in range(12):
        found = generate_thread_id(question, DAY, taken)
        assert check_thread_id(found) == []
        assert found not in taken
        taken.add(found)
    assert "RS-20251230-cells-decide-fate-2" in taken


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("RS-20251215-mRNA-decay-paradox", "RS-20251215-mrna-decay-paradox"),
        ("rs-20251215-decay", None),
        ("Rs-20251215-decay", "RS-20251215-decay"),
        ("RS-2025-12-15-decay paradox", "RS-20251215-decay-paradox"),
        ("coord-Daily_Sync", "COORD-daily-sync"),
        ("Brenner_Bot-5so.1", "brenner_bot-5so.1"),
        ("a..b", "a.b"),
        ("../etc/passwd", None),
        ("RS-banana", None),
        ("", None),
    ],
)
def test_suggest(written: str, meant: str | None) -> None:
    """Only where it is obvious; a valid ID has nothing to suggest."""
    if check_thread_id(written) and check_thread_id(written)[0].severity == "error":
        assert suggest_thread_id(written) == meant


def test_classify() -> None:
    """Everything that is neither RS- nor COORD- is engineering."""
    assert classify_thread_id("RS-x") is ThreadKind.RESEARCH
    assert classify_thread_id("COORD-x") is ThreadKind.COORDINATION
    assert classify_thread_id("rs-x") is ThreadKind.ENGINEERING
    assert classify_thread_id("") is ThreadKind.ENGINEERING
