// Brings a piece of the page into line with a newer drawing of it. What is the same stays the same element, so that
// focus, open details and pages in frames survive, and what is new can be seen to arrive.

const keyOf = (node) => node.dataset?.key ?? node.id ?? '';

/** Makes `old` look like `fresh`, which may be taken apart for it. */
export function morph(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || keyOf(old) !== keyOf(fresh)) {
        old.replaceWith(fresh);
        return fresh;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
        if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
        return old;
    }
    // Clocks are the script's.
    if (old.hasAttribute('data-clock') || old.hasAttribute('data-date')) return old;
    copyAttributes(old, fresh);
    if (old.nodeName !== 'IFRAME') morphChildren(old, fresh);
    return old;
}

function copyAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
        // Whether details are open is the reader's choice; classes of the script begin with "is-here".
        if (name !== 'open' && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
        if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
}

function morphChildren(old, fresh) {
    const keyed = new Map();
    for (const child of old.children) if (keyOf(child)) keyed.set(keyOf(child), child);
    let at = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
        const key = wanted.nodeType === Node.ELEMENT_NODE ? keyOf(wanted) : '';
        const known = key ? keyed.get(key) : null;
        if (known && known.nodeName === wanted.nodeName) {
            if (known === at) at = at.nextSibling;
            else old.insertBefore(known, at);
            morph(known, wanted);
        } else if (!key && at && !isKeyed(at) && at.nodeName === wanted.nodeName) {
            const next = at.nextSibling;
            morph(at, wanted);
            at = next;
        } else {
            old.insertBefore(wanted, at);
        }
    }
    while (at) {
        const next = at.nextSibling;
        at.remove();
        at = next;
    }
}

const isKeyed = (node) => node.nodeType === Node.ELEMENT_NODE && Boolean(keyOf(node));
