import type { Browser } from './browser.ts';
import { waitUntil } from './wait-until.ts';

/** Faults of a page that a reader with an assistive program would trip over; what axe calls serious, in short. */
export const FIND_FAULTS = `
  const faults = [];
  const nameOf = (element) => element.getAttribute('aria-label') || element.labels?.[0]?.textContent
    || element.textContent.trim() || element.querySelector('img')?.alt;
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (!document.documentElement.lang) faults.push('no lang');
  if (!document.title.trim()) faults.push('no title');
  if (all('h1').length !== 1) faults.push(all('h1').length + ' h1');
  if (all('main').length !== 1) faults.push('not one main');
  if (all('script').some((script) => !script.integrity)) faults.push('scripts');
  for (const nav of all('nav')) if (!nav.getAttribute('aria-label')) faults.push('nav without a name');
  for (const element of all('input:not([type=hidden]), select, textarea, button, a[href], summary'))
    if (!nameOf(element)?.trim()) faults.push('no name: ' + element.outerHTML);
  // Who says what they see has to reach it (WCAG 2.2, 2.5.3).
  const plain = (text) => text.replace(/\\s+/g, ' ').trim().toLowerCase();
  for (const element of all('button[aria-label], a[aria-label], summary[aria-label]'))
    if (!plain(element.ariaLabel).includes(plain(element.innerText))) faults.push('another name: ' + element.outerHTML);
  for (const image of all('img')) if (image.getAttribute('alt') === null) faults.push('no alt: ' + image.outerHTML);
  for (const element of all('[tabindex]')) if (element.tabIndex > 0) faults.push('tabindex: ' + element.outerHTML);
  const ids = all('[id]').map((element) => element.id);
  if (new Set(ids).size !== ids.length) faults.push('an id twice');
  const levels = all('h1, h2, h3, h4, h5, h6').map((heading) => Number(heading.localName[1]));
  levels.forEach((level, index) => { if (level > (levels[index - 1] ?? 1) + 1) faults.push('h' + level + ' after a gap'); });
  for (const form of all('form')) {
    if (![...form.elements].some(({ type }) => type === 'submit')) faults.push('no button: ' + form.action);
  }
  return faults;
`;

/** In the page: contrastOf(color, element) compares a colour with what is behind the element. */
const CONTRAST = `
  const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
  const rgb = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const linear = (part) => part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const color = element ? rgb(getComputedStyle(element).backgroundColor) : [255, 255, 255, 255];
    return color[3] === 255 ? color : behind(element.parentElement);
  };
  const contrastOf = (color, element) => {
    const pair = [luminance(rgb(color)), luminance(behind(element))];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
`;

/** Texts whose colour stands out from what is behind them by less than 4.5 to 1 (WCAG 2.2, 1.4.3). */
export const FIND_FAINT_TEXT = `
  ${CONTRAST}
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll('body *')].filter((element) => hasText(element) && element.checkVisibility())
    .flatMap((element) => {
      const contrast = contrastOf(getComputedStyle(element).color, element);
      return contrast < 4.5 ? [contrast.toFixed(2) + ' ' + element.outerHTML.slice(0, 120)] : [];
    });
`;

/** Clicks what leads to another page, and waits until it is there. */
export async function follow(browser: Browser, selector: string): Promise<void> {
  await leave(browser, selector, () => browser.click(selector));
}

/** Does what leads to another page, once or until it does, and waits until that is there. */
export async function leave(browser: Browser, how: string, act: () => Promise<void>, isRepeated = false): Promise<void> {
  await browser.run(`document.documentElement.dataset.old = ''`);
  await act();
  const hasArrived = `return document.readyState === 'complete' && document.documentElement.dataset.old === undefined`;
  await waitUntil(`${how} leads somewhere`, async () => {
    if (await browser.run<boolean>(hasArrived)) return true;
    if (isRepeated) await act();
    return false;
  }, 30_000);
}

/** Fills in the form's fields and sends it. */
export async function submit(
  browser: Browser, fields: Record<string, string>, button = 'main form button', within = 'main',
): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await browser.type(`${within} [name=${name}]`, value);
  await follow(browser, button);
}

/** Path and query of the page that is shown. */
export async function path(browser: Browser): Promise<string> {
  const { pathname, search } = new URL(await browser.url());
  return pathname + search;
}

/** Signs the browser in and ends on that page. */
export async function signIn(browser: Browser, address: string, username: string, password: string, next = '/sources') {
  await browser.goto(`${address}/sign-in?${new URLSearchParams({ next })}`);
  await submit(browser, { username, password });
}

/** What is smaller than 24 by 24 pixels and used by pointing at it, but links within a sentence (WCAG 2.2, 2.5.8). */
export const FIND_SMALL_TARGETS = `
  const isInSentence = (element) => element.localName === 'a' && getComputedStyle(element).display === 'inline'
    && [...element.parentElement.childNodes].some((node) => node.nodeType === 3 && node.data.trim().length > 1);
  const isInProse = (element) => element.closest('.prose') && element.localName === 'a';
  // A label, or what is drawn around it for pointers, is part of the target.
  const boxOf = (element) => {
    const boxes = [element, ...(element.labels ?? [])].map((one) => one.getBoundingClientRect());
    const around = [getComputedStyle(element, '::before'), getComputedStyle(element, '::after')]
      .filter(({ content, position }) => content !== 'none' && position === 'absolute');
    const extra = around.map(({ width, height }) => ({ width: parseFloat(width) || 0, height: parseFloat(height) || 0 }));
    return ['width', 'height'].map((side) => Math.max(...[...boxes, ...extra].map((box) => box[side])));
  };
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest('.skip');
  return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
    .filter((element) => isShown(element) && !isInSentence(element) && !isInProse(element)
      && element.closest('dialog:not([open]), [popover]:not(.rail):not(:popover-open)') === null)
    .flatMap((element) => {
      const [width, height] = boxOf(element);
      return width < 23.9 || height < 23.9 ? [Math.round(width) + '×' + Math.round(height) + ' ' + element.outerHTML.slice(0, 140)] : [];
    });
`;

/** Inputs that hardly stand out from what is behind them: less than 3 to 1 (WCAG 2.2, 1.4.11). */
export const FIND_FAINT_INPUTS = `
  ${CONTRAST}
  return [...document.querySelectorAll('input:not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=file]), select, textarea')]
    .filter((element) => element.checkVisibility())
    .flatMap((element) => {
      const contrast = contrastOf(getComputedStyle(element).borderTopColor, element.parentElement);
      return contrast < 3 ? [contrast.toFixed(2) + ' ' + element.outerHTML.slice(0, 120)] : [];
    });
`;

/** References to what is not there, fields that were refused and do not say why, more than one focus. */
export const FIND_LOOSE_ENDS = `
  const ends = [];
  for (const name of ['aria-describedby', 'aria-labelledby', 'for', 'popovertarget', 'list', 'form'])
    for (const element of document.querySelectorAll('[' + name + ']'))
      for (const id of element.getAttribute(name).split(' '))
        if (!document.getElementById(id)) ends.push(name + ' leads nowhere: ' + element.outerHTML.slice(0, 140));
  for (const element of document.querySelectorAll('[aria-invalid=true]:not([aria-describedby])'))
    ends.push('no reason: ' + element.outerHTML.slice(0, 140));
  if (document.querySelectorAll('[autofocus]').length > 1) ends.push('autofocus twice');
  if (document.querySelector('[style]')) ends.push('a style attribute: ' + document.querySelector('[style]').outerHTML.slice(0, 140));
  return ends;
`;
