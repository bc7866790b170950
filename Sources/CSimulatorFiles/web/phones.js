// Forms work without this. With it they work in place, and the page follows what happens to the phones.
import { morph } from './morph.js';

const texts = JSON.parse(document.getElementById('texts').textContent);
const language = document.documentElement.lang;
const status = document.getElementById('status');

document.documentElement.classList.add('js');

// MARK: Clocks

const clock = new Intl.DateTimeFormat(language, { hour: 'numeric', minute: '2-digit', hour12: false });
const day = new Intl.DateTimeFormat(language, { weekday: 'long', month: 'long', day: 'numeric' });

function showTime() {
    const now = new Date();
    for (const element of document.querySelectorAll('[data-clock]')) setText(element, clock.format(now));
    for (const element of document.querySelectorAll('[data-date]')) setText(element, day.format(now));
    for (const element of document.querySelectorAll('time[data-relative]')) {
        const minutes = Math.floor((now - Date.parse(element.dateTime)) / 60000);
        if (minutes < 1) setText(element, texts.now);
        else if (minutes < 60) setText(element, texts.minutesAgo.replace('{n}', minutes));
        else setText(element, texts.hoursAgo.replace('{n}', Math.floor(minutes / 60)));
    }
}

function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

showTime();
setInterval(showTime, 5000);

// MARK: Forms

document.addEventListener('submit', async (event) => {
    const form = event.target;
    if (!form.hasAttribute('data-in-place')) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    try {
        const answer = await fetch(form.action, { method: 'POST', body, headers: { Accept: 'application/json' } });
        if (!answer.ok) throw new Error(answer.status);
    } catch {
        status.textContent = texts.connectionLost;
    }
});

// MARK: Live

const deliveries = () => document.getElementById('deliveries');
const mostDeliveries = 60;

function element(html) {
    const template = document.createElement('template');
    template.innerHTML = html;
    return template.content.firstElementChild;
}

function lightUp(phone, before) {
    const screen = phone.querySelector('.screen');
    // Passive notifications arrive in the dark.
    const isNew = [...phone.querySelectorAll('[data-alert="active"]')].some((notice) => !before.has(notice.dataset.key));
    if (!screen || !isNew) return;
    screen.classList.remove('is-lit');
    void screen.offsetWidth;
    screen.classList.add('is-lit');
}

const alertsIn = (phone) => new Set([...phone.querySelectorAll('[data-alert]')].map((notice) => notice.dataset.key));

const handlers = {
    phone(html) {
        const fresh = element(html);
        const old = document.getElementById(fresh.id);
        if (!old) return reload();
        const before = alertsIn(old);
        const focus = nextFocus(old);
        lightUp(morph(old, fresh), before);
        focus();
        showTime();
    },
    delivery(html) {
        const fresh = element(html);
        const old = [...deliveries().children].find((row) => row.dataset.key === fresh.dataset.key);
        if (old) morph(old, fresh);
        else {
            fresh.classList.add('is-new');
            deliveries().prepend(fresh);
            while (deliveries().children.length > mostDeliveries) deliveries().lastElementChild.remove();
        }
        showTime();
    },
    reload() {
        reload();
    },
};

/** Whoever took a notification away by keyboard goes on with the next one. */
function nextFocus(phone) {
    const focused = document.activeElement?.closest?.('[data-alert]');
    if (!focused || !phone.contains(focused)) return () => {};
    const all = [...phone.querySelectorAll('[data-alert]')];
    const next = all[all.indexOf(focused) + 1] ?? all[all.indexOf(focused) - 1];
    const role = document.activeElement.className;
    return () => {
        if (document.contains(focused)) return;
        const place = next && document.contains(next) ? next : phone;
        place.querySelector(`button.${role.split(' ')[0]}, button`)?.focus();
    };
}

let loading = null;
let isWantedAgain = false;
/** What the stream told since the page now being loaded was asked for: that page may be older. */
let news = [];

/** Asks for the page again and brings this one into line. One at a time. */
function reload() {
    isWantedAgain = true;
    loading ??= (async () => {
        while (isWantedAgain) {
            isWantedAgain = false;
            news = [];
            try {
                const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
                if (!answer.ok) continue;
                const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
                const fresh = page.getElementById('content');
                if (fresh) morph(document.getElementById('content'), document.adoptNode(fresh));
                for (const [name, html] of news) handlers[name](html);
                showTime();
            } catch {
                // Whoever brings the connection back asks again.
            }
        }
        loading = null;
    })();
}

let source = null;
let timer = null;

function listen() {
    stopListening();
    source = new EventSource(document.body.dataset.live);
    source.addEventListener('ready', () => {
        status.textContent = '';
        // What happened since the page was drawn, or since the stream before this one broke, was not told.
        reload();
    });
    for (const [name, handle] of Object.entries(handlers)) {
        source.addEventListener(name, (event) => {
            if (loading) news.push([name, event.data]);
            handle(event.data);
        });
    }
    source.addEventListener('error', () => {
        status.textContent = texts.connectionLost;
        if (source.readyState === EventSource.CLOSED) timer = setTimeout(listen, 2000);
    });
}

function stopListening() {
    clearTimeout(timer);
    source?.close();
}

listen();
window.addEventListener('pagehide', stopListening);
// A page that comes back from the browser's memory shows what was.
window.addEventListener('pageshow', (event) => { if (event.persisted) listen(); });
