"""The running program, its databases and `curl`: what the Python tests have in common."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("HIROBA_TEST_PROGRAM") or ROOT / ".build/debug/hiroba")


def temporary_folder():
    """A folder directly in /tmp, which an ordinary user may enter, and whose name is short enough for a unix socket."""
    return pathlib.Path(tempfile.mkdtemp(prefix="hiroba-"))


PORTS_GIVEN = set()


def free_port():
    """A port that nobody listens on, and that no connection going out is given while its server is not running."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(15_000, max(first, 20_000))
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            if port not in PORTS_GIVEN:
                PORTS_GIVEN.add(port)
                return port


def eventually(condition, patience=15, what="the condition"):
    """Asks again until `condition` gives something true, and returns that."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come true within {patience} s"
        time.sleep(0.02)


class Postgres:
    """A cluster of our own, run by an ordinary user in a folder of its own."""

    def __init__(self):
        self.folder = temporary_folder()
        self._run("start")

    def _run(self, command, *arguments):
        return subprocess.run(
            [ROOT / "scripts/throwaway-postgres", command, self.folder, *arguments],
            check=True, capture_output=True, text=True,
        ).stdout

    def start(self):
        self._run("start")

    def stop(self):
        self._run("stop", "--now")

    def remove(self):
        self._run("remove")

    def query(self, text, database="postgres"):
        return subprocess.run(
            ["psql", "--no-psqlrc", "-qAt", self.address(database), "-c", text],
            check=True, capture_output=True, text=True,
        ).stdout.strip()

    def new_database(self):
        name = "test_" + uuid.uuid4().hex[:12]
        self.query(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, database):
        return f"postgres://postgres@/{database}?host={self.folder}"


class Answer:
    """What `curl` got."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()

    def __getitem__(self, name):
        values = [value for key, value in self.headers if key == name.lower()]
        return values[0] if values else None

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:500]!r}>"


def curl(address, *arguments, data=None):
    """Runs `curl` and takes its answer apart. `data` goes in by standard input."""
    with tempfile.NamedTemporaryFile() as head:
        done = subprocess.run(
            ["curl", "-sS", "--max-time", "30", "-D", head.name, *map(str, arguments), str(address)],
            input=data, capture_output=True,
        )
        lines = head.read().decode("latin-1")
    if not lines:
        raise ConnectionError(done.stderr.decode())
    last = [block for block in lines.split("\r\n\r\n") if block][-1].split("\r\n")
    headers = [tuple(part.strip() for part in line.split(":", 1)) for line in last[1:] if ":" in line]
    return Answer(int(last[0].split()[1]), [(name.lower(), value) for name, value in headers], done.stdout)


class Hiroba:
    """`hiroba serve` in a folder of its own."""

    def __init__(self, database=None, folder=None, arguments=(), wrapper=()):
        self.own_folder = folder is None
        self.folder = folder or temporary_folder()
        self.data = self.folder / "data"
        self.database = database
        self.arguments = list(arguments)
        self.wrapper = list(wrapper)
        self.port = free_port()
        self.process = None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def command(self):
        database = ["--database", self.database] if self.database else []
        return [
            *self.wrapper, str(PROGRAM), "serve", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}",
            *database, *self.arguments,
        ]

    def spawn(self):
        """Starts the program and does not wait for it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HIROBA_")}
        # A trap in the program must end it at once, and not wait for a backtrace.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        with open(self.folder / "output.log", "ab") as output, open(self.folder / "errors.log", "ab") as errors:
            self.process = subprocess.Popen(self.command(), stdout=output, stderr=errors, env=environment)
        return self

    def start(self):
        self.spawn()
        self.wait_until_ready()
        return self

    def wait_until_ready(self, patience=30):
        deadline = time.monotonic() + patience
        while True:
            with contextlib.suppress(OSError):
                if self.quick("GET", "/readyz") == 200:
                    return
            assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.log()[-3000:]}"
            assert time.monotonic() < deadline, f"not ready within {patience} s: {self.log()[-3000:]}"
            time.sleep(0.02)

    def quick(self, method, path):
        """The status of a request, without starting a program for it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        return int(answer.split()[1]) if answer else 0

    def log(self):
        return "".join((self.folder / name).read_text(errors="replace") for name in ("output.log", "errors.log"))

    def stop(self, patience=10):
        """Asks it to stop, as an operator does, and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not stop within {patience} s of SIGTERM: {self.log()[-3000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        """The end of a test: a clean stop is checked every time."""
        try:
            if self.process and self.process.poll() is None:
                code = self.stop()
                assert code == 0, f"ended with {code}: {self.log()[-3000:]}"
        finally:
            if self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    # Requests

    def ask(self, method, path, body=None, token=None, headers=(), data=None, arguments=()):
        """One call of the API by `curl`; `body` is sent as JSON, `data` as it is."""
        given = list(arguments)
        if method == "HEAD":
            given += ["--head"]
        else:
            given += ["-X", method]
        if token:
            given += ["-H", f"Authorization: Bearer {token}"]
        if body is not None:
            data = json.dumps(body).encode()
            given += ["-H", "Content-Type: application/json"]
        for header in headers:
            given += ["-H", header]
        if data is not None:
            given += ["--data-binary", "@-"]
        return curl(self.address + path, *given, data=data)

    def person(self):
        """The token of a new anonymous person."""
        answer = self.ask("POST", "/v1/sessions/anonymous", {"deviceSecret": uuid.uuid4().hex})
        assert answer.status == 201, answer
        return answer.json["token"]

    def topic(self, token, title="A topic", **fields):
        answer = self.ask("POST", "/v1/topics", {"title": title, **fields}, token)
        assert answer.status == 201, answer
        return answer.json

    def upload(self, token, data, type="image/jpeg", headers=()):
        return self.ask("POST", "/v1/files", token=token, data=data, headers=[f"Content-Type: {type}", *headers])

    # Memory

    def processes(self):
        """The program and its children."""
        pid = self.process.pid
        found = [pid]
        # The list belongs to the thread that started the child, and that is seldom the first one.
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, (thread / "children").read_text().split())
        return found

    def memory(self):
        """Bytes that the program and its children hold for themselves alone."""
        total = 0
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for pid in self.processes():
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                total += int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024
        return total

    @contextlib.contextmanager
    def watching_memory(self):
        """Gives an object whose `growth` is the most memory that was held above what was held before."""
        class Watch:
            growth = 0
        watch = Watch()
        before = self.memory()
        ended = threading.Event()

        def look():
            while not ended.is_set():
                watch.growth = max(watch.growth, self.memory() - before)
                ended.wait(0.002)

        looker = threading.Thread(target=look)
        looker.start()
        try:
            yield watch
        finally:
            ended.set()
            looker.join()


class Demo(Hiroba):
    """`hiroba demo`, with its community and its phones."""

    def command(self):
        return [
            str(PROGRAM), "demo", "--data", str(self.data), "--listen", f"127.0.0.1:{self.port}", *self.arguments,
        ]

    @property
    def server_key(self):
        return (self.data / "server-key").read_text().strip()


class Phones:
    """`hiroba phones` in a folder of its own."""

    BUNDLE = "app.hiroba.forum"

    def __init__(self, arguments=()):
        self.folder = temporary_folder()
        self.arguments = list(arguments)
        self.ports = [free_port() for _ in range(3)]
        self.process = None

    def start(self, patience=30):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HIROBA_")}
        environment["SWIFT_BACKTRACE"] = "enable=no"
        # Started again, it is where it was before.
        ports = [f"127.0.0.1:{port}" for port in self.ports]
        with open(self.folder / "output.log", "wb") as output:
            self.process = subprocess.Popen(
                [
                    str(PROGRAM), "phones", "--data", str(self.folder / "data"), "--listen", ports[0],
                    "--listen-production", ports[1], "--web", ports[2], *self.arguments,
                ],
                stdout=output, stderr=output, env=environment,
            )
        eventually(lambda: "Topics:" in self.log() or self.process.poll() is not None, patience, "the phones' start")
        assert self.process.poll() is None, self.log()
        words = self.log()
        self.address = re.search(r"phones are at (http://\S+?)/?\n", words)[1]
        self.sandbox = int(re.search(r"sandbox: .*:(\d+)", words)[1])
        self.production = int(re.search(r"production: .*:(\d+)", words)[1])
        self.authority = re.search(r"Authority to trust: (.*)", words)[1]
        file, self.key_id, self.team_id = re.search(r"Key: (.*) \(key id (\w+), team id (\w+)\)", words).groups()
        self.key = pathlib.Path(file).read_text()
        return self

    def log(self):
        return (self.folder / "output.log").read_text(errors="replace")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(10)
        assert code == 0, f"ended with {code}: {self.log()[-3000:]}"

    def close(self):
        try:
            if self.process and self.process.poll() is None:
                self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    # What people and tests do with the phones

    def ask(self, path, body=None):
        arguments = [] if body is None else ["-X", "POST", "-H", "Content-Type: application/json", "--data-binary", "@-"]
        return curl(self.address + path, *arguments, data=None if body is None else json.dumps(body).encode())

    def act(self, phone, action, **fields):
        answer = curl(f"{self.address}/devices/{phone}/{action}", *[
            part for name, value in fields.items() for part in ("--data-urlencode", f"{name}={value}")
        ], *([] if fields else ["-X", "POST"]))
        assert answer.status == 303, answer

    def app(self, phone="hana"):
        return self.ask(f"/devices/{phone}").json["apps"][0]

    def push(self, payload, phone="hana", token=None, **headers):
        """One push by curl, as a provider would send it; `headers` are those of APNs without their prefix."""
        import jwt

        claims = {"iss": self.team_id, "iat": int(time.time())}
        provider_token = jwt.encode(claims, self.key, algorithm="ES256", headers={"kid": self.key_id})
        headers = {"topic": self.BUNDLE, "push-type": "alert", "id": str(uuid.uuid4()), **headers}
        given = ["-H", f"authorization: bearer {provider_token}"]
        for name, value in headers.items():
            given += ["-H", f"apns-{name.replace('_', '-')}: {value}"]
        address = f"https://localhost:{self.sandbox}/3/device/{token or self.app(phone)['token']}"
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return curl(address, "--http2", "--cacert", self.authority, *given, "--data-binary", "@-", data=data)

    def story(self, apns_id):
        """The steps of the only delivery with this id."""
        deliveries = self.ask(f"/log/{apns_id}").json["deliveries"]
        assert len(deliveries) == 1, deliveries
        return [step["step"] for step in deliveries[0]["steps"]]

    def switch(self, **switches):
        answer = self.ask("/front/switches", switches)
        assert answer.status == 200, answer


def assert_problem(answer, status, code=None, field=None):
    """The answer is a problem document (RFC 9457) that says what is wrong, and where."""
    assert answer.status == status, answer
    assert answer["content-type"].startswith("application/problem+json"), answer
    problem = answer.json
    assert problem["status"] == status
    assert problem["title"]
    if code:
        assert problem["code"] == code, problem
    if field:
        assert problem.get("field") == field, problem
    return problem
