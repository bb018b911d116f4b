import { choice, line, object, optional, prose, ready } from '../../platform/http/fields.ts';
import { pathId, type Input } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { page } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { FOLDER_MAX, follows } from '../follows/follow-store.ts';
import { planComparison } from '../full-text/ask-for-full-text.ts';
import { act, byId, view, type Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { renameFolder } from '../rules/change-rule.ts';
import { manageableSource, maySee, visibleSource, type Source } from '../sources/source-store.ts';
import { newWebhookPage } from '../webhooks/webhook-pages.ts';
import { NO_STORE } from '../webhooks/webhook-routes.ts';
import { addSource, lookAtFeed, type AddedSource } from './add-source.ts';
import {
  changeSource, checkChanges, FULL_TEXT_CHOICE, pauseSource, resumeSource, SOURCE_CHANGES, syncNow, type SourceChanges,
} from './change-source.ts';
import { deleteSource } from './delete-source.ts';
import { handOverSource, transferSource, type Transferred } from './give-source.ts';
import { showFolderAgain } from './many-sources-pages.ts';
import { sourcesPath } from './many-sources-views.ts';
import { SENT_OFFER } from './offer-list.ts';
import { checkNewSource, NEW_SOURCE, NEW_SOURCE_BODY } from './source-fields.ts';
import { SOURCE, sourceFor } from './source-json.ts';
import { sourceList } from './source-list.ts';
import {
  askBeforeHiding, showAddAgain, showFound, showSettingsAgain, showTransferAgain, typedChanges, typedSource,
} from './source-pages.ts';

/** Answers to a transfer: the source if its owner has changed, else the offer that was made. */
const TRANSFERRED = { 200: SOURCE, 202: object({ offer: SENT_OFFER }) };

function transferred({ source, offer }: Transferred, hub: Hub, { viewer }: MemberRequest) {
  if (offer) return [202, { offer: SENT_OFFER.show(offer) }] as const;
  return [200, sourceFor(hub, source, viewer)] as const;
}

function added({ source, webhook, isNew }: AddedSource, hub: Hub, { viewer }: MemberRequest) {
  const json = sourceFor(hub, source, viewer);
  if (!isNew) return [200, json] as const;
  const location = `${hub.config.baseUrl}/api/sources/${source.id}`;
  if (!webhook || !json.webhook) return [201, json, { location }] as const;
  return [201, { ...json, webhook: { ...json.webhook, ...webhook } }, { location, ...NO_STORE }] as const;
}

function shown(source: Source, hub: Hub, { viewer }: MemberRequest) {
  return sourceFor(hub, source, viewer);
}

function ownSource(hub: Hub, { params, viewer }: MemberRequest): Source {
  return manageableSource(hub, pathId(params), viewer);
}

function checkOwn(input: Input, changes: Partial<SourceChanges>, hub: Hub, req: MemberRequest): void {
  checkChanges(input, ownSource(hub, req), changes);
}

function change(hub: Hub, changes: SourceChanges, req: MemberRequest): Promise<Source> {
  return changeSource(hub, pathId(req.params), changes, req);
}

export const SOURCE_ROUTES: Endpoint[] = [
  ...sourceList.routes,
  view('GET /api/sources/:id', {
    access: 'public', summary: 'One source; its owner also sees its state',
  }, ready(SOURCE), (hub, { params, viewer }) => sourceFor(hub, visibleSource(hub, pathId(params), viewer), viewer)),
  ...act({
    api: 'POST /api/sources', form: 'POST /sources', summary: 'Add a source',
    fields: NEW_SOURCE, body: NEW_SOURCE_BODY, check: checkNewSource,
    run: (hub, wanted, req) => addSource(hub, wanted, req),
    shapes: { 200: SOURCE, 201: SOURCE }, reply: added, refusals: [409, 429],
    typed: typedSource, again: showAddAgain,
    next: ({ source, webhook, isNew }, hub) => {
      if (isNew && source.kind === 'feed') planComparison(hub, source.id);
      if (webhook) return page(newWebhookPage(source, webhook), 201, NO_STORE);
      return saying(`/sources/${source.id}`, isNew ? 'source-added' : 'source-followed');
    },
  }),
  ...act({
    form: 'POST /sources/add', summary: 'Preview a feed before adding it',
    fields: NEW_SOURCE, check: checkNewSource, typed: (sent) => ({ ...typedSource(sent), kind: 'feed' }),
    run: (hub, wanted, req) => lookAtFeed(hub, wanted, req),
    next: (found, hub, req, sent) => showFound(hub, found, req, sent), again: showAddAgain,
  }),
  ...act({
    api: 'PATCH /api/sources/:id', form: 'POST /sources/:id', summary: 'Change or pause a source',
    fields: SOURCE_CHANGES, check: checkOwn, run: change, shape: SOURCE, show: shown, refusals: [409, 429, 503],
    instead: askBeforeHiding, typed: typedChanges, to: saying('/sources/:id/settings', 'source-saved'),
    again: showSettingsAgain, againFor: [409, 422],
  }),
  ...act({
    form: 'POST /sources/:id/full-text', summary: 'Choose full texts of a source',
    fields: FULL_TEXT_CHOICE, check: checkOwn, run: change,
    to: saying('/sources/:id', 'full-text-chosen'),
  }),
  ...act({
    form: 'POST /sources/:id/pause', summary: 'Pause a source', run: byId(pauseSource),
    to: saying('/sources/:id', 'source-paused'),
  }),
  ...act({
    form: 'POST /sources/:id/resume', summary: 'Resume a source', run: byId(resumeSource),
    to: saying('/sources/:id', 'source-resumed'),
  }),
  ...act({
    api: 'POST /api/sources/:id/sync', form: 'POST /sources/:id/sync', summary: 'Synchronise a source now',
    run: byId((hub, id, { viewer }) => syncNow(hub, id, viewer)),
    status: 202, shape: SOURCE, show: shown, refusals: [409, 429], to: saying('/sources/:id', 'source-syncing'),
  }),
  ...act({
    api: 'DELETE /api/sources/:id', form: 'POST /sources/:id/delete', summary: 'Delete a source with its posts',
    run: byId(deleteSource), usesReserve: true, to: saying('/sources', 'source-deleted'),
  }),
  ...act({
    api: 'POST /api/sources/:id/transfer', form: 'POST /sources/:id/transfer',
    summary: 'Transfer a source: to an administrator at once, to a member as an offer',
    fields: { username: line({ max: 32 }) }, check: (_input, _given, hub, req) => void ownSource(hub, req),
    run: (hub, { username }, req) => transferSource(hub, pathId(req.params), username, req),
    shapes: TRANSFERRED, reply: transferred, refusals: [409, 429, 503],
    next: ({ source, offer }, _hub, { viewer }) => saying(
      maySee(source, viewer) ? `/sources/${source.id}` : '/sources', offer ? 'source-offered' : 'source-transferred'),
    again: showTransferAgain, againFor: [409, 422],
  }),
  ...act({
    api: 'POST /api/sources/:id/hand-over', form: 'POST /sources/:id/hand-over',
    summary: 'Transfer a source to its first follower',
    run: byId(handOverSource),
    shapes: TRANSFERRED, reply: transferred, refusals: [409, 422, 429, 503],
    next: ({ offer }) => saying('/sources/:id', offer ? 'source-offered' : 'source-handed-over'),
  }),
  ...act({
    form: 'POST /sources/folders', summary: 'Rename or delete a folder',
    fields: {
      act: optional(choice(['rename', 'delete'])), folder: optional(prose(FOLDER_MAX)),
      name: optional(line({ max: FOLDER_MAX })),
    },
    typed: ({ act: asked, folder, name }) => ({ act: asked, folder, ...(asked !== 'delete' && { name }) }),
    check: (_input, { folder = '' }, hub, { viewer }) => {
      if (!follows(hub).hasFolder(viewer.id, folder)) throw new HttpError(404, 'There is no such folder.');
    },
    run: (hub, { act: asked, folder = '', name }, { viewer }) => {
      if (asked !== 'delete' && name === undefined) {
        throw invalid([{ pointer: '/name', detail: 'A folder needs a name.' }]);
      }
      renameFolder(hub, viewer.id, folder, name ?? null);
      return name;
    },
    next: (name) => (name === undefined ? saying('/sources', 'folder-deleted')
      : saying(sourcesPath({ folder: name }), 'folder-renamed')),
    again: showFolderAgain, againFor: [422],
  }),
];
