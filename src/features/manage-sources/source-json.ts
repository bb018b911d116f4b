import { isoTime } from '../../platform/clock.ts';
import {
  choice, flag, id, named, noted, object, optional, orNull, text, time, type Shown,
} from '../../platform/http/fields.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { iconUrl } from '../attachments/icon-views.ts';
import { follows } from '../follows/follow-store.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManage, SOURCE_KINDS, SOURCE_STATES, VISIBILITIES, type Source } from '../sources/source-store.ts';
import { webhooks } from '../webhooks/webhook-store.ts';

/** Somebody whom a source belongs to, or is offered by or to. */
export const PARTY = object({ id, displayName: text });

const ofFeeds = { siteUrl: optional(orNull(text)), description: optional(orNull(text)) };
const ofMembers = { followed: optional(flag) };
const ofManagers = {
  url: optional(orNull(text)), hasPassword: optional(flag), showsAuthors: optional(flag),
  stateReason: optional(orNull(text)), nextSyncAt: optional(orNull(time)),
  fullText: optional(choice(['asked', 'always'])),
  webhook: optional(object({
    state: choice(['active', 'silent', 'disabled']), lastEventAt: orNull(time),
    url: optional(text), secret: optional(noted(text, 'Shown only once')),
  })),
};

export const SOURCE = named('Source', object({
  id, kind: choice(SOURCE_KINDS), title: text, visibility: choice(VISIBILITIES), owner: PARTY,
  state: choice(SOURCE_STATES), paused: flag, lastSyncAt: orNull(time), lastSuccessAt: orNull(time),
  iconUrl: orNull(text), createdAt: time, updatedAt: time, ...ofFeeds, ...ofMembers, ...ofManagers,
}));

/** As the viewer may see it. `followed`: ids of sources that they follow. */
export function sourceFor(
  hub: Hub, source: Source, viewer: Viewer | null, followed = followedAmong(hub, viewer, [source]),
): Shown<typeof SOURCE> {
  const isFollowed = followed && followed.has(source.id);
  return sourceJson(hub, source, { isOwner: mayManage(source, viewer), isFollowed });
}

export function sourcesFor(hub: Hub, all: Source[], viewer: Viewer | null): Shown<typeof SOURCE>[] {
  const followed = followedAmong(hub, viewer, all);
  return all.map((source) => sourceFor(hub, source, viewer, followed));
}

function followedAmong(hub: Hub, viewer: Viewer | null, all: Source[]): Set<number> | null {
  return viewer && follows(hub).followedAmong(viewer.id, all.map(({ id: one }) => one));
}

type Asking = { isOwner: boolean; isFollowed: boolean | null };

/** A source in the API and in the export; with `isOwner`, also what only its managers may see. */
export function sourceJson(hub: Hub, source: Source, { isOwner, isFollowed }: Asking): Shown<typeof SOURCE> {
  const { id, kind, title, visibility, owner, feedUrl, siteUrl, description } = source;
  const webhook = isOwner && kind === 'webhook' ? webhooks(hub).find(id) : undefined;
  return {
    id, kind, title, visibility,
    owner: { id: source.ownerId, displayName: owner },
    ...(kind === 'feed' ? { siteUrl, description } : {}),
    state: source.state,
    paused: source.state === 'paused',
    iconUrl: iconUrl(hub, id),
    ...(isFollowed === null ? {} : { followed: isFollowed }),
    ...(isOwner && kind === 'native' ? { showsAuthors: source.showsAuthors === 1 } : {}),
    ...(isOwner && kind === 'feed' ? { hasPassword: source.hasPassword === 1 } : {}),
    ...(isOwner && kind !== 'native' ? { fullText: sourceFullTexts(hub).find(id).isAlways ? 'always' : 'asked' } : {}),
    // The address of a feed may contain a secret.
    ...(isOwner ? { url: feedUrl, stateReason: source.stateReason, nextSyncAt: isoTime(source.nextSyncAt) } : {}),
    ...(webhook ? { webhook: { state: webhook.state, lastEventAt: isoTime(webhook.lastEventAt) } } : {}),
    lastSyncAt: isoTime(source.lastSyncAt),
    lastSuccessAt: isoTime(source.lastSuccessAt),
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
  };
}
