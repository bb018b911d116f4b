import { html, type Html } from '../../platform/http/html.ts';
import type { Viewer } from '../../platform/http/router.ts';

const KEYS: [keys: string[], what: string][] = [
  [['j', 'k'], 'Next post, previous post'],
  [['o', 'Enter'], 'Open the post'],
  [['v'], 'Open the original in a new tab'],
  [['m'], 'Mark it as read or unread'],
  [['s', 'f'], 'Star it'],
  [['space'], 'Page down, then the next unread post'],
  [['A'], 'Mark several posts as read'],
  [['/'], 'Search'],
  [['g u', 'g a', 'g s', 'g w'], 'Go to unread, all or starred posts, or write one'],
  [['Esc'], 'Close what is open, or go back to the list'],
  [['?'], 'Show these shortcuts'],
];

/** What the script of members' pages (assets/hub.js) shows; without it nothing of this is seen. */
export function forTheScript({ preferences: { keys } }: Viewer): Html {
  return html`${keys && html`
<dialog class="keys" id="help" aria-labelledby="keys">
<form method="dialog"><h2 id="keys">Keyboard shortcuts</h2><button>Close</button></form>
<dl>${KEYS.map(keyRow)}</dl>
<p><a href="/settings#preferences">Turn shortcuts off</a></p>
</dialog>`}
<p class="failed" id="failed" popover>That could not be saved. Try again.</p>`;
}

function keyRow([keys, what]: (typeof KEYS)[number]): Html {
  return html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd></div>`;
}
