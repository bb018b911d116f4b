import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { hiddenInput, menu } from '../../platform/http/page-parts.ts';
import { choiceOf, isPart, listOfSection, sectionOf, showsOf } from './list-address.ts';
import type { Choice } from './list-choice-store.ts';
import { ORDER_NAMES, LIST_ORDERS } from './list-orders.ts';
import type { View } from './reading-list.ts';

const SHOW_LABELS = { unread: 'Unread posts', all: 'All posts', each: 'Newest of each source' };

/** Buttons for the unread posts and all posts of a folder or source, in windows with room for them. */
export function unreadOrAll(view: View): Html | false {
  return isPart(view) && html`
<form class="switch" method="post" action="/reading/choice" aria-label="Which posts">${listField(view)}${
  choiceButton(view, { show: 'unread' }, 'Unread')}${choiceButton(view, { show: 'all' }, 'All')}</form>`;
}

/** A list’s menu “View”. The label of its button names what differs from the list's usual posts and order. */
export function orderMenu(view: View): Html {
  const shows = showsOf(view);
  const unusual = unusualChoice(view);
  const label = `View${unusual && `: ${unusual}`}`;
  const words = unusual.replace(/^(?:unread|all) posts(?:, )?/, '');
  const drawn = html`${icon('order')}${words && html`<span class="choice-words">${words}</span>`}`;
  const look = html`class="button plain iconic${unusual && ' on'}" aria-label="${label}" title="${label}"`;
  return menu(look, drawn, html`
<form class="sheet choices" method="post" action="/reading/choice">${listField(view)}
${shows.length > 1 && html`${shows.map((show) => choiceButton(view, { show }, SHOW_LABELS[show]))}<hr>`}
${ORDER_NAMES.map((order) => choiceButton(view, { order }, LIST_ORDERS[order].label))}
</form>`);
}

function unusualChoice(view: View): string {
  const [now, usual] = [choiceOf(view), choiceOf(listOfSection(sectionOf(view)) ?? view)];
  const changed = [
    ...(now.show === usual.show ? [] : [SHOW_LABELS[now.show]]),
    ...(now.order === usual.order ? [] : [LIST_ORDERS[now.order].label]),
  ];
  return changed.join(', ').toLowerCase();
}

function listField(view: View): Html {
  return hiddenInput('list', sectionOf(view));
}

function choiceButton(view: View, change: Partial<Choice>, label: string): Html {
  const now = choiceOf(view);
  const { order, show } = { ...now, ...change };
  const isOn = order === now.order && show === now.show;
  return html`<button name="choice" value="${order} ${show}" aria-pressed="${String(isOn)}">${label}</button>`;
}
