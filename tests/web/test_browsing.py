"""The browser of the tests notices what it is there to notice."""

from playwright.sync_api import Browser, expect

from web.browsing import Show, Window, window


def test_a_page(browser_page: Window) -> None:
    """It is shown, with its style, and nothing is wrong."""
    page = browser_page.open("/connect")
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect an agent")
    expect(page.locator("body")).to_have_css("margin-top", "0px")


def test_faults_are_noticed(browser: Browser, site: Show) -> None:
    """An inline script that the policy stops, and a request to elsewhere."""
    opened = window(browser, site.base)
    page = opened.open("/connect")
    with (
        page.expect_console_message(lambda said: "elsewhere.png" in said.text),
        page.expect_console_message(lambda said: "inline" in said.text),
    ):
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>');"
            "document.body.append(Object.assign(document.createElement('img'),"
            " {src: 'http://127.0.0.1:1/elsewhere.png'}))"
        )
    opened.context.close()
    told = " ".join(opened.wrong)
    assert "elsewhere.png" in told
    assert "Content Security Policy" in told
