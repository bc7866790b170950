// Sheets: a link that opens its form in a dialog instead of on a page of its own. The form is the same.
import { all, find, freshKey, say, send, texts } from './dom.js';

/** Makes every `data-sheet` link open its dialog; `refresh` runs after each closing, cancelled or not. */
export function startSheets(refresh) {
    for (const dialog of all('dialog.sheet')) {
        const form = find('form', dialog);
        for (const link of all(`[data-sheet="${dialog.id}"]`)) {
            link.addEventListener('click', (event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                dialog.showModal();
            });
        }
        for (const button of all('[data-close]', dialog)) button.addEventListener('click', () => dialog.close());
        dialog.addEventListener('click', (event) => {
            if (event.target === dialog) dialog.close();
        });
        dialog.addEventListener('close', () => refresh());
        submitInPlace(form, () => dialog.close());
    }
    for (const form of all('form[data-picker]')) startPicker(form);
}

/** Sends the form without leaving the page. A failure keeps what was typed and says why. */
function submitInPlace(form, done) {
    const message = find('.message', form);
    const button = find('[type=submit]', form);
    let failed = false;
    // After a failure the same words may be tried again with the same key; changed words are another request.
    form.addEventListener('input', () => {
        if (failed) form.elements.once.value = freshKey();
        failed = false;
    });
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        if (button.disabled) return;
        button.disabled = true;
        message.hidden = true;
        for (const field of all('[aria-invalid]', form)) field.removeAttribute('aria-invalid');
        try {
            await send(form.action, form.enctype === 'multipart/form-data'
                ? new FormData(form) : new URLSearchParams(new FormData(form)));
            failed = false;
            form.reset();
            form.elements.once.value = freshKey();
            say(texts.sent);
            done();
        } catch (error) {
            failed = true;
            message.textContent = error.message;
            message.hidden = false;
            message.scrollIntoView({ block: 'nearest' });
            const field = error.field && form.elements[error.field];
            if (field) {
                field.setAttribute('aria-invalid', 'true');
                field.focus({ preventScroll: true });
            }
        } finally {
            button.disabled = false;
        }
    });
}

/** Shows the chosen picture in its own proportions before it is sent. */
function startPicker(form) {
    const input = find('input[type=file]', form);
    const image = find('.preview', form);
    const remove = find('[data-remove]', form);
    let address = null;
    const show = () => {
        if (address) URL.revokeObjectURL(address);
        const file = input.files[0];
        address = file ? URL.createObjectURL(file) : null;
        image.hidden = remove.hidden = !file;
        if (file) image.src = address;
        else image.removeAttribute('src');
    };
    image.addEventListener('error', () => { image.hidden = true; });
    input.addEventListener('change', show);
    form.addEventListener('reset', () => queueMicrotask(show));
    remove.addEventListener('click', () => {
        input.value = '';
        input.dispatchEvent(new Event('input', { bubbles: true }));
        show();
    });
}
