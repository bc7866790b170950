"""The stand-in for APNs, asked by people's own clients: `aioapns`, which talks to Apple, and plain HTTP/2 by `h2`."""

import asyncio
import concurrent.futures
import json
import socket
import ssl
import time
import uuid

import aioapns
import aioapns.connection
import h2.config
import h2.connection
import h2.events
import jwt
import pytest

import running


@pytest.fixture(scope="module")
def phones():
    stand_in = running.Phones()
    try:
        yield stand_in.start()
    finally:
        stand_in.close()


@pytest.fixture
def switched(phones):
    """Sets switches for one test."""
    before = phones.ask("/front").json["switches"]
    yield phones.switch
    phones.switch(**before)


def trusting(phones):
    context = ssl.create_default_context(cafile=phones.authority)
    context.set_alpn_protocols(["h2"])
    return context


# MARK: aioapns


def send(phones, *requests, port=None, **options):
    """Sends by aioapns, one after the other, and returns its results."""

    class StandIn(aioapns.connection.APNsTLSClientProtocol):
        APNS_SERVER = "localhost"
        APNS_PORT = port or phones.sandbox

    async def run():
        told = dict(key=phones.key, key_id=phones.key_id, team_id=phones.team_id, topic=phones.BUNDLE)
        client = aioapns.APNs(**(told | options), ssl_context=trusting(phones), max_connections=1)
        client.pool.protocol_class = StandIn
        results = [await asyncio.wait_for(client.send_notification(request), 20) for request in requests]
        client.pool.close()
        return results

    # On a thread of its own: a browser of other tests may have a loop running on this one.
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


def request(phones, token=None, message=None, **options):
    return aioapns.NotificationRequest(
        device_token=token or phones.app()["token"], message=message or {"aps": {"alert": "hello"}},
        push_type=options.pop("push_type", aioapns.PushType.ALERT), **options,
    )


def test_aioapns_sends_and_the_phone_shows(phones):
    asked = request(phones, message={"aps": {"alert": {"title": "掲示板", "body": "こんにちは"}, "badge": 2}})
    (result,) = send(phones, asked)
    assert (result.status, result.notification_id, result.description) == ("200", asked.notification_id, None)
    assert phones.story(asked.notification_id) == ["accepted", "delivered", "badge", "shown"]
    app = phones.app()
    assert app["badge"] == 2
    assert app["notifications"][0]["title"] == "掲示板"


def test_aioapns_sends_many_on_one_connection(phones):
    before = phones.ask("/front").json
    tokens = phones.ask("/crowd", {"count": 50, "bundle": phones.BUNDLE}).json["tokens"]
    results = send(phones, *[request(phones, token) for token in tokens])
    assert {result.status for result in results} == {"200"}
    after = phones.ask("/front").json
    assert after["accepted"] - before["accepted"] == 50
    assert after["connectionsSoFar"] - before["connectionsSoFar"] == 1


@pytest.mark.parametrize("status, reason, change", [
    ("400", "BadDeviceToken", dict(token="00ff")),
    ("400", "BadDeviceToken", dict(token="not-hexadecimal")),
    ("400", "TopicDisallowed", dict(apns_topic="org.example.stranger")),
    ("400", "BadTopic", dict(apns_topic="forum")),
    ("400", "BadPriority", dict(priority="7")),
    ("400", "BadPriority", dict(push_type=aioapns.PushType.BACKGROUND, priority="10")),
    ("400", "BadCollapseId", dict(collapse_key="あ" * 22)),
    ("400", "InvalidPushType", dict(push_type=aioapns.PushType.VOIP)),
    ("400", "BadExpirationDate", dict(time_to_live=-(10**12))),
    ("413", "PayloadTooLarge", dict(message={"aps": {"alert": "x" * 4096}})),
])
def test_aioapns_gets_apples_answers(phones, status, reason, change):
    (result,) = send(phones, request(phones, **change))
    assert (result.status, result.description) == (status, reason)


def test_aioapns_with_a_bad_key(phones):
    for change in (dict(team_id="TEAM999999"), dict(key_id="KEY9999999")):
        (result,) = send(phones, request(phones), **change)
        assert (result.status, result.description) == ("403", "InvalidProviderToken")


def test_aioapns_learns_that_the_app_is_gone(phones):
    token = phones.app("sota")["token"]
    before = int(time.time() * 1000)
    phones.act("sota", "install", bundle=phones.BUNDLE)
    (result,) = send(phones, request(phones, token))
    assert (result.status, result.description) == ("410", "Unregistered")
    assert before <= result.timestamp <= int(time.time() * 1000)
    (result,) = send(phones, request(phones, phones.app("sota")["token"]))
    assert result.status == "200"
    phones.ask("/dead-tokens", {"token": phones.app("sota")["token"], "expired": True})
    (result,) = send(phones, request(phones, phones.app("sota")["token"]))
    assert (result.status, result.description) == ("410", "ExpiredToken")


def test_production_knows_other_tokens(phones):
    (result,) = send(phones, request(phones), port=phones.production)
    assert (result.status, result.description) == ("400", "BadDeviceToken")


# MARK: HTTP/2 by hand


class Line:
    """One connection, on which everything can be done and seen."""

    def __init__(self, phones):
        self.phones = phones
        self.socket = trusting(phones).wrap_socket(
            socket.create_connection(("127.0.0.1", phones.sandbox), timeout=20), server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.connection.initiate_connection()
        self.limits, self.answers, self.resets, self.goaway, self.closed = [], {}, {}, None, False
        self.unread = b""
        self.flush()
        self.until(lambda: self.limits)

    def flush(self):
        self.socket.sendall(self.connection.data_to_send())

    def token(self, **changes):
        claims = {"iss": self.phones.team_id, "iat": int(time.time())} | changes
        return jwt.encode(claims, self.phones.key, algorithm="ES256", headers={"kid": self.phones.key_id})

    def push(self, token=None, provider_token=None, payload=None, end=True):
        stream = self.connection.get_next_available_stream_id()
        self.connection.send_headers(stream, [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", f"/3/device/{token or self.phones.app()['token']}"), ("apns-topic", self.phones.BUNDLE),
            ("apns-id", str(uuid.uuid4())), ("authorization", f"bearer {provider_token or self.token()}"),
        ])
        if end:
            self.connection.send_data(stream, payload or b'{"aps":{"alert":"hello"}}', end_stream=True)
        self.flush()
        return stream

    def until(self, condition, patience=20):
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, (self.answers, self.resets, self.goaway, self.closed)
            try:
                data = self.socket.recv(65536)
            except (ConnectionError, ssl.SSLError):
                data = b""
            if not data:
                self.closed = True
                assert condition(), (self.answers, self.resets, self.goaway)
                return
            self.unread += data
            while len(self.unread) >= 9 and len(self.unread) >= 9 + int.from_bytes(self.unread[:3], "big"):
                end = 9 + int.from_bytes(self.unread[:3], "big")
                frame, self.unread = self.unread[:end], self.unread[end:]
                for event in self.connection.receive_data(frame):
                    self.note(event)
            try:
                self.flush()
            except OSError:
                self.closed = True

    def note(self, event):
        if isinstance(event, h2.events.RemoteSettingsChanged):
            change = event.changed_settings.get(h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS)
            if change:
                self.limits.append(change.new_value)
        elif isinstance(event, h2.events.ResponseReceived):
            self.answers[event.stream_id] = [int(dict(event.headers)[":status"]), b""]
        elif isinstance(event, h2.events.DataReceived):
            self.answers[event.stream_id][1] += event.data
        elif isinstance(event, h2.events.StreamReset):
            self.resets[event.stream_id] = event.error_code
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = (event.last_stream_id, event.error_code, event.additional_data)
            # h2 takes GOAWAY for the end; RFC 9113 section 6.8 lets the streams below its last one be answered.
            self.connection.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN

    def answer(self, stream):
        self.until(lambda: stream in self.answers and (self.answers[stream][0] == 200 or self.answers[stream][1]))
        status, body = self.answers[stream]
        return status, json.loads(body)["reason"] if body else None


def test_one_stream_until_a_token_was_good(phones):
    line = Line(phones)
    assert line.limits == [1]
    assert line.answer(line.push(provider_token="nonsense")) == (403, "InvalidProviderToken")
    assert line.limits == [1]
    assert line.answer(line.push()) == (200, None)
    line.until(lambda: len(line.limits) > 1)
    assert line.limits == [1, 1000]


def test_the_stream_limit_falls_and_rises(phones, switched):
    switched(fallsBackToOneStream=True)
    line = Line(phones)
    assert line.answer(line.push()) == (200, None)
    assert line.answer(line.push("00ff")) == (400, "BadDeviceToken")
    line.until(lambda: len(line.limits) > 2)
    # Its client is held to the new limit: a second stream is refused, and was not looked at.
    open_stream = line.push(end=False)
    line.connection.remote_settings.update({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100})
    line.connection.remote_settings.acknowledge()
    refused = line.push()
    line.until(lambda: refused in line.resets)
    assert line.resets[refused] == h2.errors.ErrorCodes.REFUSED_STREAM
    line.connection.send_data(open_stream, b'{"aps":{"alert":"x"}}', end_stream=True)
    line.flush()
    assert line.answer(open_stream) == (200, None)
    line.until(lambda: len(line.limits) > 3)
    assert line.limits == [1, 1000, 1, 1000]


def test_goaway_after_so_many_requests(phones, switched):
    line = Line(phones)
    assert line.answer(line.push()) == (200, None)
    switched(goAwayAfter=3, goAwayReason="Shutdown")
    assert line.answer(line.push()) == (200, None)
    third = line.push()
    assert line.answer(third) == (200, None), "requests up to the last stream are answered"
    line.until(lambda: line.goaway)
    last, code, text = line.goaway
    assert (last, code, json.loads(text)) == (third, 0, {"reason": "Shutdown"})
    line.until(lambda: line.closed)


def test_goaway_on_command(phones):
    line = Line(phones)
    assert line.answer(line.push()) == (200, None)
    assert phones.ask("/front/goaway", {"reason": "ServiceUnavailable"}).status == 200
    line.until(lambda: line.goaway)
    assert json.loads(line.goaway[2]) == {"reason": "ServiceUnavailable"}
    again = Line(phones)
    assert again.answer(again.push()) == (200, None)


def test_goaway_the_hard_way_and_a_dropped_line(phones, switched):
    switched(goAwayAfter=2, goAwayIsHard=True)
    line = Line(phones)
    assert line.answer(line.push()) == (200, None)
    line.push()
    line.until(lambda: line.closed)
    assert line.goaway and line.goaway[0] == 3

    switched(goAwayAfter=None, dropAfter=1)
    line = Line(phones)
    assert line.answer(line.push()) == (200, None)
    before = phones.ask("/front").json["accepted"]
    line.push()
    line.until(lambda: line.closed)
    assert line.goaway is None
    assert phones.ask("/front").json["accepted"] == before, "what was dropped was not delivered"


def test_late_and_missing_answers(phones, switched):
    switched(latency=300)
    line = Line(phones)
    start = time.monotonic()
    assert line.answer(line.push()) == (200, None)
    assert time.monotonic() - start >= 0.3
    switched(latency=0, shareUnanswered=1)
    before = phones.ask("/front").json["unanswered"]
    silent = line.push()
    running.eventually(lambda: phones.ask("/front").json["unanswered"] == before + 1)
    switched(shareUnanswered=0)
    assert line.answer(line.push()) == (200, None)
    assert silent not in line.answers


def test_bad_days(phones, switched):
    line = Line(phones)
    for switch, answer in [
        ("share500", (500, "InternalServerError")), ("share503", (503, "ServiceUnavailable")),
        ("share429", (429, "TooManyRequests")),
    ]:
        switched(**{switch: 1})
        assert line.answer(line.push()) == answer
        switched(**{switch: 0})
    assert line.answer(line.push()) == (200, None)


def test_too_many_provider_tokens(phones):
    line = Line(phones)
    now = int(time.time())
    for age in range(5):
        assert line.answer(line.push(provider_token=line.token(iat=now - age))) == (200, None)
    assert line.answer(line.push(provider_token=line.token(iat=now - 9))) == (429, "TooManyProviderTokenUpdates")
    other = Line(phones)
    assert other.answer(other.push(provider_token=other.token(iat=now - 9))) == (200, None)


def test_odd_provider_tokens(phones):
    line = Line(phones)
    now = int(time.time())
    assert line.answer(line.push(provider_token=line.token(iat=str(now), kid=phones.key_id))) == (200, None)
    assert line.answer(line.push(provider_token=line.token(iat=now - 3700))) == (403, "ExpiredProviderToken")
    assert line.answer(line.push(provider_token=line.token(iat=now + 3700))) == (403, "InvalidProviderToken")


# MARK: The phones


def test_offline_keeps_the_newest(phones):
    phones.act("hana", "clear")
    phones.act("hana", "online", value="off")
    first, second = request(phones), request(phones, message={"aps": {"alert": "second"}})
    send(phones, first, second)
    assert phones.app()["held"] == second.notification_id
    assert phones.story(first.notification_id) == ["accepted", "stored", "overwritten"]
    phones.act("hana", "online", value="on")
    assert phones.story(second.notification_id) == ["accepted", "stored", "delivered", "shown"]
    assert [shown["body"] for shown in phones.app()["notifications"]] == ["second"]


def test_curl_by_http2_and_not_by_http1(phones):
    address = f"https://localhost:{phones.sandbox}/3/device/00"
    answer = running.curl(address, "--http2", "--cacert", phones.authority, "-d", "{}")
    assert (answer.status, answer.json) == (403, {"reason": "MissingProviderToken"})
    assert answer["content-type"] == "application/json"
    assert uuid.UUID(answer["apns-id"])
    with pytest.raises(ConnectionError):
        running.curl(address, "--http1.1", "--cacert", phones.authority, "-d", "{}")
    with pytest.raises(ConnectionError):
        running.curl(address, "--http2", "-d", "{}")
