import { DAY } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { shortTime } from '../../platform/http/times.ts';
import type { Night, NightOutcome } from './nights.ts';

const HERE: Record<NightOutcome, string> = {
  good: 'made and verified', late: 'made after a failure', degraded: 'made, but something is missing', failed: 'failed',
  none: 'no backup was made', unknown: 'no data',
};

const ELSEWHERE: Record<NightOutcome, string> = {
  good: 'arrived', late: 'arrived after a failure', degraded: 'arrived', failed: 'failed', none: 'no copy was sent',
  unknown: 'no data',
};

/** A calendar of five weeks of backups. For colour-blind viewers, shapes and words repeat the colours' meaning. */
export function nightsView(nights: Night[]): Html {
  const hasCopies = nights.some(({ elsewhere }) => elsewhere !== null);
  return html`<section aria-labelledby="nights"><div class="section-head"><h2 id="nights">Nights</h2>
<span class="soft">${hasCopies ? 'above: backup here; below: copies elsewhere' : 'one backup each night'}</span></div>
<ol class="nights">${nights.map(nightView)}</ol></section>`;
}

function nightView({ day, here, elsewhere, problems }: Night, index: number): Html {
  const date = shortTime({ now: null, zone: 'UTC' }, day * DAY + DAY / 2, 'day');
  const [number = '', month = ''] = date.split(' ');
  const isNamed = index === 0 || number === '1';
  const copies = elsewhere === null ? '' : `; elsewhere ${ELSEWHERE[elsewhere]}`;
  const words = `${date}: here ${HERE[here]}${copies}`;
  const why = problems.length === 0 ? '' : `\n${problems.join('\n')}`;
  return html`
<li title="${words}${why}"><span class="unseen">${words}${why}</span>${cell(here)}${
  elsewhere !== null && cell(elsewhere)}
<span aria-hidden="true" class="${isNamed && 'month'}">${number}</span>${
  isNamed && html`<span class="month" aria-hidden="true">${month}</span>`}</li>`;
}

const DRAWN: Record<NightOutcome, Html> = {
  good: html`<rect y="6" width="24" height="4" fill="currentColor"/>`,
  late: block('M8 8h8'),
  degraded: block('M12 4v5M12 11v1'),
  failed: block('m9 5 6 6m0-6-6 6'),
  none: html`<rect x=".75" y=".75" width="22.5" height="14.5" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
  unknown: html`<rect x="9" y="7" width="6" height="2" fill="currentColor"/>`,
};

function block(sign: string): Html {
  return html`<rect width="24" height="16" fill="currentColor"/><path class="sign" d="${sign}"/>`;
}

const TONES: Record<NightOutcome, string> = {
  good: 'good', late: 'warn', degraded: 'bad', failed: 'bad', none: 'bad', unknown: 'none',
};

function cell(outcome: NightOutcome): Html {
  return html`<svg class="cell ${TONES[outcome]}" viewBox="0 0 24 16" preserveAspectRatio="none"
  aria-hidden="true">${DRAWN[outcome]}</svg>`;
}
