"""Verifies signed requests with the libraries that receivers use: python webhook_judges.py GROUP FILE.

FILE has a JSON list of {secret, publicKey, headers, body}. Prints `ok WHAT` for each check and ends with `done COUNT`.
"""
import base64
import json
import sys

checks = 0


def ok(what):
    global checks
    checks += 1
    print("ok", what)


def refused(verify, what):
    try:
        verify()
    except Exception as error:  # Each library has its own.
        ok(f"{what}: {type(error).__name__}")
        return
    sys.exit(f"accepted {what}")


def judge(verifier, cases, gives_body):
    for number, case in enumerate(cases):
        body, headers = case["body"], case["headers"]
        # It raises when it refuses.
        given = verifier(case["secret"]).verify(body, headers)
        assert given == (json.loads(body) if gives_body else None), given
        ok(f"{verifier.__module__} {number}")
        refused(lambda: verifier(case["secret"]).verify(body + " ", headers), "another body")
        refused(lambda: verifier(case["secret"]).verify(body, {**headers, "webhook-id": "msg_other"}), "another id")
        other = "whsec_" + base64.b64encode(bytes(32)).decode()
        refused(lambda: verifier(other).verify(body, headers), "another secret")


def standardwebhooks(cases):
    from standardwebhooks.webhooks import Webhook
    judge(Webhook, cases, True)


def svix(cases):
    from svix.webhooks import Webhook
    judge(Webhook, cases, False)


def ed25519(cases):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    for case in cases:
        headers = case["headers"]
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(case["publicKey"].removeprefix("whpk_")))
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{case['body']}".encode()
        signatures = [s[4:] for s in headers["webhook-signature"].split(" ") if s.startswith("v1a,")]
        assert len(signatures) == 1, headers
        key.verify(base64.b64decode(signatures[0]), content)
        ok("ed25519")
        refused(lambda: key.verify(base64.b64decode(signatures[0]), content + b" "), "another body")


if __name__ == "__main__":
    {"standardwebhooks": standardwebhooks, "svix": svix, "ed25519": ed25519}[sys.argv[1]](json.load(open(sys.argv[2])))
    print("done", checks)
