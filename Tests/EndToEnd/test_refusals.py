"""What bad input gets: the right status, a problem document, the field at fault. And never what is not yours."""

import json
import socket
import uuid

import pytest

from running import assert_problem


@pytest.fixture(scope="module")
def token(hiroba):
    return hiroba.person()


@pytest.fixture(scope="module")
def other(hiroba):
    return hiroba.person()


@pytest.mark.parametrize(
    "sent, status",
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: a\n\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400),
        (b"POST /v1/topics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 17000 + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_malformed_http_is_refused_and_the_connection_closed(hiroba, sent, status):
    with socket.create_connection(("127.0.0.1", hiroba.port), timeout=10) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    assert received.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    "body, code, field",
    [
        (b"", "invalid_field", "title"),
        (b"{", "invalid_request", None),
        (b"[]", "invalid_request", None),
        (b'"title"', "invalid_request", None),
        (b'{"title":"a"} x', "invalid_request", None),
        (b'{"title":"\xff"}', "invalid_request", None),
        (b'{"title":"a","colour":"red"}', "invalid_field", "colour"),
        (b'{"text":"a"}', "invalid_field", "title"),
        (b'{"title":null}', "invalid_field", "title"),
        (b'{"title":7}', "invalid_field", "title"),
        (b'{"title":["a"]}', "invalid_field", "title"),
        (b'{"title":""}', "invalid_field", "title"),
        (b'{"title":"   "}', "invalid_field", "title"),
        (json.dumps({"title": "x" * 201}).encode(), "invalid_field", "title"),
        (json.dumps({"title": "a", "text": "x" * 20_001}).encode(), "invalid_field", "text"),
        (b'{"title":"a","photo":"no-such-photo"}', "invalid_field", "photo"),
        (b'{"title":"a","photo":"0123456789abcdef"}', "invalid_field", "photo"),
        (b'{"title":"a","photo":7}', "invalid_field", "photo"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_a_bad_body_is_told_where_it_is_wrong(hiroba, token, body, code, field):
    answer = hiroba.ask("POST", "/v1/topics", token=token, data=body, headers=["Content-Type: application/json"])
    assert_problem(answer, 400, code, field)


def test_too_deep_and_too_big(hiroba, token):
    json_type = ["Content-Type: application/json"]
    deep = b'{"title":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert_problem(hiroba.ask("POST", "/v1/topics", token=token, data=deep, headers=json_type), 400)
    big = b'{"title":"a","text":"' + b"x" * (1 << 20) + b'"}'
    assert_problem(hiroba.ask("POST", "/v1/topics", token=token, data=big, headers=json_type), 413, "too_large")
    # Without a length the limit is met on the way.
    answer = hiroba.ask("POST", "/v1/topics", token=token, data=big, headers=[*json_type, "Transfer-Encoding: chunked"])
    assert_problem(answer, 413, "too_large")


def test_another_type_of_body_is_refused(hiroba, token):
    answer = hiroba.ask("POST", "/v1/topics", token=token, data=b"title=a", headers=["Content-Type: application/x-www-form-urlencoded"])
    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "query, field",
    [("limit=0", "limit"), ("limit=-1", "limit"), ("limit=x", "limit"), ("limit=100000", "limit"),
     ("after=nonsense", "after"), ("colour=red", "colour"), ("limit=1&limit=2", "limit")],
)
def test_a_bad_query_is_told_where_it_is_wrong(hiroba, query, field):
    assert_problem(hiroba.ask("GET", "/v1/topics?" + query), 400, field=field)


def test_a_path_or_method_that_is_not_there(hiroba):
    assert_problem(hiroba.ask("GET", "/v1/nothing"), 404, "not_found")
    assert_problem(hiroba.ask("GET", "/v1/topics/0123456789abcdef"), 404, "not_found")
    assert_problem(hiroba.ask("GET", "/v1/topics/../../etc/passwd", arguments=["--path-as-is"]), 404)
    answer = hiroba.ask("PUT", "/v1/topics")
    assert_problem(answer, 405, "method_not_allowed")
    assert {"GET", "POST"} <= set(answer["allow"].replace(" ", "").split(","))


@pytest.mark.parametrize(
    "method, path, body",
    [("GET", "/v1/me", None), ("GET", "/v1/sessions", None), ("POST", "/v1/topics", {"title": "a"}),
     ("POST", "/v1/topics/{topic}/comments", {"text": "a"}), ("DELETE", "/v1/topics/{topic}", None), ("POST", "/v1/files", None),
     ("PATCH", "/v1/me", {"name": "a"}), ("DELETE", "/v1/sessions", None)],
)
def test_without_a_session_nothing_can_be_changed(hiroba, token, method, path, body):
    path = path.format(topic=hiroba.topic(token)["id"])
    for credentials in (None, "unknown", "x" * 300):
        answer = hiroba.ask(method, path, body, token=credentials, data=None if body else (b"x" if method == "POST" else None))
        problem = assert_problem(answer, 401, "unauthorized")
        assert "field" not in problem or problem["field"] is None
        assert answer["www-authenticate"].startswith("Bearer")
    for credentials in ("Basic YTpi", "Bearer", "Bearer a b"):
        assert_problem(hiroba.ask("GET", "/v1/me", headers=[f"Authorization: {credentials}"]), 401)


def test_an_unknown_token_is_refused_even_where_everybody_may_read(hiroba):
    assert_problem(hiroba.ask("GET", "/v1/topics", token="unknown"), 401, "unauthorized")


def test_what_is_anothers_stays_as_it_is(hiroba, token, other):
    topic = hiroba.topic(token, "Mine")
    comment = hiroba.ask("POST", f"/v1/topics/{topic['id']}/comments", {"text": "Mine too"}, token).json
    assert_problem(hiroba.ask("DELETE", f"/v1/topics/{topic['id']}", token=other), 403, "forbidden")
    assert_problem(hiroba.ask("DELETE", f"/v1/comments/{comment['id']}", token=other), 403, "forbidden")
    assert hiroba.ask("GET", f"/v1/topics/{topic['id']}").json == topic
    assert hiroba.ask("GET", f"/v1/topics/{topic['id']}/comments").json["items"] == [comment]
    # Sessions are private: of another's, even existence is not told.
    session = hiroba.ask("GET", "/v1/sessions", token=token).json["items"][0]
    assert_problem(hiroba.ask("DELETE", f"/v1/sessions/{session['id']}", token=other), 404, "not_found")
    assert hiroba.ask("GET", "/v1/me", token=token).status == 200


def test_the_same_address_twice(hiroba):
    email = f"{uuid.uuid4().hex}@example.com"
    first = hiroba.ask("POST", "/v1/users", {"email": email, "password": "correct horse", "name": "A"})
    assert first.status == 201, first
    again = hiroba.ask("POST", "/v1/users", {"email": email.upper(), "password": "another one", "name": "B"})
    assert_problem(again, 409, "email_taken")
    # Nothing is told elsewhere: a wrong password and an unknown address look the same.
    wrong = hiroba.ask("POST", "/v1/sessions", {"email": email, "password": "wrong horse"})
    unknown = hiroba.ask("POST", "/v1/sessions", {"email": "nobody@example.com", "password": "wrong horse"})
    assert_problem(wrong, 401, "invalid_credentials")
    assert wrong.json == unknown.json
    signed_in = hiroba.ask("POST", "/v1/sessions", {"email": email, "password": "correct horse"})
    assert signed_in.status == 201
    assert hiroba.ask("GET", "/v1/me", token=signed_in.json["token"]).json["email"] == email


@pytest.mark.parametrize(
    "change, field",
    [({"email": "nonsense"}, "email"), ({"email": ""}, "email"), ({"password": "short"}, "password"),
     ({"password": "x" * 1001}, "password"), ({"name": ""}, "name"), ({"name": "x" * 51}, "name")],
)
def test_a_bad_account_is_told_where_it_is_wrong(hiroba, change, field):
    body = {"email": f"{uuid.uuid4().hex}@example.com", "password": "correct horse", "name": "A", **change}
    assert_problem(hiroba.ask("POST", "/v1/users", body), 400, "invalid_field", field)


def test_a_user_shows_nothing_private(hiroba):
    email = f"{uuid.uuid4().hex}@example.com"
    me = hiroba.ask("POST", "/v1/users", {"email": email, "password": "correct horse", "name": "A"}).json["user"]
    shown = hiroba.ask("GET", f"/v1/users/{me['id']}")
    assert shown.status == 200
    assert email not in shown.text and "email" not in shown.json


def test_the_language_of_a_refusal_is_the_readers(hiroba):
    answer = hiroba.ask("GET", "/v1/topics/0123456789abcdef", headers=["Accept-Language: ja,en;q=0.5"])
    assert any("\u3040" <= letter <= "\u9fff" for letter in answer.json["detail"])
