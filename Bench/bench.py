#!/usr/bin/env python3
"""Measures Hiroba beside its peers in one run and prints ratios of CPU time per request.

Beside nginx: a small answer. Beside PocketBase, on the same community: newest topics, comments of a topic, one topic,
creating a comment (durable on both sides), a picture and a ready thumbnail. Then what a flood of sign-ins leaves of the
reads, memory at idle, and the time to the first answer. Everything stays on the loopback interface.

Only ratios from the same run mean anything: the runs of both sides alternate, and a round's ratio compares neighbours.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from servers import Client, Hiroba, Nginx, PocketBase

WORDS = ("harbour lantern plaza maple river signal garden copper winter market bridge paper summer violet engine corner "
         "island orchard window pepper marble velvet rocket meadow canyon").split()
HERE = os.path.dirname(os.path.abspath(__file__))


def words(source, count):
    return " ".join(source.choice(WORDS) for _ in range(count))


def make_picture():
    """A JPEG of about 50 kB without metadata, always the same."""
    from PIL import Image
    import io
    source = random.Random(4)
    picture = Image.new("RGB", (64, 48))
    picture.putdata([tuple(source.randrange(256) for _ in range(3)) for _ in range(64 * 48)])
    buffer = io.BytesIO()
    picture.resize((1280, 960), Image.BICUBIC).save(buffer, "JPEG", quality=60)
    return buffer.getvalue()


def fill(server, client, counts):
    """Puts the same community into a server: half of the comments go to one topic in a hundred."""
    source = random.Random(7)
    server.prepare(client)
    picture = make_picture()

    def each(label, jobs, workers=16):
        began = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(lambda job: job(), jobs))
        print(f"  {label}: {len(jobs)} in {time.perf_counter() - began:.1f} s", flush=True)
        return results

    people = each("people", [lambda i=i: server.sign_up(client, f"person{i}@example.org") for i in range(counts["people"])], 2)
    topics = each("topics", [
        lambda p=source.choice(people), t=words(source, 6), x=words(source, 40): client.json(*server.create_topic(p, t, x))["id"]
        for _ in range(counts["topics"])])
    busy = topics[::100] or topics
    each("comments", [
        lambda p=source.choice(people), t=source.choice(busy) if i % 2 else topics[i % len(topics)], x=words(source, 20):
        client.json(*server.create_comment(p, t, x)) for i in range(counts["comments"])])
    pictures = each("pictures", [
        lambda i=i: server.upload(client, people[i % len(people)], picture) for i in range(counts["pictures"])], 2)
    for one in pictures:
        client.send(*server.thumbnail(one))
    return {"people": people, "topics": topics, "busy": busy, "pictures": pictures, "picture_bytes": len(picture)}


def requests(server, community, operation):
    source = random.Random(11)

    def pick(name):
        return source.choice(community[name])

    makers = {
        "small": lambda: server.small(),
        "newest topics": lambda: server.newest_topics(),
        "comments": lambda: server.comments(pick("busy")),
        "one topic": lambda: server.topic(pick("topics")),
        "create comment": lambda: server.create_comment(pick("people"), pick("topics"), words(source, 20)),
        "picture": lambda: server.picture(pick("pictures")),
        "thumbnail": lambda: server.thumbnail(pick("pictures")),
        "sign in": lambda: server.sign_in(pick("people")),
    }
    count = 1 if operation == "small" else 200 if operation in ("newest topics", "sign in") else 2000
    return [makers[operation]() for _ in range(count)]


def check(server, client, community, operation):
    """Looks at one real answer, so that a server that is fast but wrong is not measured."""
    method, path, headers, body = requests(server, community, operation)[0]
    if operation in ("small", "sign in"):
        return
    if operation in ("picture", "thumbnail"):
        size = len(client.send(method, path, headers, None))
        right = size == community["picture_bytes"] if operation == "picture" else 0 < size < community["picture_bytes"]
        if not right:
            raise SystemExit(f"{server.name}: {operation} has {size} bytes")
        return
    answer = client.json(method, path, headers, body)
    if operation in ("newest topics", "comments"):
        dates = [item.get("createdAt") or item["created"] for item in answer["items"]]
        if len(dates) != 20 or dates != sorted(dates, reverse=True):
            raise SystemExit(f"{server.name}: {operation} is not the newest twenty")
    elif "id" not in answer:
        raise SystemExit(f"{server.name}: {operation} has no id")


def load(server, community, operation, connections, seconds):
    """Loads one operation with wrk and returns CPU microseconds a request, requests a second, and errors."""
    path = os.path.join(server.folder, "requests.tsv")
    with open(path, "w") as file:
        for method, target, headers, body in requests(server, community, operation):
            if body is not None:
                headers = {**headers, "Content-Type": "application/json"}
            head = "|".join(f"{name}: {value}" for name, value in headers.items()) or "-"
            content = "-" if body is None else json.dumps(body, separators=(",", ":"))
            file.write(f"{method}\t{target}\t{head}\t{content}\n")
    before = server.cpu_seconds()
    out = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", os.path.join(HERE, "replay.lua"),
         f"http://127.0.0.1:{server.port}", "--", path, str(random.randrange(2000))],
        capture_output=True, text=True, timeout=seconds + 90, check=True).stdout
    spent = server.cpu_seconds() - before
    count = int(re.search(r"(\d+) requests in", out).group(1))
    bad = sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", out)))
    bad += sum(sum(map(int, found)) for found in re.findall(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", out))
    return {"cpu": spent / max(count, 1) * 1e6, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), "bad": bad}


def settle(server):
    """Waits until the server is idle, so that leftover work is not charged to the next cell."""
    deadline = time.perf_counter() + 60
    while time.perf_counter() < deadline:
        before = server.cpu_seconds()
        time.sleep(0.3)
        if server.cpu_seconds() - before <= 0.01:
            return


def compare(ours, peer, communities, operation, connections, options):
    """Alternates both sides over the rounds; returns a row with medians and the ratio of CPU per request."""
    cells = {ours: [], peer: []}
    for server in (ours, peer):
        if communities[server]:
            check(server, Client(server), communities[server], operation)
    for round in range(options.rounds):
        for server in (ours, peer) if round % 2 == 0 else (peer, ours):
            cells[server].append(load(server, communities[server], operation, connections, options.seconds))
            settle(server)
    ratios = [a["cpu"] / b["cpu"] for a, b in zip(cells[ours], cells[peer])]
    row = {
        "operation": operation, "connections": connections, "peer": peer.name,
        "cpu": statistics.median(c["cpu"] for c in cells[ours]), "peer_cpu": statistics.median(c["cpu"] for c in cells[peer]),
        "rate": statistics.median(c["rate"] for c in cells[ours]), "peer_rate": statistics.median(c["rate"] for c in cells[peer]),
        "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
        "bad": sum(c["bad"] for side in cells.values() for c in side),
    }
    print(f"  {operation:<15} c={connections:<3} {row['cpu']:7.0f} µs  {peer.name} {row['peer_cpu']:7.0f} µs  ratio {row['ratio']:.3f} "
          f"({row['low']:.3f}–{row['high']:.3f})  {row['rate']:.0f}/s against {row['peer_rate']:.0f}/s"
          + (f"  NOT VALID: {row['bad']} bad answers" if row["bad"] else ""), flush=True)
    return row


def flood(server, community, options):
    """The rate of reads at 2 connections, alone and beside 32 connections that sign in; returns the share kept."""
    shares = []
    for _ in range(options.rounds):
        settle(server)
        alone = load(server, community, "one topic", 2, options.seconds)["rate"]
        path = os.path.join(server.folder, "flood.tsv")
        with open(path, "w") as file:
            for method, target, _, body in requests(server, community, "sign in"):
                file.write(f"{method}\t{target}\tContent-Type: application/json\t{json.dumps(body)}\n")
        signing = subprocess.Popen(
            ["wrk", "-t1", "-c32", f"-d{options.seconds + 2}s", "--timeout", "60s", "-s", os.path.join(HERE, "replay.lua"),
             f"http://127.0.0.1:{server.port}", "--", path], stdout=subprocess.DEVNULL)
        time.sleep(1)
        beside = load(server, community, "one topic", 2, options.seconds)["rate"]
        signing.wait()
        shares.append(beside / alone)
    return statistics.median(shares)


def table(results):
    """The results as the Markdown table that docs/performance.md holds."""
    lines = ["| what | connections | Hiroba, CPU µs | peer, CPU µs | ratio (range) | goal |", "|---|---|---|---|---|---|"]
    for row in results["rows"]:
        goal = "≤ 1.3 × nginx" if row["peer"] == "nginx" else "≤ 0.167 × PocketBase"
        lines.append(f"| {row['operation']} | {row['connections']} | {row['cpu']:.0f} | {row['peer']} {row['peer_cpu']:.0f} | "
                     f"**{row['ratio']:.2f}** ({row['low']:.2f}–{row['high']:.2f}) | {goal} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hiroba", required=True, help="the program, a release build")
    parser.add_argument("--pocketbase", required=True, help="the peer's program")
    parser.add_argument("--state", default=".bench", help="folder for the data of both sides (kept between runs)")
    parser.add_argument("--fresh", action="store_true", help="throw the kept data away and fill both sides again")
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--comments", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=3, help="length of one measurement (at most 30)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each cell and side (at most 20)")
    parser.add_argument("--connections", default="2,16", help="connection counts, by comma")
    parser.add_argument("--only", help="operations to measure, by comma")
    parser.add_argument("--json", help="write the results to this file too")
    options = parser.parse_args()
    options.seconds, options.rounds = min(options.seconds, 30), min(options.rounds, 20)
    counts = {"people": 50, "topics": options.topics, "comments": options.comments, "pictures": 40}

    if options.fresh:
        shutil.rmtree(options.state, ignore_errors=True)
    hiroba, pocketbase, nginx = Hiroba(options.state, options.hiroba), PocketBase(options.state, options.pocketbase), Nginx(options.state)
    communities = {nginx: None}
    results = {"rows": []}
    try:
        for server in (hiroba, pocketbase):
            kept = os.path.join(server.folder, "community.json")
            fresh = not os.path.exists(kept)
            if fresh:
                shutil.rmtree(server.folder, ignore_errors=True)
                server.start()
                print(f"filling {server.name}", flush=True)
                community = fill(server, Client(server), counts)
                with open(kept, "w") as file:
                    json.dump(community, file)
                server.stop()
            with open(kept) as file:
                communities[server] = json.load(file)
            starts = []
            for _ in range(5):
                starts.append(server.start())
                if len(starts) < 5:
                    server.stop()
            time.sleep(3)
            results[f"{server.name} start ms"] = statistics.median(starts) * 1000
            results[f"{server.name} anonymous memory MiB"] = server.memory_kib() / 1024
            print(f"{server.name}: first answer after {statistics.median(starts) * 1000:.0f} ms, "
                  f"anonymous memory at idle {server.memory_kib() / 1024:.1f} MiB, resident {server.memory_kib('VmRSS') / 1024:.1f} MiB")
        nginx.start()
        chosen = options.only.split(",") if options.only else [
            "small", "newest topics", "comments", "one topic", "picture", "thumbnail", "create comment"]
        for operation in chosen:
            for connections in map(int, options.connections.split(",")):
                peer = nginx if operation == "small" else pocketbase
                results["rows"].append(compare(hiroba, peer, communities, operation, connections, options))
        if not options.only:
            results["reads kept"] = flood(hiroba, communities[hiroba], options)
            print(f"hiroba keeps {results['reads kept']:.0%} of its reads while 32 connections sign in")
        print("\n" + table(results))
    finally:
        for server in (hiroba, pocketbase, nginx):
            server.stop()
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    if any(row["bad"] for row in results["rows"]):
        sys.exit("some cells had bad answers and are not valid")


if __name__ == "__main__":
    main()
