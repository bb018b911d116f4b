import { MAY_SEE, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { POSTS } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';

/** SQL condition: no rule of the viewer has muted the post that the SQL expressions `sourceId` and `postId` name. */
export function notMuted(sourceId: string, postId: string): string {
  return `NOT EXISTS (SELECT 1 FROM muted_posts u
     WHERE u.account_id = @viewerId AND u.source_id = ${sourceId} AND u.post_id = ${postId})`;
}

export const IS_MUTED = `EXISTS (SELECT 1 FROM muted_posts u
     WHERE u.account_id = @accountId AND u.source_id = @sourceId AND u.post_id = p.id)`;

export const UNREAD_MUTED = `
  (SELECT COUNT(DISTINCT u.post_id) FROM muted_posts u
    WHERE u.account_id = @accountId AND u.source_id = @sourceId AND u.post_id > @after AND u.post_id <= @upTo
      AND NOT EXISTS (SELECT 1 FROM read_marks m WHERE m.account_id = @accountId AND m.source_id = @sourceId
                         AND m.post_id = u.post_id AND m.is_read = 1))`;

export type MutedPost = { sourceId: number; postId: number; ruleId: number };
type Range = { accountId: number; sourceId: number; after: number; upTo: number };

/** Posts that rules keep out of a member's lists. If several rules mute a post, the table has a row for each rule. */
export const mutedPosts = store(({ db, clock }) => {
  const insert = db.prepare<[string]>('mute posts', `
    INSERT INTO muted_posts (account_id, source_id, post_id, rule_id, published_at)
    SELECT r.value ->> 0, p.source_id, p.id, r.value ->> 2, p.published_at
      FROM json_each(?) r CROSS JOIN ${POSTS} p ON p.id = r.value ->> 1 WHERE true ON CONFLICT DO NOTHING`);
  const removeOfRule = db.prepare<[number, number]>('show the posts of a rule', `
    DELETE FROM muted_posts WHERE (account_id, source_id, post_id, rule_id) IN
      (SELECT account_id, source_id, post_id, rule_id FROM muted_posts WHERE rule_id = ? LIMIT ?)`);
  const removeOf = db.prepare<[number, number]>('show the muted posts of an account', `
    DELETE FROM muted_posts WHERE (account_id, source_id, post_id, rule_id) IN
      (SELECT account_id, source_id, post_id, rule_id FROM muted_posts WHERE account_id = ? LIMIT ?)`);

  const selectOf = db.prepare<[number, number, number, number, number], MutedPost>('muted posts of account', `
    SELECT source_id AS sourceId, post_id AS postId, rule_id AS ruleId FROM muted_posts
     WHERE account_id = ? AND (source_id, post_id, rule_id) > (?, ?, ?)
     ORDER BY source_id, post_id, rule_id LIMIT ?`);

  const countAfter = db.prepare<[number, number, number], { n: number }>('count muted posts after a post', `
    SELECT COUNT(DISTINCT post_id) AS n FROM muted_posts WHERE account_id = ? AND source_id = ? AND post_id > ?`);
  const keepUnread = db.prepare<[Range & { now: number; limit: number }]>('keep muted posts unread', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT DISTINCT u.account_id, u.source_id, u.post_id, 0, @now FROM muted_posts u
     WHERE u.account_id = @accountId AND u.source_id = @sourceId AND u.post_id > @after AND u.post_id <= @upTo
     LIMIT @limit ON CONFLICT DO NOTHING`);
  const countAmong = db.prepare<[string, number], { n: number }>('count the muted posts among posts', `
    SELECT COUNT(DISTINCT u.post_id) AS n FROM json_each(?) j
      CROSS JOIN muted_posts u ON u.post_id = j.value AND u.account_id = ?`);
  const selectSome = db.prepare<[Asking], { id: number }>('whether a post is muted', `
    SELECT u.post_id AS id FROM muted_posts u ${joinSource('u.source_id')}
     WHERE u.account_id = @viewerId AND ${MAY_SEE} LIMIT 1`);

  return {
    hasAny: (viewer: Asking): boolean => selectSome.get(viewer) !== undefined,
    countAfter: (accountId: number, sourceId: number, postId: number): number =>
      countAfter.get(accountId, sourceId, postId)?.n ?? 0,
    keepUnread: (range: Range, limit: number): number =>
      keepUnread.run({ ...range, limit, now: clock() }).changes,
    countAmong: (accountId: number, postIds: number[]): number =>
      countAmong.get(JSON.stringify(postIds), accountId)?.n ?? 0,
    listOf: (accountId: number, after: MutedPost | undefined, limit: number): MutedPost[] =>
      selectOf.all(accountId, after?.sourceId ?? 0, after?.postId ?? 0, after?.ruleId ?? 0, limit),
    add: (rows: [accountId: number, postId: number, ruleId: number][]): void => void insert.run(JSON.stringify(rows)),
    removeOfRule: (ruleId: number, limit: number): number => removeOfRule.run(ruleId, limit).changes,
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});
