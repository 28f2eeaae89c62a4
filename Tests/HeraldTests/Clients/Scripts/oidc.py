"""A provider of OpenID Connect that is not ours (oidc-provider-mock, made of authlib), and a browser that signs in by it.

`serve` runs the provider; `sign-in BASE PUBLIC` is the browser of its one user, against a gateway at BASE that calls itself PUBLIC.
"""

import http.client
import sys
import threading
import urllib.parse

import oidc_provider_mock

SUBJECT = "248289761001"
EMAIL = "ada@example.com"


def serve():
    user = oidc_provider_mock.User(sub=SUBJECT, claims={"email": EMAIL, "email_verified": True})
    with oidc_provider_mock.run_server_in_thread(user_claims=[user], require_nonce=True) as server:
        print("listening", server.server_port, flush=True)
        threading.Event().wait()


def ask(address, cookie=None, form=None):
    """One request, without following what it leads to: the status, the headers, the text."""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    headers = {"Cookie": cookie} if cookie else {}
    body = None
    if form:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = urllib.parse.urlencode(form)
    connection.request("POST" if form else "GET", f"{parts.path}?{parts.query}", body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def expect(condition, *told):
    if not condition:
        raise AssertionError(*told)


def sign_in(base, public):
    status, headers, text = ask(f"{base}/console/sign-in/oidc?back=/console/p/demo/topics")
    expect(status == 303, status, text)
    kept = headers["Set-Cookie"].split(";")[0]
    provider = headers["Location"]
    status, _, text = ask(provider)
    expect(status == 200 and "Authorize Client" in text, status, text)
    status, headers, text = ask(provider, form={"sub": SUBJECT})
    expect(status == 302, status, text)
    back = headers["Location"]
    expect(back.startswith(f"{public}/console/sign-in/oidc/callback?"), back)
    back = base + back.removeprefix(public)
    status, headers, text = ask(back, kept)
    expect(status == 303 and headers["Location"] == "/console/p/demo/topics", status, text)
    session = headers.get_all("Set-Cookie")[0].split(";")[0]
    status, _, text = ask(f"{base}/console/p/demo", session)
    expect(status == 200 and EMAIL in text, status, text)
    # The same answer once more.
    status, _, text = ask(back, kept)
    expect(status == 400 and "was used before" in text, status, text)
    print("signed in")


if sys.argv[1] == "serve":
    serve()
else:
    sign_in(*sys.argv[2:])
