// The script of all members' pages. Every page works without the script, which uses:
// li.row#post-1 with h3 a, button.seen, button.star; a[rel=up|prev|next], a[data-next-unread]; [data-original]; [data-less];
// .bar h1 > span; #list[data-view][data-newest], .fresh; [data-count]; details.drop, form#mark; dialog#help;
// #failed[popover]; body[data-keys][data-zone]; .text-switch[data-waiting].

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const follow = (selector) => $(selector)?.click();
const ask = (address, options) => fetch(address, options).catch(() => 0);
const send = (address, fields) =>
  ask(address, { method: 'POST', body: new URLSearchParams(fields), headers: { accept: 'application/json' } });

// Marks and stars posts without leaving the page.

const STATE = 'button.seen, button.star';
const postOf = (button) => Number(/posts\/(\d+)/.exec(button.formAction)[1]);
const isOn = (button) => button.ariaPressed === 'true';
const byHand = new Set(); // buttons that the member has pressed

function paint(button, on) {
  if (isOn(button) === on) return;
  button.ariaPressed = on;
  button.value = Number(!on);
  button.closest('.row')?.classList.toggle(button.name === 'star' ? 'starred' : 'read', on);
}

/** Shows the new state at once; the stored state if a request fails. Pressed again meanwhile, sends the last state. */
async function toggle(button) {
  let stored = isOn(button);
  paint(button, !stored);
  byHand.add(button);
  if (button.ariaBusy) return;
  button.ariaBusy = true;
  while (isOn(button) !== stored) {
    const now = isOn(button);
    const { ok } = await send(button.formAction, { [button.name]: Number(now) });
    if (ok) stored = now;
    else paint(button, stored);
    (ok ? refreshSoon : sayFailed)();
  }
  button.ariaBusy = null;
}

function refreshSoon() {
  clearTimeout(refreshing);
  refreshing = setTimeout(refresh, 300);
}

function sayFailed() {
  const message = $('#failed');
  message.role = 'alert'; // makes screen readers read the message
  message.togglePopover(true);
}

addEventListener('submit', (event) => {
  if (!event.submitter?.matches(STATE)) return;
  event.preventDefault();
  toggle(event.submitter);
});

// Shows the full text of a post, or the feed's text, without leaving the page.

addEventListener('submit', (event) => {
  if (!event.target.matches('.text-switch')) return;
  event.preventDefault();
  switchText(event.target, event.submitter);
});

/** Takes the article from the page with the other text; asks each second while the hub fetches the full text. */
async function switchText(form, button) {
  if (button.ariaBusy) return;
  button.ariaBusy = true;
  const body = new URLSearchParams(new FormData(form, button));
  let answer = await ask(form.action, { method: 'POST', body });
  for (let isShown; ; isShown = true) {
    if (!answer.ok) return form.submit(); // the page that answers says why
    const article = $('article', new DOMParser().parseFromString(await answer.text(), 'text/html'));
    const isWaiting = $('[data-waiting]', article);
    if (!isShown || !isWaiting) {
      $('article').replaceWith(article);
      $('.text-switch :is(button, [tabindex])')?.focus({ preventScroll: true }); // which screen readers read
    }
    if (!isWaiting) return;
    await new Promise((resume) => setTimeout(resume, 1000));
    answer = await ask(answer.url);
  }
}

// Updates counts and the state of posts, also after "back".

let refreshing;

async function refresh() {
  const buttons = $$(STATE);
  const answer = await ask(`/reading/now?posts=${[...new Set(buttons.map(postOf))]}`);
  if (answer.status === 401) location.reload(); // the member has signed out
  if (!answer.ok) return;
  const { counts, read, starred } = await answer.json();
  const before = listTitle();
  const now = { read, star: starred };
  for (const button of buttons) if (!button.ariaBusy) paint(button, now[button.name].includes(postOf(button)));
  for (const element of $$('[data-count]')) {
    const count = counts[element.dataset.count];
    element.hidden = !count || element.matches('#mark *') && count.endsWith('+');
    if (count) element.firstChild.data = count;
  }
  document.title = document.title.replace(before, listTitle);
}

/** The start of a list's window title: "Unread (12)". */
function listTitle() {
  const [name, count] = $$('.bar h1 > span:not([hidden])').map((span) => span.firstChild.data);
  return count ? `${name} (${count})` : name;
}

addEventListener('pageshow', ({ persisted }) => {
  if (persisted || performance.getEntriesByType('navigation')[0].type === 'back_forward') refresh();
  if (persisted) return;
  focusLast();
  for (const row of $('[data-scroll=on]') ? rows() : []) visible.observe(row);
});

/** A post page stores its post's id, and the list then focuses that post. The key j stores 0 for the first post. */
function focusLast() {
  const [here, last] = [$('button.seen'), sessionStorage.post];
  delete sessionStorage.post;
  if (here && !here.closest('.row')) sessionStorage.post = postOf(here);
  else focusRow(last === '0' ? $('.row') : $(`#post-${last}`));
}

// Marks posts as read that were scrolled past, a second after the scrolling, if the member has chosen so. Rows that the
// page itself has passed, to focus the last post, have not been shown.

let marking;
const shown = new Set();
const visible = new IntersectionObserver((all) => all.forEach((one) => one.isIntersecting && shown.add(one.target)));

async function markPassed() {
  const passed = $$('button.seen').filter((button) => !isOn(button) && !byHand.has(button)
    && shown.has(button.closest('.row')) && button.closest('.row').getBoundingClientRect().bottom < 0);
  if (!passed.length) return;
  const { ok } = await send('/reading/mark-read', { posts: passed.map(postOf).join(' ') });
  if (!ok) return;
  for (const button of passed) paint(button, true);
  refresh();
}

if ($('[data-scroll=on] #list')) addEventListener('scroll', () => {
  clearTimeout(marking);
  marking = setTimeout(markPassed, 1000);
}, { passive: true });

// Asks for "12 new posts" while the page is visible, less often while no posts arrive.

const list = $('#list[data-newest]');
const SOONEST = 60_000;
let [pause, seen, waiting] = [SOONEST, 0];

function waitForFresh() {
  clearTimeout(waiting);
  if (list && !document.hidden) waiting = setTimeout(askForFresh, pause);
}

async function askForFresh() {
  const answer = await ask(`/reading/fresh?${list.dataset.view}&newest=${list.dataset.newest}`);
  if (answer.status === 401) return;
  const { fresh } = answer.ok ? await answer.json() : { fresh: seen };
  pause = fresh === seen ? Math.min(2 * pause, 15 * SOONEST) : SOONEST;
  seen = fresh;
  const line = $('.fresh');
  for (const part of $$('[data-n]', line)) part.hidden = (part.dataset.n === '1') !== (fresh === 1);
  $('[data-number]', line).textContent = fresh;
  line.hidden = !fresh;
  waitForFresh();
}

document.addEventListener('visibilitychange', () => {
  pause = SOONEST;
  waitForFresh();
});
waitForFresh();

// Keeps the folders of the sidebar open or closed as the member left them, and shows the current list.

const closed = new Set(JSON.parse(localStorage.closed ?? '[]'));
for (const folder of $$('.rail details')) {
  const name = $('.name', folder).textContent;
  folder.open = !closed.has(name);
  folder.addEventListener('toggle', () => {
    closed[folder.open ? 'delete' : 'add'](name);
    localStorage.closed = JSON.stringify([...closed]);
  });
}
$('.rail [aria-current]')?.scrollIntoView({ block: 'nearest' });

// Keyboard shortcuts.

const rows = () => $$('.row');
const current = () => document.activeElement.closest('.row');

function focusRow(row) {
  if (!row) return;
  $('h3 a', row).focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
}

/** Focuses a list's next row, or first visible row; after the last row, and on a post page, opens the next page. */
function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  if (!all.length || by > 0 && at === all.length - 1) return turnPage(by);
  focusRow(at < 0 ? all.find((row) => row.getBoundingClientRect().top >= 0) : all[at + by]);
}

function turnPage(by) {
  if (rows().length) sessionStorage.post = 0;
  follow(`a[rel=${by > 0 ? 'next' : 'prev'}]`);
}

function stepSource(by) {
  const all = $$('.rail .item[href]:is([href^="/sources/"], [href^="/folders/"])');
  const [at, isWanted] = [all.findIndex((item) => item.ariaCurrent), (item) => $('.count:not([hidden])', item)];
  (by > 0 ? all.slice(at + 1) : all.slice(0, Math.max(at, 0)).reverse()).find(isWanted)?.click();
}

function press(selector) {
  const within = rows().length ? current() : document;
  if (within) $(selector, within)?.click();
}

function openOriginal() {
  const link = $('[data-original]', current() ?? document);
  if (!link) return;
  open(link.href, '_blank', 'noopener');
  const seen = $('button.seen', link.closest('.row') ?? document);
  if (seen && !isOn(seen)) seen.click();
}

function askToMarkRead() {
  const drop = $('.drop:has(#mark)');
  if (!drop) return;
  [drop.row, drop.open] = [current(), true];
  $('button', drop).focus();
}

/** Closes a menu, leaves the search field, or returns from a post to its list. */
function escape({ target }) {
  const drop = $('details.drop[open]');
  if (drop) {
    drop.open = false;
    $('summary', drop).focus();
    focusRow(drop.row);
    drop.row = null;
  } else if (isTyping(target)) target.blur();
  else if (!$(':popover-open')) follow('a[rel=up]');
}

/** The space bar scrolls; at the end of a post it opens the next unread post. */
function nextAtEnd(event) {
  const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  if (!isAtEnd || event.shiftKey || event.repeat || event.target.closest('button, summary, audio, video')) return;
  follow('a[data-next-unread]');
}

const KEYS = {
  j: () => step(1), k: () => step(-1), n: () => step(1), p: () => step(-1), l: () => turnPage(1),
  J: () => stepSource(1), K: () => stepSource(-1), o: () => follow('.row:focus-within h3 a'),
  v: openOriginal, m: () => press('button.seen'), s: () => press('button.star'), f: () => press('button.star'),
  A: askToMarkRead, '-': () => press('[data-less]'), t: () => follow('.text-switch button'),
  e: () => follow('.bar a[href$="/edit"]'),
  '/': () => $('input[name=q]')?.focus(), '?': () => $('#help')?.showModal(),
};
const PLACES = { u: '/', a: '/all', s: '/starred', w: '/write' };

const isTyping = (target) => target.closest('input:not([type=checkbox], [type=radio]), textarea, select');

/** A key's letter despite Caps Lock; by its place on a keyboard without Latin letters. */
function letterOf({ key, code, shiftKey }) {
  const letter = key > '\x7f' && /^Key/.test(code) ? code[3] : key;
  return shiftKey ? letter.toUpperCase() : letter.toLowerCase();
}

let going = -Infinity; // when "g" was pressed

addEventListener('keydown', (event) => {
  const { target, timeStamp } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if ($('body[data-keys=off], dialog[open]')) return;
  if (event.key === 'Escape') return escape(event);
  if (isTyping(target)) return;
  const letter = letterOf(event);
  if (letter === ' ') return nextAtEnd(event);
  const place = timeStamp - going < 1500 && PLACES[letter];
  going = letter === 'g' ? timeStamp : -Infinity;
  const act = place ? () => location.assign(place) : KEYS[letter];
  if (!act || event.repeat && !'jknp'.includes(letter)) return;
  event.preventDefault();
  act();
});

// Sends the member's time zone while the hub does not know it.

if ($('[data-zone=unknown]')) {
  send('/settings/time-zone', { timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone });
}

addEventListener('error', ({ target: img }) => img.alt && img.replaceWith(img.alt), true);
