import { MINUTE, SECOND } from '../../platform/clock.ts';
import type { Limit } from '../../platform/db/rate-limit-store.ts';
import { HttpError, tooMany } from '../../platform/http/problem.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { audit, type Actor, type AuditDetail, type AuditEvent } from '../audit/audit.ts';
import { settleFailedSyncs, syncSoon } from '../feeds/sync-source.ts';
import { limits, type Hub } from '../hub/hub.ts';
import { manageableSource } from '../sources/source-access.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { readSourceChange, type SourceChange } from './read-source.ts';

const SYNC_LIMIT: Limit = { name: 'sync-now', burst: 10, everyMs: MINUTE };

/** Changes title or visibility, pauses or resumes. The source as it is then. */
export function changeSource(
  hub: Hub, id: number, values: Record<string, unknown>, viewer: Viewer, actor: Actor,
): Source {
  const source = manageableSource(hub, id, viewer);
  const change = readSourceChange(values);
  return hub.db.write('change source', () => {
    applyChange(hub, source, change, actor);
    return sources(hub).find(id) ?? source;
  });
}

/** In a transaction. */
function applyChange(hub: Hub, source: Source, { title, visibility, paused }: SourceChange, actor: Actor): void {
  const record = (event: AuditEvent, detail?: AuditDetail): void =>
    audit(hub, event, actor, { kind: 'source', id: source.id, name: source.title }, detail);

  if (title !== undefined && title !== source.title) {
    sources(hub).setTitle(source.id, title);
    record('source.renamed', { title });
  }
  if (visibility !== undefined && visibility !== source.visibility) {
    sources(hub).setVisibility(source.id, visibility);
    record('source.visibility-changed', { visibility });
  }
  if (paused !== undefined && paused !== (source.state === 'paused')) {
    if (paused) pause(hub, source);
    else resume(hub, source);
    record(paused ? 'source.paused' : 'source.resumed');
  }
}

function pause(hub: Hub, { id }: Source): void {
  sources(hub).pause(id, null);
  settleFailedSyncs(hub, id);
}

function resume(hub: Hub, source: Source): void {
  sources(hub).resume(source.id);
  if (source.kind === 'feed') syncSoon(hub, source);
}

/** Has a feed synchronised as soon as possible. 409 for what is not synchronised, 429 when asked too often. */
export function syncNow(hub: Hub, id: number, viewer: Viewer): Source {
  const source = manageableSource(hub, id, viewer);
  if (source.kind !== 'feed') throw new HttpError(409, 'Only feeds can be synchronised.');
  if (source.state === 'paused') throw new HttpError(409, 'This source is paused. Resume it first.');
  const wait = limits(hub).take(SYNC_LIMIT, String(viewer.id));
  if (wait > 0) throw tooMany(wait / SECOND);
  syncSoon(hub, source);
  return source;
}
