"""The Python lines of the article "From FCM to Herald", run as they stand there but for address, key and file."""

import pathlib
import re

from support import arrived, check, devices, expect_equal, expect_name, run

ARTICLE = pathlib.Path(__file__).parents[4] / "Sources/herald/herald.docc/FromFCM.md"
CERTIFICATE = 'app = firebase_admin.initialize_app(credentials.Certificate("sa.json"), {"projectId": PROJECT})'


def lines(setting, containing):
    """The block of the article that contains a text, with the values of the test."""
    blocks = re.findall(r"```python\n(.*?)```", ARTICLE.read_text(encoding="utf-8"), re.DOTALL)
    found = [block for block in blocks if containing in block]
    expect_equal(len(found), 1)
    values = {"https://push.example.com": setting.base, "hk_…": setting.admin, "sa.json": setting.account or "sa.json"}
    text = found[0]
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def firebase_admin_works(setting, text):
    """Runs the lines, then sends a message and changes a topic."""
    names = {}
    exec(text, names)  # pylint: disable=exec-used
    messaging, app = names["messaging"], names["app"]
    device = devices(setting, 1)[0]
    message = messaging.Message(token=device.token, notification=messaging.Notification(title="Goal"))
    expect_name(setting, messaging.send(message, app=app))
    expect_equal(messaging.subscribe_to_topic([device.token], "article", app=app).success_count, 1)
    arrived(setting, device)


@check("key")
def firebase_admin_works_with_a_key(setting, _):
    # The lines with the key stand for the one that names the file.
    begin, end = lines(setting, "_http_client").split(CERTIFICATE)
    firebase_admin_works(setting, begin + lines(setting, "class APIKey") + end)


@check("account")
def firebase_admin_works_with_a_service_account(setting, _):
    firebase_admin_works(setting, lines(setting, "_http_client"))


@check("account")
def pyfcm_works_with_a_service_account(setting, _):
    names = {"BASE": setting.base, "PROJECT": setting.project}
    exec(lines(setting, "FCM_END_POINT_BASE"), names)  # pylint: disable=exec-used
    device = devices(setting, 1)[0]
    expect_name(setting, names["fcm"].notify(fcm_token=device.token, notification_title="Goal")["name"])
    arrived(setting, device)


@check("server key")
def pyfcm_works_with_a_server_key(setting, _):
    names = {"BASE": setting.base}
    exec(lines(setting, "INFO_END_POINT"), names)  # pylint: disable=exec-used
    device = devices(setting, 1)[0]
    answer = names["fcm"].notify_single_device(registration_id=device.token, message_title="Goal")
    expect_equal((answer["success"], answer["failure"]), (1, 0))
    arrived(setting, device)


if __name__ == "__main__":
    run(lambda setting: None)
