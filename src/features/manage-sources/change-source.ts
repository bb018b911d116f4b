import { MINUTE } from '../../platform/clock.ts';
import { createInput } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { audit, type AuditDetail, type AuditEvent, type By } from '../audit/audit.ts';
import { keepPassword, type FeedPassword } from '../feeds/feed-passwords.ts';
import { settleFailedSyncs, syncSoon } from '../feeds/sync-source.ts';
import { takeTurn, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { changingReaders } from '../posts/update-readers.ts';
import { manageableSource, sources, TITLE_MAX, type Source } from '../sources/source-store.ts';
import { readPassword, readVisibility } from './add-source.ts';
import { tellFollowers } from './tell-followers.ts';

const SYNC_LIMIT: NamedLimit = { name: 'sync-now', burst: 10, everyMs: MINUTE };

type Change = {
  title: string | undefined;
  visibility: Source['visibility'] | undefined;
  paused: boolean | undefined;
  /** The new user name and password of the feed; null removes the stored password. */
  password: FeedPassword | null | undefined;
};

/** Changes a source's title, visibility or feed password, pauses or resumes the source; returns the changed source. */
export async function changeSource(hub: Hub, id: number, values: Record<string, unknown>, by: By): Promise<Source> {
  const before = manageableSource(hub, id, by.viewer);
  const { visibility } = readChange(before, values);
  const apply = (): Source => {
    const source = manageableSource(hub, id, by.viewer); // read again, because the source may have changed
    applyChange(hub, source, readChange(source, values), by);
    return sources(hub).find(id) ?? source;
  };
  const isReadAsBefore = visibility === undefined || visibility === before.visibility;
  if (isReadAsBefore) return hub.db.write('change source', apply);
  return changingReaders(hub, { name: 'change source', sourceId: id, accountId: by.viewer.id }, apply);
}

/** Reads the changes of a source from a request. Throws status 422 with all errors in the request. */
function readChange(source: Source, values: Record<string, unknown>): Change {
  const input = createInput(values);
  const password = readPassword(input);
  if (password && source.kind !== 'feed') input.refuse('username', 'applies only to feeds.');
  const change = {
    password,
    title: values['title'] === undefined ? undefined : input.text('title', { max: TITLE_MAX }),
    visibility: readVisibility(input, Boolean(password) || source.hadPassword === 1),
    paused: input.optionalFlag('paused'),
  };
  input.done();
  return change;
}

/** Applies each change of a source and records it in the audit log, in the caller's transaction. */
function applyChange(hub: Hub, source: Source, { title, visibility, paused, password }: Change, by: By): void {
  const record = (event: AuditEvent, detail?: AuditDetail): void =>
    audit(hub, event, by, { kind: 'source', id: source.id, name: source.title }, detail);

  if (title !== undefined && title !== source.title) {
    sources(hub).setTitle(source.id, title);
    record('source.renamed', { title });
  }
  if (visibility !== undefined && visibility !== source.visibility) {
    sources(hub).setVisibility(source.id, visibility);
    const isHidden = visibility === 'private';
    if (isHidden) tellFollowers(hub, 'source.hidden', source, { ...source, visibility });
    record('source.visibility-changed', { visibility });
  }
  if (password !== undefined && (password || source.hasPassword)) {
    keepPassword(hub, source.id, password);
    record('source.password-changed');
    if (source.state !== 'paused') syncSoon(hub, source);
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

/** Makes a feed due now. Throws status 409 if the source is paused or not a feed, 429 beyond the rate limit. */
export function syncNow(hub: Hub, id: number, viewer: Viewer): Source {
  const source = manageableSource(hub, id, viewer);
  if (source.kind !== 'feed') throw new HttpError(409, 'Only feeds can be synchronised.');
  if (source.state === 'paused') throw new HttpError(409, 'Resume this paused source before you synchronise it.');
  takeTurn(hub, SYNC_LIMIT, String(viewer.id));
  syncSoon(hub, source);
  return source;
}
