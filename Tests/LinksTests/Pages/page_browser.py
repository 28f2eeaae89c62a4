"""Opens pages in Chromium. Usage: page_browser.py GROUP FILE, where FILE has the pages by their paths."""

import contextlib
import http.server
import json
import queue
import re
import sys
import threading
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
    "Mobile/15E148 Safari/604.1")
MAC = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
    "Safari/605.1.15")
OPEN = "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&ibi=com.example.app&_cpt=cpit"
TITLE = 'Tea & "cake" <script>window.hacked = 1</script></title>'

checks = 0


def ok(what, holds=True):
    global checks
    assert holds, what
    checks += 1
    print(f"ok {what}")


class Server(http.server.ThreadingHTTPServer):
    """Answers with the pages, and keeps what is posted."""

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages
        self.posts = queue.Queue()

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        blank = {"status": 200, "html": "<!doctype html><title>blank</title>", "policy": "default-src 'none'"}
        page = self.server.pages.get(self.path, blank)
        body = page["html"].encode()
        self.send_response(page["status"])
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", page["policy"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.posts.put((self.path, self.headers["Content-Type"], body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def elsewhere(route):
    if route.request.resource_type == "image":
        picture = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"/>'
        route.fulfill(status=200, content_type="image/svg+xml", body=picture)
    else:
        route.fulfill(status=200, content_type="text/html", body="elsewhere")


@contextlib.contextmanager
def page_in(browser, server, faults, **options):
    """A page of a fresh profile; other hosts are answered here, and complaints of the browser are kept."""
    context = browser.new_context(**options)
    context.route(re.compile("^https://"), elsewhere)
    page = context.new_page()
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    try:
        yield page
    finally:
        context.close()


def accessible(page, what):
    found = Axe().run(page).response["violations"]
    ok(f"axe finds nothing on {what}", found == [] or print(json.dumps(found, indent=1)))
    ok(f"{what} tells its language", page.locator("html").get_attribute("lang") == "en")


def fits(page, what):
    wide = page.evaluate("document.documentElement.scrollWidth")
    ok(f"{what} fits into 360 pixels: {wide}", wide <= 360)


def copied(page, server):
    page.goto(server.base + "/blank")
    return page.evaluate("navigator.clipboard.readText()")


def set_clipboard(page, server, text):
    page.goto(server.base + "/blank")
    page.evaluate("text => navigator.clipboard.writeText(text)", text)


def iphone(**more):
    return dict(
        user_agent=IPHONE, viewport={"width": 360, "height": 740}, screen={"width": 390, "height": 844},
        locale="en-GB", timezone_id="Europe/Berlin", has_touch=True, is_mobile=True, **more)


def reported(server):
    path, kind, body = server.posts.get(timeout=600)
    ok("the report goes to the path of the page", path == "/_/clicks/f3a1")
    ok("the report is a form", kind.startswith("application/x-www-form-urlencoded"))
    return urllib.parse.parse_qs(body, strict_parsing=True)


def preview(browser, server, faults):
    allowed = ["clipboard-read", "clipboard-write"]
    with page_in(browser, server, faults, permissions=allowed, **iphone()) as page:
        page.goto(server.base + "/preview")
        ok("the title is a text", page.title() == TITLE)
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
        ok("the title runs nothing", page.evaluate("window.hacked") is None)
        ok("there is one script", page.locator("script").count() == 1)
        ok("the picture is that of the link", page.locator("img").get_attribute("src") == "https://image.example/i.png")
        ok("the policy lets the picture load", page.evaluate("document.images[0].naturalWidth") == 300)
        ok("the host is shown", page.get_by_text("a.example", exact=True).is_visible())
        button = page.get_by_role("link", name="Open", exact=True)
        ok("the button leads to the long link", button.get_attribute("href") == OPEN)
        box = page.get_by_role("checkbox", name="Save my place in the app.")
        ok("the box is ticked", box.is_visible() and box.is_checked())
        ok("there is nothing else to operate", page.locator("a, input, button").count() == 2)
        fits(page, "the preview page")
        accessible(page, "the preview page")

        page.goto(server.base + "/preview")
        button.tap()
        page.wait_for_url(OPEN)
        ok("the button opens the long link")
        ok("the link is copied with its suffix", copied(page, server) == "https://go.example.com/y6N7?_icp=1")
        expected = {
            "width": ["390"], "height": ["844"], "language": ["en-GB"], "timeZone": ["Europe/Berlin"], "saved": ["1"]}
        ok("the report has the device", reported(server) == expected)

        set_clipboard(page, server, "untouched")
        page.goto(server.base + "/preview")
        box.uncheck()
        button.tap()
        page.wait_for_url(OPEN)
        ok("without the tick the clipboard stays", copied(page, server) == "untouched")
        ok("without the tick the report says so", reported(server)["saved"] == ["0"])

        # The old way of copying fails: the new one is used, and the link is followed all the same.
        page.goto(server.base + "/preview")
        page.evaluate("document.execCommand = () => false")
        button.tap()
        page.wait_for_url(OPEN)
        ok("the other way copies too", copied(page, server) == "https://go.example.com/y6N7?_icp=1")
        reported(server)

        set_clipboard(page, server, "untouched")
        page.goto(server.base + "/plain")
        ok("no link to copy, no box", page.get_by_role("checkbox").count() == 0)
        ok("without a title the host is the heading", page.get_by_role("heading").inner_text() == "a.example")
        accessible(page, "the plain preview page")
        page.goto(server.base + "/plain")
        button.tap()
        page.wait_for_url(OPEN)
        ok("nothing to copy, nothing copied", copied(page, server) == "untouched")
    ok("nothing more is reported", server.posts.empty())
    with page_in(browser, server, faults, java_script_enabled=False, **iphone()) as page:
        page.goto(server.base + "/preview")
        ok("without JavaScript there is no box", not page.locator("#saved").is_visible())
        page.get_by_role("link", name="Open", exact=True).tap()
        page.wait_for_url(OPEN)
        ok("without JavaScript the button is a link")
    colours = []
    for scheme in ["light", "dark"]:
        with page_in(browser, server, faults, color_scheme=scheme, **iphone()) as page:
            page.goto(server.base + "/preview")
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            accessible(page, f"the {scheme} preview page")
    ok("light and dark differ", colours[0] != colours[1])


def ipad(browser, server, faults):
    pad, desktop = "https://preview.example.com/go.example.com/y6N7?a=1&b='2'", "https://a.example/x?a=1&b='2'"

    def same(url, expected):
        # Chromium encodes apostrophes in queries.
        return urllib.parse.unquote(url) == expected

    for fingers, expected in [(5, pad), (None, desktop)]:
        with page_in(browser, server, faults, user_agent=MAC) as page:
            if fingers:
                devtools = page.context.new_cdp_session(page)
                devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": fingers})
            page.goto(server.base + "/check")
            page.wait_for_url(lambda url: same(url, expected))
            ok(f"{fingers} fingers: {expected}")
            page.go_back()
            ok("the check is not in the history", not page.url.endswith("/check"))
    with page_in(browser, server, faults, user_agent=MAC, java_script_enabled=False) as page:
        page.goto(server.base + "/check", wait_until="commit")
        page.wait_for_url(lambda url: same(url, desktop))
        ok("without JavaScript it is the desktop")


def debug(browser, server, faults):
    with page_in(browser, server, faults, viewport={"width": 360, "height": 740}, java_script_enabled=False) as page:
        page.goto(server.base + "/debug")
        ok("there is a heading", page.get_by_role("heading", level=1).inner_text() == "How this link is read")
        table = page.get_by_role("table", name="Parameters")
        ok("there is a row for each parameter", table.get_by_role("rowheader").count() == 2)
        ok("values are texts", table.get_by_role("cell").nth(1).inner_text() == "<script>window.hacked = 1</script>")
        warnings = page.get_by_role("list", name="Warnings").get_by_role("listitem")
        ok("warnings have code and text", warnings.inner_text() == "UNRECOGNIZED_PARAM zzz is not known.")
        for platform in ["Android, Chrome", "iPhone"]:
            steps = page.get_by_role("region", name=platform).get_by_role("listitem")
            texts = [" ".join(text.split()) for text in steps.all_inner_texts()]
            ok(f"{platform} has its steps", texts == [
                "Is it a crawler? no", "Is there an app? yes", "302 to javascript:alert(1)"])
        ok("nothing can be clicked", page.locator("a, button, input, script").count() == 0)
        fits(page, "the debug page")
        page.goto(server.base + "/bare")
        ok("no warnings are told", page.get_by_text("None.", exact=True).is_visible())
    for scheme in ["light", "dark"]:
        with page_in(browser, server, faults, color_scheme=scheme) as page:
            page.goto(server.base + "/debug")
            accessible(page, f"the {scheme} debug page")


def social(browser, server, faults):
    with page_in(browser, server, faults) as page:
        page.goto(server.base + "/social")
        tags = page.evaluate("""Object.fromEntries([...document.querySelectorAll('meta[property], meta[name^=twitter]')]
            .map(tag => [tag.getAttribute('property') ?? tag.name, tag.content]))""")
        ok("the tags are those of the link", tags == {
            "og:type": "website", "og:title": 'Tea & "cake" <b>', "og:url": "https://go.example.com/y6N7",
            "og:description": "'Both'", "og:image": "https://image.example/i.png", "og:site_name": "Tea",
            "twitter:card": "summary_large_image", "al:ios:app_store_id": "1234567890",
            "al:ios:url": "com.example.app://google/link/", "al:ios:app_name": "Tea",
            "al:android:package": "com.example.app", "al:android:app_name": "Tea", "al:web:url": "https://a.example/x"})
        ok("nothing redirects", page.locator("script, meta[http-equiv]").count() == 0)
        link = page.get_by_role("link", name="https://go.example.com/y6N7")
        ok("the link can be followed by hand", link.get_attribute("href") == "https://go.example.com/y6N7")
        accessible(page, "the social page")


def messages(browser, server, faults):
    expected = {
        "/404": (404, "This link doesn’t exist"), "/410": (410, "This link has expired"),
        "/400": (400, "This link can’t be opened"), "/host": (404, "There are no links at this address")}
    with page_in(browser, server, faults, **iphone()) as page:
        for path, (status, heading) in expected.items():
            ok(f"{path} has its status", page.goto(server.base + path).status == status)
            ok(f"{path} has its heading", page.get_by_role("heading").inner_text() == heading)
            ok(f"{path} says what to do", len(page.get_by_role("paragraph").last.inner_text()) > 40)
            fits(page, path)
            accessible(page, path)
        page.goto(server.base + "/400")
        ok("the reason is a text", page.get_by_text("<b>link</b> is missing.").is_visible())
    # Chromium reports a status from 400 on as an error of its own.
    faults[:] = [fault for fault in faults if "Failed to load resource" not in fault]


def main(group, path):
    with open(path) as file:
        server = Server(json.load(file))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        print(f"Chromium {browser.version}")
        {"preview": preview, "ipad": ipad, "debug": debug, "social": social, "messages": messages}[group](
            browser, server, faults)
        browser.close()
    ok("the browser has nothing to complain about", faults == [] or print(faults))
    print(f"done {checks}")


main(*sys.argv[1:])
