"""Pushes of a real server to the stand-in for APNs, looked at from both ends and from the side."""

import json
import subprocess
import uuid

import pytest

import running

APP = running.Phones.BUNDLE


@pytest.fixture
def phones():
    stand_in = running.Phones()
    try:
        yield stand_in.start()
    finally:
        stand_in.close()


def way(phones, **changes):
    """The entry of the configuration that leads to the stand-in."""
    return {
        "environment": "sandbox", "key-file": str(phones.folder / "data/AuthKey_HIROBAKEY1.p8"),
        "key-id": phones.key_id, "team-id": phones.team_id, "apps": [APP], "host": "localhost",
        "port": phones.sandbox, "authority-file": phones.authority, **changes,
    }


@pytest.fixture
def pushing(start, phones, tmp_path):
    """A server that pushes to the stand-in, as its configuration file says."""
    file = tmp_path / "hiroba.json"
    file.write_text("// Ways to APNs.\n" + json.dumps({"apns": [way(phones)]}))
    return start(arguments=["--config", str(file)])


def server_key(server):
    return (server.data / "server-key").read_text().strip()


def register(server, token, device_token, **changes):
    """What an app does at its launch; gives the device's id."""
    device = str(uuid.uuid4())
    answer = server.ask("PUT", f"/v1/devices/{device}", {
        "token": device_token, "platform": "ios", "environment": "sandbox", "app": APP, "permission": "authorized",
        "language": "en", **changes,
    }, token)
    assert answer.status == 200, answer
    return device


def comment(server, topic, token, text="Nice"):
    answer = server.ask("POST", f"/v1/topics/{topic['id']}/comments", {"text": text}, token)
    assert answer.status == 201, answer
    return answer.json


def story(server, id):
    answer = server.ask("GET", f"/v1/push/{id}", token=server_key(server))
    assert answer.status in (200, 404), answer
    return answer.json if answer.status == 200 else None


def told(server, id, state):
    """The story, once all its deliveries are in this state."""
    def look():
        found = story(server, id)
        return found if found and {delivery["state"] for delivery in found["deliveries"]} == {state} else None
    return running.eventually(look, what=f"a delivery that is {state}")


def in_a_terminal(server, *words):
    database = ["--database", server.database] if server.database else []
    return subprocess.run(
        [running.PROGRAM, *words, "--data", server.data, *database], capture_output=True, text=True, timeout=30)


def test_from_a_comment_to_the_phone(pushing, phones):
    owner, writer = pushing.person(), pushing.person()
    device = register(pushing, owner, phones.app("hana")["token"].upper())
    topic = pushing.topic(owner, "A sunset")
    remark = comment(pushing, topic, writer, "What a sky")

    whole = told(pushing, remark["id"], "accepted")
    push, delivery = whole["push"], whole["deliveries"][0]
    assert push["kind"] == "comment.created" and push["subject"] == remark["id"]
    assert [person["decision"] for person in whole["people"]] == ["notified"]
    assert delivery["device"] == device and delivery["attempts"] == 1 and not delivery["isResent"]
    assert phones.story(delivery["id"]) == ["accepted", "delivered", "shown"]
    shown = phones.app("hana")["notifications"]
    assert len(shown) == 1 and "What a sky" in shown[0]["body"] and "A sunset" in json.dumps(shown)
    assert shown[0]["link"] == f"/forum/{topic['id']}" and shown[0]["custom"]["push"] == delivery["id"]
    assert "openedAt" not in delivery
    assert phones.app("sota")["notifications"] == []

    answer = pushing.ask(
        "POST", f"/v1/devices/{device}/reports", {"push": delivery["id"], "event": "opened"}, owner)
    assert answer.status == 204, answer
    assert story(pushing, push["id"])["deliveries"][0]["openedAt"]
    # The same from the side, while the server runs: by the push, by the delivery, by the comment.
    for id in (push["id"], delivery["id"], remark["id"]):
        said = in_a_terminal(pushing, "push", "story", id)
        assert said.returncode == 0 and said.stderr == "", said
        assert said.stdout.startswith(f"Push {push['id']}: ")
        assert delivery["id"] in said.stdout and "accepted" in said.stdout and "opened" in said.stdout
        assert json.loads(in_a_terminal(pushing, "push", "story", id, "--json").stdout) == story(pushing, id)
    assert push["id"] in in_a_terminal(pushing, "push", "list").stdout
    why = in_a_terminal(pushing, "device", "why", device).stdout
    assert why.startswith(f"Device {device}: well") and delivery["id"] in why
    assert in_a_terminal(pushing, "push", "story", "nothing").returncode == 1
    metrics = pushing.ask("GET", "/metrics").text
    assert 'hiroba_push_verdicts_total{verdict="accepted"} 1\n' in metrics
    assert "hiroba_push_waiting_deliveries 0.0\n" in metrics


def test_nobody_hears_of_what_they_did_themselves(pushing, phones):
    owner = pushing.person()
    register(pushing, owner, phones.app("hana")["token"])
    remark = comment(pushing, pushing.topic(owner), owner)
    whole = running.eventually(lambda: story(pushing, remark["id"]), what="the story")
    assert [person["decision"] for person in whole["people"]] == ["is_actor"]
    assert whole["deliveries"] == [] and phones.ask("/log").json["deliveries"] == []


def test_a_token_that_died_is_not_asked_again(pushing, phones):
    owner, writer = pushing.person(), pushing.person()
    device_token = phones.app("hana")["token"]
    device = register(pushing, owner, device_token)
    topic = pushing.topic(owner)
    phones.act("hana", "remove", bundle=APP)
    whole = told(pushing, comment(pushing, topic, writer)["id"], "gone")
    assert "Unregistered" in whole["deliveries"][0]["reason"]
    assert in_a_terminal(pushing, "device", "why", device).stdout.startswith(f"Device {device}: dead")
    told(pushing, comment(pushing, topic, writer)["id"], "skipped")
    assert len(phones.ask("/log").json["deliveries"]) == 1
    # The app is put back and registers, as the same device.
    phones.act("hana", "install", bundle=APP)
    answer = pushing.ask("PUT", f"/v1/devices/{device}", {
        "token": phones.app("hana")["token"], "platform": "ios", "environment": "sandbox", "app": APP,
        "permission": "authorized",
    }, owner)
    assert answer.status == 200 and answer.json["health"]["condition"] == "untried", answer
    told(pushing, comment(pushing, topic, writer)["id"], "accepted")


def test_a_gateway_that_is_away_stops_nobody_and_nothing_is_lost(pushing, phones):
    owner, writer = pushing.person(), pushing.person()
    register(pushing, owner, phones.app("hana")["token"])
    topic = pushing.topic(owner)
    told(pushing, comment(pushing, topic, writer, "Before")["id"], "accepted")
    phones.stop()
    remarks = [comment(pushing, topic, writer, f"While it is away {number}") for number in range(3)]
    for remark in remarks:
        whole = told(pushing, remark["id"], "waiting")
        assert "dueAt" in whole["deliveries"][0]
        said = in_a_terminal(pushing, "push", "story", remark["id"]).stdout
        assert "waiting" in said and "due" in said
    assert "hiroba_push_waiting_deliveries 3.0\n" in pushing.ask("GET", "/metrics").text
    phones.start()
    for remark in remarks:
        delivery = told(pushing, remark["id"], "accepted")["deliveries"][0]
        assert "shown" in phones.story(delivery["id"])
    assert len(phones.app("hana")["notifications"]) == 3, "what it showed before went with the program"


def test_a_configuration_that_is_wrong_keeps_pushes_until_it_is_repaired(start, phones, tmp_path):
    file = tmp_path / "hiroba.json"
    file.write_text(json.dumps({"apns": [way(phones, **{"key-id": "ANOTHERKEY"})]}))
    server = start(arguments=["--config", str(file)])
    owner, writer = server.person(), server.person()
    device = register(server, owner, phones.app("hana")["token"])
    remark = comment(server, server.topic(owner), writer)

    def held():
        found = story(server, remark["id"])
        return found and found["deliveries"] and "InvalidProviderToken" in str(found["deliveries"][0].get("reason"))

    running.eventually(held, what="the reason")
    assert "InvalidProviderToken" in in_a_terminal(server, "device", "why", device).stdout
    # The log writes a moment later.
    running.eventually(lambda: "until this is set right: InvalidProviderToken" in server.log(), what="the log's line")
    assert server.stop() == 0
    file.write_text(json.dumps({"apns": [way(phones)]}))
    server.start()
    delivery = told(server, remark["id"], "accepted")["deliveries"][0]
    assert not delivery["isResent"], "what was refused did not arrive"
