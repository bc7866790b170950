"""The forum in a browser: the rows F-20 to F-34, each at the width of a phone and of a desk, in both languages."""

import re
import uuid

from playwright.sync_api import expect

from browsing import PLAIN, SCRIPTED, fits, id_of, looks, row
from running import eventually


def unique(text):
    return f"{text} {uuid.uuid4().hex[:8]}"


def write_thread(page, look, title, text="", picture=None):
    """Writes a thread by hand, in the sheet or on the form's own page, and leaves it on the screen of the list."""
    page.goto("/forum")
    page.get_by_role("link", name=look.words["new thread"]).click()
    page.get_by_placeholder(look.words["title"]).fill(title)
    page.get_by_placeholder(look.words["text"]).fill(text)
    if picture:
        page.get_by_label(look.words["add picture"]).set_input_files(picture)
    page.get_by_role("button", name=look.words["add thread"]).click()
    if not look.scripts:
        expect(page.locator(".topic-title")).to_have_text(title)
        page.goto("/forum")
    expect(row(page, title)).to_be_visible()


def write_comment(page, look, text):
    page.get_by_role("link", name=look.words["new comment"]).first.click()
    page.get_by_placeholder(look.words["comment text"]).fill(text)
    page.get_by_role("button", name=look.words["comment"], exact=True).click()
    expect(row(page, text)).to_be_visible()


def delete(page, look, where):
    """Presses the delete control of a row and says yes."""
    if look.scripts and look.device == "phone":
        swipe(page, where)
    where.locator(".row-delete").click()
    scope = page.locator("#confirm") if look.scripts else page
    scope.get_by_role("button", name=look.words["delete"], exact=True).click()


def swipe(page, where):
    """A finger moves to the left over a row."""
    box = where.bounding_box()
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 11):
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x - 12 * step, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    touch.detach()
    expect(where.locator(".row-face")).to_have_class(re.compile("is-open"))


def expect_refusal(page, look):
    alert = page.locator("#alert") if look.scripts else page.locator("main [role=alert]:visible")
    expect(alert).to_contain_text(look.words["refused"])
    if look.scripts:
        alert.get_by_role("button").click()
        expect(alert).to_be_hidden()


# The front page


@looks(SCRIPTED, PLAIN)
def test_four_doors_three_open(hiroba, person, look):
    page = person(hiroba, look)
    page.goto("/")
    doors = page.locator("article")
    expect(doors.locator("h2")).to_have_text([re.compile(name) for name in look.words["doors"]])
    for index in range(4):
        expect(doors.nth(index).locator("p")).not_to_be_empty()
        expect(doors.nth(index).locator("img")).to_be_visible()
    expect(doors.filter(has_text=look.words["not open"])).to_have_count(1)
    assert fits(page)
    doors.nth(2).get_by_role("link").click()
    expect(page.locator("pre").first).to_contain_text("import")
    assert fits(page)
    page.goto("/")
    doors.nth(3).get_by_role("link").click()
    expect(page.locator("pre").first).to_contain_text("make demo")
    assert fits(page)
    page.goto("/")
    doors.nth(0).get_by_role("link").click()
    # F-20, F-21: the list and nothing else.
    expect(page.get_by_role("heading", level=1)).to_have_text(look.words["forum"])


@looks(SCRIPTED, PLAIN)
def test_the_language_can_be_changed(hiroba, person, look):
    page = person(hiroba, look)
    page.goto("/forum")
    expect(page.locator("html")).to_have_attribute("lang", look.language)
    page.get_by_role("button", name="English" if look.language == "ja" else "日本語").click()
    expect(page).to_have_url(hiroba.address + "/forum")
    expect(page.get_by_role("heading", level=1)).to_have_text("Bulletin board" if look.language == "ja" else "掲示板")


# The walk


@looks(SCRIPTED, PLAIN)
def test_walk(hiroba, person, look, picture):
    """Anonymous sign-in, a thread with a JPEG, a stranger's comment, deletions refused and done."""
    author, stranger = person(hiroba, look), person(hiroba, look)
    title, remark = unique("Morning market"), unique("On my way")

    # F-22, F-27, F-28
    write_thread(author, look, title, "Vegetables at half price", picture)
    mine = row(author, title)
    # F-25, F-26: 50 points square, cut from the picture, with title and description.
    image = mine.locator("img.thumb")
    expect(image).to_have_js_property("complete", True)
    expect(image).not_to_have_js_property("naturalWidth", 0)
    box = image.bounding_box()
    assert (box["width"], box["height"]) == (50, 50)
    expect(mine.locator(".row-title")).to_have_text(title)
    expect(mine.locator(".row-detail")).to_have_text("Vegetables at half price")
    assert fits(author)

    # F-21, F-30: a tap opens the thread.
    mine.get_by_role("link").first.click()
    expect(author.get_by_role("heading", level=1)).to_have_text(title)
    expect(author.get_by_role("heading", name=look.words["comments"])).to_be_visible()
    large = author.locator("img.topic-picture")
    expect(large).not_to_have_js_property("naturalWidth", 0)
    box = large.bounding_box()
    assert (box["width"], box["height"]) == (200, 200)
    assert fits(author)

    # F-31, F-34: a stranger comments; it appears by itself where there are scripts.
    stranger.goto(author.url)
    write_comment(stranger, look, remark)
    if not look.scripts:
        author.reload()
    # F-33
    expect(row(author, remark).locator(".comment-text")).to_have_text(remark)
    expect(row(author, remark)).to_contain_text(look.words["anonymous"])

    # F-32: not one's own.
    delete(author, look, row(author, remark))
    expect_refusal(author, look)
    expect(row(author, remark)).to_be_visible()

    # F-24: not one's own either, and the row comes back.
    stranger.goto("/forum")
    delete(stranger, look, row(stranger, title))
    expect_refusal(stranger, look)
    expect(row(stranger, title)).to_be_visible()

    # One's own goes.
    stranger.goto(author.url if look.scripts else author.url.split("/comments")[0])
    delete(stranger, look, row(stranger, remark))
    expect(row(stranger, remark)).to_have_count(0)
    author.goto("/forum")
    delete(author, look, row(author, title))
    expect(row(author, title)).to_have_count(0)


@looks(SCRIPTED, PLAIN)
def test_a_thread_without_picture_has_the_blue_bubbles(hiroba, person, look):
    page = person(hiroba, look)
    title = unique("No picture")
    write_thread(page, look, title)
    bubbles = row(page, title).locator(".bubbles")
    box = bubbles.bounding_box()
    assert (box["width"], box["height"]) == (50, 50)
    red, _, blue = map(int, re.findall(r"\d+", bubbles.evaluate("e => getComputedStyle(e).color"))[:3])
    assert blue > 180 and blue > red + 80
    # A missing description is an empty text.
    expect(row(page, title).locator(".row-detail")).to_have_text("")


@looks(SCRIPTED, PLAIN)
def test_a_failure_keeps_what_was_typed_and_says_why(hiroba, person, look, tmp_path):
    page = person(hiroba, look)
    page.goto("/forum")
    page.get_by_role("link", name=look.words["new thread"]).click()
    page.get_by_placeholder(look.words["text"]).fill("Kept")
    assert fits(page)
    page.get_by_role("button", name=look.words["add thread"]).click()
    expect(page.locator(".message:visible")).to_have_text(look.words["no title"])
    expect(page.get_by_placeholder(look.words["text"])).to_have_value("Kept")

    fake = tmp_path / "fake.jpg"
    fake.write_text("<html>no picture</html>")
    title = unique("Fake")
    page.get_by_placeholder(look.words["title"]).fill(title)
    page.get_by_label(look.words["add picture"]).set_input_files(fake)
    page.get_by_role("button", name=look.words["add thread"]).click()
    expect(page.locator(".message:visible")).not_to_contain_text(look.words["no title"])
    expect(page.get_by_placeholder(look.words["title"])).to_have_value(title)
    page.goto("/forum")
    expect(row(page, title)).to_have_count(0)


@looks(SCRIPTED, PLAIN)
def test_a_picture_that_is_too_large_is_refused_in_words(hiroba, person, look, picture):
    """And not by a connection that is cut while the browser still sends."""
    page = person(hiroba, look)
    picture.write_bytes(picture.read_bytes() + bytes(21 << 20))
    page.goto("/forum")
    page.get_by_role("link", name=look.words["new thread"]).click()
    page.get_by_placeholder(look.words["title"]).fill("Too large")
    page.get_by_label(look.words["add picture"]).set_input_files(picture)
    page.get_by_role("button", name=look.words["add thread"]).click()
    expect(page.locator(".message:visible")).to_contain_text("20 MiB")
    expect(page.get_by_placeholder(look.words["title"])).to_have_value("Too large")


@looks(SCRIPTED, PLAIN)
def test_the_dead_session_of_the_same_browser_is_the_same_person(hiroba, person, look):
    page = person(hiroba, look)
    title = unique("Mine")
    write_thread(page, look, title)
    page.context.clear_cookies(name="hiroba_session")
    page.goto("/forum")
    write_thread(page, look, unique("Mine too"))
    delete(page, look, row(page, title))
    expect(row(page, title)).to_have_count(0)


# What scripts add


@looks(SCRIPTED)
def test_lists_follow_what_others_do(hiroba, person, look):
    """New threads and deletions appear in an open list, and nothing twice."""
    page = person(hiroba, look)
    page.goto("/forum")
    token = hiroba.person()
    title = unique("From elsewhere")
    topic = hiroba.topic(token, title, text="<b>not bold</b>")
    expect(row(page, title)).to_have_count(1)
    expect(row(page, title).locator(".row-detail")).to_have_text("<b>not bold</b>")
    expect(page.locator(".row").first).to_contain_text(title)
    # A row that scripts made leads and deletes like any other.
    delete(page, look, row(page, title))
    expect_refusal(page, look)
    assert hiroba.ask("DELETE", f"/v1/topics/{topic['id']}", token=token).status == 204
    expect(row(page, title)).to_have_count(0)


@looks(SCRIPTED)
def test_nothing_is_missed_before_the_stream_begins(hiroba, person, look):
    """Between the drawing of the page and the first word of the stream."""
    page = person(hiroba, look)
    held = []
    page.route("**/v1/live", lambda route: held.append(route))
    page.goto("/forum")
    eventually(lambda: page.evaluate("1") and held, what="opening the stream")
    title = hiroba.topic(hiroba.person(), unique("In between"))["title"]
    expect(row(page, title)).to_have_count(0)
    held.pop().continue_()
    expect(row(page, title)).to_have_count(1)


@looks(SCRIPTED)
def test_nothing_is_missed_before_a_tab_hears_the_stream_of_another(hiroba, person, look):
    """Between the drawing of a second page and the first word that it can hear from the first."""
    first = person(hiroba, look)
    first.goto("/forum")
    expect(row(first, hiroba.topic(hiroba.person(), unique("Heard"))["title"])).to_have_count(1)
    second = first.context.new_page()
    held = []
    second.route("**/live.js", lambda route: held.append(route))
    second.goto("/forum", wait_until="commit")
    eventually(lambda: second.evaluate("1") and held, what="loading the script")
    title = hiroba.topic(hiroba.person(), unique("In between"))["title"]
    expect(row(first, title)).to_have_count(1)
    expect(row(second, title)).to_have_count(0)
    held.pop().continue_()
    expect(row(second, title)).to_have_count(1)


@looks(SCRIPTED)
def test_an_older_answer_does_not_undo_news(hiroba, person, look):
    """A list that was asked for before something happened arrives after the live stream told of it."""
    page = person(hiroba, look)
    page.goto("/forum")
    token = hiroba.person()
    doomed = hiroba.topic(token, unique("Doomed"))
    expect(row(page, doomed["title"])).to_have_count(1)
    held = []
    page.route(hiroba.address + "/forum", lambda route: held.append((route, route.fetch())))
    page.get_by_role("link", name=look.words["new thread"]).click()
    page.keyboard.press("Escape")
    eventually(lambda: page.evaluate("1") and held, what="loading the list again")
    news = hiroba.topic(token, unique("News"))
    assert hiroba.ask("DELETE", f"/v1/topics/{doomed['id']}", token=token).status == 204
    expect(row(page, news["title"])).to_have_count(1)
    expect(row(page, doomed["title"])).to_have_count(0)
    route, answer = held.pop()
    assert doomed["title"] in answer.text() and news["title"] not in answer.text()
    with page.expect_event("requestfinished"):
        route.fulfill(response=answer)
    page.evaluate("new Promise(resolve => setTimeout(resolve, 0))")
    expect(row(page, news["title"])).to_have_count(1)
    expect(row(page, doomed["title"])).to_have_count(0)


@looks(SCRIPTED)
def test_the_list_is_loaded_again_when_the_sheet_closes(hiroba, person, look):
    """F-23: also after cancelling."""
    page = person(hiroba, look)
    page.goto("/forum")
    page.get_by_role("link", name=look.words["new thread"]).click()
    page.get_by_placeholder(look.words["title"]).fill("Never sent")
    with page.expect_request(lambda request: request.url == hiroba.address + "/forum" and request.method == "GET"):
        page.get_by_role("button", name=look.words["cancel"], exact=True).locator("visible=true").click()
    expect(page.locator("#new-topic")).to_be_hidden()
    expect(row(page, "Never sent")).to_have_count(0)


@looks(SCRIPTED)
def test_the_chosen_picture_is_shown_in_its_own_proportions(hiroba, person, look, picture):
    """F-27, F-29"""
    page = person(hiroba, look)
    page.goto("/forum")
    page.get_by_role("link", name=look.words["new thread"]).click()
    field = page.get_by_label(look.words["add picture"])
    assert field.get_attribute("accept") == "image/*"
    preview = page.locator("#new-topic .preview")
    expect(preview).to_be_hidden()
    field.set_input_files(picture)
    expect(preview).to_be_visible()
    box = preview.bounding_box()
    assert abs(box["width"] / box["height"] - 320 / 240) < 0.02
    field.set_input_files([])
    expect(preview).to_be_hidden()


@looks(SCRIPTED)
def test_a_lost_network_says_so_in_its_own_words(hiroba, person, look):
    """F-24, mended: the text about permission is for a refusal only."""
    page = person(hiroba, look)
    title = unique("Offline")
    write_thread(page, look, title)
    page.context.set_offline(True)
    delete(page, look, row(page, title))
    expect(page.locator("#alert")).to_contain_text(look.words["no network"])
    page.locator("#alert").get_by_role("button").click()
    expect(row(page, title)).to_be_visible()

    page.get_by_role("link", name=look.words["new thread"]).click()
    second = unique("Later")
    page.get_by_placeholder(look.words["title"]).fill(second)
    page.get_by_role("button", name=look.words["add thread"]).click()
    expect(page.locator("#new-topic .message")).to_have_text(look.words["no network"])
    expect(page.get_by_placeholder(look.words["title"])).to_have_value(second)
    page.context.set_offline(False)
    page.get_by_role("button", name=look.words["add thread"]).click()
    expect(row(page, second)).to_have_count(1)


@looks(SCRIPTED)
def test_many_tabs_share_one_stream(hiroba, person, look):
    """More tabs than a browser opens connections: all load, all follow, also after the listening one is closed."""
    first = person(hiroba, look)
    token = hiroba.person()
    topic = hiroba.topic(token, unique("Busy"))
    tabs = [first] + [first.context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto(f"/forum/{topic['id']}")
        expect(tab.get_by_role("heading", level=1)).to_have_text(topic["title"])

    def comment(text):
        assert hiroba.ask("POST", f"/v1/topics/{topic['id']}/comments", {"text": text}, token).status == 201

    comment("Everybody hears this")
    for tab in tabs:
        expect(row(tab, "Everybody hears this")).to_have_count(1)
    tabs.pop(0).close()
    comment("And this")
    for tab in tabs:
        expect(row(tab, "And this")).to_have_count(1)


@looks(SCRIPTED)
def test_a_restarted_server_is_found_again(start, person, look):
    server = start()
    page = person(server, look)
    token = server.person()
    topic = server.topic(token, "Before")
    page.goto(f"/forum/{topic['id']}")
    comments = f"/v1/topics/{topic['id']}/comments"
    server.ask("POST", comments, {"text": "First"}, token)
    expect(row(page, "First")).to_have_count(1)
    server.kill()
    server.start()
    server.ask("POST", comments, {"text": "Second"}, token)
    expect(row(page, "Second")).to_have_count(1)
    expect(row(page, "First")).to_have_count(1)


@looks(SCRIPTED)
def test_a_deleted_thread_says_so_where_it_is_open(hiroba, person, look):
    page = person(hiroba, look)
    token = hiroba.person()
    topic = hiroba.topic(token, unique("Soon gone"))
    page.goto(f"/forum/{topic['id']}")
    assert hiroba.ask("DELETE", f"/v1/topics/{topic['id']}", token=token).status == 204
    expect(page.locator("#gone")).to_be_visible()


def test_by_keyboard_alone(hiroba, person):
    """A thread is written, opened and commented on without a pointer; the focus can be seen and comes back."""
    look = SCRIPTED[1]
    page = person(hiroba, look)
    page.goto("/forum")
    title = unique("Keys only")
    page.get_by_role("link", name=look.words["new thread"]).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_placeholder(look.words["title"])).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#new-topic")).to_be_hidden()
    expect(page.get_by_role("link", name=look.words["new thread"])).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type(title)
    page.keyboard.press("Enter")
    expect(row(page, title)).to_be_visible()
    link = row(page, title).get_by_role("link").first
    link.focus()
    page.keyboard.press("Tab")
    control = row(page, title).locator(".row-delete")
    expect(control).to_be_focused()
    assert control.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#confirm")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#confirm")).to_be_hidden()
    expect(row(page, title)).to_be_visible()
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert id_of(page)


@looks(PLAIN)
def test_long_lists_go_on_by_a_link(hiroba, person, look):
    token = hiroba.person()
    titles = [hiroba.topic(token, unique(f"Number {number}"))["title"] for number in range(31)]
    page = person(hiroba, look)
    page.goto("/forum")
    expect(row(page, titles[-1])).to_be_visible()
    expect(row(page, titles[0])).to_have_count(0)
    page.locator(".pager[data-pager=older] a").click()
    expect(row(page, titles[0])).to_be_visible()
    page.locator(".pager[data-pager=newest] a").click()
    expect(row(page, titles[-1])).to_be_visible()


@looks(SCRIPTED, PLAIN)
def test_a_missing_page_says_so(hiroba, person, look):
    page = person(hiroba, look)
    answer = page.goto("/forum/0000000000000000")
    assert answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("見つかりません" if look.language == "ja" else "Not found")
    assert fits(page)
