"""pyfcm 2.x, which speaks the v1 protocol, unmodified."""

import asyncio

import google.auth.credentials
from pyfcm import FCMNotification
from pyfcm.baseapi import BaseAPI
from pyfcm.errors import AuthenticationError, FCMNotRegisteredError, FCMSenderIdMismatchError, InvalidDataError

from support import (
    arrived, check, complete, devices, ended, expect_equal, expect_name, expect_unsent, payload, pushes_to, raised, run)


class APIKey(google.auth.credentials.Credentials):
    """A bearer that stays as it is: an API key of the gateway."""

    def __init__(self, key):
        super().__init__()
        self.token = key

    def refresh(self, request):
        """There is nothing to fetch."""


def client_of(setting, key=None, project=None):
    """A client that talks to the gateway; with `key` by an API key, else as the test wants."""
    # The line of the article.
    BaseAPI.FCM_END_POINT_BASE = setting.base + "/v1/projects"
    project = project or setting.project
    if key or not setting.account:
        return FCMNotification(credentials=APIKey(key or setting.admin), project_id=project)
    return FCMNotification(service_account_file=setting.account, project_id=project)


@check("everyday")
def a_notification_arrives(setting, client):
    device = devices(setting, 1)[0]
    answer = client.notify(
        fcm_token=device.token, notification_title="Goal", notification_body="2:1", data_payload={"score": "2:1"},
        apns_config={"payload": {"aps": {"badge": 3}}}, android_config={"priority": "high", "ttl": "60s"},
        webpush_config={"headers": {"TTL": "60"}}, fcm_options={"analytics_label": "goals"})
    expect_name(setting, answer["name"])
    push = arrived(setting, device)[0]
    expect_equal(
        payload(push), {"aps": {"alert": {"title": "Goal", "body": "2:1"}, "badge": 3}, "score": "2:1"})
    expect_equal(complete(setting, answer["name"])["label"], "goals")


@check("everyday")
def data_alone_arrives_silently(setting, client):
    device = devices(setting, 1)[0]
    client.notify(fcm_token=device.token, data_payload={"score": "2:1"})
    push = arrived(setting, device)[0]
    expect_equal(payload(push), {"aps": {"content-available": 1}, "score": "2:1"})
    expect_equal(push["headers"]["apns-priority"], "5")


@check("everyday")
def a_dry_run_sends_nothing(setting, client):
    device = devices(setting, 1)[0]
    expect_unsent(setting, client.notify(fcm_token=device.token, notification_title="dry", dry_run=True)["name"])
    complete(setting, client.notify(fcm_token=device.token, notification_title="wet")["name"])
    titles = [payload(push)["aps"]["alert"]["title"] for push in pushes_to(setting, device)]
    expect_equal(titles, ["wet"])


@check("everyday")
def topics_and_conditions_are_taken(setting, client):
    names = [
        client.notify(topic_name="empty", notification_title="Goal")["name"],
        client.notify(topic_condition="'empty' in topics", notification_title="Goal")["name"]]
    expect_equal([complete(setting, name)["audience"] for name in names], [0, 0])


@check("everyday")
def many_at_once_arrive(setting, client):
    audience = devices(setting, 100)
    asyncio.set_event_loop(asyncio.new_event_loop())
    answers = client.async_notify_multiple_devices(
        [{"fcm_token": device.token, "notification_title": "Goal"} for device in audience], timeout=600)
    expect_equal([answer for answer in answers if "name" not in answer], [])
    expect_equal(len({answer["name"] for answer in answers}), 100)
    arrived(setting, *audience)


@check("everyday")
def errors_have_their_classes(setting, client):
    device = devices(setting, 1)[0]
    dead = ended(setting)
    raised(FCMNotRegisteredError, client.notify, fcm_token=dead.token, notification_title="Goal")
    raised(InvalidDataError, client.notify, fcm_token="malformed", notification_title="Goal")
    raised(InvalidDataError, client.notify, fcm_token=device.token, data_payload={"number": 1})
    other = client_of(setting, key=setting.admin, project="elsewhere")
    raised(FCMSenderIdMismatchError, other.notify, fcm_token=device.token, notification_title="Goal")
    stranger = client_of(setting, key=setting.admin[:-4] + "AAAA")
    raised(AuthenticationError, stranger.notify, fcm_token=device.token, notification_title="Goal")


if __name__ == "__main__":
    run(client_of)
