import { MINUTE } from '../../platform/clock.ts';
import { choice, filled, flag, line, noted, optional, type Given } from '../../platform/http/fields.ts';
import { createInput, type Input } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { audit, type AuditDetail, type AuditEvent, type By } from '../audit/audit.ts';
import { discoverFeed } from '../feeds/discover-feed.ts';
import { authorizationFor, basicAuthorization, keepPassword } from '../feeds/feed-passwords.ts';
import { wantNewest } from '../full-text/ask-for-full-text.ts';
import { hasFullTexts } from '../full-text/fetch-full-text.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import { settleFailedSyncs, syncSoon } from '../feeds/sync-source.ts';
import { takeTurn, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { notifications } from '../notifications/notification-store.ts';
import { changingReaders } from '../posts/update-readers.ts';
import { settleSourceNow } from '../reading/settle-entries.ts';
import { manageableSource, sources, TITLE_MAX, VISIBILITIES, type Source } from '../sources/source-store.ts';
import { syncState } from '../sources/sync-state-store.ts';
import { lookOnce, refuseDuplicate } from './add-source.ts';
import { checkVisibility, CREDENTIALS, feedUrl } from './source-fields.ts';
import { tellFollowers } from './tell-followers.ts';

const SYNC_LIMIT: NamedLimit = { name: 'sync-now', burst: 10, everyMs: MINUTE };

/** Which new posts of a source get full texts, and whether its newest posts get theirs. */
export const FULL_TEXT_CHOICE = {
  fullText: optional(choice(['asked', 'always'])),
  fullTextOfLast: optional(noted(flag, 'Whether to fetch the full texts of the last 20 posts now')),
};

export const SOURCE_CHANGES = {
  title: optional(filled(line({ max: TITLE_MAX }))), visibility: optional(choice(VISIBILITIES)), ...CREDENTIALS,
  paused: optional(flag), url: optional(filled(feedUrl)), showsAuthors: optional(flag), ...FULL_TEXT_CHOICE,
};

export type SourceChanges = Given<typeof SOURCE_CHANGES>;

/** Refuses changes that do not fit the source. */
export function checkChanges(input: Input, source: Source, changes: Partial<SourceChanges>): void {
  const { password, url, showsAuthors, fullText, fullTextOfLast, visibility } = changes;
  if (password && source.kind !== 'feed') input.refuse('username', 'applies only to feeds.');
  if (url && source.kind !== 'feed') input.refuse('url', 'applies only to feeds.');
  if (showsAuthors !== undefined && source.kind !== 'native') {
    input.refuse('showsAuthors', 'applies only to posts written on the hub.');
  }
  const isOwn = source.kind === 'native' && (fullText !== undefined || fullTextOfLast !== undefined);
  if (isOwn) input.refuse('fullText', 'applies only to feeds and webhooks.');
  checkVisibility(input, visibility, hadPassword(source, changes));
}

function hadPassword(source: Source, { password }: Partial<SourceChanges>): boolean {
  return Boolean(password) || source.hadPassword === 1;
}

/** Changes nothing if the feed at a new address cannot be fetched. */
export async function changeSource(hub: Hub, id: number, changes: SourceChanges, by: By): Promise<Source> {
  const before = manageableSource(hub, id, by.viewer);
  const found = await lookAtAddress(hub, before, changes, by);
  const apply = (): Source => {
    const source = manageableSource(hub, id, by.viewer); // the source is read again, because it may have changed
    const input = createInput({});
    checkChanges(input, source, changes);
    input.done();
    applyChange(hub, source, { ...changes, found }, by);
    return sources(hub).find(id) ?? source;
  };
  const isReadAsBefore = [undefined, before.visibility].includes(visibilityAfter(before, changes));
  if (isReadAsBefore) return hub.db.write('change source', apply);
  return changingReaders(hub, { name: 'change source', sourceId: id, accountId: by.viewer.id }, () => {
    const changed = apply();
    settleSourceNow(hub, id);
    return changed;
  });
}

function visibilityAfter(source: Source, changes: SourceChanges): Source['visibility'] | undefined {
  return hadPassword(source, changes) ? 'private' : changes.visibility;
}

export function pauseSource(hub: Hub, id: number, by: By): Promise<Source> {
  return changeSource(hub, id, { paused: true }, by);
}

export function resumeSource(hub: Hub, id: number, by: By): Promise<Source> {
  return changeSource(hub, id, { paused: false }, by);
}

type LookedAt = SourceChanges & { found: FoundAddress | undefined };

function applyChange(hub: Hub, source: Source, change: LookedAt, by: By): void {
  const { title, paused, password, found, showsAuthors } = change;
  const visibility = visibilityAfter(source, change);
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
  if (showsAuthors !== undefined && showsAuthors !== (source.showsAuthors === 1)) {
    sources(hub).setShowsAuthors(source.id, showsAuthors);
    record('source.authors-changed', { showsAuthors });
  }
  if (found !== undefined) {
    changeAddress(hub, source, found, by);
    record('source.address-changed', { host: new URL(found.url).host });
    if (source.hasPassword && !found.keepsPassword && password === undefined) record('source.password-changed');
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
  if (chooseFullText(hub, source.id, change)) record('source.full-text-chosen', { fullText: change.fullText ?? '' });
}

function chooseFullText(hub: Hub, sourceId: number, { fullText, fullTextOfLast }: SourceChanges): boolean {
  if (fullTextOfLast && hasFullTexts(hub)) wantNewest(hub, sourceId);
  if (fullText === undefined) return false;
  const isAlways = fullText === 'always';
  const isChanged = isAlways !== (sourceFullTexts(hub).find(sourceId).isAlways === 1);
  sourceFullTexts(hub).choose(sourceId, isAlways);
  return isChanged;
}

/** `keepsPassword`: whether the stored password of the feed belongs to the origin of the new address. */
type FoundAddress = { url: string; keepsPassword: boolean };

async function lookAtAddress(
  hub: Hub, source: Source, { url: address, password }: SourceChanges, by: By,
): Promise<FoundAddress | undefined> {
  if (address === undefined || address === source.feedUrl) return undefined;
  refuseDuplicate(hub, address, source.ownerId);
  const found = await lookOnce(hub, by.viewer.id, async () => {
    const stored = password === undefined ? authorizationFor(hub, { sourceId: source.id, url: address }) : undefined;
    const authorization = password ? basicAuthorization(password) : stored;
    const { url } = await discoverFeed(hub, address, { guess: true, authorization });
    return { url, keepsPassword: stored !== undefined };
  });
  return found.url === source.feedUrl ? undefined : found;
}

function changeAddress(hub: Hub, source: Source, { url, keepsPassword }: FoundAddress, by: By): void {
  refuseDuplicate(hub, url, source.ownerId);
  syncState(hub).changeAddress(source.id, url);
  if (source.hasPassword && !keepsPassword) keepPassword(hub, source.id, null);
  settleFailedSyncs(hub, source.id);
  tellFollowers(hub, 'source.new-address', source, source, [by.viewer.id]);
  if (source.ownerId !== by.viewer.id) tellOwnerOfAddress(hub, source);
  const changed = sources(hub).find(source.id);
  if (changed && changed.state !== 'paused') syncSoon(hub, changed);
}

function tellOwnerOfAddress(hub: Hub, { id, ownerId: accountId, title }: Source): void {
  const told = `“${title}” now comes from another address, which an administrator entered`;
  notifications(hub).add({ accountId, kind: 'source.new-address', title: told, path: `/sources/${id}/settings` });
}

function pause(hub: Hub, { id }: Source): void {
  sources(hub).pause(id, null);
  settleFailedSyncs(hub, id);
}

function resume(hub: Hub, source: Source): void {
  sources(hub).resume(source.id);
  if (source.kind === 'feed') syncSoon(hub, source);
}

/** Makes a feed due now. Throws status 409 if the source is paused or not a feed. */
export function syncNow(hub: Hub, id: number, viewer: Viewer): Source {
  const source = manageableSource(hub, id, viewer);
  if (source.kind !== 'feed') throw new HttpError(409, 'Only feeds can be synchronised.');
  if (source.state === 'paused') throw new HttpError(409, 'It is paused: resume it first.');
  takeTurn(hub, SYNC_LIMIT, String(viewer.id));
  syncSoon(hub, source);
  return source;
}
