"""Take the pictures of docs/how-to/use-the-web-page.md: the demo's session, as a browser shows it.

The demo is run in a new folder, served from there, and looked at with Debian's chromium. Another
folder for the pictures can be named.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from brenner.config import OPERATOR
from brenner.services.demo import THREAD

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
DESKTOP, PHONE = (1440, 900), (390, 844)
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]
_OURS = ("BRENNER_", "AGENT_", "GIT_")
_SESSION, _LAB = f"/sessions/{THREAD}", f"/lab/sessions/{THREAD}"


class Picture(NamedTuple):
    """One picture: of which page, how large, in the light or in the dark.

    `demo` is the demo whose session it shows. The full one has results and a conclusion.
    """

    name: str
    path: str
    size: tuple[int, int] = DESKTOP
    is_dark: bool = False
    demo: tuple[str, ...] = ()


_FULL = ("--full",)
PICTURES = (
    Picture("sessions", "/"),
    Picture("overview", _SESSION, demo=_FULL),
    Picture("overview-dark", _SESSION, is_dark=True),
    Picture("overview-phone", _SESSION, PHONE, demo=_FULL),
    Picture("artifact", f"{_SESSION}/artifact"),
    Picture("artifact-dark", f"{_SESSION}/artifact", is_dark=True),
    Picture("artifact-phone", f"{_SESSION}/artifact", PHONE),
    Picture("provenance", f"{_SESSION}/artifact?provenance=1"),
    Picture("thread", f"{_SESSION}/thread"),
    Picture("thread-phone", f"{_SESSION}/thread", PHONE, is_dark=True),
    Picture("versions", f"{_SESSION}/versions"),
    Picture("diff", f"{_SESSION}/diff?from=1&to=2"),
    Picture("ledger", f"{_SESSION}/ledger"),
    Picture("evidence", f"{_SESSION}/evidence"),
    Picture("agents", f"{_SESSION}/agents"),
    Picture("lab-start", "/lab/start"),
    Picture("lab-round", f"{_LAB}/round"),
)


def main() -> int:
    """Take all of them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for demo in ((), _FULL):
        _take_all(folder, demo)
    return 0


def _take_all(folder: Path, demo: tuple[str, ...]) -> None:
    """Take the pictures of one demo."""
    with TemporaryDirectory() as scratch:
        project = Path(scratch) / "phage"
        run_brenner("demo", *demo, str(project))
        secret = run_brenner("agent", "secret", OPERATOR, "--project", str(project)).strip()
        with served(project) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
            for picture in PICTURES:
                if picture.demo == demo:
                    page = _take(browser, address, picture, secret)
                    page.screenshot(path=folder / f"{picture.name}.png")
                    print(f"{picture.name}.png  {picture.path}")
            browser.close()


def _take(browser: Browser, address: str, picture: Picture, secret: str) -> Page:
    """The page, ready to be taken; in the lab after logging in."""
    width, height = picture.size
    page = browser.new_page(
        base_url=address,
        viewport={"width": width, "height": height},
        color_scheme="dark" if picture.is_dark else "light",
        device_scale_factor=1,
    )
    page.goto(picture.path)
    if picture.path.startswith("/lab/"):
        page.get_by_label("secret").fill(secret)
        with page.expect_navigation():
            page.get_by_role("button", name="Log in").click()
        page.goto(picture.path)
    page.wait_for_load_state("load")
    return page


@contextmanager
def served(project: Path) -> Iterator[str]:
    """The address of a server for that project, as long as the context lasts."""
    command = _command("serve", "--lab", "--port", "0", "--json", "--project", str(project))
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=_environment()) as process:
        assert process.stdout
        try:
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()


def run_brenner(*arguments: str) -> str:
    done = subprocess.run(
        _command(*arguments), capture_output=True, text=True, env=_environment(), check=True
    )
    return done.stdout


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "brenner", *arguments]


def _environment() -> dict[str, str]:
    """Nothing that this machine says of us or of git."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


if __name__ == "__main__":
    sys.exit(main())
