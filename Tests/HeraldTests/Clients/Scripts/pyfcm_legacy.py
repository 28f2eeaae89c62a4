"""pyfcm 1.5.x, which speaks the protocol from before v1 with a server key, unmodified."""

from pyfcm import FCMNotification
from pyfcm.baseapi import BaseAPI
from pyfcm.errors import AuthenticationError, InvalidDataError
from requests.adapters import HTTPAdapter

from support import (
    arrived, call, check, complete, devices, ended, expect, expect_equal, payload, pushes_to, raised, run, until)


class Elsewhere(HTTPAdapter):
    """Sends what is meant for one host to another: the library's topic calls have their address inside."""

    def __init__(self, host, base):
        super().__init__()
        self.host, self.base = host, base

    def send(self, request, *arguments, **options):
        request.url = request.url.replace(self.host, self.base, 1)
        # They were looked up for the first host.
        options["proxies"] = {}
        return super().send(request, *arguments, **options)


def client_of(setting, key=None):
    """A client that talks to the gateway, with an API key for its server key."""
    # The lines of the article.
    BaseAPI.FCM_END_POINT = setting.base + "/fcm/send"
    BaseAPI.INFO_END_POINT = setting.base + "/iid/info/"
    made = FCMNotification(api_key=key or setting.admin)
    made.requests_session.mount("https://iid.googleapis.com", Elsewhere("https://iid.googleapis.com", setting.base))
    return made


@check("everyday")
def a_notification_arrives(setting, client):
    device = devices(setting, 1)[0]
    answer = client.notify_single_device(
        registration_id=device.token, message_title="Goal", message_body="2:1", sound="goal.caf", badge=3,
        click_action="MATCH", message_icon="ball", color="#ff8000", tag="match", android_channel_id="goals",
        data_message={"score": "2:1", "minute": 90}, collapse_key="match", time_to_live=600, delay_while_idle=True,
        content_available=True)
    expect_equal((answer["success"], answer["failure"], answer["canonical_ids"]), (1, 0, 0))
    expect(answer["multicast_ids"][0] > 0)
    expect(answer["results"][0]["message_id"].startswith("0:"), answer)
    push = arrived(setting, device)[0]
    aps = payload(push)["aps"]
    expect_equal(aps["alert"], {"title": "Goal", "body": "2:1"})
    expect_equal((aps["badge"], aps["sound"], aps["category"], aps["content-available"]), (3, "goal.caf", "MATCH", 1))
    expect_equal((payload(push)["score"], payload(push)["minute"]), ("2:1", "90"))
    expect_equal(push["headers"]["apns-priority"], "10")
    expect_equal(push["headers"]["apns-collapse-id"], "match")


@check("everyday")
def localised_texts_arrive(setting, client):
    device = devices(setting, 1)[0]
    client.notify_single_device(
        registration_id=device.token, body_loc_key="body", body_loc_args=["2", "1"], title_loc_key="title",
        title_loc_args=["x"], low_priority=True)
    push = arrived(setting, device)[0]
    expect_equal(
        payload(push)["aps"]["alert"],
        {"loc-key": "body", "loc-args": ["2", "1"], "title-loc-key": "title", "title-loc-args": ["x"]})
    expect_equal(push["headers"]["apns-priority"], "5")


@check("everyday")
def data_alone_arrives_silently(setting, client):
    device = devices(setting, 1)[0]
    answer = client.single_device_data_message(
        registration_id=device.token, data_message={"score": "2:1"}, content_available=True)
    expect_equal(answer["success"], 1)
    push = arrived(setting, device)[0]
    expect_equal(payload(push), {"aps": {"content-available": 1}, "score": "2:1"})
    expect_equal(push["headers"]["apns-priority"], "5")


@check("everyday")
def payloads_hold_what_was_given_and_no_more(setting, client):
    alone, both = devices(setting, 2)
    topic = "exact-" + alone.apns[:8]
    expect(client.subscribe_registration_ids_to_topic([both.token], topic))
    client.notify_single_device(
        registration_id=alone.token, message_title="T", message_body="B", badge=2, sound="ping.caf",
        click_action="OPEN", collapse_key="score", time_to_live=60, delay_while_idle=True)
    client.single_device_data_message(registration_id=alone.token, data_message={"a": 1, "b": {"c": True}})
    client.notify_multiple_devices(
        registration_ids=[both.token], body_loc_key="K", body_loc_args=["a", "b"], low_priority=True)
    client.notify_topic_subscribers(topic_name=topic, message_body="to all")
    client.notify_topic_subscribers(
        condition=f"'{topic}' in topics && !('no-{topic}' in topics)", message_body="to some")
    until(lambda: len(pushes_to(setting, alone, both)) == 5, "five pushes")
    background, alert = sorted(pushes_to(setting, alone), key=lambda push: push["payload"])
    expect_equal(background["payload"], '{"a":"1","aps":{"content-available":1},"b":"{\\"c\\":true}"}')
    expect_equal(
        (background["headers"]["apns-push-type"], background["headers"]["apns-priority"]), ("background", "5"))
    expect_equal(
        alert["payload"],
        '{"aps":{"alert":{"body":"B","title":"T"},"badge":2,"category":"OPEN","sound":"ping.caf"}}')
    expect_equal((alert["headers"]["apns-collapse-id"], alert["headers"]["apns-priority"]), ("score", "10"))
    expect_equal(
        sorted(push["payload"] for push in pushes_to(setting, both)),
        ['{"aps":{"alert":{"body":"to all"}}}', '{"aps":{"alert":{"body":"to some"}}}',
         '{"aps":{"alert":{"loc-args":["a","b"],"loc-key":"K"}}}'])


@check("everyday")
def the_number_that_a_topic_answers_names_its_report(setting, client):
    audience = devices(setting, 2)
    topic = "numbered-" + audience[0].apns[:8]
    expect(client.subscribe_registration_ids_to_topic([device.token for device in audience], topic))
    number = client.notify_topic_subscribers(topic_name=topic, message_body="to all")["topic_message_id"]
    expect_equal(complete(setting, f"projects/{setting.project}/messages/{number}")["audience"], 2)


@check("everyday")
def more_than_a_thousand_devices_are_answered_in_order(setting, client):
    audience = devices(setting, 1100)
    dead = ended(setting)
    tokens = [device.token for device in audience]
    tokens[10:10] = ["malformed", dead.token]
    answer = client.notify_multiple_devices(registration_ids=tokens, message_title="Goal")
    expect_equal((answer["success"], answer["failure"]), (1100, 2))
    expect_equal(len(answer["multicast_ids"]), 2)
    expect_equal(answer["results"][10:12], [{"error": "InvalidRegistration"}, {"error": "NotRegistered"}])
    expect_equal(len({result["message_id"] for result in answer["results"] if "message_id" in result}), 1100)
    arrived(setting, *audience)


@check("everyday")
def a_dry_run_sends_nothing(setting, client):
    device = devices(setting, 1)[0]
    dry = client.notify_single_device(registration_id=device.token, message_title="dry", dry_run=True)
    expect_equal(dry["success"], 1)
    client.notify_single_device(registration_id=device.token, message_title="wet")
    arrived(setting, device)
    titles = [payload(push)["aps"]["alert"]["title"] for push in pushes_to(setting, device)]
    expect_equal(titles, ["wet"])


@check("everyday")
def topics_and_conditions_address_whom_they_name(setting, client):
    first, second = devices(setting, 2)
    topic = "scores-" + first.apns[:8]
    expect(client.subscribe_registration_ids_to_topic([first.token, second.token], topic))
    expect(client.unsubscribe_registration_ids_from_topic([second.token], topic))
    info = client.get_registration_id_info(first.token)
    expect_equal(list(info["rel"]["topics"]), [topic])
    expect_equal(client.clean_registration_ids([first.token, ended(setting).token]), [first.token])
    expect(client.notify_topic_subscribers(topic_name=topic, message_title="topic")["topic_message_id"] > 0)
    answer = client.notify_topic_subscribers(condition=f"'{topic}' IN TOPICS", message_title="condition")
    expect(answer["topic_message_id"] > 0)

    def both():
        titles = [payload(push)["aps"]["alert"]["title"] for push in pushes_to(setting, first)]
        return sorted(titles) == ["condition", "topic"]

    until(both, "two pushes")
    expect_equal(pushes_to(setting, second), [])


@check("everyday")
def errors_have_their_classes_and_words(setting, client):
    device = devices(setting, 1)[0]
    told = [
        (ended(setting).token, {}, "NotRegistered"),
        ("abcdefgh:APA91bunknown", {}, "NotRegistered"),
        ("malformed", {}, "InvalidRegistration"),
        (device.token, {"data_message": {"much": "x" * 4096}}, "MessageTooBig"),
        (device.token, {"data_message": {"from": "me"}}, "InvalidDataKey"),
        (device.token, {"time_to_live": 2419201}, "InvalidTtl"),
        (device.token, {"restricted_package_name": "com.example.other"}, "InvalidPackageName"),
    ]
    for token, more, error in told:
        answer = client.notify_single_device(registration_id=token, message_title="Goal", **more)
        expect_equal((answer["success"], answer["failure"], answer["results"]), (0, 1, [{"error": error}]))
    error = raised(
        InvalidDataError, client.notify_single_device, registration_id=device.token, message_title="Goal",
        extra_kwargs={"unheard_of": 1})
    expect("unheard_of" in str(error), str(error))
    stranger = client_of(setting, key=setting.admin[:-4] + "AAAA")
    raised(AuthenticationError, stranger.notify_single_device, registration_id=device.token, message_title="Goal")
    expect_equal(pushes_to(setting, device), [])


@check("everyday")
def a_device_group_lives_and_dies(setting, client):
    members = devices(setting, 3)
    headers = {"project_id": "123456789012", "access_token_auth": "true"}
    address = setting.base + "/fcm/notification"
    name = "user-" + members[0].apns[:8]

    def change(operation, to, **more):
        return call(
            "POST", address,
            {"operation": operation, "notification_key_name": name, "registration_ids": [each.token for each in to],
             **more}, setting.admin, headers)

    status, answer = change("create", members[:2])
    expect_equal(status, 200)
    key = answer["notification_key"]
    status, found = call("GET", f"{address}?notification_key_name={name}", None, setting.admin,
                         {**headers, "Content-Type": "application/json"})
    expect_equal((status, list(found)), (200, ["notification_key"]))
    expect_equal(change("add", members[2:], notification_key=key), (200, {"notification_key": key}))
    expect_equal(change("remove", members[:1], notification_key=key)[0], 200)
    sent = client.notify_single_device(registration_id=key, message_title="Goal")
    expect_equal((sent["success"], sent["failure"]), (2, 0))
    arrived(setting, *members[1:])
    expect_equal(pushes_to(setting, members[0]), [])
    status, sent = call(
        "POST", f"{setting.base}/v1/projects/{setting.project}/messages:send",
        {"message": {"token": key, "notification": {"title": "v1"}}}, setting.admin)
    expect_equal(status, 200)
    until(lambda: len(pushes_to(setting, *members[1:])) == 4, "pushes to the group")
    expect_equal(change("remove", members[1:], notification_key=key)[0], 200)
    status, answer = call("GET", f"{address}?notification_key_name={name}", None, setting.admin, headers)
    expect_equal((status, list(answer)), (400, ["error"]))
    gone = client.notify_single_device(registration_id=key, message_title="Goal")
    expect_equal((gone["success"], gone["failure"]), (0, 1))


if __name__ == "__main__":
    run(client_of)
