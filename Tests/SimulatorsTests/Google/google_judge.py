"""firebase-admin against a simulated Google: account file and base address are the arguments.

Each check prints `ok NAME`, at last comes `done COUNT`; the first that fails ends with a traceback.
"""

import asyncio
import os
import sys

import firebase_admin
from firebase_admin import credentials, exceptions, messaging

ACCOUNT, BASE = sys.argv[1:]
# Nothing here waits for retries of the client: what is retried answers once.
messaging._MessagingService.FCM_URL = BASE + "/v1/projects/{0}/messages:send"
firebase_admin.initialize_app(credentials.Certificate(ACCOUNT))
COUNT = 0


def ok(name):
    global COUNT
    COUNT += 1
    print("ok", name, flush=True)


def message(token="device-0001:APA91bExample", **options):
    return messaging.Message(token=token, data={"a": "1"}, **options)


name = messaging.send(message())
assert name.startswith("projects/demo-upstream/messages/0:"), name
ok("send")
assert messaging.send(message(), dry_run=True).startswith("projects/")
ok("dry run")
answer = messaging.send_each([message(), message("unregistered-1:APA91bExample")])
assert (answer.success_count, answer.failure_count) == (1, 1)
assert type(answer.responses[1].exception) is messaging.UnregisteredError
ok("send each")
answer = asyncio.run(messaging.send_each_async([message() for _ in range(20)]))
assert answer.success_count == 20, [each.exception for each in answer.responses]
ok("send each over HTTP/2")
rich = message(
    notification=messaging.Notification(title="Hi", body="there", image="https://example.com/a.png"),
    android=messaging.AndroidConfig(
        collapse_key="k", priority="high", ttl=3600.5, restricted_package_name="com.example.app",
        notification=messaging.AndroidNotification(
            title="T", color="#112233", tag="t", title_loc_key="k", title_loc_args=["a"], priority="high",
            vibrate_timings_millis=[100, 200], visibility="public", notification_count=3, event_timestamp=None,
            light_settings=messaging.LightSettings(
                color="#112233", light_on_duration_millis=100, light_off_duration_millis=200)),
        fcm_options=messaging.AndroidFCMOptions(analytics_label="label")),
    apns=messaging.APNSConfig(
        headers={"apns-priority": "10"}, payload=messaging.APNSPayload(aps=messaging.Aps(badge=1, sound="default"))),
    webpush=messaging.WebpushConfig(
        headers={"TTL": "60"}, notification=messaging.WebpushNotification(title="W", require_interaction=True)),
    fcm_options=messaging.FCMOptions(analytics_label="label"))
assert messaging.send(rich).startswith("projects/")
ok("every block")
assert messaging.send(messaging.Message(topic="news")).rsplit("/", 1)[1].isdigit()
ok("topic")
for token, kind in [
    ("mismatch-1", messaging.SenderIdMismatchError),
    ("third-party-1", messaging.ThirdPartyAuthError),
    ("project-quota-1", messaging.QuotaExceededError),
    ("invalid-token-1", exceptions.InvalidArgumentError),
    ("permission-denied-1", exceptions.PermissionDeniedError),
    ("project-missing-1", exceptions.NotFoundError),
]:
    try:
        messaging.send(message(token + ":APA91bExample"))
    except exceptions.FirebaseError as error:
        assert type(error) is kind, (token, type(error), error)
    else:
        raise AssertionError(token)
    ok(token)
print("done", COUNT, flush=True)
# Not exit(): the client keeps threads that are never joined.
os._exit(0)
