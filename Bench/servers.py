"""The servers that are compared: how each is started, and what its requests look like.

Each gives the same operations on the same community: people, topics, comments and pictures.
"""

import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from http.client import HTTPConnection

PASSWORD = "correct-horse-9"


class Server:
    """A program under test on a loopback port, with its process tree's CPU time and memory."""

    name = ""
    port = 0

    def __init__(self, folder):
        self.folder = os.path.join(os.path.abspath(folder), self.name)
        self.process = None

    def command(self):
        raise NotImplementedError

    ready_path = "/"

    def start(self):
        """Starts the program and returns the seconds until its first good answer."""
        os.makedirs(self.folder, exist_ok=True)
        began = time.perf_counter()
        self.process = subprocess.Popen(
            self.command(), cwd=self.folder, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=open(os.path.join(self.folder, "out.log"), "ab"), stderr=subprocess.STDOUT)
        deadline = began + 30
        while time.perf_counter() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended with {self.process.returncode}; see {self.folder}/out.log")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self.ready_path}", timeout=1):
                    return time.perf_counter() - began
            except OSError:
                time.sleep(0.002)
        raise SystemExit(f"{self.name} did not answer within 30 s")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def pids(self):
        found, children = [self.process.pid], {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry))
            except (OSError, IndexError):
                continue
        for pid in found:
            found += children.get(pid, [])
        return found

    def cpu_seconds(self):
        ticks = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
            except OSError:
                continue
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_kib(self, field="RssAnon"):
        total = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/status") as file:
                    total += sum(int(line.split()[1]) for line in file if line.startswith(field + ":"))
            except OSError:
                continue
        return total

    # What follows is used by the servers that hold a community.

    def prepare(self, client):
        """Work that must be done once on an empty server, after it has started."""

    def bearer(self, person):
        return {"Authorization": f"Bearer {person['token']}"}


class Hiroba(Server):
    name = "hiroba"
    port = 18070
    ready_path = "/readyz"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = os.path.abspath(program)

    def command(self):
        return [self.program, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", os.path.join(self.folder, "data")]

    def small(self):
        return "GET", "/healthz", {}, None

    def sign_up(self, client, email):
        answer = client.json("POST", "/v1/users", {}, {"email": email, "password": PASSWORD, "name": email[:20]})
        return {"id": answer["user"]["id"], "token": answer["token"], "email": email}

    def sign_in(self, person):
        return "POST", "/v1/sessions", {}, {"email": person["email"], "password": PASSWORD}

    def create_topic(self, person, title, text):
        return "POST", "/v1/topics", self.bearer(person), {"title": title, "text": text}

    def create_comment(self, person, topic, text):
        return "POST", f"/v1/topics/{topic}/comments", self.bearer(person), {"text": text}

    def upload(self, client, person, picture):
        headers = {**self.bearer(person), "Content-Type": "image/jpeg"}
        return json.loads(client.send("POST", "/v1/files", headers, picture))["id"]

    def newest_topics(self):
        return "GET", "/v1/topics?limit=20", {}, None

    def comments(self, topic):
        return "GET", f"/v1/topics/{topic}/comments?limit=20", {}, None

    def topic(self, topic):
        return "GET", f"/v1/topics/{topic}", {}, None

    def picture(self, picture):
        return "GET", f"/v1/files/{picture}", {}, None

    def thumbnail(self, picture):
        return "GET", f"/v1/files/{picture}?size=200", {}, None


class PocketBase(Server):
    name = "pocketbase"
    port = 18090
    ready_path = "/api/health"
    administrator = "root@example.org"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = os.path.abspath(program)

    def command(self):
        data = os.path.join(self.folder, "data")
        if not os.path.isdir(data):
            subprocess.run([self.program, "superuser", "upsert", self.administrator, PASSWORD, "--dir", data],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [self.program, "serve", "--http", f"127.0.0.1:{self.port}", "--dir", data, "--automigrate=false"]

    def bearer(self, person):
        return {"Authorization": person["token"]}

    def prepare(self, client):
        """Three collections with the rules that Hiroba has: everyone reads, the author writes."""
        token = client.json("POST", "/api/collections/_superusers/auth-with-password", {},
                            {"identity": self.administrator, "password": PASSWORD})["token"]
        own = "author = @request.auth.id"
        author = {"name": "author", "type": "relation", "collectionId": "_pb_users_auth_", "maxSelect": 1, "required": True}
        dates = [{"name": "created", "type": "autodate", "onCreate": True},
                 {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True}]
        text = {"name": "text", "type": "text", "max": 20000}

        def collection(name, fields, indexes):
            return client.json("POST", "/api/collections", {"Authorization": token}, {
                "name": name, "type": "base", "listRule": "", "viewRule": "", "createRule": f'@request.auth.id != "" && {own}',
                "updateRule": own, "deleteRule": own, "fields": fields + [author] + dates, "indexes": indexes})["id"]

        topics = collection("topics", [{"name": "title", "type": "text", "required": True, "max": 200}, text],
                            ["CREATE INDEX topics_created ON topics (created)"])
        collection("comments", [{"name": "topic", "type": "relation", "collectionId": topics, "maxSelect": 1,
                                 "required": True, "cascadeDelete": True}, text],
                   ["CREATE INDEX comments_topic_created ON comments (topic, created)"])
        collection("pictures", [{"name": "image", "type": "file", "maxSelect": 1, "maxSize": 5242880,
                                 "mimeTypes": ["image/jpeg"], "thumbs": ["200x200"]}], [])

    def small(self):
        return "GET", "/api/health", {}, None

    def sign_up(self, client, email):
        client.json("POST", "/api/collections/users/records", {},
                    {"email": email, "password": PASSWORD, "passwordConfirm": PASSWORD})
        answer = client.json(*self.sign_in({"email": email}))
        return {"id": answer["record"]["id"], "token": answer["token"], "email": email}

    def sign_in(self, person):
        return ("POST", "/api/collections/users/auth-with-password", {},
                {"identity": person["email"], "password": PASSWORD})

    def create_topic(self, person, title, text):
        return ("POST", "/api/collections/topics/records", self.bearer(person),
                {"title": title, "text": text, "author": person["id"]})

    def create_comment(self, person, topic, text):
        return ("POST", "/api/collections/comments/records", self.bearer(person),
                {"topic": topic, "text": text, "author": person["id"]})

    def upload(self, client, person, picture):
        edge = "bench-edge-5d41"
        part = f"--{edge}\r\nContent-Disposition: form-data; name="
        body = (f"{part}\"author\"\r\n\r\n{person['id']}\r\n{part}\"image\"; filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
                .encode() + picture + f"\r\n--{edge}--\r\n".encode())
        headers = {**self.bearer(person), "Content-Type": f"multipart/form-data; boundary={edge}"}
        answer = json.loads(client.send("POST", "/api/collections/pictures/records", headers, body))
        return f"{answer['id']}/{answer['image']}"

    def newest_topics(self):
        return "GET", "/api/collections/topics/records?perPage=20&sort=-created&skipTotal=1", {}, None

    def comments(self, topic):
        return ("GET", "/api/collections/comments/records?perPage=20&sort=-created&skipTotal=1"
                f"&filter=topic%3D%22{topic}%22", {}, None)

    def topic(self, topic):
        return "GET", f"/api/collections/topics/records/{topic}", {}, None

    def picture(self, picture):
        return "GET", f"/api/files/pictures/{picture}", {}, None

    def thumbnail(self, picture):
        return "GET", f"/api/files/pictures/{picture}?thumb=200x200", {}, None


class Nginx(Server):
    """Answers a constant as small as Hiroba's health answer: the floor for an HTTP server in C."""

    name = "nginx"
    port = 18080

    def command(self):
        configuration = os.path.join(self.folder, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(f"""
daemon off; worker_processes 2; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log {self.folder}/access.log combined buffer=64k; keepalive_requests 1000000000;
  client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy; fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi; scgi_temp_path {self.folder}/scgi;
  server {{ listen 127.0.0.1:{self.port}; location / {{ default_type application/json; return 200 '{{"status":"ok"}}'; }} }}
}}""")
        return ["nginx", "-c", configuration, "-p", self.folder]

    def small(self):
        return "GET", "/healthz", {}, None


class Client:
    """One keep-alive connection that raises on anything but a 2xx answer. Each thread has its own."""

    def __init__(self, server):
        self.server = server
        self.local = threading.local()

    def send(self, method, path, headers, body):
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = self.local.connection = HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status // 100 != 2:
            raise SystemExit(f"{self.server.name}: {method} {path} answered {answer.status}: {data[:300]!r}")
        return data

    def json(self, method, path, headers, body):
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        if content is not None:
            headers = {**headers, "Content-Type": "application/json"}
        return json.loads(self.send(method, path, headers, content))
