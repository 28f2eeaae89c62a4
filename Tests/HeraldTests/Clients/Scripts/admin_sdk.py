"""firebase-admin as a backend uses it, unmodified, pointed at a gateway as the article "From FCM to Herald" shows."""

import asyncio
import datetime
import warnings

import firebase_admin
import google.auth.credentials
from firebase_admin import _http_client, credentials, exceptions, messaging
from requests.adapters import HTTPAdapter

from support import (
    Device, arrived, check, complete, devices, ended, expect, expect_equal, expect_name, expect_unsent, messages,
    payload, pushes_to, raised, report, run, set_rule)

# 7.7 recommends installation ids in place of tokens.
warnings.simplefilter("ignore", DeprecationWarning)


class APIKey(google.auth.credentials.Credentials):
    """A bearer that stays as it is: an API key of the gateway."""

    def __init__(self, key):
        super().__init__()
        self.token = key

    def refresh(self, request):
        """There is nothing to fetch."""


def app(setting, name, key=None, project=None, timeout=600):
    """An app of the SDK that talks to the gateway; with `key` by an API key, else as the test wants."""
    credential = (
        APIKey(key or setting.admin) if key or not setting.account else credentials.Certificate(setting.account))
    project = project or setting.project
    made = firebase_admin.initialize_app(credential, {"projectId": project, "httpTimeout": timeout}, name)
    # The lines of the article.
    service = messaging._MessagingService
    service.FCM_URL = setting.base + "/v1/projects/{0}/messages:send"
    service.FCM_BATCH_URL = setting.base + "/batch"
    service.IID_URL = setting.base
    own = messaging._get_messaging_service(made)
    own._fcm_topic_url = setting.base + f"/v1/projects/{project}/registrations"
    own._client.session.mount(
        setting.base,
        HTTPAdapter(pool_connections=100, pool_maxsize=100, max_retries=_http_client.DEFAULT_RETRY_CONFIG))
    return made


def notification(title="Goal"):
    return messaging.Notification(title=title, body="2:1")


def message(device, title="Goal", **more):
    return messaging.Message(token=device.token, notification=notification(title), **more)


# Everyday calls, the same in both generations.


@check("everyday")
def a_message_arrives_as_it_was_meant(setting, client):
    device = devices(setting, 1)[0]
    name = messaging.send(
        message(
            device, data={"score": "2:1"},
            apns=messaging.APNSConfig(
                headers={"apns-priority": "5"},
                payload=messaging.APNSPayload(
                    messaging.Aps(badge=7, sound="goal.caf", thread_id="match", custom_data={"relevance-score": 0.5}),
                    match=12)),
            fcm_options=messaging.FCMOptions(analytics_label="goals")), app=client)
    expect_name(setting, name)
    push = arrived(setting, device)[0]
    expect_equal(
        payload(push),
        {"aps": {"alert": {"title": "Goal", "body": "2:1"}, "badge": 7, "sound": "goal.caf", "thread-id": "match",
                 "relevance-score": 0.5}, "match": 12, "score": "2:1"})
    expect_equal(push["headers"]["apns-priority"], "5")
    expect_equal(complete(setting, name)["label"], "goals")


@check("everyday")
def blocks_of_every_platform_are_taken(setting, client):
    device = devices(setting, 1)[0]
    timing = datetime.timedelta(milliseconds=250)
    name = messaging.send(
        message(
            device,
            android=messaging.AndroidConfig(
                collapse_key="match", priority="high", ttl=datetime.timedelta(seconds=3.5),
                restricted_package_name="com.example.app", data={"a": "b"}, direct_boot_ok=True,
                notification=messaging.AndroidNotification(
                    title="Goal", icon="ball", color="#f45342", sound="goal", tag="match", click_action="OPEN",
                    body_loc_key="body", body_loc_args=["2", "1"], channel_id="goals", ticker="Goal!", sticky=True,
                    event_timestamp=datetime.datetime(2026, 6, 11, 18, 30, 0, 250000, datetime.timezone.utc),
                    local_only=False, priority="max", vibrate_timings_millis=[100, 250], default_sound=False,
                    light_settings=messaging.LightSettings(
                        color="#ff8000", light_on_duration_millis=200, light_off_duration_millis=300),
                    visibility="public", notification_count=2, image="https://example.com/goal.png"),
                fcm_options=messaging.AndroidFCMOptions("android-goals")),
            webpush=messaging.WebpushConfig(
                headers={"TTL": "60", "Urgency": "high"}, data={"c": "d"},
                notification=messaging.WebpushNotification(
                    title="Goal", icon="https://example.com/ball.png", direction="ltr", renotify=True, silent=False,
                    tag="match", timestamp_millis=1781202600000, vibrate=[100, 250],
                    actions=[messaging.WebpushNotificationAction("open", "Open")], custom_data={"own": {"deep": [1]}}),
                fcm_options=messaging.WebpushFCMOptions("https://example.com/match")),
            apns=messaging.APNSConfig(
                payload=messaging.APNSPayload(
                    messaging.Aps(
                        alert=messaging.ApsAlert(
                            title="Goal!", subtitle="in overtime", loc_key="body", loc_args=["2", "1"],
                            title_loc_key="title", title_loc_args=["x"], action_loc_key="open", launch_image="ball",
                            custom_data={"summary-arg": "match"}),
                        sound=messaging.CriticalSound("goal.caf", critical=True, volume=timing.total_seconds()),
                        content_available=True, mutable_content=True, category="MATCH")),
                fcm_options=messaging.APNSFCMOptions("ios-goals", image="https://example.com/ios.png"))), app=client)
    aps = payload(arrived(setting, device)[0])["aps"]
    expect_equal(aps["alert"]["title"], "Goal!")
    expect_equal(aps["alert"]["loc-args"], ["2", "1"])
    expect_equal(aps["sound"], {"name": "goal.caf", "critical": 1, "volume": 0.25})
    expect_equal((aps["content-available"], aps["mutable-content"], aps["category"]), (1, 1, "MATCH"))
    expect_equal(complete(setting, name)["ledger"]["accepted"], 1)


@check("everyday")
def a_dry_run_sends_nothing(setting, client):
    device = devices(setting, 1)[0]
    expect_unsent(setting, messaging.send(message(device, "dry"), dry_run=True, app=client))
    batch = messaging.send_each([message(device, "dry")] * 3, dry_run=True, app=client)
    expect_equal(batch.success_count, 3)
    complete(setting, messaging.send(message(device, "wet"), app=client))
    titles = [payload(push)["aps"]["alert"]["title"] for push in pushes_to(setting, device)]
    expect_equal(titles, ["wet"])


@check("everyday")
def five_hundred_at_once_all_arrive(setting, client):
    audience = devices(setting, 500)
    batch = messaging.send_each([message(device, device.apns) for device in audience], app=client)
    expect_equal((batch.success_count, batch.failure_count), (500, 0))
    expect_equal(len({response.message_id for response in batch.responses}), 500)
    for push in arrived(setting, *audience):
        expect_equal(payload(push)["aps"]["alert"]["title"], push["deviceToken"])


@check("everyday")
def a_dead_token_fails_alone_in_a_multicast(setting, client):
    first, last = devices(setting, 2)
    dead = ended(setting)
    stranger = Device("", dead.token[:-8] + "AAAAAAAA")
    tokens = [device.token for device in (first, dead, stranger, last)]
    batch = messaging.send_each_for_multicast(
        messaging.MulticastMessage(tokens=tokens, notification=notification()), app=client)
    expect_equal([response.success for response in batch.responses], [True, False, False, True])
    for response in batch.responses[1:3]:
        expect(type(response.exception) is messaging.UnregisteredError, repr(response.exception))
    arrived(setting, first, last)


@check("everyday")
def asynchronous_sends_arrive(setting, client):
    audience = devices(setting, 200)
    dead = ended(setting)
    batch = asyncio.run(
        messaging.send_each_async([message(device) for device in audience + [dead]], dry_run=False, app=client))
    expect_equal((batch.success_count, batch.failure_count), (200, 1))
    expect(type(batch.responses[-1].exception) is messaging.UnregisteredError, repr(batch.responses[-1].exception))
    arrived(setting, *audience)


@check("everyday")
def topics_and_conditions_address_whom_they_name(setting, client):
    first, second, third = devices(setting, 3)
    prefix = first.apns[:8]
    for device, topic in ((first, "a"), (second, "a"), (second, "b")):
        messaging.subscribe_to_topic(device.token, f"{prefix}-{topic}", app=client)
    names = [
        messaging.send(messaging.Message(topic=f"/topics/{prefix}-a", notification=notification("a")), app=client),
        messaging.send(
            messaging.Message(
                condition=f"'{prefix}-a' in topics && !('{prefix}-b' in topics)",
                notification=notification("a, not b")),
            app=client)]
    expect_equal([complete(setting, name)["ledger"]["accepted"] for name in names], [2, 1])
    titles = {(push["deviceToken"], payload(push)["aps"]["alert"]["title"])
              for push in pushes_to(setting, first, second, third)}
    expect_equal(titles, {(first.apns, "a"), (second.apns, "a"), (first.apns, "a, not b")})


@check("everyday")
def a_thousand_subscribe_and_unsubscribe(setting, client):
    audience = devices(setting, 997)
    dead = ended(setting)
    tokens = [device.token for device in audience]
    tokens[500:500] = ["malformed", dead.token, audience[0].token]
    topic = "crowd-" + audience[0].apns[:8]
    for change in (messaging.subscribe_to_topic, messaging.unsubscribe_from_topic):
        answer = change(tokens, topic, app=client)
        expect_equal((answer.success_count, answer.failure_count), (998, 2))
        expect_equal([(error.index, error.reason) for error in answer.errors],
                     [(500, "INVALID_ARGUMENT"), (501, "NOT_FOUND")])
        name = messaging.send(messaging.Message(topic=topic, notification=notification()), dry_run=False, app=client)
        expected = 997 if change is messaging.subscribe_to_topic else 0
        expect_equal(complete(setting, name)["ledger"]["accepted"], expected)


# Errors, each one made real. InternalError (500) is not among them: no fault of the store, of APNs or of a caller makes
# one (they are 503 and what the checks below say), only a mistake in the gateway's own code would, and none is known.


@check("errors")
def an_ended_registration_is_unregistered(setting, client):
    error = raised(messaging.UnregisteredError, messaging.send, message(ended(setting)), app=client)
    expect_equal((error.code, str(error)), (exceptions.NOT_FOUND, "Requested entity was not found."))


@check("errors")
def another_project_is_a_mismatch_of_sender(setting, client):
    other = app(setting, "other-project", project="elsewhere")
    device = devices(setting, 1)[0]
    raised(messaging.SenderIdMismatchError, messaging.send, message(device), app=other)


@check("errors")
def an_unknown_key_is_unauthenticated(setting, client):
    stranger = app(setting, "stranger", key=setting.admin[:-4] + "AAAA")
    device = devices(setting, 1)[0]
    raised(exceptions.UnauthenticatedError, messaging.send, message(device), app=stranger)


@check("errors")
def a_role_that_may_not_is_denied(setting, client):
    phone = app(setting, "phone", key=setting.client)
    device = devices(setting, 1)[0]
    raised(exceptions.PermissionDeniedError, messaging.send, message(device), app=phone)


@check("errors")
def what_breaks_a_rule_is_an_invalid_argument(setting, client):
    device = devices(setting, 1)[0]
    broken = [
        messaging.Message(token="malformed", notification=notification()),
        message(device, data={"from": "me"}),
        message(device, data={"google.c": "x"}),
        message(device, data={"much": "x" * 4096}),
        message(device, apns=messaging.APNSConfig(headers={"apns-priority": "3"})),
        messaging.Message(condition="'a' in topics &&", notification=notification()),
        messaging.Message(
            condition=" || ".join(f"'{topic}' in topics" for topic in "abcdef"), notification=notification()),
        messaging.Message(
            token=device.token, data={"silent": "yes"},
            apns=messaging.APNSConfig(
                headers={"apns-priority": "10"},
                payload=messaging.APNSPayload(messaging.Aps(content_available=True)))),
    ]
    for each in broken:
        for dry_run in (False, True):
            error = raised(exceptions.InvalidArgumentError, messaging.send, each, dry_run=dry_run, app=client)
            details = error.http_response.json()["error"]["details"]
            expect_equal(details[0]["errorCode"], "INVALID_ARGUMENT")
    batch = asyncio.run(messaging.send_each_async(broken, dry_run=False, app=client))
    for response in batch.responses:
        expect(type(response.exception) is exceptions.InvalidArgumentError, repr(response.exception))
    complete(setting, messaging.send(message(device), app=client))
    expect_equal(len(pushes_to(setting, device)), 1)


@check("full")
def a_full_queue_is_a_quota(setting, client):
    device = devices(setting, 1)[0]
    set_rule(setting, device, {"neverAnswer": True})

    async def fill():
        # The asynchronous client leaves Retry-After alone, so that each message is sent once.
        for _ in range(20):
            batch = await messaging.send_each_async([message(device)], dry_run=False, app=client)
            if batch.failure_count:
                return batch.responses[0].exception
        raise AssertionError("the limit was not met")

    error = asyncio.run(fill())
    expect(type(error) is messaging.QuotaExceededError, repr(error))
    expect(int(error.http_response.headers["Retry-After"]) > 0)


@check("unavailable")
def a_gateway_without_a_store_is_unavailable(setting, client):
    unknown = Device("", "c" * 22 + ":" + "x" * 140)
    response = asyncio.run(messaging.send_each_async([message(unknown)], dry_run=False, app=client)).responses[0]
    expect(type(response.exception) is exceptions.UnavailableError, repr(response.exception))


# The outcome at APNs, which the gateway waits for when it is asked to.


def waiting(client):
    """The app's service with a preference: the SDK has no option for it."""
    messaging._get_messaging_service(client)._fcm_headers["Prefer"] = "wait=20"


@check("outcome")
def an_accepted_push_is_answered_with_its_name(setting, client):
    waiting(client)
    device = devices(setting, 1)[0]
    set_rule(setting, device, {"delayMilliseconds": 500})
    name = messaging.send(message(device), app=client)
    expect_equal(len(pushes_to(setting, device)), 1)
    expect_equal(report(setting, name)["ledger"]["accepted"], 1)


@check("outcome")
def a_refusal_by_apns_reaches_the_caller_and_is_final(setting, client):
    waiting(client)
    later = int(datetime.datetime.now().timestamp() * 1000) + 60_000
    answers = [
        ({"unregistered": {"since": later}}, messaging.UnregisteredError),
        ({"reject": {"status": 400, "reason": "BadDeviceToken"}}, exceptions.InvalidArgumentError),
        ({"reject": {"status": 400, "reason": "DeviceTokenNotForTopic"}}, exceptions.InvalidArgumentError),
    ]
    for rule, kind in answers:
        device = devices(setting, 1)[0]
        set_rule(setting, device, rule)
        raised(kind, messaging.send, message(device), app=client)
        expect_equal(len(pushes_to(setting, device)), 1)


@check("credential")
def a_refused_credential_is_a_third_party_error_and_final(setting, client):
    # Alone on its gateway, whose list therefore has only what this sends: the SDK sends again after a 401.
    waiting(client)
    device = devices(setting, 1)[0]
    set_rule(setting, device, {"reject": {"status": 403, "reason": "InvalidProviderToken"}})
    error = raised(messaging.ThirdPartyAuthError, messaging.send, message(device), app=client)
    expect("APNS" in str(error), str(error))
    sent = messages(setting)
    expect(sent and all(each["state"] == "COMPLETE" for each in sent), sent)
    expect_equal({(each["ledger"]["rejected"], each["ledger"]["inFlight"]) for each in sent}, {(1, 0)})


# What only 7.x has.


@check("current")
def installation_ids_are_addresses(setting, client):
    first, second = devices(setting, 2)
    fids = [device.token.split(":")[0] for device in (first, second)]
    messaging.send(messaging.Message(fid=fids[0], notification=notification()), app=client)
    batch = messaging.send_each_for_multicast(
        messaging.MulticastMessage(fids=[fids[1]], notification=notification()), app=client)
    expect_equal(batch.success_count, 1)
    arrived(setting, first, second)


@check("current")
def the_old_topic_calls_still_work(setting, client):
    audience = devices(setting, 3)
    topic = "legacy-" + audience[0].apns[:8]
    tokens = [device.token for device in audience] + ["malformed"]
    for change in (messaging.subscribe_to_topic_legacy, messaging.unsubscribe_from_topic_legacy):
        answer = change(tokens, topic, app=client)
        expect_equal((answer.success_count, answer.failure_count), (3, 1))
        expect_equal((answer.errors[0].index, answer.errors[0].reason), (3, "INVALID_ARGUMENT"))


@check("current")
def topics_change_asynchronously(setting, client):
    audience = devices(setting, 100)
    tokens = [device.token for device in audience]
    topic = "async/%41".replace("/", "~") + audience[0].apns[:8]

    async def change():
        first = await messaging.subscribe_to_topic_async(tokens, topic, app=client)
        again = await messaging.subscribe_to_topic_async(tokens, topic, app=client)
        last = await messaging.unsubscribe_from_topic_async(tokens[:99], topic, app=client)
        return first, again, last

    expect_equal([answer.success_count for answer in asyncio.run(change())], [100, 100, 99])
    name = messaging.send(messaging.Message(topic=topic, notification=notification()), app=client)
    expect_equal(complete(setting, name)["audience"], 1)


# What only 6.x has: the multipart batch.


@check("batch")
def a_multipart_batch_answers_in_order(setting, client):
    audience = devices(setting, 499)
    dead = ended(setting)
    batch = [message(device, device.apns) for device in audience]
    batch.insert(250, message(dead))
    batch = messaging.send_all(batch, app=client)
    expect_equal((batch.success_count, batch.failure_count), (499, 1))
    expect(type(batch.responses[250].exception) is messaging.UnregisteredError, repr(batch.responses[250].exception))
    for push in arrived(setting, *audience):
        expect_equal(payload(push)["aps"]["alert"]["title"], push["deviceToken"])


@check("batch")
def a_multipart_multicast_arrives(setting, client):
    audience = devices(setting, 2)
    dry = messaging.send_multicast(
        messaging.MulticastMessage(tokens=[device.token for device in audience], notification=notification("dry")),
        dry_run=True, app=client)
    batch = messaging.send_multicast(
        messaging.MulticastMessage(tokens=[device.token for device in audience], notification=notification()),
        app=client)
    expect_equal((dry.success_count, batch.success_count), (2, 2))
    for response in batch.responses:
        complete(setting, response.message_id)
    expect_equal(len(pushes_to(setting, *audience)), 2)


# Tokens that Google made, where unknown ones are relayed.


@check("relay")
def a_token_of_google_is_sent_to_at_once(setting, client):
    tokens = [f"cRelayedDevice_000000{number}:APA91bExample" for number in (1, 2)]
    batch = messaging.send_each(
        [messaging.Message(token=token, notification=notification()) for token in tokens], app=client)
    expect_equal((batch.success_count, batch.failure_count), (2, 0))
    for response in batch.responses:
        expect_equal(complete(setting, response.message_id)["ledger"]["accepted"], 1)
    # Known from now on.
    messaging.send(messaging.Message(token=tokens[0], notification=notification()), app=client)


@check("relay")
def the_errors_of_google_keep_their_classes(setting, client):
    for name, kind in [
            ("unregistered", messaging.UnregisteredError), ("mismatch", messaging.SenderIdMismatchError),
            ("invalid-token", exceptions.InvalidArgumentError), ("device-quota", messaging.QuotaExceededError)]:
        raised(kind, messaging.send,
               messaging.Message(token=f"{name}-1:APA91bExample", notification=notification()), app=client)


if __name__ == "__main__":
    run(lambda setting: app(setting, "herald"))
