import { MINUTE } from '../../platform/clock.ts';
import type { JsonObject } from '../../platform/http/body.ts';
import { flag, optional, readGiven } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { pathId } from '../../platform/http/input.ts';
import type { FormState } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf, type Times } from '../../platform/http/times.ts';
import { sourceIcons } from '../attachments/icon-store.ts';
import { sourceIcon } from '../attachments/icon-views.ts';
import { isSyncing, syncProgress } from '../feeds/sync-source.ts';
import { follows } from '../follows/follow-store.ts';
import { offerOf as fullTextOfferOf } from '../full-text/ask-for-full-text.ts';
import { fullTextSettings, offerPanel, resultsText } from '../full-text/full-text-views.ts';
import { hasFullTexts } from '../full-text/fetch-full-text.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import type { RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { postsOnSourcePage } from '../reading/list-pages.ts';
import { sourceRuns } from '../sources/run-store.ts';
import { manageableSource, mayManage, visibleSource, type Source } from '../sources/source-store.ts';
import { webhookUrl } from '../webhooks/manage-webhooks.ts';
import { webhookPanel } from '../webhooks/webhook-pages.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import type { FoundFeed } from './add-source.ts';
import { addPage, foundPage } from './add-views.ts';
import { SOURCE_CHANGES } from './change-source.ts';
import { offers } from './offer-store.ts';
import { offerNotice } from './offer-list.ts';
import { lastRuns, stripsOf, wholeStrip } from './run-views.ts';
import { fillPassword } from './source-fields.ts';
import {
  confirmDeleteSourcePage, confirmHidePage, sourceSettingsPage, transferPage, type SentSourceForm,
} from './source-settings-views.ts';
import { sourcePage } from './source-views.ts';
import { countFollowers } from './tell-followers.ts';

/** While posts are compared with their pages, a source's page is refreshed, until the source is this old. */
const COMPARED_WITHIN = 2 * MINUTE;

/** Page: a source with its posts. */
export async function showSource(hub: Hub, req: HubRequest): Promise<Reply> {
  const source = visibleSource(hub, pathId(req.params), req.viewer);
  const mayChange = mayManage(source, req.viewer);
  const isFetching = mayChange && isSyncing(hub, source.id);
  const isNew = source.kind === 'feed' && source.lastSyncAt === null && source.state === 'active';
  const fullTextOffer = fullTextOfferOf(hub, source, req.viewer);
  const empty = isNew || isFetching ? 'The first posts are being fetched.' : 'This source has no posts yet.';
  return page(sourcePage({
    source, mayChange, icon: sourceIcon(hub, source),
    ...await postsOnSourcePage(hub, req, source.id, empty),
    isMember: req.viewer !== null,
    follow: req.viewer && (follows(hub).find(req.viewer.id, source.id) ?? null),
    isSyncing: isFetching,
    isComparing: fullTextOffer?.why === 'comparing' && source.createdAt > hub.clock() - COMPARED_WITHIN,
    fullTextOffer: offerPanel(hub, source.id, fullTextOffer),
    progress: isFetching ? syncProgress(hub, source.id) : undefined,
    webhook: mayChange ? webhooks(hub).find(source.id) : undefined,
    offer: mayChange ? offerOf(hub, source, req.viewer) : null,
    runs: mayChange ? runsPanel(hub, source, timesOf(hub, req.viewer)) : null,
    times: timesOf(hub, req.viewer),
  }));
}

function offerOf(hub: Hub, { id }: Source, viewer: Viewer | null): Html | null {
  const offer = offers(hub).ofSource(id);
  return offer ? offerNotice(offer, timesOf(hub, viewer)) : null;
}

function runsPanel(hub: Hub, source: Source, times: Times): Html | null {
  if (source.kind === 'native') return null;
  const strip = stripsOf(times, sourceRuns(hub).days([source.id]))(source);
  const runs = lastRuns(sourceRuns(hub).last(source.id), source, times);
  const results = sourceFullTexts(hub).results(source.id);
  return html`<div class="runs-panel">${wholeStrip(strip)}${runs}</div>
${results.length > 0 && html`<p>${resultsText(results)}</p>`}`;
}

/** Page: the settings of a source and of the viewer's follow. */
export function showSettings(hub: Hub, req: MemberRequest): Reply {
  return page(settings(hub, visibleSource(hub, pathId(req.params), req.viewer), req));
}

function settings(hub: Hub, source: Source, { viewer }: MemberRequest, sent?: SentSourceForm): Page {
  const mayChange = mayManage(source, viewer);
  const webhook = mayChange && source.kind === 'webhook' ? webhooks(hub).find(source.id) : undefined;
  const times = timesOf(hub, viewer);
  return sourceSettingsPage({
    source, mayChange, webhook, sent, iconIs: iconState(hub, source),
    follow: follows(hub).find(viewer.id, source.id) ?? null,
    folders: follows(hub).folderNames(viewer.id),
    isSyncing: mayChange && isSyncing(hub, source.id),
    fullTexts: mayChange && source.kind !== 'native' && hasFullTexts(hub) ? fullTextSettings(hub, source.id) : null,
    times,
    webhookPanel: webhook ? webhookPanel(webhook, webhookUrl(hub, source.id), times) : null,
    followers: countFollowers(hub, source),
  });
}

function iconState(hub: Hub, { id, kind }: Source): 'there' | 'cleared' | 'none' {
  if (sourceIcons(hub).hashOf(id) !== undefined) return 'there';
  return kind === 'feed' && sourceIcons(hub).isCleared(id) ? 'cleared' : 'none';
}

/** Asks for confirmation before followers lose access. */
export function askBeforeHiding(hub: Hub, req: MemberRequest, sent: Record<string, string>): Reply | undefined {
  const values = withPassword(sent);
  const source = manageableSource(hub, pathId(req.params), req.viewer);
  const followers = countFollowers(hub, source);
  const { visibility, sure } = values;
  const hides = visibility === 'private' && source.visibility === 'public' && followers > 0;
  return hides && sure !== '1' ? page(confirmHidePage(source, followers, values)) : undefined;
}

export function typedChanges(sent: Record<string, string>): JsonObject {
  const values = withPassword(sent);
  const changes = Object.fromEntries(Object.keys(SOURCE_CHANGES).map((name) => [name, values[name]]));
  const { forget } = readGiven({ forget: optional(flag) }, values, { isForm: true });
  const forgotten = forget ? { username: null, password: null } : {};
  // An empty field beside a name is a mistake, but not where an address has a name alone, such as a token.
  const nameAlone = sent['username'] ? {} : withoutPassword(values);
  return { ...changes, ...nameAlone, ...forgotten };
}

export function showSettingsAgain(hub: Hub, req: MemberRequest, { values, problem }: RefusedForm): Reply {
  if (problem.errors[0]?.pointer === '/forget') throw problem; // the page has no place for it
  return settingsAgain(hub, req, { form: 'source', values: withPassword(values), problem });
}

function settingsAgain(hub: Hub, req: MemberRequest, sent: SentSourceForm): Reply {
  const source = visibleSource(hub, pathId(req.params), req.viewer);
  return page(settings(hub, source, req, sent), sent.problem.status);
}

export function showFollowAgain(hub: Hub, req: MemberRequest, refused: RefusedForm): Reply {
  return settingsAgain(hub, req, { form: 'list', ...refused });
}

export function showDeleteSource(hub: Hub, req: MemberRequest): Reply {
  const source = manageableSource(hub, pathId(req.params), req.viewer);
  return page(confirmDeleteSourcePage(source, countFollowers(hub, source)));
}

export function showTransfer(hub: Hub, req: MemberRequest): Reply {
  return page(transferForm(hub, req));
}

function transferForm(hub: Hub, { params, viewer }: MemberRequest, form: FormState = {}): Page {
  const source = manageableSource(hub, pathId(params), viewer);
  return transferPage(source, offerOf(hub, source, viewer), form);
}

export function showTransferAgain(hub: Hub, req: MemberRequest, refused: RefusedForm): Reply {
  return page(transferForm(hub, req, refused), refused.problem.status);
}

/** Page: the form for a new source. `?url=` fills in the address field, for bookmarklets and other programs. */
export function showAddSource(hub: Hub, req: MemberRequest): Reply {
  const url = req.query.get('url');
  return page(addPage(url ? { values: fillPassword({ url }) } : {}, follows(hub).folderNames(req.viewer.id)));
}

/** Previews a feed before it is added. */
export function showFound(hub: Hub, found: FoundFeed, { viewer }: MemberRequest, sent: Record<string, string>): Reply {
  return page(foundPage(found, withPassword(sent), timesOf(hub, viewer)));
}

export function typedSource(sent: Record<string, string>): JsonObject {
  const values = withPassword(sent);
  return { kind: 'feed', ...values, ...withoutPassword(values) };
}

/** Leaves out a form's user name and password if both are empty; else the source becomes private. */
function withPassword(sent: Record<string, string>): Record<string, string> {
  const { username, password, ...values } = fillPassword(sent);
  return username || password ? { ...values, username: username ?? '', password: password ?? '', visibility: 'private' }
    : values;
}

/** A feed may want a user name alone. */
function withoutPassword({ username, password }: Record<string, string>): { password?: null } {
  return username && !password ? { password: null } : {};
}

export function showAddAgain(hub: Hub, { viewer }: MemberRequest, { values, problem }: RefusedForm): Reply {
  const form = { values: withPassword(values), problem };
  return page(addPage(form, follows(hub).folderNames(viewer.id)), problem.status, problem.headers);
}
