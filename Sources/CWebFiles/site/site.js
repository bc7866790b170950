// The entry: what each page needs beyond its forms and links.
import { find } from './dom.js';
import { startLive } from './live.js';
import { insertRow, makeRow, refresh, removeRow, startDeleting, startSwiping, startTimes } from './rows.js';
import { startSheets } from './sheet.js';

document.documentElement.classList.add('js');

const page = document.body.dataset.page;
const topic = document.body.dataset.topic;
// An older page of a list does not grow at its end.
const isNewestPage = !new URLSearchParams(location.search).has('after');

startSheets(refresh);
startDeleting();
startSwiping();
startTimes();

const handlers = {
    topics: {
        'topic.created': (item) => isNewestPage && insertRow(makeRow('topic', item, `/forum/${item.id}`)),
        'topic.deleted': (item) => removeRow(`topic-${item.id}`),
    },
    topic: {
        'comment.created': (item) => isNewestPage && item.topic === topic
            && insertRow(makeRow('comment', item, `/forum/${topic}/comments/${item.id}`)),
        'comment.deleted': (item) => removeRow(`comment-${item.id}`),
        'topic.deleted': (item) => {
            if (item.id === topic) find('#gone').hidden = false;
        },
    },
}[page];

if (handlers) startLive((kind, item) => handlers[kind]?.(item), refresh);
