import { faulty, faultOf } from '../../platform/http/form-faults.ts';
import { contentText, html, type Html } from '../../platform/http/html.ts';
import type { HttpError, Page } from '../../platform/http/reply.ts';
import { plural } from '../../platform/in-words.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { progressBar } from '../hub/progress-views.ts';
import type { Source } from '../sources/source-store.ts';
import type { Import, ImportLine, ImportOutcome } from './import-store.ts';
import { visibilityChoice } from './add-views.ts';
import { inSentence } from './source-state.ts';

/** Seconds between reloads of the page of a running import. */
const LOOK_AGAIN = 2;

/** Maximum characters of a feed's address in the list of imported lines. */
const SHOWN_URL = 300;

/** `isPasted`: whether the OPML document came from the text field instead of a file. */
type ImportForm = {
  earlier: Import[]; opml?: string; isPasted?: boolean; visibility?: string | undefined; problem?: HttpError;
};

/** Page: the form that imports an OPML file. */
export function importFormPage({ earlier, opml, isPasted = false, visibility, problem }: ImportForm): Page {
  const main = html`
<form method="post" action="/sources/import" enctype="multipart/form-data" class="stack">
  <p class="lead">To import your feeds from another feed reader, first export the feeds from that reader
    as an OPML file. Folders are kept. Importing the same file twice changes nothing.</p>
  <label>OPML file <input type="file" name="file" accept=".opml,.xml,text/x-opml,application/xml,text/xml"
    ${faulty(problem, 'file', { whole: !isPasted })}>${faultOf(problem, 'file', { whole: !isPasted })}</label>
  <details ${(opml || isPasted) && html`open`}>
    <summary>Paste the text of the file instead</summary>
    <label>Text of the file <textarea name="opml" rows="8" spellcheck="false" ${
      faulty(problem, 'opml', { whole: isPasted })}>${contentText(opml)}</textarea>${
      faultOf(problem, 'opml', { whole: isPasted })}</label>
  </details>
  ${visibilityChoice(visibility, 'feed', problem)}
  <div class="actions"><button>Import</button> <a class="quiet" href="/sources">Cancel</a></div>
</form>
<p><a class="quiet" href="/api/sources.opml">Download your own feeds as OPML</a></p>
${earlier.length > 0 && html`<section><h2>Earlier imports</h2>
<ul>${earlier.map(({ id }) => html`<li><a href="/sources/imports/${id}">Import ${id}</a></li>`)}</ul></section>`}`;
  return { title: 'Import feeds', main, bar: html`<h1>Import feeds</h1>`, section: 'sources' };
}

type ShownLine = ImportLine & { source: Source | undefined };

/**
 * `hasStopped`: whether the job used up its attempts. `untried`: number of new sources that were never fetched.
 * `failing`: number of new sources whose feed cannot be fetched.
 */
type Progress = {
  hasStopped: boolean;
  outcomes: Map<ImportOutcome | null, number>; added: number; untried: number; failing: number;
  lines: ShownLine[]; next: number | null;
};

/** Page: progress and outcomes of an import. The page reloads itself until the import is done. */
export function importPage(
  { id, doneAt }: Import, { hasStopped, outcomes, added, untried, failing, lines, next }: Progress,
): Page {
  const all = [...outcomes.values()].reduce((sum, n) => sum + n, 0);
  const waiting = outcomes.get(null) ?? 0;
  const isRunning = !hasStopped && (doneAt === null || untried > 0);
  const [done, total, what] = doneAt === null ? [all - waiting, all, 'lines of the file'] as const
    : [added - untried, added, 'new feeds fetched for the first time'] as const;
  const main = html`
<section class="stack">
  <p class="lead">${summary(outcomes, failing)}</p>
  ${hasStopped && html`
  <p>The import stopped before it was finished. <a href="/sources/import">Import the same file again</a>: feeds
    that were already imported stay as they are.</p>`}
  ${isRunning && html`
  ${progressBar({ done, total }, what)}
  <p class="hint">You can leave this page; the import continues.</p>`}
  <div class="actions">${!isRunning && html`<a class="button primary" href="/">Read the posts</a>`}
    <a class="button" href="/sources">Go to sources</a></div>
</section>
<section>
  <h2>Line by line</h2>
  <ul class="items">${(isRunning ? lines : faultyFirst(lines)).map((line) => lineItem(line, hasStopped))}</ul>
  ${next !== null && html`<p class="more"><a class="button" rel="next"
    href="/sources/imports/${id}?cursor=${next}">More lines</a></p>`}
</section>`;
  const title = hasStopped ? 'The import stopped' : isRunning ? 'Feeds are being imported' : 'Feeds imported';
  return {
    title, main, bar: html`<h1>${title}</h1>`, section: 'sources',
    ...(isRunning ? { refreshSeconds: LOOK_AGAIN } : {}),
  };
}

const SUMMED: [ImportOutcome, string][] = [
  ['added', 'added'], ['followed', 'followed (already on this hub)'], ['had', 'already in your list'],
  ['left-out', 'left out: your account has the maximum number of sources'], ['refused', 'not added'],
];

function summary(outcomes: Map<ImportOutcome | null, number>, failing: number): string {
  const said = SUMMED.flatMap(([outcome, words]) =>
    outcomes.has(outcome) ? [`${outcomes.get(outcome)} ${words}`] : []);
  const failed = failing > 0 ? ` ${plural(failing, 'added feed')} cannot be fetched: see below.` : '';
  return said.length > 0 ? `${said.join(', ')}.${failed}` : 'Nothing has been imported yet.';
}

/** The lines of a page of the report; lines that need the member's attention come first. */
function faultyFirst(lines: ShownLine[]): ShownLine[] {
  const needsAttention = ({ outcome, source }: ShownLine): boolean =>
    outcome === 'refused' || outcome === 'left-out' || source?.state === 'failing';
  return lines.toSorted((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)));
}

function lineItem(line: ShownLine, hasStopped: boolean): Html {
  const { url, title, folder, source } = line;
  const name = source?.title ?? (title || excerpt(url, SHOWN_URL));
  return html`
  <li><div>
    <p dir="auto">${source ? html`<a href="/sources/${source.id}">${name}</a>` : name}${folder && html`
      <span class="soft">in ${folder}</span>`}</p>
    <p class="meta"><code>${excerpt(url, SHOWN_URL)}</code></p>
  </div><p class="became">${whatBecame(line, hasStopped)}</p></li>`;
}

function whatBecame({ outcome, reason, source }: ShownLine, hasStopped: boolean): Html {
  const said = (level: string, words: string): Html => html`<span class="state ${level}">${words}</span>`;
  switch (outcome) {
    case null: return hasStopped ? said('bad', 'Not imported yet') : said('off', 'Waiting');
    case 'had': return said('off', 'Already in your list');
    case 'followed': return said('good', 'Followed: this hub already had the feed');
    case 'left-out': return said('bad', 'Left out: your account has the maximum number of sources');
    case 'refused': return said('bad', `Not added: the address ${reason ?? 'cannot be used'}`);
    case 'added': return said(...addedState(source));
  }
}

function addedState(source: Source | undefined): [level: string, words: string] {
  if (!source) return ['off', 'Added, and deleted or made private since then'];
  const { state, stateReason, lastSyncAt } = source;
  if (state === 'failing') return ['bad', `Added, but the feed cannot be fetched: ${inSentence(stateReason ?? '')}`];
  if (state === 'paused') return ['off', `Added, and paused: ${inSentence(stateReason ?? 'by you')}`];
  return lastSyncAt === null ? ['off', 'Added; waiting for its first fetch'] : ['good', 'Added'];
}
