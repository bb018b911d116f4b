import { readForm } from '../../platform/http/body.ts';
import { choice, readGiven } from '../../platform/http/fields.ts';
import { faultOf, faulty, orAgain } from '../../platform/http/form-faults.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { pathId, readPage } from '../../platform/http/input.ts';
import { MULTIPART_SHAPE, readMultipart } from '../../platform/http/read-multipart.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import { details, nextPage, orLeave, textField, titledPage } from '../../platform/http/page-parts.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { plural } from '../../platform/in-words.ts';
import { decodingText } from '../../platform/markup/decode-text.ts';
import { inSteps } from '../../platform/markup/in-steps.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { isMultipart } from '../attachments/receive-upload.ts';
import type { Hub } from '../hub/hub.ts';
import { progressBar } from '../hub/progress-views.ts';
import { manySources, maySee, VISIBILITIES, type Source } from '../sources/source-store.ts';
import { visibilityChoice } from './add-views.ts';
import { beginImport, isImporting, OPML_LIMIT } from './import-opml.ts';
import { imports, type Import, type ImportLine, type ImportOutcome } from './import-store.ts';
import { inSentence } from './source-state.ts';

/** Maximum bytes of a form with an OPML document: percent-encoding makes the document up to three times as long. */
const OPML_FORM_LIMIT = 3 * OPML_LIMIT;

const FORM_LIMITS = {
  ...MULTIPART_SHAPE, bytes: 2 * OPML_LIMIT, fieldBytes: OPML_LIMIT, files: 1, fileBytes: OPML_LIMIT,
};

const SHOWN_AGAIN = 100_000; // characters

const LINES_PER_PAGE = 200;

type ImportForm = { opml: string; isPasted: boolean; visibility: string | undefined };

/** Page: the form to import an OPML document, and the viewer's imports. */
export function showImportForm(hub: Hub, { viewer }: MemberRequest): Reply {
  const earlier = imports(hub).listOf(viewer.id, 0, 10).toReversed();
  return page(importFormPage({ earlier }));
}

/** Form: begins an import, and leads to the page of its progress. */
export async function submitOpml(hub: Hub, req: MemberRequest): Promise<Reply> {
  let form: Partial<ImportForm> = {};
  return orAgain(async () => {
    const { opml } = form = await readImportForm(req);
    if (opml.trim() === '') throw new HttpError(422, 'Choose an OPML file, or paste the text of the file.');
    const { visibility } = readGiven({ visibility: choice(VISIBILITIES) }, form);
    const id = await beginImport(hub, opml, visibility, req);
    return seeOther(`/sources/imports/${id}`);
  }, (problem) => {
    const opml = (form.opml ?? '').length > SHOWN_AGAIN ? '' : form.opml ?? '';
    return page(importFormPage({ earlier: [], ...form, opml, problem }), problem.status);
  }, [413, 422]);
}

async function readImportForm(req: MemberRequest): Promise<ImportForm> {
  if (!isMultipart(req)) {
    const { opml = '', visibility } = await readForm(req, OPML_FORM_LIMIT);
    return { opml, isPasted: opml.trim() !== '', visibility };
  }
  let uploaded = '';
  const fields = await readMultipart(req, FORM_LIMITS, async (_file, chunks) => {
    const gathered: Buffer[] = [];
    for await (const chunk of chunks) {
      req.memory.take(chunk.length);
      gathered.push(chunk);
    }
    uploaded = await inSteps(decodingText(Buffer.concat(gathered), null));
  });
  const pasted = uploaded ? '' : fields.get('opml')?.[0] ?? '';
  return { opml: uploaded || pasted, isPasted: pasted.trim() !== '', visibility: fields.get('visibility')?.[0] };
}

/** Page: an import's progress, and what became of each line. `id-guards.ts` refuses other accounts' imports. */
export function showImport(hub: Hub, { params, viewer, query }: MemberRequest): Reply {
  const found = imports(hub).find(pathId(params));
  if (!found) throw notFound('import');
  const { items: lines, next } = readPage<ImportLine, 'line'>(query, ['line'], (after, limit) =>
    imports(hub).lines(found.id, after?.line ?? 0, limit), LINES_PER_PAGE);
  const added = imports(hub).added(found.id);
  const states = new Map(manySources(hub).among(lines.flatMap(({ sourceId }) => sourceId ?? []))
    .filter((source) => maySee(source, viewer)).map((source) => [source.id, source]));
  return page(importPage(found, {
    hasStopped: found.doneAt === null && !isImporting(hub, found.id),
    outcomes: imports(hub).outcomes(found.id),
    added: added.length,
    ...manySources(hub).countNew(added),
    lines: lines.map((line) => ({ ...line, source: states.get(line.sourceId ?? 0) })),
    next,
  }));
}

const LOOK_AGAIN = 2; // seconds

const SHOWN_URL = 300; // characters

type Shown = { earlier: Import[]; problem?: HttpError };

function importFormPage(
  { earlier, opml = '', isPasted = false, visibility, problem }: Partial<ImportForm> & Shown,
): Page {
  const pasted = textField({ values: { opml }, problem }, 'opml', 'Text of the file',
    html`rows="8" spellcheck="false"`, { whole: isPasted });
  const main = html`
<form method="post" action="/sources/import" enctype="multipart/form-data" class="stack">
  <p class="lead">Export your feeds from the other reader as an OPML file, then choose it here. Folders are kept.
    Importing the same file twice changes nothing.</p>
  <label>OPML file <input type="file" name="file" accept=".opml,.xml,text/x-opml,application/xml,text/xml"
    ${faulty(problem, 'file', { whole: !isPasted })}>${faultOf(problem, 'file', { whole: !isPasted })}</label>
  ${details('Paste the text of the file instead', pasted, { isOpen: Boolean(opml) || isPasted })}
  ${visibilityChoice(visibility, 'feed', problem)}
  ${orLeave('Import', '/sources', 'Cancel')}
</form>
<p><a class="quiet" href="/api/sources.opml">Download your own feeds as OPML</a></p>
${earlier.length > 0 && html`<section><h2>Earlier imports</h2>
<ul>${earlier.map(({ id }) => html`<li><a href="/sources/imports/${id}">Import ${id}</a></li>`)}</ul></section>`}`;
  return titledPage('Import feeds', main, { section: 'sources' });
}

type ShownLine = ImportLine & { source: Source | undefined };

/** `hasStopped`: unfinished, but not `isImporting`. `untried`: new sources, not paused, that were never fetched. */
type Progress = {
  hasStopped: boolean;
  outcomes: Map<ImportOutcome | null, number>; added: number; untried: number; failing: number;
  lines: ShownLine[]; next: string | null;
};

function importPage(
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
  <p>The import stopped half-way. <a href="/sources/import">Import the same file again</a>: what is already here stays
    as it is.</p>`}
  ${isRunning && html`
  ${progressBar({ done, total }, what)}
  <p class="hint">You can leave this page; the import continues.</p>`}
  <div class="actions">${!isRunning && html`<a class="button primary" href="/">Read the posts</a>`}
    <a class="button" href="/sources">Go to sources</a></div>
</section>
<section>
  <h2>Line by line</h2>
  <ul class="items">${(isRunning ? lines : faultyFirst(lines)).map((line) => lineItem(line, hasStopped))}</ul>
  ${nextPage(next && `/sources/imports/${id}?cursor=${next}`, 'More lines')}
</section>`;
  const title = hasStopped ? 'The import stopped' : isRunning ? 'Feeds are being imported' : 'Feeds imported';
  return titledPage(title, main, { section: 'sources', ...(isRunning && { refreshSeconds: LOOK_AGAIN }) });
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
  if (!source) return ['off', 'Added, but later deleted or made private'];
  const { state, stateReason, lastSyncAt } = source;
  if (state === 'failing') return ['bad', `Added, but it cannot be fetched: ${inSentence(stateReason ?? '')}`];
  if (state === 'paused') return ['off', `Added, and paused: ${inSentence(stateReason ?? 'by you')}`];
  return lastSyncAt === null ? ['off', 'Added; waiting for its first fetch'] : ['good', 'Added'];
}
