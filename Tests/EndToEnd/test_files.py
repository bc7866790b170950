"""Uploads and downloads: what goes in, what comes out, and what must not."""

import io
import os

import pytest
from PIL import Image

import pictures
from running import assert_problem, eventually


@pytest.fixture(scope="module")
def token(hiroba):
    return hiroba.person()


def get(hiroba, stored, query="", **more):
    return hiroba.ask("GET", f"/v1/files/{stored['id']}{query}", **more)


def test_a_jpeg_loses_its_place_and_nothing_else(hiroba, token):
    sent = pictures.jpeg(gps=True, comment=b"A secret")
    assert pictures.opened(sent).getexif().get_ifd(0x8825), "the test's own picture must tell a place"
    answer = hiroba.upload(token, sent)
    assert answer.status == 201, answer
    stored = answer.json
    assert (stored["type"], stored["width"], stored["height"]) == ("image/jpeg", 80, 40)
    downloaded = get(hiroba, stored)
    assert downloaded.status == 200
    assert downloaded["content-type"] == "image/jpeg"
    assert len(downloaded.body) == stored["size"]
    picture = pictures.opened(downloaded.body)
    assert not picture.getexif()
    for trace in (b"Exif", b"Camera maker", b"A secret", b"GPS"):
        assert trace not in downloaded.body
    # Not encoded again: the pixels are the same to the last bit.
    assert picture.tobytes() == pictures.opened(sent).tobytes()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_comes_back_upright(hiroba, token, orientation):
    upright = pictures.halves()
    turned = {
        1: upright, 2: upright.transpose(Image.FLIP_LEFT_RIGHT), 3: upright.transpose(Image.ROTATE_180),
        4: upright.transpose(Image.FLIP_TOP_BOTTOM), 5: upright.transpose(Image.TRANSPOSE),
        6: upright.transpose(Image.ROTATE_90), 7: upright.transpose(Image.TRANSVERSE), 8: upright.transpose(Image.ROTATE_270),
    }[orientation]
    stored = hiroba.upload(token, pictures.jpeg(turned, orientation=orientation)).json
    assert (stored["width"], stored["height"]) == (80, 40)
    for query in ("", "?size=64"):
        picture = pictures.opened(get(hiroba, stored, query).body).convert("RGB")
        assert picture.width == 2 * picture.height
        assert pictures.is_reddish(picture.getpixel((picture.width // 8, picture.height // 2)))
        assert pictures.is_bluish(picture.getpixel((picture.width * 7 // 8, picture.height // 2)))


@pytest.mark.parametrize("kind, type", [("PNG", "image/png"), ("GIF", "image/gif"), ("WEBP", "image/webp")])
def test_other_pictures_keep_their_kind(hiroba, token, kind, type):
    # The type that is declared is a hint and no more.
    answer = hiroba.upload(token, pictures.encoded(kind), type="application/octet-stream")
    assert answer.status == 201, answer
    assert answer.json["type"] == type
    downloaded = get(hiroba, answer.json)
    assert downloaded["content-type"] == type
    assert pictures.opened(downloaded.body).size == (80, 40)


def test_thumbnails_are_small_and_stay_the_same(hiroba, token):
    stored = hiroba.upload(token, pictures.jpeg(pictures.halves(1600, 800))).json
    whole = get(hiroba, stored)
    sizes = []
    for size in (50, 100, 200, 400):
        answer = get(hiroba, stored, f"?size={size}")
        assert answer.status == 200, answer
        picture = pictures.opened(answer.body)
        assert max(picture.size) >= size and picture.width <= 1600
        assert len(answer.body) < len(whole.body)
        assert get(hiroba, stored, f"?size={size}").body == answer.body
        sizes.append(picture.width)
    assert sizes == sorted(sizes)
    for size in ("0", "-1", "x", "99999999"):
        answer = get(hiroba, stored, f"?size={size}")
        assert answer.status == 200 and size == "99999999" or answer.status == 400, answer


def test_a_download_can_be_partial_and_need_not_be_repeated(hiroba, token):
    stored = hiroba.upload(token, pictures.jpeg()).json
    whole = get(hiroba, stored)
    tag = whole["etag"]
    again = get(hiroba, stored, headers=[f"If-None-Match: {tag}"])
    assert (again.status, again.body) == (304, b"")
    part = get(hiroba, stored, headers=["Range: bytes=10-19"])
    assert part.status == 206
    assert part.body == whole.body[10:20]
    assert part["content-range"] == f"bytes 10-19/{stored['size']}"
    assert get(hiroba, stored, headers=["Range: bytes=-5"]).body == whole.body[-5:]
    assert get(hiroba, stored, headers=["Range: bytes=99999999-"]).status == 416
    head = hiroba.ask("HEAD", f"/v1/files/{stored['id']}")
    assert head.status == 200 and head["content-length"] == str(stored["size"])


@pytest.mark.parametrize(
    "data",
    [b"This is text.", b"<html><script>alert(1)</script></html>", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7",
     b"GIF89a", b"\x89PNG\r\n\x1a\n" + b"\0" * 100, b"\xff\xd8\xff\xe0" + b"\0" * 100, os.urandom(1000), pictures.jpeg()[:400]],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_no_picture_is_refused(hiroba, token, data):
    assert_problem(hiroba.upload(token, data), 415, "unsupported_media_type")


def test_nothing_that_was_uploaded_can_run_in_a_browser(hiroba, token):
    # A picture that is a page as well, for a browser that guesses.
    both = pictures.encoded("GIF") + b"<script>alert(1)</script>"
    stored = hiroba.upload(token, both, type="text/html")
    if stored.status == 201:
        downloaded = get(hiroba, stored.json)
        assert downloaded["content-type"] == "image/gif"
        assert downloaded["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in downloaded["content-security-policy"]


def test_an_empty_upload_and_one_that_is_too_large(hiroba, token):
    assert_problem(hiroba.upload(token, b""), 400)
    # Announced: refused before it is sent.
    data = b"\xff\xd8" + b"\0" * (21 << 20)
    assert_problem(hiroba.upload(token, data), 413, "too_large")
    # Over HTTP/2 as well, where a client may forget an answer that comes before it has sent everything.
    answer = hiroba.ask("POST", "/v1/files", token=token, data=data, arguments=["--http2-prior-knowledge"])
    assert_problem(answer, 413, "too_large")
    assert_problem(hiroba.ask("POST", "/v1/files", data=data, arguments=["--http2-prior-knowledge"]), 413, "too_large")
    # Not announced: refused when the limit is met.
    assert_problem(hiroba.upload(token, data, headers=["Transfer-Encoding: chunked"]), 413, "too_large")


@pytest.mark.parametrize(
    "bomb", [lambda: pictures.png_bomb(10_000, 10_000), lambda: pictures.jpeg_that_claims(60_000, 60_000)],
    ids=["a PNG of 100 megapixels", "a JPEG that claims 3,600"],
)
def test_a_picture_bomb_is_refused_with_little_memory(hiroba, token, bomb):
    data = bomb()
    hiroba.upload(token, pictures.jpeg())
    assert len(hiroba.processes()) > 1, "the process that decodes is watched too"
    with hiroba.watching_memory() as memory:
        answer = hiroba.upload(token, data)
    assert_problem(answer, 413, "too_large")
    assert memory.growth < 64 << 20
    assert hiroba.upload(token, pictures.jpeg()).status == 201


def test_many_uploads_at_once_take_little_memory(hiroba, token):
    import concurrent.futures

    data = pictures.jpeg(Image.frombytes("RGB", (1500, 1500), os.urandom(1500 * 1500 * 3)))
    assert 2 << 20 < len(data) < 20 << 20
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: hiroba.upload(token, data), range(6)))
    # Whoever is not taken now is told when to come back.
    assert {answer.status for answer in answers} <= {201, 429, 503}
    assert 201 in {answer.status for answer in answers}
    for answer in answers:
        assert answer.status == 201 or answer["retry-after"]


def test_only_the_owner_deletes(hiroba, token):
    stored = hiroba.upload(token, pictures.jpeg()).json
    topic = hiroba.topic(token, "With a picture", photo=stored["id"])
    assert topic["photo"] == stored["id"]
    assert_problem(hiroba.ask("DELETE", f"/v1/files/{stored['id']}", token=hiroba.person()), 403, "forbidden")
    assert get(hiroba, stored).status == 200
    # Nobody may show another's file as their own.
    assert_problem(
        hiroba.ask("POST", "/v1/topics", {"title": "Borrowed", "photo": stored["id"]}, hiroba.person()), 400, field="photo")
    unused = hiroba.upload(token, pictures.jpeg()).json
    assert hiroba.ask("DELETE", f"/v1/files/{unused['id']}", token=token).status == 204
    assert_problem(get(hiroba, unused), 404, "not_found")


def test_the_picture_goes_with_its_topic(hiroba, token):
    stored = hiroba.upload(token, pictures.jpeg()).json
    topic = hiroba.topic(token, "Short", photo=stored["id"])
    assert hiroba.ask("DELETE", f"/v1/topics/{topic['id']}", token=token).status == 204
    eventually(lambda: get(hiroba, stored).status == 404, what="the picture's end")


def test_an_upload_that_breaks_off_leaves_nothing(start):
    import socket

    server = start()
    token = server.person()
    server.upload(token, pictures.jpeg())
    before = sorted(path for path in (server.data / "blobs").rglob("*") if path.is_file())
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            f"POST /v1/files HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000000\r\n\r\n".encode()
            + pictures.jpeg()[:500] + b"\0" * 100_000)
        eventually(lambda: list((server.data / "blobs" / "incoming").iterdir()), what="the beginning of the upload")
    eventually(
        lambda: sorted(path for path in (server.data / "blobs").rglob("*") if path.is_file()) == before,
        what="the end of the broken upload")
