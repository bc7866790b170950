"""A full disk, a lost database: 503 with Retry-After, nothing half written, and back to work by itself afterwards."""

import contextlib
import os
import subprocess

import pytest

import pictures
import running
from running import assert_problem, eventually


@contextlib.contextmanager
def small_disk(size):
    """A file system of its own for a folder. Needs the right to mount."""
    folder = running.temporary_folder()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip("no right to mount a small file system here (root has it)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def fill(folder):
    """Writes until not a block is left."""
    filler = folder / "filler"
    with open(filler, "ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    return filler


def test_a_full_disk(postgres):
    for database in (None, postgres.new_database()):
        with small_disk("48m") as folder:
            server = running.Hiroba(database=database, folder=folder, arguments=["--request-log", "off"]).start()
            try:
                token = server.person()
                kept = server.topic(token, "Kept")
                picture = server.upload(token, pictures.jpeg()).json
                files = sorted(path for path in (server.data / "blobs").rglob("*") if path.is_file())

                filler = fill(folder)
                large = pictures.encoded("PNG", pictures.Image.frombytes("RGB", (900, 900), os.urandom(900 * 900 * 3)))
                answer = server.upload(token, large)
                assert_problem(answer, 503, "unavailable")
                assert int(answer["retry-after"]) > 0
                if not database:
                    # SQLite's log has some room left from before; what is answered must be true either way.
                    statuses = set()
                    answered = []
                    for number in range(300):
                        answer = server.ask("POST", "/v1/topics", {"title": f"Full {number}", "text": "x" * 20_000}, token)
                        statuses.add(answer.status)
                        if answer.status == 201:
                            answered.append(answer.json["id"])
                        else:
                            assert_problem(answer, 503, "unavailable")
                            assert int(answer["retry-after"]) > 0
                            break
                    assert 503 in statuses
                assert server.ask("GET", "/readyz").status == 503
                # Reading goes on.
                assert server.ask("GET", f"/v1/topics/{kept['id']}").json == kept
                assert server.ask("GET", f"/v1/files/{picture['id']}").status == 200

                filler.unlink()
                eventually(lambda: server.ask("GET", "/readyz").status == 200, what="readiness")
                now = sorted(path for path in (server.data / "blobs").rglob("*") if path.is_file())
                assert now == files, "nothing half written is left"
                again = server.topic(token, "Again")
                assert server.upload(token, large).status == 201
                titles = [topic["id"] for topic in server.ask("GET", "/v1/topics?limit=1000").json["items"]]
                if database:
                    assert titles == [again["id"], kept["id"]]
                else:
                    assert titles == [again["id"], *answered[::-1], kept["id"]]
            finally:
                server.close()


def test_a_database_that_is_lost_and_comes_back():
    cluster = running.Postgres()
    try:
        server = running.Hiroba(database=cluster.new_database()).start()
        try:
            token = server.person()
            kept = server.topic(token, "Kept")
            cluster.stop()
            for method, path, body in [
                ("GET", "/v1/topics", None), ("POST", "/v1/topics", {"title": "Lost"}), ("GET", "/v1/me", None),
            ]:
                answer = server.ask(method, path, body, token)
                assert_problem(answer, 503, "unavailable")
                assert int(answer["retry-after"]) > 0
            assert server.ask("GET", "/healthz").status == 200, "the program is alive"
            assert server.ask("GET", "/readyz").status == 503, "but not ready"
            page = server.ask("GET", "/forum")
            assert page.status == 503 and page["content-type"].startswith("text/html")

            cluster.start()
            eventually(lambda: server.ask("GET", "/readyz").status == 200, what="readiness")
            titles = [topic["id"] for topic in server.ask("GET", "/v1/topics").json["items"]]
            assert titles == [kept["id"]]
            assert server.topic(token, "Back")["title"] == "Back"
        finally:
            server.close()
    finally:
        cluster.remove()


def test_live_streams_go_on_after_the_database_was_lost():
    cluster = running.Postgres()
    try:
        server = running.Hiroba(database=cluster.new_database()).start()
        try:
            token = server.person()
            server.topic(token, "Before")
            cluster.stop()
            eventually(lambda: server.ask("GET", "/readyz").status == 503)
            cluster.start()
            eventually(lambda: server.ask("GET", "/readyz").status == 200)
            stream = subprocess.Popen(
                ["curl", "-sN", "--max-time", "20", server.address + "/v1/live"], stdout=subprocess.PIPE, text=True)
            for line in stream.stdout:
                if "ready" in line:
                    server.topic(token, "After")
                if "After" in line:
                    break
            else:
                raise AssertionError("the stream ended without telling of the topic")
            stream.kill()
            stream.wait()
            stream.stdout.close()
        finally:
            server.close()
    finally:
        cluster.remove()
