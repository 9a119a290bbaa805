"""How somebody works at a page: with a mouse, with a finger, or with keys alone."""

from playwright.sync_api import Locator, Page, expect

from web.browsing import Window

_MOST_STEPS = 200
_IS_HERE = "each => each === document.activeElement"
_IS_SEEN = """each => {
    const look = getComputedStyle(each), box = each.getBoundingClientRect();
    const isMarked = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 1;
    return isMarked && box.bottom > 0 && box.top < innerHeight;
}"""


# A button that is pressed by a key is clicked, too: but no pointer goes down on it.
_NO_POINTER = """for (const each of ["pointerdown", "touchstart"])
    addEventListener(each, () => console.error("something was pointed at"), true);"""


def without_a_mouse(opened: Window) -> None:
    """From now on it fails whoever points at something there."""
    opened.context.add_init_script(_NO_POINTER)


class Mouse:
    """A mouse, and a keyboard for words."""

    def press(self, target: Locator) -> None:
        """A button, a link."""
        target.click()

    def write(self, target: Locator, text: str) -> None:
        """Words into a field, instead of those that it has."""
        target.fill(text)

    def choose(self, target: Locator, words: str) -> None:
        """One of the words of a menu."""
        target.select_option(label=words)

    def tick(self, target: Locator, *, wanted: bool = True) -> None:
        """A box, so that it is ticked, or is not."""
        if target.is_checked() != wanted:
            self.press(target)
        expect(target).to_be_checked(checked=wanted)


class Finger(Mouse):
    """A finger on a phone."""

    def press(self, target: Locator) -> None:
        target.tap()


class Keys(Mouse):
    """Keys alone: whatever is wanted is gone to, step by step, and seen to be the place."""

    def press(self, target: Locator) -> None:
        walk(target)
        target.page.keyboard.press("Enter")

    def write(self, target: Locator, text: str) -> None:
        walk(target)
        target.page.keyboard.press("Control+a")
        target.page.keyboard.type(text)

    def choose(self, target: Locator, words: str) -> None:
        walk(target)
        target.page.keyboard.type(words)

    def tick(self, target: Locator, *, wanted: bool = True) -> None:
        walk(target)
        if target.is_checked() != wanted:
            target.page.keyboard.press("Space")
        expect(target).to_be_checked(checked=wanted)


def walk(target: Locator) -> None:
    """Go on with the tabulator until the focus is there, and can be seen there."""
    page: Page = target.page
    expect(target).to_have_count(1)
    for _ in range(_MOST_STEPS):
        if target.evaluate(_IS_HERE):
            assert target.evaluate(_IS_SEEN), "nobody sees where the focus is"
            return
        page.keyboard.press("Tab")
    message = f"no key leads to {target}"
    raise AssertionError(message)
