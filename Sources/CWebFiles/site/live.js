// The live stream. A browser opens at most six connections to one server over HTTP/1.1, and a stream holds one for
// ever, so all tabs share one: the visible tab that holds a lock listens and tells the others.
import { say, texts } from './dom.js';

const kinds = ['topic.created', 'topic.deleted', 'comment.created', 'comment.deleted'];

/**
 * Calls `handle(kind, data)` for every event of any tab's stream, and `resync()` whenever events may have been
 * missed: at the start, after the server lost our place, after another tab took over, and on coming back to a page.
 */
export function startLive(handle, resync) {
    const channel = 'BroadcastChannel' in window ? new BroadcastChannel('hiroba-live') : null;
    const deliver = (message) => (message.kind === 'resync' ? resync() : handle(message.kind, message.data));
    const tell = (message) => {
        channel?.postMessage(message);
        deliver(message);
    };
    if (channel) channel.onmessage = (event) => deliver(event.data);

    let release = null;
    const begin = () => {
        if (release) return;
        const controller = new AbortController();
        let stop = () => {};
        release = () => {
            controller.abort();
            stop();
            release = null;
        };
        const hold = () => new Promise((resolve) => {
            const close = listen(tell);
            stop = () => {
                close();
                resolve();
            };
        });
        const takeTurn = async () => {
            const { held } = await navigator.locks.query();
            // What another tab told before this one could hear it.
            if (held.some((lock) => lock.name === 'hiroba-live')) resync();
            await navigator.locks.request('hiroba-live', { signal: controller.signal }, hold);
        };
        // Without locks (plain HTTP from another machine) each visible tab has a stream of its own.
        if (navigator.locks) takeTurn().catch(() => {});
        else hold();
    };
    const follow = () => {
        if (document.visibilityState === 'visible') begin();
        else release?.();
    };
    document.addEventListener('visibilitychange', () => {
        follow();
        if (document.visibilityState === 'visible') resync();
    });
    window.addEventListener('pagehide', () => release?.());
    window.addEventListener('pageshow', (event) => {
        if (!event.persisted) return;
        follow();
        resync();
    });
    follow();
}

/** Opens the stream and keeps it open; answers how to close it. */
function listen(tell) {
    let source = null;
    let timer = null;
    let wait = 1000;
    let isLost = false;
    const open = () => {
        source = new EventSource('/v1/live');
        for (const kind of kinds) {
            source.addEventListener(kind, (event) => tell({ kind, data: JSON.parse(event.data) }));
        }
        source.addEventListener('resync', () => tell({ kind: 'resync' }));
        // A stream of our own that resumes tells what was missed by itself; a new one cannot know.
        source.addEventListener('ready', () => {
            if (isFirst) tell({ kind: 'resync' });
            isFirst = false;
        });
        source.addEventListener('open', () => {
            wait = 1000;
            if (isLost) say('');
            isLost = false;
        });
        source.addEventListener('error', () => {
            if (!isLost) say(texts.reconnecting);
            isLost = true;
            // The browser tries again by itself unless the answer was an error.
            if (source.readyState !== EventSource.CLOSED) return;
            isFirst = true;
            timer = setTimeout(open, wait);
            wait = Math.min(wait * 2, 30000);
        });
    };
    let isFirst = true;
    open();
    return () => {
        clearTimeout(timer);
        source.close();
    };
}
