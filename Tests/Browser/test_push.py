"""Push in the demo: a comment in the forum lights up a phone, a tap reads the thread there, and the story tells it all."""

import re
import subprocess
import uuid

import pytest
from playwright.sync_api import expect

import running
from browsing import PLAIN, SCRIPTED, fits, looks

WORDS = {
    "ja": {
        "dead": "トークンは無効になりました", "look again": "もう一度見る", "whole story": "コメントからタップまでの一部始終",
        "opened": "開封", "not opened": "まだ開かれていません", "title": "通知の一部始終", "phones": "端末へ",
        "home": "ロック画面に戻る", "own": "自分",
    },
    "en": {
        "dead": "The token is dead: the app was removed", "look again": "Look again",
        "whole story": "The whole story, from the comment to the tap", "opened": "Opened", "not opened": "not yet",
        "title": "The story of a push", "phones": "To the phones", "home": "Back to the lock screen",
    },
}


@pytest.fixture(scope="module")
def demo():
    server = running.Demo()
    try:
        server.start()
        # The last that the phones do before somebody looks.
        running.eventually(lambda: story_of_the_dead_phone(server), what="the first push")
        yield server
    finally:
        server.close()


def pushes(server):
    answer = server.ask("GET", "/v1/push?limit=100", token=server.server_key)
    assert answer.status == 200, answer
    return answer.json["items"]


def story(server, id):
    answer = server.ask("GET", f"/v1/push/{id}", token=server.server_key)
    return answer.json if answer.status == 200 else None


def story_of_the_dead_phone(server):
    return any(push["deliveries"] == 1 and push["waiting"] == 0 for push in pushes(server))


def phones_page(person, demo, look):
    """Through the fourth door, as everybody."""
    page = person(demo, look)
    page.goto("/")
    page.locator("article").nth(3).get_by_role("link").click()
    expect(page).to_have_url(f"http://hiroba.localhost:{demo.port}/phones")
    expect(page.locator(".phone")).to_have_count(3)
    return page


def comment(frame, look, text):
    frame.get_by_role("link", name=look.words["new comment"]).first.click()
    frame.get_by_placeholder(look.words["comment text"]).fill(text)
    frame.get_by_role("button", name=look.words["comment"], exact=True).click()
    expect(frame.locator(".row", has_text=text)).to_be_visible()


def unique(text):
    return f"{text} {uuid.uuid4().hex[:8]}"


@looks(SCRIPTED)
def test_a_comment_is_seen_on_the_phone_and_its_story_can_be_read(look, person, demo):
    words = WORDS[look.language]
    page = phones_page(person, demo, look)
    forum = page.frame_locator("iframe[name=companion]")
    hana, sota = page.locator("#phone-hana"), page.locator("#phone-sota")
    start = hana.locator(".starts a").first
    title = start.inner_text()
    start.click()
    expect(forum.locator(".topic-title")).to_have_text(title)
    text = unique("What a sky")
    comment(forum, look, text)

    notice = hana.locator(".notice", has_text=text)
    expect(notice).to_be_visible()
    # Hana's phone speaks Japanese, whoever looks.
    expect(notice).to_contain_text("コメント")
    picture = notice.locator(".notice-picture")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    # A long title does not push it out of sight.
    assert picture.evaluate(
        "image => image.getBoundingClientRect().right < image.closest('.notices').getBoundingClientRect().right")
    expect(sota.locator(".notice", has_text=text)).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")

    # The tap, by keyboard where there is one.
    if look.device == "desk":
        notice.locator("button.notice-card").press("Enter")
    else:
        notice.locator("button.notice-card").click()
    app = hana.frame_locator("iframe.app-page")
    expect(app.locator(".topic-title")).to_have_text(title)
    expect(app.locator(".row", has_text=text)).to_be_visible()
    # It is Hana's thread, and the phone's pages know that she is Hana.
    expect(app.locator("article.topic[data-own]")).to_be_visible()
    expect(forum.locator("article.topic[data-own]")).to_have_count(0)

    # Her answer is seen in the forum, and rings on no phone.
    answer = unique("It was")
    comment(app, look, answer)
    expect(forum.locator(".row", has_text=answer)).to_be_visible()
    expect(forum.locator(".row", has_text=answer)).to_contain_text("Hana")
    subject = forum.locator(".row", has_text=answer).get_attribute("id").removeprefix("comment-")
    told = running.eventually(lambda: story(demo, subject), what="the story of the answer")
    assert [person["decision"] for person in told["people"]] == ["is_actor"]
    assert told["deliveries"] == []
    hana.get_by_role("button", name=words["home"]).click()
    expect(hana.locator(".lock")).to_be_visible()
    expect(hana.locator(".notice", has_text=answer)).to_have_count(0)

    delivery = page.locator(".delivery").first
    delivery.locator("summary").click()
    delivery.get_by_role("link", name=words["whole story"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["title"])
    whole = page.locator(".story")
    expect(whole).to_contain_text(title)
    expect(whole.locator("[data-decision=notified]")).to_contain_text("Hana")
    expect(whole.locator("[data-state=accepted]")).to_contain_text("APNs")
    expect(whole.locator("dt", has_text=words["opened"])).to_be_visible()
    expect(whole).not_to_contain_text(words["not opened"])
    assert fits(page)
    # The same in a terminal, beside the running demo.
    id = re.search(r"hiroba push story (\w+)", whole.inner_text())[1]
    said = subprocess.run(
        [running.PROGRAM, "push", "story", id, "--data", demo.data], capture_output=True, text=True, timeout=30)
    assert said.returncode == 0, said
    assert "Hana" in said.stdout and "accepted" in said.stdout and "opened" in said.stdout
    page.get_by_role("link", name=words["phones"]).click()
    expect(page.locator(".phone")).to_have_count(3)


@looks(SCRIPTED, PLAIN)
def test_the_phone_that_lost_its_app_says_what_is_wrong(look, person, demo):
    page = phones_page(person, demo, look)
    expect(page.locator("#phone-ren .note.is-bad")).to_contain_text(WORDS[look.language]["dead"])
    expect(page.locator("#phone-hana .note")).not_to_be_empty()
    expect(page.locator("#phone-hana .note.is-bad")).to_have_count(0)


@looks(PLAIN)
def test_without_scripts(look, person, demo):
    words = WORDS[look.language]
    page = phones_page(person, demo, look)
    forum = page.frame_locator("iframe[name=companion]")
    sota = page.locator("#phone-sota")
    title = sota.locator(".starts a").first.inner_text()
    sota.locator(".starts a").first.click()
    expect(forum.locator(".topic-title")).to_have_text(title)
    text = unique("Walnut bread")
    comment(forum, look, text)

    def delivered():
        page.get_by_role("link", name=words["look again"]).click()
        return sota.locator(".notice", has_text=text).count()

    running.eventually(delivered, what="the notification")
    # Several on one thread lie on a stack.
    if sota.locator(".stack").count():
        sota.locator(".stack").first.click()
    sota.locator(".notice", has_text=text).locator("button.notice-card").click()
    app = page.frame_locator("#phone-sota iframe.app-page")
    expect(app.locator(".topic-title")).to_have_text(title)
    expect(app.locator("article.topic[data-own]")).to_be_visible()
    page.get_by_role("button", name=WORDS[look.language]["home"]).click()
    expect(sota.locator(".lock")).to_be_visible()


@looks(SCRIPTED[1:])
def test_an_app_that_is_put_back_is_told_again(look, person, demo):
    """The health line follows: a new token is registered as an app does, and the next push arrives."""
    page = phones_page(person, demo, look)
    sota = page.locator("#phone-sota")
    forum = page.frame_locator("iframe[name=companion]")
    more = sota.locator(".more")
    more.locator("summary").click()
    more.get_by_role("button").last.click()
    expect(sota.locator(".token.is-dead")).to_be_visible()
    sota.locator(".starts a").last.click()
    comment(forum, look, unique("Nobody is there"))
    expect(sota.locator(".note.is-bad")).to_contain_text(WORDS[look.language]["dead"])
    more.get_by_role("button").last.click()
    expect(sota.locator(".note.is-bad")).to_have_count(0)
    text = unique("Somebody is there")
    comment(forum, look, text)
    expect(sota.locator(".notice", has_text=text)).to_be_visible()
