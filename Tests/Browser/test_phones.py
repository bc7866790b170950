"""The page with the phones: what comes is seen at once, and everything can be done by keyboard and without scripts."""

import http.server
import threading

import pytest
from playwright.sync_api import expect

import running
from browsing import PLAIN, SCRIPTED, looks
from running import eventually

WORDS = {
    "ja": {
        "offline": "圏外", "online": "オンライン", "in front": "前面", "behind": "背面", "denied": "拒否", "allowed": "許可",
        "kept": "圏外なので、APNsが預かっています。", "in front why": "アプリが前面にあり、バナーを求めていません",
        "denied why": "この端末では通知が拒否されています", "details": "トークンとアプリ", "remove": "アプリを削除",
        "dead": "このトークンは無効です。", "open": "Hirobaを表示中", "home": "ロック画面に戻る", "dismiss": "を消す",
        "less": "たたむ", "more": "ほか1件",
    },
    "en": {
        "offline": "Offline", "online": "Online", "in front": "In front", "behind": "Behind", "denied": "Denied",
        "allowed": "Allowed", "kept": "is offline: APNs keeps the push.", "less": "Show less", "more": "1 more",
        "in front why": "the app is in front and does not ask for a banner then",
        "denied why": "notifications are denied on this phone", "details": "Token and app", "remove": "Remove the app",
        "dead": "This token is dead.", "open": "Hiroba is open", "home": "Back to the lock screen", "dismiss": "away",
    },
}


class Site(http.server.BaseHTTPRequestHandler):
    """The app's pages and pictures."""

    def do_GET(self):
        picture = self.path == "/photo.png"
        self.send_response(200)
        self.send_header("Content-Type", "image/png" if picture else "text/html")
        self.end_headers()
        if picture:
            self.wfile.write(self.server.picture)
        else:
            self.wfile.write(f"<title>{self.path}</title><h1>Thread {self.path}</h1>".encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def site():
    from PIL import Image
    import io

    data = io.BytesIO()
    Image.new("RGB", (64, 64), "#c33").save(data, "PNG")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.picture = data.getvalue()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def phones(site):
    stand_in = running.Phones(["--app-url", site])
    try:
        yield stand_in.start()
    finally:
        stand_in.close()


def alert(title, body="", **more):
    aps = {"alert": {"title": title, "body": body}, **more.pop("aps", {})}
    return {"aps": aps, **more}


@looks(SCRIPTED)
def test_a_push_is_seen_at_once_and_a_tap_reads_the_thread(look, person, phones, site):
    page = person(phones, look)
    page.goto("/")
    hana, sota = page.locator("#phone-hana"), page.locator("#phone-sota")
    expect(hana.locator(".notice")).to_have_count(0)
    answer = phones.push(alert(
        "Ramen", "Let us go there again <b>soon</b>", aps={"badge": 3, "mutable-content": 1}, link="/forum/42",
        data={"attachment-url": f"{site}/photo.png"},
    ))
    assert answer.status == 200
    notice = hana.locator(".notice", has_text="Ramen")
    expect(notice).to_be_visible()
    expect(notice).to_contain_text("Let us go there again <b>soon</b>")
    assert notice.locator(".notice-picture").evaluate("image => image.decode().then(() => image.naturalWidth)") == 64
    expect(hana.locator(".badge")).to_have_text("3")
    expect(sota.locator(".notice")).to_have_count(0)
    expect(page.locator(".delivery").first).to_contain_text("Ramen")
    with page.context.expect_page() as opened:
        notice.locator("button.notice-card").click()
    expect(opened.value.locator("h1")).to_have_text("Thread /forum/42")
    expect(hana).to_contain_text(WORDS[look.language]["open"])
    expect(hana.locator(".notice")).to_have_count(0)
    assert phones.story(answer["apns-id"])[-1] == "tapped"
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@looks(SCRIPTED)
def test_why_nothing_is_shown(look, person, phones):
    words = WORDS[look.language]
    page = person(phones, look)
    page.goto("/")
    hana = page.locator("#phone-hana")
    newest = page.locator(".delivery").first

    def press(name):
        button = hana.get_by_role("button", name=words[name], exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")

    press("in front")
    phones.push(alert("One"))
    expect(newest).to_contain_text(words["in front why"])
    press("behind")
    press("denied")
    phones.push(alert("Two"))
    expect(newest).to_contain_text(words["denied why"])
    press("allowed")
    press("offline")
    phones.push(alert("Three"))
    expect(newest).to_contain_text(words["kept"])
    expect(hana.locator(".notice")).to_have_count(0)
    press("online")
    expect(hana.locator(".notice", has_text="Three")).to_be_visible()
    hana.locator(".more summary").click()
    hana.get_by_role("button", name=words["remove"]).click()
    expect(hana.locator(".token")).to_contain_text(words["dead"])
    expect(hana.locator(".notice")).to_have_count(0)


@looks(SCRIPTED)
def test_threads_make_a_stack(look, person, phones):
    words = WORDS[look.language]
    page = person(phones, look)
    page.goto("/")
    hana = page.locator("#phone-hana")
    phones.push(alert("First", aps={"thread-id": "t"}))
    phones.push(alert("Other"))
    phones.push(alert("Second", aps={"thread-id": "t"}))
    expect(hana.locator(".stack")).to_contain_text("Second")
    expect(hana.locator(".stack")).to_contain_text(words["more"])
    expect(hana.get_by_text("First")).not_to_be_visible()
    hana.locator(".stack").click()
    expect(hana.get_by_text("First")).to_be_visible()
    # What comes now does not close what the reader has opened.
    phones.push(alert("Third", aps={"thread-id": "t"}))
    expect(hana.locator(".group-list .notice")).to_have_count(3)
    expect(hana.get_by_text("First")).to_be_visible()
    hana.get_by_text(words["less"]).click()
    expect(hana.get_by_text("First")).not_to_be_visible()


@looks(SCRIPTED[1:])
def test_by_keyboard_alone(look, person, phones):
    words = WORDS[look.language]
    page = person(phones, look)
    page.goto("/")
    phones.push(alert("One", aps={"thread-id": "1"}))
    phones.push(alert("Two", aps={"thread-id": "2"}))
    hana = page.locator("#phone-hana")
    expect(hana.locator(".notice")).to_have_count(2)

    def reach(locator):
        for _ in range(60):
            if locator.evaluate("element => element === document.activeElement"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{locator} cannot be reached")

    # Taking one away leaves the keyboard on the next.
    reach(hana.locator(".notice", has_text="Two").locator(".notice-dismiss button"))
    page.keyboard.press("Enter")
    expect(hana.locator(".notice")).to_have_count(1)
    expect(hana.locator(".notice", has_text="One").locator("button:focus")).to_have_count(1)
    reach(hana.locator(".notice", has_text="One").locator("button.notice-card"))
    with page.context.expect_page():
        page.keyboard.press("Enter")
    page.bring_to_front()
    reach(hana.get_by_role("button", name=words["home"]))
    page.keyboard.press("Space")
    expect(hana.locator(".lock")).to_be_visible()
    reach(page.locator(".delivery summary").first)
    page.keyboard.press("Enter")
    expect(page.locator(".steps").first).to_be_visible()


@looks(PLAIN)
def test_without_scripts(look, person, phones):
    words = WORDS[look.language]
    phones.push(alert("Plain", link="/forum/7"))
    page = person(phones, look)
    page.goto("/")
    hana = page.locator("#phone-hana")
    hana.get_by_role("button", name=words["offline"], exact=True).click()
    expect(hana.get_by_role("button", name=words["offline"], exact=True)).to_have_attribute("aria-pressed", "true")
    with page.context.expect_page() as opened:
        hana.locator(".notice", has_text="Plain").locator("button.notice-card").click()
    expect(opened.value.locator("h1")).to_have_text("Thread /forum/7")


@looks(SCRIPTED)
def test_nothing_is_missed_before_the_stream_begins(look, person, phones):
    """Between the drawing of the page and the first word of the stream."""
    page = person(phones, look)
    held = []
    page.route("**/live", lambda route: held.append(route))
    page.goto("/")
    eventually(lambda: page.evaluate("1") and held, what="opening the stream")
    phones.push(alert("In between"))
    expect(page.locator(".notice, .delivery")).to_have_count(0)
    held.pop().continue_()
    expect(page.locator("#phone-hana .notice", has_text="In between")).to_be_visible()
    expect(page.locator(".delivery", has_text="In between")).to_have_count(1)


@looks(SCRIPTED[1:])
def test_an_older_answer_does_not_undo_news(look, person, phones):
    """The page that was asked for before something happened arrives after the stream told of it."""
    page = person(phones, look)
    streams, held = [], []
    page.route("**/live", lambda route: streams.append(route))
    page.goto("/")
    eventually(lambda: page.evaluate("1") and streams, what="opening the stream")
    page.route(phones.address + "/", lambda route: held.append((route, route.fetch())))
    streams.pop().continue_()
    eventually(lambda: page.evaluate("1") and held, what="asking for the page again")
    phones.push(alert("News"))
    notice = page.locator("#phone-hana .notice", has_text="News")
    expect(notice).to_be_visible()
    expect(page.locator(".delivery", has_text="News")).to_have_count(1)
    route, answer = held.pop()
    assert "News" not in answer.text()
    with page.expect_event("requestfinished"):
        route.fulfill(response=answer)
    page.evaluate("new Promise(resolve => setTimeout(resolve, 0))")
    expect(notice).to_have_count(1)
    expect(page.locator(".delivery", has_text="News")).to_have_count(1)


@looks(SCRIPTED[1:])
def test_a_page_out_of_the_browsers_memory_follows_again(look, person, phones):
    page = person(phones, look)

    def told(text):
        return page.locator(".delivery", has_text=text)

    page.goto("/")
    phones.push(alert("Before"))
    expect(told("Before")).to_be_visible()
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))")
    phones.push(alert("Away"))
    expect(told("Away")).to_have_count(0)
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(told("Away")).to_be_visible()
    phones.push(alert("After"))
    expect(told("After")).to_be_visible()


@looks(SCRIPTED[1:])
def test_after_a_break_of_the_connection_the_page_catches_up(look, person, phones):
    page = person(phones, look)
    page.goto("/")
    phones.push(alert("Before"))
    expect(page.locator("#phone-hana .notice", has_text="Before")).to_be_visible()
    phones.stop()
    expect(page.locator("#status")).not_to_be_empty()
    phones.start()
    # A phone that was switched off has lost what it showed; its tokens are the same.
    phones.push(alert("After"))
    expect(page.locator("#phone-hana .notice", has_text="After")).to_be_visible()
    expect(page.locator("#phone-hana .notice", has_text="Before")).to_have_count(0)
    expect(page.locator("#status")).to_be_empty()
