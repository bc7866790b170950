// Small helpers that every module shares. Text reaches the page through textContent only.

/** What the server says in the reader's language: the same texts the pages are made of. */
export const texts = JSON.parse(document.getElementById('texts').textContent);

export const find = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Puts `text` into the element named by `data-slot` inside a copied template. */
export function fill(root, slot, text) {
    const element = find(`[data-slot="${slot}"]`, root);
    if (element) element.textContent = text;
}

/** Opens one of the two small dialogs and answers which button closed it. */
function ask(id, title, detail) {
    const dialog = document.getElementById(id);
    fill(dialog, 'title', title);
    fill(dialog, 'detail', detail ?? '');
    find('[data-slot="detail"]', dialog).hidden = !detail;
    dialog.returnValue = '';
    dialog.showModal();
    return new Promise((resolve) => {
        dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
    });
}

export const alertPerson = (message) => ask('alert', message);
export const confirmDeletion = (title, detail) => ask('confirm', title, detail);

/** A line at the foot of the page, read aloud when there is time. */
export function say(message) {
    find('#status').textContent = message;
}

/** Sends a form's fields; answers the server's JSON. Throws an `Error` whose message is fit for the reader. */
export async function send(address, body) {
    let response;
    try {
        response = await fetch(address, {
            method: 'POST', body, headers: { Accept: 'application/json' }, credentials: 'same-origin',
        });
    } catch {
        throw new Error(texts.networkLost);
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    const error = new Error(answer.message ?? texts.failed);
    error.field = answer.field;
    error.status = response.status;
    throw error;
}

/** A new key for a form: the same key never does its work twice. */
export function freshKey() {
    return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18))))
        .replaceAll('+', '-').replaceAll('/', '_');
}
