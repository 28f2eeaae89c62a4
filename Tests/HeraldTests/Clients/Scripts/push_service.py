"""A push service of browsers that is none of ours: RFC 8030 over HTTP/2 to senders, Mozilla's autopush over a WebSocket
to Firefox. VAPID tokens are judged by py-vapid; HTTP/2 is that of the library h2, the WebSocket that of aiohttp.

https://mozilla-push-service.readthedocs.io/en/latest/design/ describes the messages to the browser.
"""

import asyncio
import base64
import json
import queue
import re
import secrets
import threading
import time

from aiohttp import WSMsgType, web
from py_vapid import Vapid02

from http2_listener import Listener
from support import PATIENCE, expect

# What a push service must take (RFC 8030 §7.2), and this one takes no more.
BODY_LIMIT = 4096
# RFC 8292 §2.
LONGEST_TOKEN = 24 * 3600
PATH = "/wpush/v2/"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Push:
    """A push as it came: its header fields, its body, the claims of its token."""

    def __init__(self, fields, body, authorization):
        self.fields = fields
        self.body = body
        self.token, self.claims = authorization


class Subscription:
    """What stands behind an endpoint. Pushes and what the browser acknowledges wait in queues."""

    def __init__(self, key, agent=None, channel=None):
        self.id = secrets.token_urlsafe(12)
        self.key = key
        self.agent = agent
        self.channel = channel
        self.is_live = True
        # The push that was accepted last.
        self.last = None
        self._pushes = queue.Queue()
        self._acks = queue.Queue()

    def take(self, push):
        """Keeps a push that was accepted."""
        self.last = push
        self._pushes.put(push)

    def acknowledge(self, code):
        """Keeps what the browser says of a push."""
        self._acks.put(code)

    def next_push(self):
        """The next push that was accepted."""
        return self._pushes.get(timeout=PATIENCE)

    def next_ack(self):
        """What the browser says of the next push: 100 delivered, 101 not decrypted, 102 otherwise not delivered."""
        return self._acks.get(timeout=PATIENCE)


class Refused(Exception):
    """An answer that is not 201."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Agent:
    """A browser: its WebSocket, while there is one, and what waits for it."""

    def __init__(self):
        self.socket = None
        self.waiting = []


class PushService:
    """Runs on a thread of its own until the process ends."""

    def __init__(self, certificate, key):
        self.subscriptions = {}
        # What it answered with another status than 201.
        self.refusals = queue.Queue()
        # Subscriptions in the order in which browsers made them.
        self.made = queue.Queue()
        self.ended = queue.Queue()
        self._agents = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        secure, plain = self._do(self._listen(certificate, key))
        self.place = f"127.0.0.1:{secure}"
        self.origin = "https://" + self.place
        self.browser_address = f"ws://127.0.0.1:{plain}/"

    def subscribe(self, key):
        """A subscription whose pushes the caller decrypts."""
        return self._add(Subscription(key))

    def endpoint(self, subscription):
        return f"{self.origin}{PATH}{subscription.id}"

    def deliver(self, subscription, body):
        """Hands the browser a body that came from nowhere."""
        self._do(self._hand_on(subscription, body))

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _listen(self, certificate, key):
        """Both ports, free ones."""
        secure = await Listener.listen(certificate, key, self._take)
        browser = web.Application()
        browser.router.add_get("/", self._converse)
        runner = web.AppRunner(browser, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return secure, runner.addresses[0][1]

    def _add(self, subscription):
        self.subscriptions[subscription.id] = subscription
        return subscription

    # Senders (RFC 8030 §5)

    async def _take(self, path, fields, body):
        """Status and fields of the answer to a request."""
        try:
            subscription = self.subscriptions.get(path.removeprefix(PATH)) if path.startswith(PATH) else None
            if fields.get(":method") != "POST" or not subscription:
                raise Refused(404, "there is no such subscription")
            if not subscription.is_live:
                raise Refused(410, "the subscription has ended")
            check_fields(fields, body)
            authorization = check_token(fields.all("authorization"), self.origin, subscription.key)
        except Refused as refusal:
            self.refusals.put((refusal.status, str(refusal)))
            return refusal.status, {}
        subscription.take(Push(fields, body, authorization))
        await self._hand_on(subscription, body)
        return 201, {"location": f"{self.origin}/m/{secrets.token_urlsafe(12)}", "ttl": fields.get("ttl")}

    # Browsers

    async def _hand_on(self, subscription, body):
        if not subscription.agent:
            return
        message = {
            "messageType": "notification", "channelID": subscription.channel, "version": secrets.token_urlsafe(12),
            "ttl": 60, "data": base64url(body), "headers": {"encoding": "aes128gcm"}}
        agent = self._agents[subscription.agent]
        agent.waiting.append(message)
        if agent.socket:
            await self._send_waiting(agent)

    @staticmethod
    async def _send_waiting(agent):
        waiting, agent.waiting = agent.waiting, []
        for message in waiting:
            await agent.socket.send_json(message)

    async def _converse(self, request):
        """One connection of a browser, to its end."""
        socket = web.WebSocketResponse(protocols=["push-notification"])
        await socket.prepare(request)
        name = None
        async for frame in socket:
            if frame.type is not WSMsgType.TEXT:
                continue
            message = json.loads(frame.data)
            if message.get("messageType") == "hello":
                name = message.get("uaid") or secrets.token_hex(16)
                agent = self._agents.setdefault(name, Agent())
                agent.socket = socket
                await socket.send_json({
                    "messageType": "hello", "status": 200, "uaid": name, "use_webpush": True, "broadcasts": {}})
                await self._send_waiting(agent)
            else:
                answer = self._answer(message, name)
                if answer is not None:
                    await socket.send_json(answer)
        if name and self._agents[name].socket is socket:
            self._agents[name].socket = None
        return socket

    def _answer(self, message, agent):
        """What a message other than `hello` is answered with, if it is."""
        kind = message.get("messageType")
        if kind == "register":
            # Firefox pads it.
            made = self._add(Subscription(message["key"].rstrip("="), agent, message["channelID"]))
            self.made.put(made)
            return {"messageType": "register", "status": 200, "channelID": made.channel,
                    "pushEndpoint": self.endpoint(made)}
        if kind == "unregister":
            for subscription in self.subscriptions.values():
                if subscription.channel == message["channelID"]:
                    subscription.is_live = False
                    self.ended.put(subscription)
            return {"messageType": "unregister", "status": 200, "channelID": message["channelID"]}
        if kind == "ack":
            for update in message["updates"]:
                for subscription in self.subscriptions.values():
                    if subscription.channel == update["channelID"]:
                        subscription.acknowledge(update["code"])
            return None
        # A ping is an empty object; what a browser subscribes to beside pushes never changes here.
        return {} if message in ({}, {"messageType": "ping"}) else None


def check_fields(fields, body):
    """RFC 8030 §5, RFC 8188 §2, RFC 8291 §4; of each field one."""
    for name in ["ttl", "urgency", "topic", "content-encoding", "content-type", "content-length"]:
        if len(fields.all(name)) > 1:
            raise Refused(400, f"{name} more than once")
    if not re.fullmatch("[0-9]+", fields.get("ttl", "")):
        raise Refused(400, "TTL must be a number of seconds")
    if fields.get("urgency", "normal") not in ["very-low", "low", "normal", "high"]:
        raise Refused(400, "Urgency is wrong")
    if not re.fullmatch("[A-Za-z0-9_-]{1,32}", fields.get("topic", "x")):
        raise Refused(400, "Topic must be 1 to 32 of A-Z a-z 0-9 _ -")
    if len(body) > BODY_LIMIT:
        raise Refused(413, f"more than {BODY_LIMIT} bytes")
    if fields.get("content-encoding") != "aes128gcm":
        raise Refused(400, "Content-Encoding must be aes128gcm")


def check_token(fields, origin, key):
    """RFC 8292 §2 and §3, the signature by py-vapid; the token and its claims."""
    parts = re.fullmatch("vapid t=([A-Za-z0-9_.-]+), k=([A-Za-z0-9_-]+)", fields[0]) if len(fields) == 1 else None
    if not parts:
        raise Refused(401, "Authorization must be one of vapid t=…, k=…")
    token, signer = parts.groups()
    # RFC 9110 §5.6.1 allows blanks after the comma; py-vapid reads its own form, which has none.
    if not Vapid02.verify(f"vapid t={token},k={signer}"):
        raise Refused(401, "the signature is not that of the key")
    if signer != key:
        raise Refused(403, "the subscription was made with another key")
    header, claims = (json.loads(from_base64url(part)) for part in token.split(".")[:2])
    if header != {"typ": "JWT", "alg": "ES256"}:
        raise Refused(401, f"header {header}")
    if claims.get("aud") != origin:
        raise Refused(401, f"aud {claims.get('aud')}")
    if not 0 < claims.get("exp", 0) - time.time() <= LONGEST_TOKEN:
        raise Refused(401, f"exp {claims.get('exp')}")
    if not re.fullmatch(r"mailto:[^\s<>@]+@[^\s<>@]+\.[^\s<>@]+", claims.get("sub", "")):
        raise Refused(401, f"sub {claims.get('sub')}")
    return token, claims


def expect_unrefused(service):
    """Fails with what the service refused, if it did."""
    refused = list(service.refusals.queue)
    expect(not refused, refused)
