"""What the scripts have in common: a gateway, the control endpoint of its simulated APNs, devices, and checks.

A script gets the path of a JSON file with the members of `Setting` and runs the checks of one group. For each it prints
`ok NAME` or `failed NAME: …`, at last `done COUNT`. Its own requests go through urllib, so that those of the client
under test stand alone in the client's sessions.
"""

import json
import os
import secrets
import sys
import time
import traceback
import urllib.error
import urllib.request

CHECKS = {}
# How long what another process does may take on a machine with other work.
PATIENCE = 120


class Setting:
    """Where the gateway is and who may call it."""

    def __init__(self, values):
        self.base = values["base"]
        self.control = values["control"]
        self.project = values["project"]
        self.admin = values["admin"]
        self.client = values["client"]
        # The path of a service account's file, where one is used.
        self.account = values.get("account")
        # A directory of the test's own, the state directory and the process of `herald dev`, where one runs.
        self.directory = values.get("directory")
        self.state = values.get("state")
        self.gateway = values.get("gateway")
        # A link that signs in to the console.
        self.link = values.get("link")


def check(group):
    """Makes a function a check of a group."""

    def add(function):
        CHECKS.setdefault(group, []).append(function)
        return function

    return add


def run(begin, end=lambda client: None):
    """Runs the checks of the group that the command line names; `begin` gives what each is called with, `end` gets it
    at last."""
    with open(sys.argv[1], encoding="utf-8") as file:
        setting = Setting(json.load(file))
    checks = CHECKS[sys.argv[2]]
    failures = 0
    client = begin(setting)
    for function in checks:
        try:
            function(setting, client)
            print("ok", function.__name__, flush=True)
        except Exception:  # pylint: disable=broad-except
            failures += 1
            print("failed", function.__name__ + ":", flush=True)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
    end(client)
    print("done", len(checks), flush=True)
    # Not exit(): some clients keep threads that are never joined.
    os._exit(1 if failures else 0)


def expect(condition, *told):
    """Fails the check with what is told."""
    if not condition:
        raise AssertionError(*told)


def expect_equal(value, wanted):
    expect(value == wanted, f"{value!r} is not {wanted!r}")


def raised(kind, function, *arguments, **options):
    """The error that a call ends with, which must be of exactly this kind."""
    try:
        result = function(*arguments, **options)
    except Exception as error:  # pylint: disable=broad-except
        expect(type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}")
        return error
    raise AssertionError(f"no {kind.__name__}, but {result!r}")


def until(condition, what):
    """Asks until there is an answer: other processes have no signal for what they have done."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def call(method, address, body=None, key=None, headers=None):
    """One request; the answer's status and its JSON, or its text."""
    request = urllib.request.Request(address, method=method, headers=headers or {})
    if key:
        request.add_header("Authorization", "Bearer " + key)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=PATIENCE) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


class Device:
    """A device with its registration."""

    def __init__(self, apns, token):
        self.apns = apns
        self.token = token


def devices(setting, count):
    """Brings devices in by batchImport, as a backend that moves here does."""
    made = []
    while len(made) < count:
        tokens = [secrets.token_hex(32) for _ in range(min(100, count - len(made)))]
        status, answer = call(
            "POST", setting.base + "/iid/v1:batchImport",
            {"application": "com.example.app", "sandbox": False, "apns_tokens": tokens}, setting.admin)
        expect_equal(status, 200)
        for apns, result in zip(tokens, answer["results"]):
            expect_equal((result["apns_token"], result["status"]), (apns, "OK"))
            made.append(Device(apns, result["registration_token"]))
    return made


def ended(setting):
    """A device whose registration has ended."""
    device = devices(setting, 1)[0]
    status, _ = call(
        "DELETE", f"{setting.base}/v1/projects/{setting.project}/registrations/{device.token}", key=setting.client)
    expect_equal(status, 200)
    return device


def pushes(setting):
    """What has arrived at the simulated APNs."""
    with urllib.request.urlopen(setting.control + "/pushes", timeout=PATIENCE) as answer:
        return [json.loads(line) for line in answer.read().decode().splitlines()]


def pushes_to(setting, *to):
    wanted = {device.apns for device in to}
    return [push for push in pushes(setting) if push["deviceToken"] in wanted]


def arrived(setting, *to):
    """Waits until each of these devices got a push; the pushes."""

    def all_there():
        found = pushes_to(setting, *to)
        return found if len({push["deviceToken"] for push in found}) == len(to) else None

    return until(all_there, f"pushes to {len(to)} devices")


def payload(push):
    return json.loads(push["payload"])


def set_rule(setting, device, rule):
    """Lets the simulated APNs treat a device's pushes otherwise."""
    status, _ = call("PUT", f"{setting.control}/rules/{device.apns}", rule)
    expect_equal(status, 204)


def report(setting, name):
    status, answer = call("GET", f"{setting.base}/v1/{name}", key=setting.admin)
    expect_equal(status, 200)
    return answer


def messages(setting):
    """The project's messages, the latest first."""
    status, answer = call("GET", f"{setting.base}/v1/projects/{setting.project}/messages", key=setting.admin)
    expect_equal(status, 200)
    return answer.get("messages", [])


def complete(setting, name):
    """Waits until nothing of a message is open; its report."""

    def completed():
        answer = report(setting, name)
        return answer if answer["state"] == "COMPLETE" else None

    return until(completed, "the end of " + name)


def expect_unsent(setting, name):
    """A dry run's name has the form of a message's, but there is no such message."""
    expect_name(setting, name)
    status, _ = call("GET", f"{setting.base}/v1/{name}", key=setting.admin)
    expect_equal(status, 404)


def expect_name(setting, name):
    expect(name.startswith(f"projects/{setting.project}/messages/"), name)
