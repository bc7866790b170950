"""Kills in the middle of 10,000 deliveries: each arrives, and a second time only what was in hand at a kill, marked resent.

HIROBA_TEST_KILLS says how many kills each database gets (5).
"""

import collections
import http.client
import json
import os
import random
import time
import uuid

import pytest

import running

KILLS = int(os.environ.get("HIROBA_TEST_KILLS") or 5)
DEVICES = 100
COMMENTS = 100
# `Limits.deliveriesInHand`
IN_HAND = 500


class Line:
    """One connection for many requests, so that ten thousand of them take no time."""

    def __init__(self, port, token=None):
        self.port, self.token = port, token
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status < 300, f"{method} {path}: {answer.status} {data[:300]}"
        return json.loads(data) if data else None


def accepted(phones):
    """How many pushes the stand-in has taken."""
    return Line(phones.ports[2]).ask("GET", "/front")["accepted"]


def read_log(phones, came):
    """Adds what the stand-in has taken to `came`: its log keeps the last 20,000."""
    for push in Line(phones.ports[2]).ask("GET", "/log")["deliveries"]:
        came[push["number"]] = push["apnsId"].lower()


def waiting(server):
    text = server.ask("GET", "/metrics").text
    numbers = dict(line.split(" ") for line in text.splitlines() if line.startswith("hiroba_push_waiting"))
    return float(numbers["hiroba_push_waiting_events"]) + float(numbers["hiroba_push_waiting_deliveries"])


def fill(server, phones):
    """A hundred devices of one person, and a hundred comments on their topic: gives the comments' ids."""
    owner, writer = server.person(), server.person()
    tokens = phones.ask("/crowd", {"count": DEVICES, "bundle": phones.BUNDLE}).json["tokens"]
    line = Line(server.port, owner)
    for token in tokens:
        line.ask("PUT", f"/v1/devices/{uuid.uuid4()}", {
            "token": token, "platform": "ios", "environment": "sandbox", "app": phones.BUNDLE,
            "permission": "authorized",
        })
    topic = line.ask("POST", "/v1/topics", {"title": "A topic"})["id"]
    line = Line(server.port, writer)
    return [
        line.ask("POST", f"/v1/topics/{topic}/comments", {"text": f"Comment {number}"})["id"]
        for number in range(COMMENTS)
    ]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_push_arrives_whatever_is_killed(kind, tmp_path):
    chance = random.Random(kind)
    cluster = running.Postgres() if kind == "postgres" else None
    phones = running.Phones().start()
    # So slow that there is a middle to be killed in.
    phones.switch(latency=20, jitter=10, streamLimit=25)
    file = tmp_path / "hiroba.json"
    file.write_text(json.dumps({"apns": [{
        "environment": "sandbox", "key-file": str(phones.folder / "data/AuthKey_HIROBAKEY1.p8"),
        "key-id": phones.key_id, "team-id": phones.team_id, "apps": [phones.BUNDLE], "host": "localhost",
        "port": phones.sandbox, "authority-file": phones.authority,
    }]}))
    server = running.Hiroba(
        database=cluster.new_database() if cluster else None,
        arguments=["--request-log", "off", "--config", str(file)]).start()
    try:
        comments = fill(server, phones)
        log = {}
        for kill in range(KILLS):
            # Some progress, and never so much that nothing is left for the other kills.
            goal = accepted(phones) + chance.randint(1, DEVICES * COMMENTS // (KILLS + 1))
            # Another worker's deliveries are taken over when it has been silent for 20 s.
            running.eventually(lambda: accepted(phones) >= goal or not waiting(server), 60, "progress")
            # Chance, and no wait: the kill is to come at any moment.
            time.sleep(chance.uniform(0, 0.05))
            server.kill()
            if kill % 10 == 9:
                read_log(phones, log)
            server.start()
        running.eventually(lambda: waiting(server) == 0, 120, "the end")

        key = (server.data / "server-key").read_text().strip()
        line = Line(server.port, key)
        deliveries = []
        for comment in comments:
            deliveries += line.ask("GET", f"/v1/push/{comment}")["deliveries"]
        assert len(deliveries) == DEVICES * COMMENTS
        assert {delivery["state"] for delivery in deliveries} == {"accepted"}
        read_log(phones, log)
        assert len(log) == max(log), "the stand-in has forgotten some"
        came = collections.Counter(log.values())
        lost = [delivery["id"] for delivery in deliveries if came[delivery["id"]] == 0]
        assert not lost, f"{len(lost)} are told as accepted and never came"
        assert set(came) == {delivery["id"] for delivery in deliveries}
        twice = {id for id, count in came.items() if count > 1}
        resent = {delivery["id"] for delivery in deliveries if delivery["isResent"]}
        assert twice <= resent, f"{len(twice - resent)} came twice and are not marked resent"
        doubles = sum(came.values()) - len(deliveries)
        assert doubles <= KILLS * IN_HAND
        print(f"{kind}: {KILLS} kills, {len(deliveries)} deliveries, {doubles} doubles, {len(resent)} marked resent")
    finally:
        server.close()
        phones.close()
        if cluster:
            cluster.remove()
