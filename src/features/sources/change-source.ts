import { MINUTE, SECOND } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError, tooMany } from '../../platform/http/problem.ts';
import type { Limit, RateLimits } from '../../platform/db/rate-limit-store.ts';
import type { Actor, AuditEvent, RecordAct } from '../audit/audit.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import type { RemovingSources } from './remove-source.ts';
import { manageableSource, visibleSource } from './source-access.ts';
import { TITLE_MAX, type Source, type SourceStore, type Visibility } from './source-store.ts';

const SYNC_LIMIT: Limit = { name: 'sync-now', burst: 10, everyMs: MINUTE };

export type ChangeSourceDeps = {
  hub: Hub;
  db: Db;
  sources: SourceStore;
  limits: RateLimits;
  recordAct: RecordAct;
  removing: RemovingSources;
  /** Sees to it that a job for the source is due now; given by app. */
  syncSoon(source: Source): void;
  /** Failed jobs of the source are nobody's worry any more; given by app. */
  settleFailed(sourceId: number): void;
};

export type ChangingSources = ReturnType<typeof changingSources>;

type Change = { title: string | undefined; visibility: Visibility | undefined; paused: boolean | undefined };

/** What owners and administrators do to a source that exists. */
export function changingSources(deps: ChangeSourceDeps) {
  const { hub, db, sources, limits, recordAct, removing, syncSoon, settleFailed } = deps;

  const visible = (id: number, viewer: Viewer | null): Source => visibleSource(hub, id, viewer);
  const manageable = (id: number, viewer: Viewer): Source => manageableSource(hub, id, viewer);

  function audit(act: AuditEvent, actor: Actor, { id, title }: Source, detail = {}): void {
    recordAct(act, actor, { kind: 'source', id, name: title }, detail);
  }

  function pauseOrResume(source: Source, paused: boolean, actor: Actor): void {
    if (paused === (source.state === 'paused')) return;
    if (paused) sources.pause(source.id, null);
    else sources.resume(source.id);
    if (paused) settleFailed(source.id);
    else if (source.kind === 'feed') syncSoon(source);
    audit(paused ? 'source.paused' : 'source.resumed', actor, source);
  }

  const apply = db.transaction('change source', (source: Source, change: Change, actor: Actor): Source => {
    const { title, visibility, paused } = change;
    if (title !== undefined && title !== source.title) {
      sources.setTitle(source.id, title);
      audit('source.renamed', actor, source, { title });
    }
    if (visibility !== undefined && visibility !== source.visibility) {
      sources.setVisibility(source.id, visibility);
      audit('source.visibility-changed', actor, source, { visibility });
    }
    if (paused !== undefined) pauseOrResume(source, paused, actor);
    return sources.find(source.id) ?? source;
  });

  return {
    visible,
    manageable,

    change(id: number, values: Record<string, unknown>, viewer: Viewer, actor: Actor): Source {
      return apply(manageable(id, viewer), readChange(values), actor);
    },

    /** Removes the source with its posts and their attachments: at once for everybody, on disk by and by. */
    delete(id: number, viewer: Viewer, actor: Actor): void {
      const source = manageable(id, viewer);
      db.transaction('delete source', () => {
        settleFailed(source.id);
        removing.begin(source.id);
        audit('source.deleted', actor, source, { kind: source.kind });
      })();
    },

    /** 409 for what is not synchronised, 429 when asked too often. */
    syncNow(id: number, viewer: Viewer): Source {
      const source = manageable(id, viewer);
      if (source.kind !== 'feed') throw new HttpError(409, 'Only feeds are synchronised.');
      if (source.state === 'paused') throw new HttpError(409, 'This source is paused. Resume it first.');
      const wait = limits.take(SYNC_LIMIT, String(viewer.id));
      if (wait > 0) throw tooMany(wait / SECOND);
      syncSoon(source);
      return source;
    },
  };
}

function readChange(values: Record<string, unknown>): Change {
  const input = createInput(values);
  const change = {
    title: values['title'] === undefined ? undefined : input.text('title', { max: TITLE_MAX }),
    visibility: input.optionalChoice('visibility', ['public', 'private']),
    paused: input.optionalFlag('paused'),
  };
  input.done();
  return change;
}
