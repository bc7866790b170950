"""Sessions, and requests that are sent twice."""

import concurrent.futures
import uuid

from running import assert_problem


def test_the_same_device_is_the_same_person(hiroba):
    secret = {"deviceSecret": uuid.uuid4().hex}
    first = hiroba.ask("POST", "/v1/sessions/anonymous", secret)
    again = hiroba.ask("POST", "/v1/sessions/anonymous", secret)
    assert (first.status, again.status) == (201, 200)
    assert first.json["user"]["id"] == again.json["user"]["id"]
    assert first.json["token"] != again.json["token"]
    assert first.json["user"]["isAnonymous"] is True
    stranger = hiroba.ask("POST", "/v1/sessions/anonymous", {"deviceSecret": uuid.uuid4().hex})
    assert stranger.json["user"]["id"] != first.json["user"]["id"]
    for bad in ("", "short", "x" * 257):
        assert_problem(hiroba.ask("POST", "/v1/sessions/anonymous", {"deviceSecret": bad}), 400, field="deviceSecret")


def test_sessions_are_listed_and_ended_one_by_one_and_all_at_once(hiroba):
    secret = {"deviceSecret": uuid.uuid4().hex}
    tokens = [hiroba.ask("POST", "/v1/sessions/anonymous", secret).json["token"] for _ in range(4)]
    listed = hiroba.ask("GET", "/v1/sessions", token=tokens[0])
    assert listed.status == 200
    sessions = listed.json["items"]
    assert len(sessions) == 4
    assert [session["current"] for session in sessions].count(True) == 1
    assert not any(token in listed.text for token in tokens), "a list must not give tokens away"

    def ended(token):
        answer = hiroba.ask("GET", "/v1/me", token=token)
        return answer.status == 401

    # One other, by its id.
    theirs = [s["id"] for s in hiroba.ask("GET", "/v1/sessions", token=tokens[1]).json["items"] if s["current"]][0]
    assert hiroba.ask("DELETE", f"/v1/sessions/{theirs}", token=tokens[0]).status == 204
    assert [ended(token) for token in tokens] == [False, True, False, False]
    # One's own.
    assert hiroba.ask("DELETE", "/v1/sessions/current", token=tokens[2]).status == 204
    assert [ended(token) for token in tokens] == [False, True, True, False]
    # All that are left.
    assert hiroba.ask("DELETE", "/v1/sessions", token=tokens[0]).status == 204
    assert [ended(token) for token in tokens] == [True] * 4


def test_the_profile_is_changed_by_its_owner(hiroba):
    token = hiroba.person()
    assert hiroba.ask("PATCH", "/v1/me", {"name": "花子"}, token).json["name"] == "花子"
    me = hiroba.ask("GET", "/v1/me", token=token).json
    assert me["name"] == "花子"
    topic = hiroba.topic(token)
    assert topic["author"] == {"id": me["id"], "name": "花子"}


def test_a_request_with_a_key_is_done_once(hiroba):
    token = hiroba.person()
    key = [f"Idempotency-Key: {uuid.uuid4()}"]
    first = hiroba.ask("POST", "/v1/topics", {"title": "Once"}, token, key)
    again = hiroba.ask("POST", "/v1/topics", {"title": "Once"}, token, key)
    assert first.status == again.status == 201
    assert first.json == again.json
    assert_problem(hiroba.ask("POST", "/v1/topics", {"title": "Other"}, token, key), 409, "idempotency_conflict")
    # The key is each person's own.
    stranger = hiroba.ask("POST", "/v1/topics", {"title": "Once"}, hiroba.person(), key)
    assert stranger.status == 201 and stranger.json["id"] != first.json["id"]
    assert_problem(hiroba.ask("POST", "/v1/topics", {"title": "a"}, token, ["Idempotency-Key: " + "x" * 300]), 400)


def test_a_request_with_a_key_sent_at_the_same_time_is_done_once(hiroba):
    token = hiroba.person()
    topic = hiroba.topic(token)
    key = [f"Idempotency-Key: {uuid.uuid4()}"]
    path = f"/v1/topics/{topic['id']}/comments"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: hiroba.ask("POST", path, {"text": "Once"}, token, key), range(8)))
    assert {answer.status for answer in answers} <= {201, 409}
    assert len({answer.json["id"] for answer in answers if answer.status == 201}) == 1
    assert len(hiroba.ask("GET", path).json["items"]) == 1
