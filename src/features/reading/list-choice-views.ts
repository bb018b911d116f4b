import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { choiceOf, sectionOf } from './list-address.ts';
import type { Choice } from './list-choice-store.ts';
import type { View } from './reading-list.ts';

/** Buttons for the unread posts and all posts of a folder or source, in windows with room for them. */
export function unreadOrAll(view: View): Html | false {
  return isPart(view) && html`
<form class="switch" method="post" action="/reading/choice" aria-label="Which posts">${listField(view)}${
  choiceButton(view, { show: 'unread' }, 'Unread')}${choiceButton(view, { show: 'all' }, 'All')}</form>`;
}

/** A list’s menu “View”: which posts the list shows, and in which order. */
export function orderMenu(view: View): Html {
  const hasShow = isPart(view) || view.kind === 'unread';
  return html`<details class="drop"><summary class="button plain iconic" aria-label="View" title="View">${
  icon('order')}</summary>
<form class="sheet choices" method="post" action="/reading/choice">${listField(view)}
${hasShow && choiceButton(view, { show: 'unread' }, 'Unread posts')}
${isPart(view) && choiceButton(view, { show: 'all' }, 'All posts')}
${hasShow && view.sourceId === undefined && choiceButton(view, { show: 'each' }, 'Newest of each source')}
${hasShow && html`<hr>`}
${choiceButton(view, { order: 'newest' }, 'Newest first')}
${choiceButton(view, { order: 'oldest' }, 'Oldest first')}
</form></details>`;
}

/** Whether a list is a folder’s or a source’s. */
function isPart({ folder, sourceId }: View): boolean {
  return (folder ?? sourceId) !== undefined;
}

function listField(view: View): Html {
  return html`<input type="hidden" name="list" value="${sectionOf(view)}">`;
}

/** A button that chooses `change` for a list, and keeps the rest of what the list shows now. */
function choiceButton(view: View, change: Partial<Choice>, label: string): Html {
  const now = choiceOf(view);
  const { order, show } = { ...now, ...change };
  const isOn = order === now.order && show === now.show;
  return html`<button name="choice" value="${order} ${show}" aria-pressed="${String(isOn)}">${label}</button>`;
}
