import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/problem.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import { excerpt } from '../../platform/markup/plain-text.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { ADDRESS_MAX, feedAddress } from './feed-address.ts';
import { parseOpml, type Outline } from './opml.ts';
import { TITLE_MAX, type NewSource, type SourceStore } from './source-store.ts';

/** Bytes of one document. */
export const OPML_LIMIT = 4 * 1024 * 1024;

/** Of one document. Whoever follows more moves them in parts; none is left out in silence. */
export const MAX_OUTLINES = 5_000;

export type ImportResult = { added: number; alreadyFollowed: number; refused: { url: string; reason: string }[] };

export type ImportOpml = (document: string, viewer: Viewer, actor: Actor) => ImportResult;

type Deps = { db: Db; sources: SourceStore; recordAct: RecordAct; clock: Clock };

/** A feed that can be added, or the reason why it cannot. */
type Candidate = { url: string; title: string } | { refused: string; reason: string };

/** Adds all feeds of an OPML document in one transaction. They are fetched by the worker, so nothing waits for them. */
export function importingOpml({ db, sources, recordAct, clock }: Deps): ImportOpml {
  const importAll = db.transaction('import opml', (
    candidates: Candidate[], viewer: Viewer, actor: Actor,
  ): ImportResult => {
    const result: ImportResult = { added: 0, alreadyFollowed: 0, refused: [] };
    for (const candidate of candidates) {
      if ('refused' in candidate) result.refused.push({ url: candidate.refused, reason: candidate.reason });
      else if (sources.idOfFeed(candidate.url, viewer.id) !== undefined) result.alreadyFollowed++;
      else {
        const { url, title } = candidate;
        const source: NewSource = { ownerId: viewer.id, kind: 'feed', visibility: 'public', title, titleIsOwn: false };
        sources.create(source, { url, nextSyncAt: clock() });
        result.added++;
      }
    }
    recordAct('sources.imported', actor, undefined, { added: result.added });
    return result;
  });

  return (document, viewer, actor) => {
    const outlines = parseOpml(document);
    if (!outlines) throw new HttpError(422, 'This is no OPML document.');
    if (outlines.length === 0) throw new HttpError(422, 'This OPML document names no feeds.');
    if (outlines.length > MAX_OUTLINES) {
      const detail = `This OPML document names ${outlines.length} feeds; at most ${MAX_OUTLINES} are taken at once.`;
      throw new HttpError(422, detail);
    }
    return importAll(outlines.map(toCandidate), viewer, actor);
  };
}

function toCandidate({ url: typed, title }: Outline): Candidate {
  const refused = typed.slice(0, 200);
  if (typed.length > ADDRESS_MAX) return { refused, reason: `is longer than ${ADDRESS_MAX} characters` };
  const url = feedAddress(typed);
  if (!url) return { refused, reason: 'is no http or https address' };
  return { url, title: excerpt(title ?? new URL(url).host, TITLE_MAX) };
}
