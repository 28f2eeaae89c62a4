"""Headless Chromium as Debian has it, driven over its debugger.

Its push service is Google's and can't be another one. So a page subscribes with what a test has made, and what comes for
that is handed to the worker by the debugger. What it shows it hands to the desktop, where it can be clicked.
"""

import json
import os
import pathlib
import tempfile
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from desktop import Desktop
from support import PATIENCE, until

PROGRAM = "/usr/bin/chromium"
# What a page finds in place of Chromium's own.
SUBSCRIBE = """(info) => {
  const subscription = {
    endpoint: info.endpoint, options: {}, toJSON: () => info,
    unsubscribe: async () => { delete self.subscribed; return true; }};
  PushManager.prototype.subscribe = async () => self.subscribed = subscription;
  PushManager.prototype.getSubscription = async () => self.subscribed ?? null;
}"""


class Chromium:
    """One browser with a page of the gateway's origin."""

    def __init__(self, origin, info, directory):
        self._origin = origin
        # The path of a socket has at most 107 bytes.
        self._bus = tempfile.TemporaryDirectory(prefix="bus-")
        self.desktop = Desktop(self._bus.name)
        self._playwright = sync_playwright().start()
        # With a profile on the disk: a click finds none that was made for a test.
        context = self._playwright.chromium.launch_persistent_context(
            pathlib.Path(directory, "chromium"), executable_path=PROGRAM, args=["--no-sandbox"],
            env=os.environ | {"DBUS_SESSION_BUS_ADDRESS": self.desktop.address})
        self._context = context
        context.set_default_timeout(PATIENCE * 1000)
        context.grant_permissions(["notifications"], origin=origin)
        self._page = context.new_page()
        self._page.add_init_script(f"({SUBSCRIBE})({json.dumps(info)})")
        self.faults = []
        # The methods and paths of the page's requests.
        self.asked = []
        self._page.on("request", lambda request: self.asked.append((request.method, urlsplit(request.url).path)))
        self._page.on("pageerror", lambda error: self.faults.append(str(error)))
        self._page.on("console", self._hear)
        self._debugger = context.new_cdp_session(self._page)
        self._worker = None
        self._debugger.on("ServiceWorker.workerRegistrationUpdated", self._see)
        self._debugger.send("ServiceWorker.enable")

    def _hear(self, line):
        # Every browser asks for a favicon.
        if line.type in ("error", "warning") and not line.location["url"].endswith("/favicon.ico"):
            self.faults.append(line.text)

    def _see(self, event):
        for registration in event["registrations"]:
            if not registration["isDeleted"]:
                self._worker = registration["registrationId"]

    def open(self, path):
        self._page.goto(self._origin + path)

    def click(self, selector):
        self._page.click(selector)

    def text(self, selector, is_wanted=lambda text: True):
        """The text of the last such element, once it is what is wanted."""
        found = self._page.locator(selector).last

        def read():
            # Playwright hears of events only while it waits for something.
            text = found.text_content()
            return (text,) if is_wanted(text) else None

        return until(read, f"{selector} to be what is wanted")[0]

    def deliver(self, text):
        """Hands the worker a push."""
        self._debugger.send(
            "ServiceWorker.deliverPushMessage",
            {"origin": self._origin, "registrationId": self._worker, "data": text})

    def notifications(self):
        return self._page.evaluate("""async () => {
          const worker = await navigator.serviceWorker.ready;
          return (await worker.getNotifications()).map(({title, body}) => [title, body]);
        }""")

    def call(self, name, *arguments):
        """Calls a function of the module with what the page has told it."""
        return self._page.evaluate("""async ([name, rest]) => {
          const module = await import("/client/herald-messaging.js");
          return await module[name](document.messaging, ...rest) ?? null;
        }""", [name, list(arguments)])

    def run(self, script):
        """Runs a function of the page that gets the module and what the page has told it."""
        return self._page.evaluate(f"""async () => {{
          const module = await import("/client/herald-messaging.js");
          return await ({script})(module, document.messaging) ?? null;
        }}""")

    def close(self):
        self._context.close()
        self._playwright.stop()
        self.desktop.close()
        self._bus.cleanup()
