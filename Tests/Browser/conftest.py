"""People with browsers: Debian's Chromium, at the width of a phone or a desk, with and without scripts."""

import io
import os
import shutil

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

from browsing import PATIENCE


@pytest.fixture(scope="session")
def chromium():
    path = os.environ.get("HIROBA_TEST_CHROMIUM") or shutil.which("chromium")
    if not path:
        raise pytest.UsageError("chromium is missing: run scripts/install-dependencies --tests")
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work for root, who runs these tests in containers.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield browser
        browser.close()


@pytest.fixture
def person(chromium):
    """`person(server, look)` gives a page in a browser of its own. What goes wrong in any of them fails the test."""
    contexts, faults = [], []

    def listen(page):
        page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
        page.on("console", lambda message: hear(page, message))

    def hear(page, message):
        # Refused and unreachable requests are what some tests are about; the browser reports each. A page in a frame may
        # not take the keyboard when it is loaded, and does without.
        expected = ("Failed to load resource", "Blocked autofocusing")
        if message.type == "error" and not message.text.startswith(expected):
            faults.append(f"{page.url}: {message.text}")

    def person(server, look):
        phone = look.device == "phone"
        context = chromium.new_context(
            base_url=server.address, locale=look.language, java_script_enabled=look.scripts,
            viewport={"width": 360, "height": 740} if phone else {"width": 1200, "height": 860},
            has_touch=phone, is_mobile=phone,
        )
        context.set_default_timeout(PATIENCE)
        context.on("page", listen)
        contexts.append(context)
        return context.new_page()

    yield person
    for context in contexts:
        context.close()
    assert not faults, faults


@pytest.fixture
def picture(tmp_path):
    """A photo of 320 × 240 points as a camera leaves it: with the place in it."""
    image = Image.new("RGB", (320, 240), "#8cc3ea")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 160, 320, 240), fill="#5d9464")
    draw.ellipse((230, 30, 280, 80), fill="#fff2c9")
    exif = Image.Exif()
    exif[0x010F] = "Camera of the tests"
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (35.0, 41.0, 22.0)
    data = io.BytesIO()
    image.save(data, "JPEG", exif=exif)
    path = tmp_path / "square.jpg"
    path.write_bytes(data.getvalue())
    return path
