// Rows of a list: made from live events, brought into line with the server, swiped and deleted.
import { alertPerson, all, confirmDeletion, fill, find, send, texts } from './dom.js';

const list = () => find('[data-list]');

// MARK: Living lists

/** A row for an item of the live stream. The markup is the page's own template; only texts and ids are put in. */
export function makeRow(kind, item, address) {
    const row = find('#row-template').content.firstElementChild.cloneNode(true);
    row.id = `${kind}-${item.id}`;
    row.toggleAttribute('data-own', item.author.id === document.body.dataset.me);
    fill(row, 'title', item.title ?? '');
    fill(row, 'text', item.text ?? '');
    fill(row, 'author', item.author.name || texts.anonymous);
    const time = find('time', row);
    time.dateTime = item.createdAt;
    time.textContent = texts.justNow;
    const link = find('.row-link', row);
    if (link) link.href = address;
    if (item.photo) showPicture(row, item.photo);
    const control = find('.row-delete', row);
    control.href = `${address}/delete`;
    control.setAttribute('aria-label', texts.deleteNamed.replace('{name}', () => item.title ?? item.text ?? ''));
    row.classList.add('is-new');
    return row;
}

function showPicture(row, file) {
    const image = document.createElement('img');
    image.className = 'thumb';
    image.width = image.height = 50;
    image.alt = '';
    image.src = `/v1/files/${encodeURIComponent(file)}?size=160`;
    find('.thumb', row).replaceWith(image);
}

/** What live events did to rows since the page now being loaded was asked for: what it says of them may be older. */
const news = new Map();

/** Puts a new row where it belongs, unless it is there already. */
export function insertRow(row) {
    news.set(row.id, 'present');
    if (document.getElementById(row.id)) return;
    if (list().dataset.list === 'newest-first') list().prepend(row);
    else list().append(row);
}

export function removeRow(id) {
    news.set(id, 'gone');
    document.getElementById(id)?.remove();
}

let loading = null;
let isWantedAgain = false;

/**
 * Asks the server for the page again and brings rows, pager and identity into line with it. One at a time, or an older
 * answer could undo what a younger one did.
 */
export function refresh() {
    isWantedAgain = true;
    loading ??= (async () => {
        while (isWantedAgain) {
            isWantedAgain = false;
            news.clear();
            // Without a network the page stays as it is; whoever brings the network back asks again.
            await load().catch(() => {});
        }
        loading = null;
    })();
    return loading;
}

async function load() {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' }, credentials: 'same-origin' });
    const gone = find('#gone');
    if (gone && response.status === 404) gone.hidden = false;
    if (!response.ok || !list()) return;
    const text = await response.text();
    const page = new DOMParser().parseFromString(text, 'text/html');
    const fresh = find('[data-list]', page);
    if (!fresh) return;
    const rows = [...fresh.children].filter((row) => news.get(row.id) !== 'gone');
    const wanted = new Set(rows.map((row) => row.id));
    for (const row of [...list().children]) {
        if (!wanted.has(row.id) && news.get(row.id) !== 'present') row.remove();
    }
    let before = list().firstElementChild;
    const skipNews = () => {
        while (before && !wanted.has(before.id)) before = before.nextElementSibling;
    };
    for (const row of rows) {
        skipNews();
        const present = document.getElementById(row.id);
        if (present) {
            present.toggleAttribute('data-own', row.hasAttribute('data-own'));
            if (present !== before) list().insertBefore(present, before);
            else before = before.nextElementSibling;
        } else {
            list().insertBefore(document.adoptNode(row), before);
        }
    }
    for (const pager of all('.pager')) {
        const other = find(`.pager[data-pager="${pager.dataset.pager}"]`, page);
        if (other) pager.replaceWith(document.adoptNode(other));
    }
    document.body.dataset.me = page.body.dataset.me ?? '';
}

// MARK: Deleting

/** A press on a delete control asks first. Refused, the row comes back and an alert says so. */
export function startDeleting() {
    document.addEventListener('click', async (event) => {
        const control = event.target.closest?.('[data-delete]');
        if (!control || event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        const row = control.closest('.row');
        const title = control.dataset.delete === 'topic' ? texts.deleteTopicQuestion : texts.deleteCommentQuestion;
        const isSure = await confirmDeletion(title, row ? find('[data-slot="title"], [data-slot="text"]', row).textContent : '');
        if (!isSure) {
            close(row);
            return;
        }
        row?.classList.add('is-leaving');
        try {
            const answer = await send(control.href, new URLSearchParams({ csrf: find('[name=csrf]').value }));
            if (row) removeRow(row.id);
            else location.assign(answer.location);
        } catch (error) {
            row?.classList.remove('is-leaving');
            close(row);
            if (error.status === 404 && row) removeRow(row.id);
            else await alertPerson(error.message);
        }
    });
}

function close(row) {
    row?.querySelector('.row-face')?.classList.remove('is-open');
}

/** A swipe to the left uncovers the delete control, one to the right covers it. Only fingers swipe. */
export function startSwiping() {
    const width = 84;
    let swipe = null;
    document.addEventListener('pointerdown', (event) => {
        const face = event.target.closest?.('.row-face');
        for (const open of all('.row-face.is-open')) if (open !== face) open.classList.remove('is-open');
        if (!face || event.pointerType !== 'touch') return;
        swipe = { face, x: event.clientX, y: event.clientY, from: face.classList.contains('is-open') ? -width : 0, moved: false };
    });
    document.addEventListener('pointermove', (event) => {
        if (!swipe) return;
        const dx = event.clientX - swipe.x;
        if (!swipe.moved && Math.abs(dx) < 8) return;
        if (!swipe.moved && Math.abs(event.clientY - swipe.y) > Math.abs(dx)) {
            swipe = null;
            return;
        }
        swipe.moved = true;
        swipe.at = Math.max(-width * 1.4, Math.min(0, swipe.from + dx));
        swipe.face.classList.add('is-moving');
        swipe.face.style.transform = `translateX(${swipe.at}px)`;
    });
    const end = () => {
        if (!swipe) return;
        const { face, moved, at } = swipe;
        swipe = null;
        face.classList.remove('is-moving');
        face.style.removeProperty('transform');
        if (!moved) return;
        face.classList.toggle('is-open', at < -width / 2);
        // The finger's end on a link would open it.
        face.addEventListener('click', (event) => event.preventDefault(), { once: true, capture: true });
        setTimeout(() => face.dispatchEvent(new Event('click')), 0);
    };
    document.addEventListener('pointerup', end);
    document.addEventListener('pointercancel', end);
}

// MARK: Times

/** Keeps "5 minutes ago" true while the page stays open. */
export function startTimes() {
    const update = () => {
        for (const time of all('time[data-relative]')) {
            const minutes = Math.floor((Date.now() - Date.parse(time.dateTime)) / 60000);
            if (minutes < 1) time.textContent = texts.justNow;
            else if (minutes < 60) time.textContent = texts.minutesAgo.replace('{n}', minutes);
            else if (minutes < 24 * 60) time.textContent = texts.hoursAgo.replace('{n}', Math.floor(minutes / 60));
            else if (minutes < 7 * 24 * 60) time.textContent = texts.daysAgo.replace('{n}', Math.floor(minutes / 1440));
        }
    };
    setInterval(update, 30000);
}
