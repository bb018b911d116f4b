import { HttpError } from '../../platform/http/http-error.ts';
import { RANKS } from '../../platform/jobs/job-queue.ts';
import { excerpt } from '../../platform/markup/tidy-text.ts';
import { accounts, type Account } from '../accounts/account-store.ts';
import { audit, type By } from '../audit/audit.ts';
import { keepPassword } from '../feeds/feed-passwords.ts';
import { ownFeedId } from '../feeds/own-feeds.ts';
import { follows } from '../follows/follow-store.ts';
import { enqueue, jobs, metLimit, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { saysItLeadsHere } from '../hub/own-address.ts';
import { followSource, isFull, type Follower } from '../reading/follow-source.ts';
import { maySee, sources, TITLE_MAX, type Visibility } from '../sources/source-store.ts';
import { sourcesLeft, tooManySources } from './add-source.ts';
import { imports, IMPORTS_KEPT, type NewLine, type ImportOutcome, type Settled } from './import-store.ts';
import { parseOpml, type Outline } from './opml.ts';
import { ADDRESS_MAX, feedAddress } from './source-fields.ts';

export const OPML_LIMIT = 4 * 1024 * 1024; // bytes

/** Maximum feeds in one OPML document; a larger document is refused whole, so that no feed is silently left out. */
export const MAX_OUTLINES = 5_000;

type ImportResult = {
  added: number; alreadyFollowed: number; leftOut: number; refused: { url: string; reason: string }[];
};

type Importing = { viewer: Follower; visibility: Visibility };

/** Adds the feeds of an OPML document; a second import completes a crashed one. */
export async function importOpml(
  hub: Hub, document: string, visibility: Visibility, by: By,
): Promise<ImportResult> {
  const waiting = await readLines(hub, document);
  const result: ImportResult = { added: 0, alreadyFollowed: 0, leftOut: 0, refused: [] };
  await throttled(hub)('import opml', (limit) => {
    by.recheck();
    const some = waiting.splice(0, limit);
    settleLines(hub, some, { viewer: by.viewer, visibility }, (line, settled) => count(result, line, settled));
    if (some.length < limit) audit(hub, 'sources.imported', by, undefined, { added: result.added });
    return some.length;
  });
  if (result.leftOut > 0 && result.added === 0) throw tooManySources(hub);
  return result;
}

function count(result: ImportResult, { url }: NewLine, { outcome, reason = '' }: Settled): void {
  if (outcome === 'refused') result.refused.push({ url, reason });
  else if (outcome === 'had') result.alreadyFollowed++;
  else if (outcome === 'left-out') result.leftOut++;
  else result.added++;
}

/** Enqueues an import and returns its id. Throws 429 while IMPORTS_KEPT imports are running. */
export async function beginImport(hub: Hub, document: string, visibility: Visibility, by: By): Promise<number> {
  if (runningImports(hub, by.viewer.id).length >= IMPORTS_KEPT) {
    throw metLimit(hub, 'imports-at-once', 60,
      'Five of your imports are still running. Wait until one ends.');
  }
  const lines = await readLines(hub, document);
  let [importId, written] = [0, 0];
  await throttled(hub)('begin import', (limit) => {
    by.recheck();
    importId ||= imports(hub).begin(by.viewer.id, visibility, runningImports(hub, by.viewer.id));
    const some = lines.slice(written, written + limit);
    for (const line of some) {
      imports(hub).addLine(importId, ++written, line);
      if (line.password) settleLines(hub, [line], { viewer: by.viewer, visibility }, (_line, settled) =>
        imports(hub).settle(importId, written, settled));
    }
    if (some.length < limit) enqueue(hub, importFeeds, { importId }, { owner: by.viewer.id, rank: RANKS.asked });
    return some.length;
  });
  return importId;
}

/** Adds the feeds of an OPML import in small steps; a retried job continues with the first feed without an outcome. */
export const importFeeds: JobKind<{ importId: number }> = {
  name: 'import-feeds',
  key: ({ importId }) => String(importId),
  attempts: 5,
  concurrency: 2,
  afterRestore: 'run',
  stores: true,

  async run(hub, { importId }, signal, job) {
    const asked = (): (Importing & { viewer: Account }) | undefined => {
      const found = imports(hub).find(importId);
      const viewer = found && accounts(hub).find(found.accountId);
      return viewer && { viewer, visibility: found.visibility };
    };
    const outcomes = imports(hub).outcomes(importId);
    const total = [...outcomes.values()].reduce((sum, lines) => sum + lines, 0);
    let done = total - (outcomes.get(null) ?? 0);
    await throttled(hub)('import feeds, one step', (limit) => {
      const importing = asked();
      if (!importing) return 0; // the account may have been deleted since the last step
      const some = imports(hub).waiting(importId, limit);
      settleLines(hub, some, importing, ({ line }, settled) =>
        imports(hub).settle(importId, line, settled));
      jobs(hub).noteProgress(job.id, done += some.length, total);
      return some.length;
    }, () => signal.aborted);
    signal.throwIfAborted();
    return () => {
      const viewer = asked()?.viewer;
      if (!viewer) return;
      const added = imports(hub).added(importId).length;
      const actor = { id: viewer.id, name: viewer.username, address: null };
      audit(hub, 'sources.imported', actor, undefined, { added });
      imports(hub).finish(importId);
    };
  },
};

/** Whether a job for the import is due or running; false while a failed one waits for its next attempt. */
export function isImporting(hub: Hub, importId: number): boolean {
  return jobs(hub).isUnderWay(importFeeds.name, importFeeds.key({ importId }));
}

function runningImports(hub: Hub, accountId: number): number[] {
  return imports(hub).listOf(accountId, 0, 100).flatMap(({ id }) => isImporting(hub, id) ? id : []);
}

async function readLines(hub: Hub, document: string): Promise<NewLine[]> {
  const outlines = await parseOpml(document);
  if (!outlines) throw new HttpError(422, 'This is not an OPML document.');
  if (outlines.length === 0) throw new HttpError(422, 'This OPML document contains no feeds.');
  if (outlines.length > MAX_OUTLINES) {
    const detail = `This OPML document has ${outlines.length} feeds; at most ${MAX_OUTLINES} can be imported at once.`;
    throw metLimit(hub, 'opml-feeds', 0, detail);
  }
  return outlines.map(toLine);
}

function toLine({ url: typed, title: named, folder }: Outline): NewLine {
  const title = feedAddress(named ?? '')?.password ? undefined : named; // the title may be an address with a password
  const refused = (reason: string): NewLine =>
    ({ url: withoutPassword(typed), title: excerpt(title ?? '', TITLE_MAX), folder, outcome: 'refused', reason });
  if (typed.length > ADDRESS_MAX) return refused(`is longer than ${ADDRESS_MAX} characters`);
  const address = feedAddress(typed);
  if (!address) return refused('is not an http or https address');
  const { url, password } = address;
  return { url, title: excerpt(title ?? new URL(url).host, TITLE_MAX), folder, ...(password && { password }) };
}

/** What is no address may still hold a password: before an @ at its beginning, or behind a colon. */
function withoutPassword(typed: string): string {
  const [schemes = ''] = /^(?:[<\w+.-]*:)*\/\//.exec(typed) ?? [];
  const rest = typed.slice(schemes.length, ADDRESS_MAX);
  const name = /^[^/?#]*@/.exec(rest) ?? /^[^@:]*:.*@/s.exec(rest);
  return `${schemes}${rest.slice(name?.[0].length ?? 0)}`.slice(0, 200);
}

type AnyLine = Pick<NewLine, 'url' | 'title' | 'folder' | 'password'> & {
  outcome?: ImportOutcome | null; reason?: string | null;
};

function settleLines<Line extends AnyLine>(
  hub: Hub, lines: Line[], importing: Importing, note: (line: Line, settled: Settled) => void,
): void {
  let left = sourcesLeft(hub, importing.viewer.id);
  for (const line of lines) {
    const { outcome, reason } = line;
    const settled = outcome ? { outcome, reason: reason ?? '' } : settle(hub, line, importing, left);
    if (settled.outcome === 'added') left--;
    note(line, settled);
  }
}

function settle(
  hub: Hub, { url, title, folder, password }: AnyLine, { viewer, ...wanted }: Importing, left: number,
): Settled {
  if (saysItLeadsHere(hub.config, new URL(url))) return followHere(hub, ownFeedId(hub, url) ?? 0, viewer, folder);
  const ownerId = viewer.id;
  const own = sources(hub).idOfFeed(url, ownerId);
  if (own !== undefined) return { outcome: 'had', sourceId: own };
  const known = password ? undefined : sources(hub).publicFeed(url);
  if (known) return followHere(hub, known.id, viewer, folder);
  if (left === 0) return { outcome: 'left-out' };
  const visibility = password ? 'private' : wanted.visibility;
  const source = { ownerId, kind: 'feed', visibility, title, titleIsOwn: false } as const;
  const sourceId = sources(hub).create(source, { url, nextSyncAt: hub.clock() });
  if (password) keepPassword(hub, sourceId, password);
  follows(hub).follow(ownerId, sourceId, 0);
  follows(hub).change(ownerId, sourceId, { folder: folder ?? undefined });
  return { outcome: 'added', sourceId };
}

function followHere(hub: Hub, id: number, viewer: Follower, folder: string | null): Settled {
  const source = sources(hub).find(id);
  if (!source || !maySee(source, viewer)) return { outcome: 'refused', reason: 'is this hub itself' };
  if (source.ownerId === viewer.id || follows(hub).isFollowed(viewer.id, id)) return { outcome: 'had', sourceId: id };
  if (isFull(hub, viewer, id)) return { outcome: 'left-out' };
  followSource(hub, viewer, id, { folder: folder ?? undefined });
  return { outcome: 'followed', sourceId: id };
}
