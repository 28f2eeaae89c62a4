"""Headless Firefox as Debian has it, driven over marionette."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess

from marionette_driver import By, Wait
from marionette_driver.marionette import Marionette

from support import PATIENCE, until

PROGRAM = "/usr/bin/firefox-esr"
# A local push service; nothing that would go anywhere else, or ask anything.
PREFERENCES = {
    "alerts.useSystemBackend": False,
    "dom.push.connection.enabled": True,
    "dom.push.testing.allowInsecureServerURL": True,
    "marionette.port": 0,
    "network.proxy.type": 0,
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.aboutwelcome.enabled": False,
    "browser.newtabpage.enabled": False,
    "browser.region.network.url": "",
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:9/",
    "toolkit.telemetry.enabled": False,
}
PR_SET_PDEATHSIG = 1


# On a machine with much other work one start was seen that gave no session in a minute and a half, while those before
# and after it took seconds: such a start is given up, and another one made.
START_PATIENCE = 40
STARTS = 3


class Firefox:
    """One browser with a new profile in a directory."""

    def __init__(self, directory, push_service):
        for start in range(STARTS):
            try:
                self._start(pathlib.Path(directory, f"firefox-{start}"), push_service)
                break
            except socket.timeout:
                self.close()
                if start == STARTS - 1:
                    raise
        self._marionette.client.socket_timeout = PATIENCE
        self._marionette.timeout.script = PATIENCE

    def _start(self, profile, push_service):
        profile.mkdir()
        values = PREFERENCES | {"dom.push.serverURL": push_service}
        lines = [f'user_pref("{name}", {_literal(value)});\n' for name, value in values.items()]
        profile.joinpath("user.js").write_text("".join(lines), encoding="utf-8")
        self._log = profile.joinpath("log.txt")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "--headless", "--marionette", "-remote-allow-system-access", "--no-remote",
                 "--profile", str(profile)],
                env=os.environ | {"HOME": str(profile), "MOZ_CRASHREPORTER_DISABLE": "1"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_end_with_parent)
        announced = profile.joinpath("MarionetteActivePort")
        port = until(lambda: self._alive() and announced.exists() and announced.read_text(), "Firefox")
        self._marionette = Marionette(host="127.0.0.1", port=int(port), socket_timeout=START_PATIENCE)
        self._marionette.start_session()

    def _alive(self):
        if self._process.poll() is None:
            return True
        raise AssertionError(f"Firefox ended: {self._log.read_text(errors='replace')}")

    def allow_notifications(self, origin):
        """What a click on "Allow" would do."""
        with self._marionette.using_context("chrome"):
            self._marionette.execute_script(
                """Services.perms.addFromPrincipal(
                     Services.scriptSecurityManager.createContentPrincipalFromOrigin(arguments[0]),
                     "desktop-notification", Services.perms.ALLOW_ACTION);""", [origin])

    def open(self, address):
        self._marionette.navigate(address)

    def fill(self, selector, text):
        element = self._marionette.find_element(By.CSS_SELECTOR, selector)
        element.clear()
        element.send_keys(text)

    def press(self, name):
        """Clicks the button with this text."""
        self._marionette.find_element(By.XPATH, f'//main//button[normalize-space()="{name}"]').click()

    def text(self, selector):
        """The text of an element, which is waited for; also without JavaScript."""
        element = Wait(self._marionette, timeout=PATIENCE, interval=0.02).until(
            lambda marionette: marionette.find_elements(By.CSS_SELECTOR, selector))[0]
        return element.text

    def address(self):
        return self._marionette.get_url()

    def allow_javascript(self, is_allowed):
        """Holds for pages that are opened from then on."""
        self.ask_chrome(f'Services.prefs.setBoolPref("javascript.enabled", {_literal(is_allowed)});')

    def complaints(self, base):
        """What the browser's console says of pages below an address: errors of scripts, and what a policy refused."""
        return self.ask_chrome(
            f"""return Services.console.getMessageArray().map(String).filter((text) =>
                  text.includes("{base}") && /JavaScript Error|Content-Security-Policy/.test(text));""")

    def click(self, selector):
        self._marionette.find_element(By.CSS_SELECTOR, selector).click()

    def wait(self, function):
        """Waits until a script that is a function's body returns something; what it returns."""
        return Wait(self._marionette, timeout=PATIENCE, interval=0.02).until(
            lambda marionette: marionette.execute_script(function))

    def ask(self, function):
        """Runs an asynchronous function's body in the page; what it returns."""
        answer = self._marionette.execute_async_script(
            f"const done = arguments[arguments.length - 1];\n(async () => {{ {function} }})()"
            ".then((value) => done({value}), (error) => done({error: String(error)}));")
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer.get("value")

    def ask_chrome(self, script):
        with self._marionette.using_context("chrome"):
            return self._marionette.execute_script(script)

    def close(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _literal(value):
    return str(value).lower() if isinstance(value, (bool, int)) else f'"{value}"'


def _end_with_parent():
    """Runs in the new process: it is killed when the script is."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
