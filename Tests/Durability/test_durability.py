"""What was answered is kept, also when the power goes.

`kill -9` cannot show a missing fsync: the kernel still has what was written. So the recorder (recorder.c, LD_PRELOAD)
notes every write, rename, removal and fsync of a writing program and every line it says. From the record the folder is
rebuilt as a power cut would have left it at some moment: only what had been synced, or that and any part of the rest.
Each such folder is opened, and everything that had been answered by then must be in it.

DURABILITY_POINTS=all looks at every fsync instead of a sample.
"""

import os
import pathlib
import random
import shutil
import struct
import subprocess
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
WRITER = pathlib.Path(os.environ.get("HIROBA_BUILD", HERE.parent.parent / ".build/debug")) / "store-writer"
POINTS = os.environ.get("DURABILITY_POINTS", "60")
SECTOR = 512
# Each run has its own accidents; a failure names the seed that brings it back.
SEED = int(os.environ.get("DURABILITY_SEED", random.randrange(1 << 32)))


@pytest.fixture(scope="session")
def recorder(tmp_path_factory):
    library = tmp_path_factory.mktemp("recorder") / "recorder.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "recorder.c", "-ldl", "-lpthread"], check=True)
    return library


def record(recorder, folder, *arguments, **environment):
    """Runs the writer with its files in `folder`/data; answers the entries of the record."""
    data = folder / "data"
    data.mkdir()
    path = folder / "record"
    process = subprocess.run(
        [WRITER, "write", data, *map(str, arguments)],
        env={
            **os.environ,
            "LD_PRELOAD": str(recorder),
            "HIROBA_RECORD": str(path),
            "HIROBA_RECORD_ROOT": str(data),
            **{name: str(value) for name, value in environment.items()},
        },
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stdout[-2000:]
    assert process.stdout.splitlines()[-1] == "closed", process.stdout[-2000:]
    return read_record(path, data), data


def read_record(path, root):
    """Yields (kind, file, offset, first path, second path, data), the paths relative to the watched folder."""
    head = struct.Struct("<cQQIII")
    content = path.read_bytes()
    position = 0
    entries = []
    while position < len(content):
        kind, file, offset, *lengths = head.unpack_from(content, position)
        position += head.size
        parts = []
        for length in lengths:
            parts.append(content[position : position + length])
            position += length
        names = [os.path.relpath(os.fsdecode(part), root) if part else None for part in parts[:2]]
        entries.append((kind.decode(), file, offset, *names, parts[2]))
    return entries


class File:
    """The bytes of one file: what is on disk for sure, and what has been done to it since."""

    def __init__(self):
        self.durable = bytearray()
        self.pending = []

    def sync(self):
        for change in self.pending:
            apply(self.durable, change)
        self.pending = []


def apply(content, change):
    offset, data = change
    if data is None:
        if len(content) > offset:
            del content[offset:]
        else:
            content.extend(bytes(offset - len(content)))
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class Disk:
    """A folder as the disk has it. A name lasts once its folder is synced, bytes once their file is."""

    def __init__(self, ignoring=""):
        self.numbers = {}  # the kernel's number of a file, which it may use again, to our file
        self.names = {".": "folder"}  # as the program sees them: a File, or "folder"
        self.durable = {".": "folder"}
        self.pending = []  # (name, what it now is or None), in order
        self.ignoring = ignoring

    def play(self, entry):
        kind, number, offset, first, second, data = entry
        if kind in self.ignoring:
            return
        if kind == "c":
            self.numbers[number] = File()
            self.rename(first, self.numbers[number])
        elif kind == "m":
            self.rename(first, "folder")
        elif kind == "u" or kind == "x":
            self.rename(first, None)
        elif kind == "r":
            self.rename(second, self.names[first])
            self.rename(first, None)
        elif kind == "w":
            self.numbers[number].pending.append((offset, data))
        elif kind == "t":
            self.numbers[number].pending.append((offset, None))
        elif kind == "s":
            self.numbers[number].sync()
        elif kind == "f" and first is None:
            self.numbers[number].pending = []
        elif kind == "d":
            rest = []
            for name, thing in self.pending:
                if (os.path.dirname(name) or ".") == first:
                    self.settle(self.durable, name, thing)
                else:
                    rest.append((name, thing))
            self.pending = rest

    def rename(self, name, thing):
        self.settle(self.names, name, thing)
        self.pending.append((name, thing))

    @staticmethod
    def settle(names, name, thing):
        if thing is None:
            names.pop(name, None)
        else:
            names[name] = thing

    def after_power_cut(self, chance=None):
        """Names and bytes as they may be found. With `chance`, a random generator, part of what was not synced is there
        too: any changes of a file in any order, cut at a sector, and the first few changes of names."""
        names = dict(self.durable)
        if chance:
            for name, thing in self.pending[: chance.randint(0, len(self.pending))]:
                self.settle(names, name, thing)
        contents = {}
        for name, thing in names.items():
            # Shared memory is not for lasting, and without its folder a file cannot be found.
            if name.endswith("-shm") or not self.has_folders(names, name):
                continue
            if thing == "folder":
                contents[name] = None
                continue
            content = bytearray(thing.durable)
            if chance:
                for offset, data in chance.sample(thing.pending, chance.randint(0, len(thing.pending))):
                    if data is not None and len(data) > SECTOR and chance.random() < 0.3:
                        data = data[: chance.randrange(0, len(data), SECTOR)]
                    apply(content, (offset, data))
            contents[name] = bytes(content)
        return contents

    @staticmethod
    def has_folders(names, name):
        while name := os.path.dirname(name):
            if names.get(name) != "folder":
                return False
        return True


def write_out(contents, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in sorted(contents):
        if contents[name] is None:
            (folder / name).mkdir(exist_ok=True)
        else:
            (folder / name).write_bytes(contents[name])


class Promises:
    """What the program has said so far."""

    def __init__(self):
        self.rows, self.maybe_rows = set(), set()
        self.blobs = set()
        self.counter = 0
        self.failures = []

    def hear(self, text):
        for line in text.decode().splitlines():
            word, _, rest = line.partition(" ")
            if word == "row":
                self.rows.add(rest)
            elif word == "blob":
                self.blobs.add(rest.split()[0])
            elif word == "counter":
                self.counter = max(self.counter, int(rest))
            elif word == "removing":
                self.rows.discard(rest)
                self.maybe_rows.add(rest)
            elif word == "removed":
                self.maybe_rows.discard(rest)
            elif word == "deleting":
                self.blobs.discard(rest)
            elif word == "failed":
                self.failures.append(rest)

    def broken_by(self, found, gone):
        """What is wrong with a folder; empty when every promise is kept. `gone`: the rows whose removal was answered."""
        if found[0] != "ok":
            return [" ".join(found)]
        _, counter, rows, blobs, faults = found
        rows, blobs = set(rows.split(",")), set(blobs.split(","))
        broken = [faults] if faults else []
        broken += [f"row {row} is lost" for row in sorted(self.rows - rows)[:5]]
        broken += [f"row {row} is back" for row in sorted(gone & rows)[:5]]
        broken += [f"blob {blob} is lost" for blob in sorted(self.blobs - blobs)[:5]]
        if int(counter) < self.counter:
            broken.append(f"the counter is {counter}, {self.counter} was answered")
        return broken


class Checker:
    """One writer program that opens folders and tells what is in them. Under the recorder, which spares it the fsyncs."""

    def __init__(self, recorder):
        self.recorder = recorder

    def __enter__(self):
        self.process = subprocess.Popen(
            [WRITER, "check"],
            env={**os.environ, "LD_PRELOAD": str(self.recorder), "HIROBA_RECORD": "/dev/null", "HIROBA_RECORD_ROOT": "/"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.watchdog = threading.Timer(600, self.process.kill)
        self.watchdog.start()
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.stdin.close()
        self.process.wait(timeout=30)

    def look(self, folder):
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n").split("\t")


def faults(recorder, entries, folder, points, ignoring=""):
    """Cuts the power just before fsyncs of the record, where most has been promised on what was synced before, and
    answers what is broken. At each point: with exactly what was synced, and with part of the rest."""
    chance = random.Random(SEED)
    moments = [index for index, entry in enumerate(entries) if entry[0] in "sd"] + [len(entries)]
    if points != "all" and len(moments) > int(points):
        moments = sorted(chance.sample(moments, int(points)))
    moments = set(moments)
    disk, promises, gone = Disk(ignoring), Promises(), set()
    broken = []
    with Checker(recorder) as checker:
        for index in range(len(entries) + 1):
            if index in moments:
                for torn in (None, chance):
                    write_out(disk.after_power_cut(torn), folder)
                    found = checker.look(folder)
                    if found[0] == "error" and "hiroba.db" not in disk.durable:
                        # Cut before the program had come up: nothing was promised and the next start makes it new.
                        assert not promises.rows
                        continue
                    how = "torn" if torn else "synced only"
                    broken += [f"entry {index}, {how}: {fault}" for fault in promises.broken_by(found, gone)]
            if index < len(entries):
                entry = entries[index]
                if entry[0] == "a":
                    promises.hear(entry[5])
                    gone |= {line.split()[1].decode() for line in entry[5].splitlines() if line.startswith(b"removed ")}
                else:
                    disk.play(entry)
    return broken


def count(entries, kinds):
    return sum(entry[0] in kinds for entry in entries)


def said(entries):
    promises = Promises()
    for entry in entries:
        if entry[0] == "a":
            promises.hear(entry[5])
    return promises


def report(broken):
    return f"DURABILITY_SEED={SEED}: {len(broken)} faults\n" + "\n".join(broken[:20])


def test_answered_writes_survive_a_power_cut(recorder, tmp_path):
    entries, data = record(recorder, tmp_path, 400, 16)

    # The record is complete: played to its end it gives the folder that is there.
    disk = Disk()
    for entry in entries:
        disk.play(entry)
    for file in disk.numbers.values():
        file.sync()
    for name, thing in disk.names.items():
        if thing != "folder" and not name.endswith("-shm"):
            assert bytes(thing.durable) == (data / name).read_bytes(), name
    on_disk = {os.path.relpath(path, data) for path in data.rglob("*")}
    assert on_disk == {name for name in disk.names if name != "."}

    assert not said(entries).failures
    broken = faults(recorder, entries, tmp_path / "cut", POINTS)
    assert not broken, report(broken)


def test_writes_share_fsyncs(recorder, tmp_path):
    entries, _ = record(recorder, tmp_path, 401, 16)
    log = next(entry[1] for entry in entries if entry[0] == "c" and entry[3] == "hiroba.db-wal")
    syncs = sum(entry[0] == "s" and entry[1] == log for entry in entries)
    transactions = sum(
        line.startswith((b"row", b"counter", b"removed")) for entry in entries for line in entry[5].splitlines()
    )
    assert transactions > 400
    assert syncs < transactions / 2


def test_this_test_notices_a_missing_sync_of_the_database(recorder, tmp_path):
    entries, _ = record(recorder, tmp_path, 100, 4, "--skip-sync")
    broken = faults(recorder, entries, tmp_path / "cut", 20)
    assert any("row" in fault and "is lost" in fault for fault in broken), report(broken)


def test_this_test_notices_a_missing_sync_of_a_folder(recorder, tmp_path):
    entries, _ = record(recorder, tmp_path, 100, 4)
    broken = faults(recorder, entries, tmp_path / "cut", 20, ignoring="d")
    assert broken


@pytest.mark.parametrize("room", [300_000, 700_000, 1_200_000])
def test_a_full_disk_loses_nothing_and_leaves_nothing_half_written(recorder, tmp_path, room):
    entries, data = record(recorder, tmp_path, 400, 8, HIROBA_DISK_BYTES=room)
    promises = said(entries)
    assert set(promises.failures) == {"full"}
    assert promises.rows
    assert not list((data / "blobs/incoming").iterdir())
    broken = faults(recorder, entries, tmp_path / "cut", 20)
    assert not broken, report(broken)
    # With room again it goes on.
    with Checker(recorder) as checker:
        assert checker.look(data)[0] == "ok"


@pytest.mark.parametrize("number", [20, 35, 60, 100])
def test_a_failed_fsync_fails_its_writes_and_no_others(recorder, tmp_path, number):
    entries, _ = record(recorder, tmp_path, 200, 8, HIROBA_FAIL_SYNC=number)
    broken = faults(recorder, entries, tmp_path / "cut", 15)
    assert not broken, report(broken)
    assert set(said(entries).failures) <= {"unavailable"}
