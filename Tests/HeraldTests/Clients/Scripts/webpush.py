"""Web Push as others read it: http-ece decrypts what the gateway sends, py-vapid checks who sent it, pywebpush sends to
the simulated push service, and Firefox subscribes at the page of `herald dev` and shows what comes. The page uses the module
that the gateway serves to all; Chromium, whose push service is Google's alone, gets by its debugger what http-ece has read.

The gateway is told of the push service of these tests as an operator would do it: a line of the project file, SIGHUP.
"""

import json
import os
import pathlib
import re
import secrets
import signal
import ssl
import sys
import time

import http_ece
import httpx
import pywebpush
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from firebase_admin import exceptions, messaging

import admin_sdk
from push_service import PushService, base64url, expect_unrefused
from support import PATIENCE, call, check, complete, expect, expect_equal, raised, run, until

TRY = "/try/"
# Of a body of 4096 bytes (RFC 8030 §7.2): what aes128gcm leaves of it.
PLAINTEXT_LIMIT = 3993


class Judge:
    """A gateway that knows the push service, a client of it, and a browser when the group wants one."""

    def __init__(self, setting):
        identity = pathlib.Path(setting.state, "push-service")
        self.service = PushService(identity / "server.pem", identity / "server-key.pem")
        self.app = admin_sdk.app(setting, "herald")
        self.trust = ssl.create_default_context(cafile=identity / "ca.pem")
        self.key = re.search('vapidKey: "([^"]+)"', page(setting, "page.js"))[1]
        allow(setting, self.service.place)
        self.reader = self.first_reader(setting)
        self.browser = None
        if sys.argv[2] == "firefox":
            # Only here, so that the other group needs neither.
            from firefox import Firefox  # pylint: disable=import-outside-toplevel
            self.browser = Firefox(setting.directory, self.service.browser_address)
        if sys.argv[2] == "chromium":
            from chromium import Chromium  # pylint: disable=import-outside-toplevel
            self.browser = Chromium(
                setting.base.replace("127.0.0.1", "localhost"), self.reader.info, setting.directory)

    def first_reader(self, setting):
        """Registers until the gateway has read its project file again."""
        reader = Reader(self.service, self.key)
        token = until(lambda: register(setting, reader)[1].get("token"), "the new project file")
        reader.token = token
        return reader

    def send(self, **parts):
        """The id of a message sent with firebase-admin."""
        return messaging.send(messaging.Message(**parts), app=self.app).split("/")[-1]

    def close(self):
        if self.browser:
            self.browser.close()


class Reader:
    """Keys of a browser, with which http-ece reads."""

    def __init__(self, service, key):
        self._private = ec.generate_private_key(ec.SECP256R1())
        self._secret = secrets.token_bytes(16)
        self.subscription = service.subscribe(key)
        public = self._private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.info = {
            "endpoint": service.endpoint(self.subscription),
            "keys": {"p256dh": base64url(public), "auth": base64url(self._secret)}}
        self.token = None

    def next(self):
        """The next push, and what it says."""
        push = self.subscription.next_push()
        text = http_ece.decrypt(
            push.body, private_key=self._private, auth_secret=self._secret, version="aes128gcm")
        return push, text


def page(setting, name):
    return call("GET", setting.base + TRY + name)[1]


def allow(setting, place):
    """Names a push service in the project file, which the gateway reads again."""
    file = pathlib.Path(setting.state, "projects/demo.yaml")
    text, count = re.subn(
        r"services: \[", f'services: ["{place}", ', file.read_text(encoding="utf-8"))
    expect_equal(count, 1)
    file.write_text(text, encoding="utf-8")
    os.kill(int(setting.gateway), signal.SIGHUP)


def register(setting, reader):
    """What a page does once it has a subscription."""
    project = f"{setting.base}/v1/projects/{setting.project}"
    status, installation = call(
        "POST", project + "/installations", {"appId": "1:123456789012:web:0a1b2c3d"}, setting.client)
    expect_equal(status, 200)
    return call(
        "POST", project + "/registrations", {"web": {"origin": "localhost", **reader.info}}, setting.client,
        {"X-Goog-Firebase-Installations-Auth": installation["authToken"]["token"]})


def receipts(setting, message):
    """How many devices have reported each kind."""
    name = f"{setting.base}/v1/projects/{setting.project}/messages/{message}"
    return call("GET", name, key=setting.admin)[1].get("receipts", {})


def registration_state(setting, token):
    status, answer = call(
        "POST", f"{setting.base}/v1/projects/{setting.project}/registrations:check", {"tokens": [token]}, setting.admin)
    expect_equal(status, 200)
    return json.dumps(answer)


# Libraries


@check("libraries")
def http_ece_reads_the_message(setting, judge):
    message = judge.send(
        token=judge.reader.token, notification=messaging.Notification("Goal", "2:1 \N{SOCCER BALL}"),
        data={"match": "12"},
        webpush=messaging.WebpushConfig(
            notification=messaging.WebpushNotification(icon="https://localhost/i.png"),
            fcm_options=messaging.WebpushFCMOptions("https://localhost/12")))
    push, text = judge.reader.next()
    notification = {
        "title": "Goal", "body": "2:1 \N{SOCCER BALL}", "icon": "https://localhost/i.png",
        "navigate": "https://localhost/12"}
    said = json.loads(text)
    said["notification"].pop("tag", None)
    expect_equal(
        said,
        {"web_push": 8030, "notification": notification, "data": {"match": "12"},
         "fcmOptions": {"link": "https://localhost/12"}, "from": "123456789012", "fcmMessageId": message})
    expect_equal(push.fields.get("content-type"), "application/notification+json")
    expect_unrefused(judge.service)


@check("libraries")
def http_ece_reads_up_to_the_longest(setting, judge):
    def send(count):
        return judge.send(token=judge.reader.token, data={"text": "x" * count})

    send(1)
    rest = len(judge.reader.next()[1]) - 1
    for size in [rest, 2700, PLAINTEXT_LIMIT - 1, PLAINTEXT_LIMIT]:
        send(size - rest)
        push, text = judge.reader.next()
        expect_equal((len(text), json.loads(text)["data"]), (size, {"text": "x" * (size - rest)}))
        # Salt, record size, length of the key, key; delimiter and tag.
        expect_equal(len(push.body), 86 + size + 17)
        expect_equal(push.fields.get("content-type"), "application/octet-stream")
    error = raised(exceptions.InvalidArgumentError, send, PLAINTEXT_LIMIT - rest + 1)
    expect("3994 bytes" in str(error) and "3993" in str(error), error)


@check("libraries")
def each_browser_gets_its_own_secrets(setting, judge):
    others = [Reader(judge.service, judge.key) for _ in range(20)]
    for reader in others:
        status, answer = register(setting, reader)
        expect_equal(status, 200)
        reader.token = answer["token"]
    tokens = [reader.token for reader in others]
    expect_equal(messaging.subscribe_to_topic(tokens, "readers", app=judge.app).success_count, 20)
    message = judge.send(topic="readers", notification=messaging.Notification("Goal"))
    read = [reader.next() for reader in others]
    expect_equal({json.loads(text)["fcmMessageId"] for _, text in read}, {message})
    expect_equal({json.loads(text)["from"] for _, text in read}, {"/topics/readers"})
    # Salt and key of each body (RFC 8291 §3.1), one token for the service (RFC 8292 §5).
    expect_equal(len({push.body[:16] for push, _ in read}), 20)
    expect_equal(len({push.body[21:86] for push, _ in read}), 20)
    expect_equal(len({push.token for push, _ in read}), 1)
    left = read[0][0].claims["exp"] - time.time()
    expect(6 * 3600 < left <= 12 * 3600, left)
    expect_unrefused(judge.service)


@check("libraries")
def fields_are_those_of_the_sender(setting, judge):
    for headers, wanted in [
        ({"TTL": "90", "Urgency": "high", "Topic": "score"}, ("90", "high", 32)),
        ({"TTL": "0", "Urgency": "very-low"}, ("0", "very-low", 0)),
    ]:
        judge.send(
            token=judge.reader.token, data={"a": "b"}, webpush=messaging.WebpushConfig(headers=headers))
        push, _ = judge.reader.next()
        kept, urgency, topic = wanted
        expect_equal((push.fields.get("urgency"), len(push.fields.get("topic", ""))), (urgency, topic))
        # What is left of it, in whole seconds.
        expect(max(0, int(kept) - 60) <= int(push.fields.get("ttl")) <= int(kept), push.fields.get("ttl"))
    expect_unrefused(judge.service)


@check("libraries")
def an_ended_subscription_ends_its_registration(setting, judge):
    reader = Reader(judge.service, judge.key)
    token = register(setting, reader)[1]["token"]
    expect("ENDED" not in registration_state(setting, token))
    reader.subscription.is_live = False
    name = messaging.send(messaging.Message(token=token, data={"a": "b"}), app=judge.app)
    expect_equal(complete(setting, name)["rejectedByReason"], {"SubscriptionGone": 1})
    expect("ENDED" in registration_state(setting, token))
    expect_equal(judge.service.refusals.get(timeout=PATIENCE)[0], 410)


class Session:
    """What pywebpush posts with, on HTTP/2: requests has none of it, and the simulated push service nothing else."""

    def __init__(self, trust):
        self._client = httpx.Client(http1=False, http2=True, verify=trust, trust_env=False)

    def post(self, endpoint, data, headers, timeout):
        answer = self._client.post(endpoint, content=data, headers=dict(headers), timeout=timeout or PATIENCE)
        # A member of requests' answers that httpx has by another name.
        answer.reason = answer.reason_phrase
        return answer


@check("libraries")
def pywebpush_is_understood_by_the_simulated_service(setting, judge):
    info = call("POST", setting.control + "/subscriptions", {"applicationServerKey": judge.key})[1]
    answer = pywebpush.webpush(
        info, "When I grow up, I want to be a watermelon",
        vapid_private_key=str(pathlib.Path(setting.state, "vapid.pem")),
        vapid_claims={"sub": "mailto:push@example.com"}, ttl=60, requests_session=Session(judge.trust))
    expect_equal(answer.status_code, 201)
    status, text = call("GET", setting.control + "/pushes")
    expect_equal(status, 200)
    # One push is one line, which is read as JSON already.
    push = text if isinstance(text, dict) else json.loads(text.splitlines()[-1])
    expect_equal((push["plaintext"], push["senderKey"]), ("When I grow up, I want to be a watermelon", judge.key))


# Firefox

NOTIFICATIONS = """
    const worker = await navigator.serviceWorker.ready;
    return (await worker.getNotifications()).map(
      ({title, body, tag, data, icon, lang, dir, requireInteraction, silent, actions}) =>
        ({title, body, tag, data, icon, lang, dir, requireInteraction, silent, actions}));
"""
# The windows that stand for what the desktop would show.
ALERTS = """
    return Array.from(Services.wm.getEnumerator("alert:alert")).map((alert) => {
      const text = (id) => alert.document.getElementById(id);
      return [text("alertTitleLabel")?.getAttribute("value"), text("alertTextLabel")?.textContent];
    });
"""


def shown(judge, title):
    """Waits until the page has heard of a push and the desktop shows it; the push and the notification."""
    browser = judge.browser
    text = browser.wait(
        "return Array.from(document.querySelectorAll('#pushes li'), (line) => line.textContent)"
        f".find((text) => text.includes({json.dumps(title)}));")
    notification = next(found for found in browser.ask(NOTIFICATIONS) if found["title"] == title)
    until(lambda: [title, notification["body"]] in browser.ask_chrome(ALERTS), f"an alert with {title}")
    return json.loads(text), notification


@check("firefox")
def firefox_subscribes_at_the_page(setting, judge):
    port = setting.base.rsplit(":", 1)[1]
    origin = f"http://localhost:{port}"
    judge.browser.allow_notifications(origin)
    judge.browser.open(origin + TRY)
    judge.browser.click("#subscribe")
    problem, judge.token = judge.browser.wait(
        "const text = (id) => document.getElementById(id).textContent;"
        "return text('problem') || text('token') !== 'none yet' ? [text('problem'), text('token')] : null;")
    expect_equal(problem, "")
    judge.subscription = judge.service.made.get(timeout=PATIENCE)
    expect_equal(judge.subscription.key, judge.key)
    expect("ENDED" not in registration_state(setting, judge.token), judge.token)


@check("firefox")
def firefox_shows_what_goes_to_a_topic(setting, judge):
    # The page joins after it shows its token.
    url = f"{setting.base}/v1/projects/{setting.project}/registrations/{judge.token}/topicSubscriptions/weather"
    until(lambda: call("GET", url, key=setting.admin)[0] == 200, "the topic weather")
    message = judge.send(topic="weather", notification=messaging.Notification("Rain \N{UMBRELLA}", "from noon"))
    expect_equal(judge.subscription.next_ack(), 100)
    push, notification = shown(judge, "Rain \N{UMBRELLA}")
    expect_equal((push["from"], push["fcmMessageId"]), ("/topics/weather", message))
    expect_equal(notification["body"], "from noon")
    until(lambda: receipts(setting, message) == {"received": 1}, "the worker's receipt")
    expect_unrefused(judge.service)


@check("firefox")
def firefox_shows_each_member_of_the_notification(setting, judge):
    message = judge.send(
        token=judge.token, notification=messaging.Notification("Goal", "1:0"), data={"match": "12"},
        webpush=messaging.WebpushConfig(
            data={"half": "2"},
            notification=messaging.WebpushNotification(
                body="2:1", icon="/try/none.png", tag="match", language="pt", direction="ltr",
                require_interaction=True, silent=True, data={"minute": 88},
                actions=[messaging.WebpushNotificationAction("watch", "Watch")]),
            fcm_options=messaging.WebpushFCMOptions("https://localhost/12")))
    expect_equal(judge.subscription.next_ack(), 100)
    push, notification = shown(judge, "Goal")
    base = setting.base.replace("127.0.0.1", "localhost")
    expect_equal(
        notification,
        {"title": "Goal", "body": "2:1", "tag": "match", "data": {"minute": 88}, "icon": base + "/try/none.png",
         "lang": "pt", "dir": "ltr", "requireInteraction": True, "silent": True,
         "actions": [{"action": "watch", "title": "Watch"}]})
    # Firebase's worker reads these (sw-listeners.ts), a browser's data standing in place of everybody's…
    expect_equal(
        (push["data"], push["fcmOptions"], push["from"], push["fcmMessageId"]),
        ({"half": "2"}, {"link": "https://localhost/12"}, "123456789012", message))
    # … and Declarative Web Push these.
    expect_equal((push["web_push"], push["notification"]["navigate"]), (8030, "https://localhost/12"))


@check("firefox")
def firefox_hands_data_to_the_worker(setting, judge):
    message = judge.send(token=judge.token, data={"score": "2:1"})
    expect_equal(judge.subscription.next_ack(), 100)
    text = judge.browser.wait(
        "return Array.from(document.querySelectorAll('#pushes li'), (line) => line.textContent)"
        f".find((text) => text.includes({json.dumps(message)}));")
    expect_equal(
        json.loads(text), {"data": {"score": "2:1"}, "from": "123456789012", "fcmMessageId": message})


@check("firefox")
def firefox_tells_what_it_can_not_decrypt(setting, judge):
    """So that its 100 means something."""
    body = bytearray(judge.subscription.last.body)
    body[-1] ^= 1
    judge.service.deliver(judge.subscription, bytes(body))
    expect_equal(judge.subscription.next_ack(), 101)


@check("firefox")
def an_unsubscribed_firefox_ends_its_registration(setting, judge):
    expect(judge.browser.ask(
        "const worker = await navigator.serviceWorker.ready;"
        "return (await worker.pushManager.getSubscription()).unsubscribe();"))
    expect_equal(judge.service.ended.get(timeout=PATIENCE), judge.subscription)
    name = messaging.send(messaging.Message(token=judge.token, data={"a": "b"}), app=judge.app)
    expect_equal(complete(setting, name)["rejectedByReason"], {"SubscriptionGone": 1})
    expect("ENDED" in registration_state(setting, judge.token))


@check("firefox")
def firefox_leaves_by_the_module(setting, judge):
    text = "const text = (id) => document.getElementById(id).textContent;"
    judge.browser.click("#subscribe")
    token = judge.browser.wait(
        f"{text} return ['none yet', '{judge.token}'].includes(text('token')) ? null : text('token');")
    # The subscription is another one, and so is the registration, of the same installation.
    expect_equal(token.split(":")[0], judge.token.split(":")[0])
    url = f"{setting.base}/v1/projects/{setting.project}/registrations/{token}/topicSubscriptions/weather"
    until(lambda: call("GET", url, key=setting.admin)[0] == 200, "the topic weather")
    judge.browser.click("#leave")
    judge.browser.wait(f"{text} return text('token') === 'none yet';")
    expect("ENDED" in registration_state(setting, token))
    expect_equal(judge.browser.ask("return document.getElementById('problem').textContent;"), "")


# Chromium


@check("chromium")
def chromium_subscribes_at_the_page(setting, judge):
    judge.browser.open(TRY)
    judge.browser.click("#subscribe")
    judge.token = judge.browser.text("#token", lambda text: text != "none yet")
    expect_equal(judge.browser.text("#problem"), "")
    expect("ENDED" not in registration_state(setting, judge.token), judge.token)
    url = f"{setting.base}/v1/projects/{setting.project}/registrations/{judge.token}/topicSubscriptions/weather"
    until(lambda: call("GET", url, key=setting.admin)[0] == 200, "the topic weather")


@check("chromium")
def chromium_shows_what_is_read_and_acknowledges_it(setting, judge):
    message = judge.send(topic="weather", notification=messaging.Notification("Rain", "from noon"))
    judge.browser.deliver(judge.reader.next()[1].decode())
    line = judge.browser.text("#pushes li")
    expect_equal(json.loads(line)["fcmMessageId"], message)
    expect_equal(judge.browser.notifications(), [["Rain", "from noon"]])
    until(lambda: receipts(setting, message) == {"received": 1}, "the worker's receipt")


@check("chromium")
def chromium_opens_what_is_clicked_and_says_so(setting, judge):
    """A click on the desktop's notification, as a user's: the worker gets it from the browser."""
    message = judge.send(token=judge.token, notification=messaging.Notification("Snow", "from the north"))
    judge.browser.deliver(judge.reader.next()[1].decode())
    until(lambda: "Snow" in judge.browser.desktop.titles(), "the notification on the desktop")
    until(lambda: receipts(setting, message) == {"received": 1}, "the worker's receipt")
    judge.browser.desktop.click("Snow")
    until(lambda: receipts(setting, message) == {"received": 1, "opened": 1}, "the receipt of the click")
    # It is gone, and the one of before is not.
    until(lambda: judge.browser.notifications() == [["Rain", "from noon"]], "the end of the notification")


@check("chromium")
def chromium_uses_the_module_on_a_page(setting, judge):
    """Each function of the module that the page of `herald dev` has no button for."""
    message = judge.send(token=judge.token, data={"score": "2:1"})
    judge.browser.deliver(judge.reader.next()[1].decode())
    judge.browser.call("sendReceipt", message, "OPENED")
    until(lambda: receipts(setting, message).get("opened") == 1, "the page's receipt")
    url = f"{setting.base}/v1/projects/{setting.project}/registrations/{judge.token}/topicSubscriptions/a%25b"
    judge.browser.call("subscribe", "a%b")
    expect_equal(call("GET", url, key=setting.admin)[0], 200)
    judge.browser.call("unsubscribe", "a%b")
    expect_equal(call("GET", url, key=setting.admin)[0], 404)
    # The same subscription, within a week: nothing is asked.
    expect_equal(judge.browser.call("getToken"), judge.token)


@check("chromium")
def chromium_says_no_wrong_receipts(setting, judge):
    errors = judge.browser.run("""async ({sendReceipt}, messaging) => {
      const say = (...receipt) => sendReceipt(messaging, ...receipt).catch((error) => error.message);
      return [await say("0:1501%85e8", "OPENED"), await say("0:1", "EATEN")];
    }""")
    expect_equal(errors, ["No receipt: 0:1501%85e8, OPENED", "No receipt: 0:1, EATEN"])
    # What the gateway refuses as a whole does not wait for ever.
    waiting = judge.browser.run("""async ({sendReceipt}, messaging) => {
      const {update} = self.heraldMessaging;
      await update((state) => { state.queue = [{message: "0:1", kind: "OPENED", nonsense: true}]; });
      await sendReceipt(messaging, "0:1", "OPENED");
      return (await update()).queue;
    }""")
    expect_equal(waiting, [])
    # Chromium tells of each answer that is an error; it is heard of while something else is asked.
    until(lambda: judge.browser.notifications() and judge.browser.faults, "the refused list")
    expect("400" in judge.browser.faults.pop(), judge.browser.faults)


@check("chromium")
def chromium_asks_once_for_what_is_called_at_once(setting, judge):
    asked = len(judge.browser.asked)
    tokens = judge.browser.run("""async ({getToken, subscribe}, messaging) => {
      // As on a first visit.
      await self.heraldMessaging.update((state) => {
        for (const name of ["fid", "refreshToken", "auth", "authTime", "token", "endpoint"]) delete state[name];
      });
      const calls = [getToken(messaging), getToken(messaging), subscribe(messaging, "a"), subscribe(messaging, "b")];
      return (await Promise.all(calls)).slice(0, 2);
    }""")
    expect_equal(tokens[0], tokens[1])
    paths = [path.split("/")[-1] for method, path in judge.browser.asked[asked:] if method == "POST"]
    expect_equal(sorted(paths), ["a:subscribe", "b:subscribe", "installations", "registrations"])
    for topic in ["a", "b"]:
        url = f"{setting.base}/v1/projects/{setting.project}/registrations/{tokens[0]}/topicSubscriptions/{topic}"
        expect_equal(call("GET", url, key=setting.admin)[0], 200)
    judge.token = tokens[0]


@check("chromium")
def chromium_leaves_by_the_module(setting, judge):
    judge.browser.click("#leave")
    judge.browser.text("#token", lambda text: text == "none yet")
    expect("ENDED" in registration_state(setting, judge.token))
    expect_equal(judge.browser.faults, [])


if __name__ == "__main__":
    run(Judge, Judge.close)
