#!/usr/bin/env python3
"""Measures what a push costs the sender: CPU time per push of the whole gateway, without a database, beside two peers.

The peers are a C program that does this one thing with nghttp2 and OpenSSL (Bench/Peers/push.c), and h2load, which sends
the same push again and again and so makes nothing of its own. The far end is the C program's own small gateway. Each
sender has one connection with 500 pushes at once; the sides take turns, and a round's ratio compares neighbours.
"""

import argparse
import base64
import json
import os
import random
import resource
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH = 500


def shell(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, **options).stdout


def pinned(core):
    """Sender and far end each on a core of its own, where there are two."""
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[core % len(cores)]})


def provider_token(key):
    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    text = ".".join(encoded(json.dumps(part).encode()) for part in (
        {"alg": "ES256", "kid": "ABC123DEFG"}, {"iss": "DEF123GHIJ", "iat": int(time.time())}))
    der = shell("openssl", "dgst", "-sha256", "-sign", key, input=text.encode())
    # The two numbers of a DER signature, 32 bytes each.
    numbers, at = b"", 2
    for _ in range(2):
        length = der[at + 1]
        numbers += der[at + 2:at + 2 + length][-32:].rjust(32, b"\0")
        at += 2 + length
    return f"{text}.{encoded(numbers)}"


class Bench:
    def __init__(self, folder, sender):
        self.folder, self.sender = os.path.join(os.path.abspath(folder), "push"), os.path.abspath(sender)
        os.makedirs(self.folder, exist_ok=True)
        self.peer, self.key, self.tokens = self.file("peer"), self.file("AuthKey.p8"), self.file("tokens")
        self.certificate, self.certificate_key = self.file("certificate.pem"), self.file("key.pem")
        shell("cc", "-O2", "-Wall", "-Werror", "-o", self.peer, os.path.join(HERE, "Peers", "push.c"), "-lnghttp2", "-lssl", "-lcrypto")
        shell("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
              "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.certificate_key, "-out", self.certificate)
        shell("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", self.key)
        source = random.Random(7)
        with open(self.tokens, "w") as file:
            file.writelines("%064x\n" % source.getrandbits(256) for _ in range(100_000))
        self.token = provider_token(self.key)
        # What h2load repeats: a message as the others make them.
        with open(self.file("payload.json"), "w") as file:
            file.write('{"aps":{"alert":{"title":"Hello from the bench","body":"Somebody commented on your photo"},"badge":3,'
                       '"sound":"default","thread-id":"t-42"},"event":"comment","id":"0000000000000000"}')

    def file(self, name):
        return os.path.join(self.folder, name)

    def command(self, name, port, count):
        return {
            "hiroba": [self.sender, port, self.certificate, count, WIDTH, 1, self.tokens, "-", self.key],
            "c": [self.peer, "send", port, self.certificate, count, WIDTH, self.tokens, self.token],
            "h2load": ["h2load", "-n", count, "-c", 1, "-m", WIDTH, "-d", self.file("payload.json")] + [
                word for field in (
                    f"authorization: bearer {self.token}", "apns-topic: com.example.app", "apns-push-type: alert",
                    "apns-priority: 10", "apns-expiration: 0", "apns-id: 00000000-1c2d-4e3f-8a9b-000000000000",
                    "apns-collapse-id: 00000000-1c2d-4e3f-8a9b-000000000000",
                ) for word in ("-H", field)] + [f"https://localhost:{port}/3/device/{'0a' * 32}"],
        }[name]

    def run(self, name, port, count):
        """CPU microseconds a push of one sender, and pushes a second."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([str(word) for word in self.command(name, port, count)], capture_output=True, text=True,
                              timeout=300, preexec_fn=pinned(1))
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
        if name == "h2load":
            accepted = int(next(line for line in done.stdout.splitlines() if line.startswith("status codes:")).split()[2])
        else:
            accepted = json.loads(done.stdout.splitlines()[-1])["ok"]
        if accepted != count:
            raise SystemExit(f"{name}: {accepted} of {count} pushes were accepted")
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"cpu": spent / count * 1e6, "rate": count / seconds}

    def compare(self, rounds, count):
        """A row for each peer, with medians and the ratio of CPU time per push."""
        names = ["hiroba", "c", "h2load"]
        runs = {name: [] for name in names}
        far_end = subprocess.Popen([self.peer, "serve", self.certificate, self.certificate_key], stdout=subprocess.PIPE,
                                   text=True, preexec_fn=pinned(0))
        try:
            port = int(far_end.stdout.readline())
            for round in range(rounds):
                for name in names if round % 2 == 0 else reversed(names):
                    runs[name].append(self.run(name, port, count))
        finally:
            far_end.terminate()
            far_end.wait()
        rows = []
        for peer in names[1:]:
            ratios = [ours["cpu"] / theirs["cpu"] for ours, theirs in zip(runs["hiroba"], runs[peer])]

            def median(name, what):
                return statistics.median(run[what] for run in runs[name])

            rows.append({
                "operation": "send a push", "connections": 1, "peer": {"c": "C on nghttp2", "h2load": "h2load"}[peer],
                "cpu": median("hiroba", "cpu"), "peer_cpu": median(peer, "cpu"), "rate": median("hiroba", "rate"),
                "peer_rate": median(peer, "rate"), "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
            })
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sender", required=True, help="apns-bench, a release build")
    parser.add_argument("--state", default=".bench", help="folder for what is built and made")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=100_000, help="pushes of each sender and round")
    parser.add_argument("--json", help="write the results to this file too")
    options = parser.parse_args()
    rows = Bench(options.state, options.sender).compare(options.rounds, options.count)
    for row in rows:
        print(f"  {row['operation']} {row['cpu']:7.1f} µs  {row['peer']} {row['peer_cpu']:7.1f} µs  ratio {row['ratio']:.2f} "
              f"({row['low']:.2f}–{row['high']:.2f})  {row['rate']:.0f}/s against {row['peer_rate']:.0f}/s")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
