import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { asSentence } from '../manage-sources/source-state.ts';
import type { FailingSource } from '../sources/source-store.ts';
import type { Finding, Level } from '../health/findings.ts';

/** The problem that ended last, in words, and when (unix ms). */
export type PastTrouble = { words: string; at: number };

/** "All is well", or what is wrong, since when, what to do, and a link to the page that helps. */
export function verdict(problems: Finding[], past: PastTrouble | null, times: Times): Html {
  const [worst, ...others] = problems;
  if (!worst) {
    const before = past && html`<p>${past.words}, since ${showTime(times, past.at, 'since')}.</p>`;
    return html`<section class="verdict good">${icon('done')}<div><h2>All is well.</h2>${before}</div></section>`;
  }
  const more = others.length === 0 ? '' : others.length === 1 ? ' One more thing needs attention.' :
    ` ${others.length} more things need attention.`;
  const words = others.length === 0 ? onlyProblem(worst, times) : html`
<ul>${problems.map((one) => html`<li><strong>${one.problem}</strong> ${advice(one, times)} ${linkOf(one)}</li>`)}</ul>`;
  return html`<section class="verdict ${worst.level}">${icon('warning')}<div>
<h2>${sentence(worst)}${more}</h2>
${words}</div>
${others.length === 0 && worst.href && html`<a class="button" href="${worst.href}">${worst.subject}</a>`}</section>`;
}

function onlyProblem(one: Finding, times: Times): Html {
  return html`<p>${one.headline !== one.problem && html`${one.problem} `}${advice(one, times)}</p>`;
}

function sentence({ level, headline }: Finding): string {
  const words = headline ?? '';
  return level === 'bad' ? words : `The hub works, but ${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

function advice({ since, whatToDo }: Finding, times: Times): Html {
  return html`${since !== null && html`Since ${showTime(times, since, 'since')}. `}${whatToDo}`;
}

function linkOf({ href, subject }: Finding): Html | null {
  return href === null ? null : html`<a href="${href}">${subject}</a>`;
}

const LAMP_WORDS: Record<Level, string> = {
  good: 'well', off: 'not set up', warn: 'look at this', bad: 'look at this',
};

/** The tiles, one for each finding. */
export function tiles(all: Finding[], times: Times): Html {
  return html`<dl class="tiles">${all.map((one) => tile(one, times))}</dl>`;
}

/** A number at the beginning of the state is shown larger. */
function tile({ subject, level, state, detail, at, href }: Finding, times: Times): Html {
  const [, number, rest] = /^(\d[\d.]*)( .*)?$/.exec(state) ?? [];
  const told = html`${detail}${detail !== null && at !== null && ', '}${at !== null && showTime(times, at)}`;
  const name = href ? html`<a href="${href}">${subject}</a>` : subject;
  return html`
<div class="tile ${level}"><dt>${name}<span class="unseen">: ${LAMP_WORDS[level]}</span></dt>
<dd>${number === undefined ? state : html`<strong>${number}</strong>${rest}`}</dd>
${told.markup !== '' && html`<dd class="detail">${told}</dd>`}</div>`;
}

/** Failing sources, each with the reason and a button that tries again. */
export function failingView(failing: FailingSource[], icons: Map<number, Html>, times: Times): Html {
  const item = ({ id, title, since, reason, nextSyncAt }: FailingSource): Html => html`
<li>${icons.get(id)}<div><a class="title" href="/sources/${id}" dir="auto">${title}</a>
<p><span class="bad">Since ${showTime(times, since, 'since')}.</span> <span dir="auto">${
  reason !== null && asSentence(reason)}</span>${
  nextSyncAt !== null && html` Next try ${showTime(times, nextSyncAt)}.`}</p></div>
<form method="post" action="/sources/${id}/sync"><button aria-label="Try ${title} now">Try now</button></form></li>`;
  return html`<section aria-labelledby="failing"><div class="section-head"><h2 id="failing">Failing sources</h2>
<a href="/sources">All sources</a></div><ul class="failing-list">${failing.map(item)}</ul></section>`;
}
