"""Topics and comments by the API, and the stream that tells of them."""

import json
import re
import subprocess
import threading

import running


def test_topics_and_comments_come_and_go(hiroba):
    token = hiroba.person()
    topic = hiroba.topic(token, "掲示板", text="紹介文 <b>&amp;</b>")
    assert re.fullmatch(r"[0-9A-Za-z]{16}", topic["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", topic["createdAt"])
    assert hiroba.ask("GET", f"/v1/topics/{topic['id']}").json == topic
    path = f"/v1/topics/{topic['id']}/comments"
    comments = [hiroba.ask("POST", path, {"text": text}, token).json for text in ("one", "two\nlines", "😀")]
    assert hiroba.ask("GET", path).json == {"items": comments[::-1], "next": None}
    assert hiroba.ask("DELETE", f"/v1/comments/{comments[1]['id']}", token=token).status == 204
    assert [c["text"] for c in hiroba.ask("GET", path).json["items"]] == ["😀", "one"]
    assert hiroba.ask("DELETE", f"/v1/topics/{topic['id']}", token=token).status == 204
    running.assert_problem(hiroba.ask("GET", f"/v1/topics/{topic['id']}"), 404)
    running.assert_problem(hiroba.ask("GET", path), 404)
    running.assert_problem(hiroba.ask("POST", path, {"text": "late"}, token), 404)


def test_pages_follow_each_other_without_gap_or_double(start):
    server = start()
    token = server.person()
    made = [server.topic(token, f"Topic {number}")["id"] for number in range(25)]
    seen, after = [], ""
    while after is not None:
        page = server.ask("GET", f"/v1/topics?limit=10{after and '&after=' + after}").json
        seen += [topic["id"] for topic in page["items"]]
        after = page["next"]
    assert seen == made[::-1]
    assert len(server.ask("GET", "/v1/topics").json["items"]) == 25, "a hundred when nobody says"


class Stream:
    """A live stream read by `curl`."""

    def __init__(self, server, query="", headers=()):
        arguments = [part for header in headers for part in ("-H", header)]
        self.process = subprocess.Popen(
            ["curl", "-sN", *arguments, f"{server.address}/v1/live{query}"], stdout=subprocess.PIPE, text=True)
        self.events = []
        threading.Thread(target=self._read, daemon=True).start()
        running.eventually(lambda: self.names("ready", "resync"), what="the first event")

    def _read(self):
        event = {}
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if not line:
                if event:
                    self.events.append(event)
                event = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(":")
                event[name] = event.get(name, "") + value.removeprefix(" ")

    def names(self, *names):
        return [event for event in list(self.events) if event.get("event") in names]

    def wait(self, name, count=1):
        return running.eventually(lambda: len(self.names(name)) >= count and self.names(name), what=f"{name} {count}")

    def close(self):
        self.process.kill()
        self.process.wait()


def test_what_happens_is_told_live_and_again_from_a_position(hiroba):
    token = hiroba.person()
    everything = Stream(hiroba)
    topic = hiroba.topic(token, "Live")
    one = Stream(hiroba, f"?topic={topic['id']}")
    other_topic = hiroba.topic(token, "Elsewhere")
    path = f"/v1/topics/{topic['id']}/comments"
    comment = hiroba.ask("POST", path, {"text": "Hello"}, token).json
    hiroba.ask("POST", f"/v1/topics/{other_topic['id']}/comments", {"text": "Not for one"}, token)

    told = [event for event in everything.wait("topic.created") if json.loads(event["data"])["id"] == topic["id"]]
    assert json.loads(told[0]["data"]) == topic
    position = told[0]["id"]
    told = one.wait("comment.created")
    assert [json.loads(event["data"]) for event in told] == [comment]
    hiroba.ask("DELETE", f"/v1/comments/{comment['id']}", token=token)
    assert json.loads(one.wait("comment.deleted")[0]["data"])["id"] == comment["id"]
    assert not [e for e in one.names("comment.created") if "Not for one" in e["data"]]

    # Whoever comes back with the position gets what was missed. What was deleted since is not told as made.
    again = Stream(hiroba, headers=[f"Last-Event-ID: {position}"])
    again.wait("comment.deleted")
    assert [json.loads(e["data"])["id"] for e in again.names("topic.created")] == [other_topic["id"]]
    assert comment["id"] not in [json.loads(e["data"])["id"] for e in again.names("comment.created")]
    # A position nobody gave out, or one too old, is answered with resync.
    lost = Stream(hiroba, headers=["Last-Event-ID: 0-nonsense"])
    assert lost.events[0]["event"] in ("resync", "ready")
    for stream in (everything, one, again, lost):
        stream.close()
