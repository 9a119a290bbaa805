"""Nothing that users rely on changes by accident: see `interfaces.py`."""

from pathlib import Path

import pytest

from golden.interfaces import HERE, written


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        return written(tmp_path_factory.mktemp("interfaces"))


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.iterdir()))
def test_an_interface_is_what_it_was(now: dict[str, str], name: str) -> None:
    assert now[name] == Path(HERE, name).read_text("utf-8")


def test_every_interface_is_kept(now: dict[str, str]) -> None:
    assert now.keys() == {path.name for path in HERE.iterdir()}
