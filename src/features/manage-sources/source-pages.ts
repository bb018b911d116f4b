import { MINUTE } from '../../platform/clock.ts';
import { readForm } from '../../platform/http/body.ts';
import { orAgain } from '../../platform/http/form-faults.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { formSwitch, pathId } from '../../platform/http/input.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf, type Times } from '../../platform/http/times.ts';
import { sourceIcons } from '../attachments/icon-store.ts';
import { sourceIcon } from '../attachments/icon-views.ts';
import { isSyncing, syncProgress } from '../feeds/sync-source.ts';
import { follows } from '../follows/follow-store.ts';
import { offerOf as fullTextOfferOf, planComparison } from '../full-text/ask-for-full-text.ts';
import { fullTextSettings, offerPanel, resultsText } from '../full-text/full-text-views.ts';
import { hasFullTexts } from '../full-text/fetch-full-text.ts';
import { sourceFullTexts } from '../full-text/source-full-text-store.ts';
import type { RefusedForm } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { postsOnSourcePage } from '../reading/list-pages.ts';
import { sourceRuns } from '../sources/run-store.ts';
import { manageableSource, mayManage, maySee, visibleSource, type Source } from '../sources/source-store.ts';
import { webhookUrl } from '../webhooks/manage-webhooks.ts';
import { newWebhookPage, webhookPanel } from '../webhooks/webhook-pages.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { addSource, fillPassword, lookAtFeed } from './add-source.ts';
import { addPage, foundPage, type AddForm } from './add-views.ts';
import { changeSource } from './change-source.ts';
import { handOverSource, transferSource } from './give-source.ts';
import { offers } from './offer-store.ts';
import { offerNotice } from './offer-pages.ts';
import { lastRuns, stripsOf, wholeStrip } from './run-views.ts';
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

/** Form: changes a source's settings; asks for confirmation before followers lose access to the source. */
export async function submitSourceChange(hub: Hub, req: MemberRequest): Promise<Reply> {
  const sent = await readForm(req);
  const values = withPassword(sent);
  const { title, url, visibility, username, password, sure } = values;
  const isToForget = formSwitch(values, 'forget') ?? false;
  const source = manageableSource(hub, pathId(req.params), req.viewer);
  const followers = countFollowers(hub, source);
  const hides = visibility === 'private' && source.visibility === 'public' && followers > 0;
  if (hides && sure !== '1') return page(confirmHidePage(source, followers, values));
  const forgotten = isToForget ? { username: null, password: null } : {};
  // An empty field beside a name is a mistake, but not where an address has a name alone, such as a token.
  const nameAlone = sent['username'] ? {} : withoutPassword(values);
  return orAgain(async () => {
    const showsAuthors = formSwitch(values, 'showsAuthors');
    const wanted = { title, url, visibility, username, password, showsAuthors, ...nameAlone, ...forgotten };
    await changeSource(hub, source.id, wanted, req);
    return seeOther(saying(`/sources/${source.id}/settings`, 'source-saved'));
  }, (problem) => settingsAgain(hub, req, { form: 'source', values, problem }), REFUSALS);
}

const REFUSALS = [409, 422];

function settingsAgain(hub: Hub, req: MemberRequest, sent: SentSourceForm): Reply {
  const source = visibleSource(hub, pathId(req.params), req.viewer);
  return page(settings(hub, source, req, sent), sent.problem.status);
}

export function showFollowAgain(hub: Hub, req: MemberRequest, refused: RefusedForm): Reply {
  return settingsAgain(hub, req, { form: 'list', ...refused });
}

/** Form: whether a source's new posts get full texts; with `fullTextOfLast`, its newest posts get theirs too. */
export async function submitFullText(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  const fullTextOfLast = formSwitch(values, 'fullTextOfLast');
  const { id } = await changeSource(hub, pathId(req.params), { fullText: values['fullText'], fullTextOfLast }, req);
  return seeOther(saying(`/sources/${id}`, 'full-text-chosen'));
}

export function showDeleteSource(hub: Hub, req: MemberRequest): Reply {
  const source = manageableSource(hub, pathId(req.params), req.viewer);
  return page(confirmDeleteSourcePage(source, countFollowers(hub, source)));
}

/** Form: gives or offers a source to the person who has followed it longest, of those not asked lately. */
export async function submitHandOver(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { source, offer } = await handOverSource(hub, pathId(req.params), req);
  return seeOther(saying(`/sources/${source.id}`, offer ? 'source-offered' : 'source-handed-over'));
}

export function showTransfer(hub: Hub, req: MemberRequest): Reply {
  return page(transferForm(hub, req));
}

function transferForm(hub: Hub, { params, viewer }: MemberRequest, form: AddForm = {}): Page {
  const source = manageableSource(hub, pathId(params), viewer);
  return transferPage(source, offerOf(hub, source, viewer), form);
}

/** Form: transfers a source to an administrator, or offers it to a member. */
export async function submitTransfer(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  const id = pathId(req.params);
  return orAgain(async () => {
    const { source, offer } = await transferSource(hub, id, values, req);
    const said = offer ? 'source-offered' : 'source-transferred';
    return seeOther(saying(maySee(source, req.viewer) ? `/sources/${id}` : '/sources', said));
  }, (problem) => page(transferForm(hub, req, { values, problem }), problem.status), REFUSALS);
}

/** Page: the form for a new source. `?url=` fills in the address field, for bookmarklets and other programs. */
export function showAddSource(hub: Hub, req: MemberRequest): Reply {
  const url = req.query.get('url');
  return page(addPage(url ? { values: fillPassword({ url }) } : {}, follows(hub).folderNames(req.viewer.id)));
}

/** Form: fetches the feed at an address, and previews it. */
export async function submitLook(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = withPassword(await readForm(req));
  const asked = { ...values, ...withoutPassword(values) };
  return orAgain(
    async () => page(foundPage(await lookAtFeed(hub, asked, req), values, timesOf(hub, req.viewer))),
    (problem) => addAgain(hub, req, { values, problem }));
}

/** Form: adds a source; a new webhook answers with a page that shows its secret once. */
export async function submitSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = withPassword(await readForm(req));
  return orAgain(async () => {
    const asked = { kind: 'feed', ...values, ...withoutPassword(values) };
    const { source, webhook, isNew } = await addSource(hub, asked, req);
    if (isNew && source.kind === 'feed') planComparison(hub, source.id);
    if (webhook) return page(newWebhookPage(source, webhook), 201, { 'cache-control': 'no-store' });
    return seeOther(saying(`/sources/${source.id}`, isNew ? 'source-added' : 'source-followed'));
  }, (problem) => addAgain(hub, req, { values, problem }));
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

function addAgain(hub: Hub, { viewer }: MemberRequest, form: AddForm & { problem: HttpError }): Reply {
  return page(addPage(form, follows(hub).folderNames(viewer.id)), form.problem.status, form.problem.headers);
}
