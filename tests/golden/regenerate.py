"""Write the expected files of every history, and of the interfaces, anew.

Read the differences before keeping them.
"""

import os
import sys
import tempfile
from pathlib import Path

from golden import interfaces
from golden.history import HERE, HISTORIES, versions


def main() -> None:
    """Replace what has changed and say so; nothing else is touched."""
    for history in HISTORIES:
        wanted = {
            history / name: text
            for version in versions(history)
            for name, text in version.files().items()
        }
        for path in set(history.glob("v*.*.*")) - wanted.keys():
            path.unlink()
            sys.stdout.write(f"removed {path.relative_to(HERE)}\n")
        for path, text in wanted.items():
            if not path.exists() or path.read_bytes() != text.encode():
                path.write_bytes(text.encode())
                sys.stdout.write(f"written {path.relative_to(HERE)}\n")
    os.environ["COLUMNS"] = "80"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in interfaces.written(Path(folder)).items():
            (interfaces.HERE / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
