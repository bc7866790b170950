"""What the server accepts and refuses, compared with llhttp, the parser of Node.js (PyPI package httptools).

Two programs that read one request differently are what request smuggling is made of. Where the two disagree, the
difference stands in `STRICTER` with its reason; nothing that llhttp refuses may be accepted, but for `LOOSER`.
"""

import random
import re
import socket

import httptools
import pytest

import running

GET = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
# A call that reads its body, so that the framing of all of it is looked at. What the body says does not matter here.
POST = b"POST /v1/sessions/anonymous HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


def get(fields=b""):
    return GET + fields + b"\r\n"


def post(fields=b"", body=b""):
    return POST + fields + b"\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked\r\n"

CORPUS = [
    get(), get(b"Accept: */*\r\n"), get(b"X:y\r\n"), get(b"X: \t y \t\r\n"), get(b"X:\r\n"), get(b"X: a\tb\r\n"),
    get(b"X: \xe6\x8e\xb2\r\n"), get(b"Connection: close\r\n"), get(b"Connection: keep-alive, X\r\n"),
    b"\r\n" + get(), b"GET /healthz?a=b&c HTTP/1.1\r\nHost: a:80\r\n\r\n", b"HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", b"DELETE /x HTTP/1.1\r\nHost: a\r\n\r\n",
    b"PATCH /x HTTP/1.1\r\nHost: a\r\n\r\n", b"GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.0\r\n\r\n", b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    post(b"Content-Length: 5\r\n", b"hello"), post(b"Content-Length: 0\r\n"), post(b"Content-Length: 05\r\n", b"hello"),
    post(CHUNKED, b"5\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"0\r\n\r\n"), post(CHUNKED, b"A\r\n0123456789\r\n0\r\n\r\n"),
    post(CHUNKED, b"5;a=b\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b'5;a="b c"\r\nhello\r\n0;z\r\n\r\n'),
    post(CHUNKED, b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"), post(b"transfer-encoding: Chunked\r\n", b"0\r\n\r\n"),
    # From here on something is wrong.
    b"GET /healthz HTTP/1.1\nHost: a\n\n", b"GET /healthz HTTP/1.1\r\nHost: a\n\r\n", get(b"X: a\nY: b\r\n"),
    get(b"X: a\rb\r\n"), get(b"X : y\r\n"), get(b"X\t: y\r\n"), get(b"X: a\r\n b\r\n"), get(b" X: a\r\n"), get(b"X\r\n"),
    get(b": y\r\n"), get(b"X Y: z\r\n"), get(b"X(: z\r\n"), get(b"X: a\0b\r\n"), get(b"X: a\x01b\r\n"), get(b"X: a\x7fb\r\n"),
    get(b"X\xe9: y\r\n"), b"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /healthz  HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.1 \r\nHost: a\r\n\r\n", b" GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET\t/healthz\tHTTP/1.1\r\nHost: a\r\n\r\n", b"GET /heal thz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", b"GET x HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.10\r\nHost: a\r\n\r\n", b"GET / http/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", b"GET / HTTP/1.x\r\nHost: a\r\n\r\n", b"GET / SPDY/1.1\r\nHost: a\r\n\r\n",
    b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", post(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
    post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"), post(b"Content-Length: 5, 5\r\n", b"hello"),
    post(b"Content-Length: +5\r\n", b"hello"), post(b"Content-Length: -5\r\n", b"hello"), post(b"Content-Length: 5a\r\n", b"hello"),
    post(b"Content-Length: 0x5\r\n", b"hello"), post(b"Content-Length:\r\n", b""), post(b"Content-Length: 99999999999999999999\r\n"),
    post(b"Content-Length: 5\r\n" + CHUNKED, b"0\r\n\r\n"), post(CHUNKED + b"Content-Length: 5\r\n", b"0\r\n\r\n"),
    post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"),
    post(b"Transfer-Encoding: identity\r\n", b""), post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"), post(CHUNKED + CHUNKED, b"0\r\n\r\n"),
    post(CHUNKED, b"g\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"-1\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"0x5\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"5 \r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"5\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"5\r\nhello\n0\r\n\r\n"), post(CHUNKED, b"4\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"6\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"ffffffffffffffff1\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"0\r\nX : y\r\n\r\n"), post(CHUNKED, b"0\r\nX\r\n\r\n"),
    post(CHUNKED, b"5;a\nb\r\nhello\r\n0\r\n\r\n"), post(CHUNKED, b"5;a\x01\r\nhello\r\n0\r\n\r\n"),
]


def head_of(request):
    return request.lstrip(b"\r\n").split(b"\r\n\r\n", 1)[0]


def lines_of(request):
    return re.split(rb"\r\n", head_of(request))


def field(request, name):
    return [
        line.split(b":", 1)[1].strip(b" \t")
        for line in lines_of(request)[1:] if line.lower().startswith(name.lower() + b":")
    ]


def has(pattern):
    return lambda request: re.search(pattern, request) is not None


HOST = rb"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?"

# Refused here, accepted by llhttp: when it is so, and why we want it so.
STRICTER = [
    ("no Host, two, or one that is no host (RFC 9112 3.2); llhttp leaves Host to its caller",
     lambda r: not lines_of(r)[0].endswith(b" HTTP/1.0") and not (
         len(field(r, b"host")) == 1 and re.fullmatch(HOST, field(r, b"host")[0]))
     or len(field(r, b"host")) > 1),
    ("a target with a fragment, bytes above ASCII, or in no form of RFC 9112 3.2; llhttp takes many characters for paths",
     lambda r: (parts := lines_of(r)[0].split(b" ")) and len(parts) >= 2 and parts[1] and (
         not re.fullmatch(rb"(/|https?://" + HOST + rb"(?=[/?]|$))[!-~]*|\*", parts[1], re.I) or b"#" in parts[1]
         or re.search(rb'["<>\\^`{|}]', parts[1]) is not None or (parts[1] == b"*" and parts[0] != b"OPTIONS"))),
    ("more than one blank between the words of the request line (RFC 9112 3 allows one)",
     lambda r: len(lines_of(r)[0].split(b" ")) != 3),
    ("CONNECT, for this is no proxy", lambda r: lines_of(r)[0].startswith(b"CONNECT ")),
    ("a transfer coding other than chunked alone (RFC 9112 6.1); llhttp lets its caller decode others",
     lambda r: any(value.lower() != b"chunked" for value in field(r, b"transfer-encoding"))
     or len(field(r, b"transfer-encoding")) > 1),
    ("Transfer-Encoding in HTTP/1.0 (RFC 9112 6.1)",
     lambda r: b"HTTP/1.0" in lines_of(r)[0] and bool(field(r, b"transfer-encoding"))),
    ("two lengths in one request, though they are the same", lambda r: len(field(r, b"content-length")) > 1),
    ("an empty Content-Length", lambda r: b"" in field(r, b"content-length")),
    ("a chunk extension with characters that RFC 9112 7.1.1 does not allow", has(rb"\r\n[0-9A-Fa-f]+[ \t]*;[^\r]*")),
    ("an expectation nobody knows (417)", lambda r: any(v.lower() != b"100-continue" for v in field(r, b"expect"))),
    ("a request for HTTP/2 in the shape of HTTP/1.1, or a version llhttp knows besides (0.9, 2.0)",
     lambda r: not re.search(rb" HTTP/1\.[01]$", lines_of(r)[0])),
    ("more than one empty line before a request (RFC 9112 2.2 asks for one to be skipped)", has(rb"(\r\n){3}|^(\r\n){2}")),
    ("a bare CR or LF anywhere in head or framing, also where llhttp is lenient", has(rb"(?<!\r)\n|\r(?!\n)")),
]

# Accepted here, refused by llhttp.
LOOSER = [
    ("a method that llhttp has no number for: RFC 9110 9.1 leaves it to the handler, which answers 405",
     lambda r: re.match(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ ", r.lstrip(b"\r\n")) is not None
     and lines_of(r)[0].split(b" ")[0] not in LLHTTP_METHODS),
    ("an upgrade: llhttp stops at it and leaves the connection to its caller; we ignore it (RFC 9110 7.8)",
     lambda r: bool(field(r, b"upgrade"))),
    ("a chunk extension that is not well formed, without control bytes: nobody looks into it, and its line ends at CR LF all the same",
     has(rb"(^|\r\n)[0-9A-Fa-f]+;[^\r\n]*\r\n")),
    ("framing fields among the trailers: ignored, as all trailers are (RFC 9110 6.5.1)",
     has(rb"(?i)\r\n0+(;[^\r\n]*)?\r\n([^\r\n]+\r\n)*(transfer-encoding|content-length):")),
    ("a minor version above 1 is spoken to as 1.1 (RFC 9110 2.5)", lambda r: re.search(rb" HTTP/1\.[2-9]$", lines_of(r)[0])),
]
LLHTTP_METHODS = set(
    b"DELETE GET HEAD POST PUT CONNECT OPTIONS TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND REBIND "
    b"UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PATCH PURGE MKCALENDAR LINK "
    b"UNLINK SOURCE QUERY".split()
)


# Sent after each request. Whoever finds it there, at the same place, has read what came before in the same way; whoever
# refused or misread something never does.
MARKER = b"OPTIONS /v1/me HTTP/1.1\r\nHost: marker\r\n\r\n"


class Seen:
    """What llhttp calls back with."""

    def __init__(self):
        self.hosts = []
        self.complete = 0
        self.found = None

    def on_message_begin(self):
        self.hosts = []

    def on_header(self, name, value):
        if name.lower() == b"host":
            self.hosts.append(value)

    def on_message_complete(self):
        self.complete += 1
        if self.hosts == [b"marker"]:
            self.found = self.complete


def by_llhttp(request):
    """Where among the requests llhttp finds the marker; None when it does not get there."""
    seen = Seen()
    try:
        httptools.HttpRequestParser(seen).feed_data(request + MARKER)
    except (httptools.HttpParserUpgrade, httptools.HttpParserError):
        return None
    return seen.found


def by_hiroba(server, request):
    """Where among its answers the server answers the marker; None when it does not get there."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        received = b""
        try:
            connection.sendall(request + MARKER)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
    answers = [int(status) for status in re.findall(rb"HTTP/1\.1 ([2-5]\d\d) [A-Z]", received)]
    return len(answers) if answers and answers[-1] == 204 else None


def reasons(table, request):
    """The reasons that apply to a request, or to one that begins where a head or a body may have ended."""
    starts = [0] + [match.end() for match in re.finditer(rb"\r\n\r\n|hello", request)]
    requests = [request[start:] for start in starts if request[start:].strip(b"\r\n")]
    return [reason for reason, applies in table if any(applies(each) for each in requests)]


def disagreement(server, request):
    """A sentence about an unexplained difference, or None."""
    theirs = by_llhttp(request)
    ours = by_hiroba(server, request)
    if ours == theirs:
        return None
    if ours is None:
        return None if reasons(STRICTER, request) else f"refused here, accepted by llhttp: {request!r}"
    if theirs is None:
        return None if reasons(LOOSER, request) else f"accepted here, refused by llhttp: {request!r}"
    return f"{ours} requests here, {theirs} by llhttp: {request!r}"


@pytest.fixture(scope="module")
def server():
    server = running.Hiroba(arguments=["--request-log", "off", "--max-connections-per-address", "10000"])
    try:
        yield server.start()
    finally:
        server.close()


@pytest.mark.parametrize("request_bytes", CORPUS, ids=lambda request: repr(request)[2:60])
def test_the_corpus_is_read_alike(server, request_bytes):
    assert disagreement(server, request_bytes) is None


ALPHABET = [
    b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b";", b",", b"=", b"0", b"5", b"a", b"Z", b"\0", b"\x01", b"\x7f", b"\x80", b"\xff",
    b"\"", b"/", b"?", b"#", b"%", b"HTTP/1.1", b"HTTP/1.0", b"Host: a\r\n", b"Content-Length: 5\r\n", CHUNKED, b"chunked",
    b"Connection: close\r\n", b"0\r\n\r\n", b"5\r\nhello\r\n", b"X: y\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
]


def mutated(random, request):
    """One to three small changes."""
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(request) + 1)
        kind = random.randrange(4)
        if kind == 0:
            request = request[:at] + random.choice(ALPHABET) + request[at:]
        elif kind == 1:
            request = request[:at] + request[at + random.randint(1, 4):]
        elif kind == 2:
            request = request[:at] + random.choice(ALPHABET) + request[at + 1:]
        else:
            end = min(len(request), at + random.randint(1, 20))
            request = request[:at] + request[at:end] * 2 + request[end:]
    return request


@pytest.mark.parametrize("seed", range(10))
def test_mutations_are_read_alike(server, seed):
    chance = random.Random(seed)
    found = []
    for _ in range(1000):
        request = mutated(chance, chance.choice(CORPUS))
        if request.strip(b"\r\n") and (difference := disagreement(server, request)):
            found.append(difference)
    assert not found, "\n".join(found[:10])
