import { html, type Html } from './html.ts';

/** In a square of 20 by 20, drawn in the colour of the text beside it. */
const STROKES = {
  add: 'M10 4v12M4 10h12',
  away: 'M8 4H4v12h12v-4M11 3h6v6M17 3 9.5 10.5',
  back: 'M12 4 6 10l6 6',
  bell: 'M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13ZM8.5 17.5h3',
  clock: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm0 3v4.2l3 1.8',
  cross: 'm6 6 8 8M14 6l-8 8',
  done: 'm4 10.5 4 4 8-9',
  down: 'M5 7.5 10 12.5l5-5',
  file: 'M5 2.5h6.5L15.5 6.5v11H5Zm6 0V7h4.5',
  folder: 'm7 4 6 6-6 6',
  gear: 'M4 6h8M15.5 6h.5M4 14h.5M8 14h8M13.8 4.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6Z' +
    'M6.2 12.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6Z',
  inbox: 'M3 11 5.5 4h9L17 11v5H3Zm0 0h4l1 2h4l1-2h4',
  leave: 'M8 3H4v14h4M8 10h9M13.5 6.5 17 10l-3.5 3.5',
  list: 'M7 5h10M7 10h10M7 15h10M3 5h.1M3 10h.1M3 15h.1',
  menu: 'M3 5h14M3 10h14M3 15h14',
  more: 'M4.5 10a.6.6 0 1 0 0 .1M10.4 10a.6.6 0 1 0 0 .1M16.3 10a.6.6 0 1 0 0 .1',
  order: 'M6.5 4v12M3.5 13l3 3 3-3M13.5 16V4M10.5 7l3-3 3 3',
  overview: 'M3 14a7 7 0 1 1 14 0M10 14l3.5-4.5',
  pause: 'M7 4v12M13 4v12',
  person: 'M10 3.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM4 17c0-3.5 2.5-5 6-5s6 1.5 6 5',
  ring: 'M10 4.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11Z',
  search: 'M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3Zm4.5 10.5L17 17',
  sources: 'M4 16h.1M3 9a8 8 0 0 1 8 8M3 4a13 13 0 0 1 13 13',
  star: 'm10 2.6 2.3 4.7 5.2.7-3.8 3.6.9 5.1-4.6-2.4-4.6 2.4.9-5.1L2.5 8l5.2-.7Z',
  up: 'M5 12.5 10 7.5l5 5',
  warning: 'M10 3 18 16.5H2ZM10 8v4M10 14.3h.1',
  write: 'm4 16 .8-3.5L13.5 3.8l2.7 2.7L7.5 15.2Z',
} as const;

export type IconName = keyof typeof STROKES;

/** Decorative: the button or link around it, or the text beside it, says what it means. */
export function icon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d="${STROKES[name]}"/></svg>`;
}
