"""Starting, stopping and watching the program."""

import json
import os
import shutil
import signal
import stat
import subprocess
import time

import running


def run(*arguments, **environment):
    return subprocess.run(
        [running.PROGRAM, *arguments], capture_output=True, text=True, timeout=30,
        env={**os.environ, **environment}, cwd="/tmp",
    )


def test_it_is_alive_and_ready(hiroba):
    assert hiroba.ask("GET", "/healthz").status == 200
    assert hiroba.ask("GET", "/readyz").status == 200


def test_it_prints_one_line_with_its_address(start):
    server = start()
    output = (server.folder / "output.log").read_text()
    assert output.count("\n") == 1
    assert server.address in output


def test_each_request_is_one_line_of_json_in_the_log(start):
    server = start()
    token = server.person()
    server.ask("GET", "/v1/me?secret=no", token=token)

    def lines():
        return [json.loads(line) for line in (server.folder / "errors.log").read_text().splitlines()]

    running.eventually(lambda: any("/v1/me" in json.dumps(line) for line in lines()))
    assert all("time" in line for line in lines())
    assert token not in server.log(), "a session's token must never be logged"


def test_metrics_are_counted(start):
    server = start()
    server.ask("GET", "/v1/topics")
    answer = server.ask("GET", "/metrics")
    assert answer.status == 200
    assert answer["content-type"].startswith("text/plain")
    for line in answer.text.splitlines():
        assert line.startswith("# ") or len(line.rsplit(" ", 1)) == 2


def test_it_stops_when_asked_and_loses_nothing(start):
    server = start()
    token = server.person()
    topic = server.topic(token, "Kept")
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        begin = time.monotonic()
        server.process.send_signal(signal_number)
        assert server.process.wait(10) == 0
        assert time.monotonic() - begin < 10
        server.start()
        assert server.ask("GET", f"/v1/topics/{topic['id']}").json["title"] == "Kept"
        assert server.ask("GET", "/v1/me", token=token).status == 200, "sessions go on after a restart"


def test_it_stops_though_a_live_stream_is_open(start):
    server = start()
    stream = subprocess.Popen(["curl", "-sN", server.address + "/v1/live"], stdout=subprocess.PIPE)
    assert b"ready" in stream.stdout.readline() + stream.stdout.readline() + stream.stdout.readline()
    assert server.stop(patience=10) == 0
    assert stream.wait(10) == 0, "the stream ends as a whole answer"
    stream.stdout.close()


def test_a_second_one_on_the_same_folder_is_refused_with_a_clear_line(start):
    server = start()
    second = run("serve", "--data", str(server.data), "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert second.stderr.count("\n") == 1
    assert str(server.data) in second.stderr
    assert server.ask("GET", "/healthz").status == 200


def test_a_port_that_is_taken_is_refused_with_a_clear_line(start):
    server = start()
    second = run("serve", "--data", str(server.folder / "other"), "--listen", f"127.0.0.1:{server.port}")
    assert second.returncode == 1
    assert str(server.port) in second.stderr


def test_the_demo_does_not_mix_with_a_community(start):
    server = start()
    server.topic(server.person(), "Real")
    server.stop()
    database = ["--database", server.database] if server.database else []
    # A folder of its own does not help where the database is the community's.
    folders = [server.data, server.folder / "other"] if database else [server.data]
    for folder in folders:
        for _ in range(2):
            demo = run("demo", "--data", str(folder), "--listen", "127.0.0.1:0", *database)
            assert demo.returncode == 1
            assert ("database" if folder != server.data else str(folder)) in demo.stderr
            assert demo.stderr.count("\n") == 1
    server.start()
    assert [topic["title"] for topic in server.ask("GET", "/v1/topics").json["items"]] == ["Real"]


def test_a_demo_that_cannot_make_its_pictures_says_so_in_one_line(tmp_path):
    alone = shutil.copy(running.PROGRAM, tmp_path / "hiroba")
    demo = subprocess.run(
        [alone, "demo", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=30,
    )
    assert demo.returncode == 1
    assert demo.stderr.startswith("hiroba: The example community cannot be made: ")
    assert "hiroba-thumbnailer" in demo.stderr and demo.stderr.count("\n") == 1


def test_the_folder_is_for_its_owner_alone(start):
    server = start()
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    for secret in server.data.glob("*.secret"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_a_flag_has_a_twin_in_the_environment(tmp_path):
    told = run("check", HIROBA_DATA=str(tmp_path / "data"), HIROBA_MAX_UPLOAD="3MiB")
    assert str(tmp_path / "data") in told.stdout
    assert "HIROBA_MAX_UPLOAD" in told.stdout


def test_what_is_not_understood_is_named(tmp_path):
    wrong = run("serve", "--data", str(tmp_path), "--lisen", "127.0.0.1:0")
    assert wrong.returncode == 2
    assert "--lisen" in wrong.stderr and "--listen" in wrong.stderr
    assert run("serve", "--listen", "nowhere").returncode == 2
    assert run("dance").returncode == 2
    assert run("serve", "--config", "/nowhere").returncode == 2


def test_a_database_that_is_not_there_is_named_without_its_password(tmp_path):
    lost = run(
        "serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0",
        "--database", "postgres://somebody:very-secret@127.0.0.1:1/none",
    )
    assert lost.returncode == 1
    assert "very-secret" not in lost.stdout + lost.stderr


def test_migrate_then_serve(start):
    server = start()
    server.stop()
    database = ["--database", server.database] if server.database else []
    again = run("migrate", "--data", str(server.data), *database)
    assert again.returncode == 0, again.stderr
    assert "up to date" in again.stdout
    server.start()


def test_openapi_is_printed_as_it_is_served(hiroba):
    printed = run("openapi")
    assert printed.returncode == 0
    served = hiroba.ask("GET", "/openapi.json")
    assert served.status == 200
    assert json.loads(printed.stdout)["paths"] == served.json["paths"]
    assert "/v1/topics" in served.json["paths"]
