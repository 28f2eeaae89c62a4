"""The console of `herald dev` in Firefox: an operator signs in by the printed link, sees every main page, composes, and follows
the message; then the same without JavaScript.
"""

import secrets

from firefox import Firefox
from support import call, check, expect, expect_equal, run

TITLE = 'Tea & "cake" <script>window.hacked = 1</script>'
PAGES = [
    "", "?span=week", "/messages", "/device", "/topics", "/topics/firefox", "/compose?new=1", "/webhooks", "/links",
    "/access", "/audit", "/settings", "/apps", "/users?user=bob",
]
MESSAGE = "/messages/"


class Console:
    """A browser, and what the checks have made so far."""

    def __init__(self, setting):
        self.root = f"{setting.base}/console/p/{setting.project}"
        # A push service at which nothing listens.
        self.browser = Firefox(setting.directory, "ws://127.0.0.1:9/")
        self.message = None

    def close(self):
        self.browser.close()

    def pages(self):
        return [self.root + path for path in PAGES + [MESSAGE + self.message]]

    def compose(self, title):
        """Writes a message to the topic and sends it; its id."""
        self.browser.open(self.root + "/compose?new=1")
        self.browser.click("select[name=kind] option[value=topic]")
        self.browser.fill("input[name=target]", "firefox")
        self.browser.fill("input[name=title]", title)
        self.browser.press("Review")
        expect_equal(self.browser.text("h1"), "Review")
        self.browser.press("Send")
        expect_equal(self.browser.text("h1"), title)
        return self.browser.address().split("/")[-1].split("?")[0]


@check("pages")
def the_link_signs_in(setting, console):
    console.browser.open(setting.link)
    console.browser.press("Sign in")
    expect_equal(console.browser.text("h1"), "Overview")
    names = [name.strip() for name in console.browser.text("nav").split("\n")]
    expect_equal(names, ["Overview", "Messages", "Device", "Topics", "Compose", "Webhooks", "Links", "Access"])


@check("pages")
def a_message_is_composed_and_followed(setting, console):
    status, registered = call(
        "POST", f"{setting.base}/v1/projects/{setting.project}/registrations",
        {"ios": {"apns_token": secrets.token_hex(32), "bundle_id": "com.example.app"}, "user": "bob"}, setting.admin)
    expect_equal(status, 200)
    call("POST", f"{setting.base}/iid/v1/{registered['token']}/rel/topics/firefox", key=setting.admin)
    browser = console.browser
    browser.open(console.root + "/compose?new=1")
    browser.fill("input[name=title]", TITLE)
    # The picture of a phone shows what is typed, and the gateway says what it makes of it.
    expect_equal(browser.text(".iphone [data-show=title]"), TITLE)
    browser.wait('return document.querySelector("[data-saved]").textContent === "Draft saved";')
    console.message = console.compose(TITLE)
    # The page follows by itself what the simulated APNs answers.
    browser.wait('return document.querySelector(".law").textContent.includes("1 accepted");')
    expect_equal(browser.wait("return [window.hacked ?? null];"), [None])


@check("pages")
def every_page_opens(setting, console):
    for address in console.pages():
        console.browser.open(address)
        status = console.browser.wait('return performance.getEntriesByType("navigation")[0].responseStatus;')
        expect_equal((address, status), (address, 200))
        # Times are shown in the zone of the browser.
        unread = console.browser.wait(
            "return [[...document.querySelectorAll('time[datetime]')].filter((time) => !time.title).length];")
        expect_equal((address, unread), (address, [0]))
    expect_equal(console.browser.complaints(setting.base), [])


@check("pages")
def everything_works_without_javascript(setting, console):
    console.browser.allow_javascript(False)
    for address in console.pages():
        console.browser.open(address)
        expect(console.browser.text("h1"), address)
        expect_equal((address, console.browser.text("nav").split("\n")[0].strip()), (address, "Overview"))
    console.compose("Without JavaScript")
    console.browser.allow_javascript(True)


@check("pages")
def signing_out_ends_it(setting, console):
    console.browser.open(console.root)
    console.browser.click("form[action$='/sign-out'] button")
    expect_equal(console.browser.text("h1"), "Sign in to Herald")
    console.browser.open(console.root)
    expect_equal(console.browser.text("h1"), "Sign in to Herald")


if __name__ == "__main__":
    run(Console, Console.close)
