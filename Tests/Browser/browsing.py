"""How the pages are looked at, and what they say in both languages."""

import re

import pytest
from playwright.sync_api import expect

# Each expectation waits for its condition at most this long.
PATIENCE = 15_000
expect.set_options(timeout=PATIENCE)

JAPANESE = {
    "forum": "掲示板", "new thread": "新しいスレッド", "anonymous": "名無しさん", "not open": "準備中",
    "title": "スレッドのタイトルを入力してください", "text": "スレッドの紹介文を入力してください",
    "add picture": "画像追加", "add thread": "スレッド追加", "comments": "コメント", "new comment": "コメントを書く",
    "comment text": "コメントを入力してください", "comment": "コメントする", "delete": "削除", "cancel": "キャンセル",
    "refused": "削除に失敗しました。権限がないようです。", "no network": "通信できませんでした。接続を確かめて、もう一度お試しください。",
    "no title": "タイトルを入力してください。", "doors": ["掲示板", "フォト", "型つきクライアント", "プッシュ通知"],
}
ENGLISH = {
    "forum": "Bulletin board", "new thread": "New thread", "anonymous": "Anonymous", "not open": "Not open yet",
    "title": "Enter a title for the thread", "text": "Enter a description of the thread",
    "add picture": "Add picture", "add thread": "Add thread", "comments": "Comments", "new comment": "Write a comment",
    "comment text": "Enter a comment", "comment": "Comment", "delete": "Delete", "cancel": "Cancel",
    "refused": "Could not delete. You do not seem to have permission.",
    "no network": "The network cannot be reached. Check your connection and try again.",
    "no title": "Please enter a title.", "doors": ["Forum", "Photos", "Typed client", "Push"],
}


class Look:
    """How somebody looks at the pages."""

    def __init__(self, device, language, scripts):
        self.device, self.language, self.scripts = device, language, scripts
        self.words = JAPANESE if language == "ja" else ENGLISH

    def __str__(self):
        return f"{self.device}-{self.language}-{'scripts' if self.scripts else 'plain'}"


SCRIPTED = [Look("phone", "ja", True), Look("desk", "en", True)]
PLAIN = [Look("desk", "ja", False), Look("phone", "en", False)]


def looks(*which):
    return pytest.mark.parametrize("look", [look for group in which for look in group], ids=str)


def row(page, text):
    return page.locator(".row", has_text=text)


def fits(page):
    """Nothing sticks out at the side, of the page or of a card on it."""
    return page.evaluate("""
        [document.documentElement, ...document.querySelectorAll('.card, .rows, .topic, .sheet[open], .door')]
            .every((element) => element.scrollWidth <= element.clientWidth)
    """)


def id_of(page):
    return re.search(r"/forum/([0-9A-Za-z]{16})", page.url)[1]
