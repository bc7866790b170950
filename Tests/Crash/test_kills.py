"""Kills under load: what was answered is kept, what was not is done once when it is sent again, and the program starts.

A kill shows what the program loses; what a power cut would lose is tested in HirobaStoreTests, by recorded writes and
fsyncs. HIROBA_TEST_KILLS says how many kills each database gets (5).
"""

import http.client
import json
import os
import random
import threading
import time
import uuid

import pytest

import pictures
import running

KILLS = int(os.environ.get("HIROBA_TEST_KILLS") or 5)
WRITERS = 8


class Writer(threading.Thread):
    """One person who writes without end, and remembers what was answered."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.token = server.person()
        self.topics = {}
        self.deleted = set()
        self.comments = {}
        self.files = {}
        self.in_flight = None
        self.faults = []
        self.count = 0
        self.may_run = threading.Event()
        self.is_idle = threading.Event()
        self.ended = False
        self.picture = pictures.jpeg(pictures.halves(60 + number, 40))

    def run(self):
        while not self.ended:
            self.is_idle.set()
            self.may_run.wait()
            self.is_idle.clear()
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
            try:
                while self.may_run.is_set() and not self.ended:
                    self.step(connection)
            except (OSError, http.client.HTTPException):
                # Killed in the middle: wait for the restart, then send the same again.
                self.may_run.clear()
            finally:
                connection.close()

    def step(self, connection):
        if self.in_flight is None:
            self.count += 1
            key = str(uuid.uuid4())
            name = f"{self.number}-{self.count}"
            kind = self.count % 10
            if kind == 0 and len(self.topics) > 3:
                self.in_flight = ("delete", next(iter(self.topics)), None, key)
            elif kind == 5:
                self.in_flight = ("file", name, self.picture, key)
            elif kind % 2 and self.topics:
                self.in_flight = ("comment", name, next(reversed(self.topics)), key)
            else:
                self.in_flight = ("topic", name, None, key)
        kind, name, what, key = self.in_flight
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key}
        if kind == "delete":
            connection.request("DELETE", f"/v1/topics/{name}", headers=headers)
        elif kind == "file":
            connection.request("POST", "/v1/files", what, {**headers, "Content-Type": "image/jpeg"})
        else:
            path = "/v1/topics" if kind == "topic" else f"/v1/topics/{what}/comments"
            body = {"title": name} if kind == "topic" else {"text": name}
            connection.request("POST", path, json.dumps(body), {**headers, "Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status in (429, 503):
            # What every client does that is asked for patience.
            time.sleep(0.05)
            return
        # A deletion that was done but not answered finds nothing the second time.
        if answer.status not in ((204, 404) if kind == "delete" else (201,)):
            self.faults.append(f"{self.in_flight[:2]}: {answer.status} {body[:200]!r}")
        elif kind == "delete":
            self.topics.pop(name)
            self.deleted.add(name)
        elif kind == "topic":
            self.topics[json.loads(body)["id"]] = name
        elif kind == "comment":
            self.comments[json.loads(body)["id"]] = (what, name)
        else:
            self.files[json.loads(body)["id"]] = what
        self.in_flight = None


def all_items(server, path):
    items, after = [], ""
    while after is not None:
        page = server.ask("GET", f"{path}?limit=1000{after and '&after=' + after}").json
        items += page["items"]
        after = page["next"]
    return items


def check(server, writers):
    topics = all_items(server, "/v1/topics")
    kept = {topic["id"]: topic["title"] for topic in topics}
    titles = [topic["title"] for topic in topics]
    assert len(titles) == len(set(titles)), "something was written twice"
    for writer in writers:
        assert not writer.faults, writer.faults[:5]
        # A deletion that was never answered may be done or not.
        doubtful = writer.in_flight[1] if writer.in_flight and writer.in_flight[0] == "delete" else None
        lost = [name for id, name in writer.topics.items() if kept.get(id) != name and id != doubtful]
        assert not lost, f"topics were answered and are lost: {lost}"
        undead = writer.deleted & kept.keys()
        assert not undead, f"topics were deleted and are back: {undead}"
        by_topic = {}
        for id, (topic, text) in writer.comments.items():
            if topic in writer.topics and topic != doubtful:
                by_topic.setdefault(topic, {})[id] = text
        # The youngest are those that a kill could have caught; the whole is checked at the end.
        for topic, expected in list(by_topic.items())[-5:]:
            found = {comment["id"]: comment["text"] for comment in all_items(server, f"/v1/topics/{topic}/comments")}
            assert found == {**found, **expected}, "comments were answered and are lost"
            assert len(found.values()) == len(set(found.values())), "a comment was written twice"
        for id, data in list(writer.files.items())[-3:]:
            assert pictures.opened(server.ask("GET", f"/v1/files/{id}").body).size == pictures.opened(data).size


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_no_answered_write_is_lost(kind):
    chance = random.Random(kind)
    cluster = running.Postgres() if kind == "postgres" else None
    server = running.Hiroba(
        database=cluster.new_database() if cluster else None, arguments=["--request-log", "off"]).start()
    writers = []
    try:
        writers = [Writer(server, number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        answered = 0
        for kill in range(KILLS):
            for writer in writers:
                writer.may_run.set()
            before = sum(writer.count for writer in writers)
            running.eventually(lambda: sum(writer.count for writer in writers) > before + 20, what="load")
            # Chance, and no wait: the kill is to come at any moment.
            time.sleep(chance.uniform(0, 0.4))
            server.kill()
            # Every other time the database goes down with it, as when the machine does.
            if cluster and kill % 2:
                cluster.stop()
            for writer in writers:
                writer.may_run.clear()
            for writer in writers:
                assert writer.is_idle.wait(30)
            if cluster:
                cluster.start()
            server.start()
            check(server, writers)
            answered = sum(writer.count for writer in writers)
        # What was in flight at the last kill is sent again, and done once.
        for writer in writers:
            writer.may_run.set()
        running.eventually(lambda: sum(writer.count for writer in writers) > answered + 20, what="load")
        for writer in writers:
            writer.ended = True
            writer.may_run.set()
        for writer in writers:
            writer.join(30)
        check(server, writers)
        print(f"{kind}: {KILLS} kills, {sum(writer.count for writer in writers)} writes")
    finally:
        for writer in writers:
            writer.ended = True
            writer.may_run.set()
        server.close()
        if cluster:
            cluster.remove()
