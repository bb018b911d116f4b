import type { Readable } from 'node:stream';
import { isoTime } from '../../platform/clock.ts';
import { inBatches } from '../../platform/db/batched-writes.ts';
import type { Shown } from '../../platform/http/fields.ts';
import type { Preferences } from '../../platform/http/router.ts';
import { inChunks } from '../../platform/http/reply.ts';
import { ACCOUNT, invitations, type Account } from '../accounts/account-store.ts';
import { ownAccount } from '../accounts/change-account.ts';
import { apiTokens, sessions, signInNetworks, type ApiToken } from '../accounts/credential-store.ts';
import { draftFiles } from '../attachments/draft-file-store.ts';
import { auditRecords, type AuditRecord } from '../audit/audit-store.ts';
import { audit, type By } from '../audit/audit.ts';
import { follows, type Follow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import type { ExportPart } from '../hub/tables.ts';
import { imports, type ImportLine } from '../manage-sources/import-store.ts';
import { offerFor } from '../manage-sources/offer-list.ts';
import { offers, type Offer } from '../manage-sources/offer-store.ts';
import { sourceJson } from '../manage-sources/source-json.ts';
import { notifications, type Notification } from '../notifications/notification-store.ts';
import { drafts, type Draft } from '../writing/draft-store.ts';
import { postJson } from '../posts/query-posts.ts';
import { postTexts } from '../posts/post-text-store.ts';
import { posts, type Post } from '../posts/post-store.ts';
import { listChoices, type ListChoice } from '../reading/list-choice-store.ts';
import { entries, mutedPosts, type Mark, type MutedPost, type Star } from '../reading/entry-store.ts';
import { readingHistory, type ReadPost } from '../reading/reading-history-store.ts';
import { savedSearches } from '../reading/saved-search-store.ts';
import { rules } from '../rules/rule-store.ts';
import { withdrawnStates } from '../reading/withdrawn-state-store.ts';
import { maySee, maySeeSource, sources, type Source } from '../sources/source-store.ts';
import { ROWS } from './exported-rows.ts';

const BATCH = 200;

/** Reads few posts and drafts at a time, because their rows are large. */
const POST_BATCH = 20;
const DRAFT_BATCH = 1;

/** Each part of the export reads its rows while the export is sent. */
const PARTS: { [Part in ExportPart]: (hub: Hub, account: Account) => Iterable<Shown<(typeof ROWS)[Part]>> } = {
  sessions: (hub, { id }) => sessions(hub).listOf(id).map(ROWS.sessions.show),
  signInNetworks: (hub, { id }) => signInNetworks(hub).listOf(id).map(ROWS.signInNetworks.show),
  tokens: (hub, { id }) =>
    inBatches<ApiToken>((last) => apiTokens(hub).listOf(id, last?.id ?? 0, BATCH)).map(ROWS.tokens.show),
  invitations: (hub, { id }) => invitations(hub).listOf(id).map(ROWS.invitations.show),
  sources: (hub, { id }) =>
    ownSources(hub, id).map((source) => sourceJson(hub, source, { isOwner: true, isFollowed: null })),
  posts: (hub, { id }) => ownPosts(hub, id),
  drafts: (hub, { id }) => inBatches<Draft>((last) => drafts(hub).listOf(id, last?.id ?? 0, DRAFT_BATCH)).map(
    ({ id, form, fields, savedAt }) => ({ form, ...fields, savedAt: isoTime(savedAt), files: filesOfDraft(hub, id) })),
  offers: (hub, account) => inBatches<Offer>((last) => offers(hub).listOf(account.id, last?.id ?? 0, BATCH)).map(
    (offer) => ownOffer(hub, account, offer)),
  imports: (hub, { id }) => ownImports(hub, id),
  follows: (hub, account) => ownFollows(hub, account),
  listChoices: (hub, { id }) =>
    inBatches<ListChoice>((last) => listChoices(hub).listOf(id, last?.list ?? '', BATCH)).map(ROWS.listChoices.show),
  stars: (hub, account) => ownStars(hub, account),
  readMarks: (hub, { id }) => inBatches<Mark>((last) => entries(hub).marksOf(id, last?.postId ?? 0, BATCH)).map(
    ({ isRead, markedAt, ...of }) =>
      ({ ...of, read: isRead === 1, markedAt: markedAt === 0 ? null : isoTime(markedAt) })),
  rules: (hub, { id }) => rules(hub).listOf(id).map(ROWS.rules.show),
  searches: (hub, { id }) => savedSearches(hub).listOf(id).map(ROWS.searches.show),
  mutedPosts: (hub, { id }) => inBatches<MutedPost>((last) => mutedPosts(hub).listOf(id, last?.postId ?? 0, BATCH)),
  withdrawnStates: (hub, { id }) => withdrawnStates(hub).listOf(id).map(ROWS.withdrawnStates.show),
  history: (hub, account) =>
    inBatches<ReadPost>((last) => readingHistory(hub).list(account, last, BATCH)).map(ROWS.history.show),
  notifications: (hub, { id }) => inBatches<Notification>((last) => notifications(hub).list({
    accountId: id, unreadOnly: false, after: last?.id ?? Number.MAX_SAFE_INTEGER, limit: BATCH,
  })).map(ROWS.notifications.show),
  acts: (hub, { id }) =>
    inBatches<AuditRecord>((last) => auditRecords(hub).listOf(id, last?.id ?? 0, BATCH)).map(ROWS.acts.show),
};

/** The personal data of an account as one JSON document, without files; streamed so that it may have any size. */
export function exportAccount(hub: Hub, by: By): Readable {
  const account = ownAccount(hub, by.viewer);
  audit(hub, 'account.exported', by);
  return inChunks(written(hub, account, by.viewer.preferences));
}

function* written(hub: Hub, account: Account, preferences: Preferences): Generator<string> {
  const head = { exportedAt: isoTime(hub.clock()), account: ACCOUNT.show(account), preferences };
  yield JSON.stringify(head).slice(0, -1);
  for (const [name, part] of Object.entries(PARTS)) {
    yield `,\n${JSON.stringify(name)}:[`;
    let separator = '\n';
    for (const row of part(hub, account)) {
      yield separator + JSON.stringify(row);
      separator = ',\n';
    }
    yield ']';
  }
  yield '}\n';
}

function ownSources(hub: Hub, accountId: number): Generator<Source> {
  return inBatches((last) => sources(hub).listOwned(accountId, last?.id ?? 0, BATCH));
}

/** The posts in the person's native sources; posts of feeds are not personal data. */
function* ownPosts(hub: Hub, viewerId: number): Generator<Shown<typeof ROWS.posts>> {
  for (const { id: sourceId, kind } of ownSources(hub, viewerId)) {
    if (kind !== 'native') continue;
    const query = { viewerId, sourceId, limit: POST_BATCH };
    const all = inBatches<Post>((last) => posts(hub).newest(last ? { ...query, after: last } : query));
    for (const post of all) for (const whole of posts(hub).whole([post])) {
      yield { ...postJson(hub, whole), ...postTexts(hub).find(post.id) };
    }
  }
}

function filesOfDraft(hub: Hub, draftId: number): Shown<typeof ROWS.drafts>['files'] {
  return draftFiles(hub).ofDraft(draftId).map(({ filename, mediaType, bytes, sha256 }) =>
    ({ filename, mediaType, bytes, sha256 }));
}

function ownOffer(hub: Hub, account: Account, offer: Offer): Shown<typeof ROWS.offers> {
  const { source, ...rest } = offerFor(offer, account.id);
  const isKnown = offer.endedAt === null || maySeeSource(hub, offer.sourceId, account);
  return ROWS.offers.show({ ...rest, source: { ...source, title: isKnown ? source.title : null } });
}

function* ownImports(hub: Hub, accountId: number): Generator<Shown<typeof ROWS.imports>> {
  for (const one of imports(hub).listOf(accountId, 0, BATCH)) {
    const lines = inBatches<ImportLine>((last) => imports(hub).lines(one.id, last?.line ?? 0, BATCH));
    yield ROWS.imports.show({ ...one, lines: [...lines] });
  }
}

function* ownFollows(hub: Hub, account: Account): Generator<Shown<typeof ROWS.follows>> {
  const all = inBatches<Follow>((last) => follows(hub).listOf(account.id, last?.sourceId ?? 0, BATCH));
  for (const follow of all) {
    const source = sources(hub).find(follow.sourceId);
    if (!source) continue;
    yield ROWS.follows.show({ ...follow, title: maySee(source, account) ? source.title : null });
  }
}

function* ownStars(hub: Hub, account: Account): Generator<Shown<typeof ROWS.stars>> {
  for (const { postId, starredAt } of inBatches<Star>((last) =>
    entries(hub).starsOf(account.id, last?.postId ?? 0, BATCH))) {
    const [post] = posts(hub).listed([postId]);
    const source = post && sources(hub).find(post.sourceId);
    const title = source && maySee(source, account) ? post.title : null;
    if (post) yield { postId, title, starredAt: isoTime(starredAt) };
  }
}
