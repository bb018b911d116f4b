import { FOLLOWS } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { LINK_ROWS } from '../posts/link-store.ts';
import { POSTS } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';
import { PLACE } from './entry-store.ts';

export type FollowKey = { accountId: number; sourceId: number };
export type Due = FollowKey & { isNew: number };
type Placed = { place: number; readUpTo: number };
type Step = FollowKey & { limit: number };
type Late = { sourceId: number; from: number };
type LateStep = Late & { ids: string; accounts: number };

const DUE = 'account_id AS accountId, source_id AS sourceId, is_new AS isNew';

/** SQL triggers note in `entries_due` which follows have changed, and who may see a source no more, or again. */
export const settling = store(({ db }) => ({
  next: db.prepare<[], Due>('next follow whose entries are to be settled',
    `SELECT ${DUE} FROM entries_due LIMIT 1`).get,
  nextOf: db.prepare<[sourceId: number], Due>('next follow of a source whose entries are to be settled',
    `SELECT ${DUE} FROM entries_due WHERE source_id = ? LIMIT 1`).get,
  due: db.prepare<[FollowKey], Due>('whether the entries of a follow are to be settled',
    `SELECT ${DUE} FROM entries_due WHERE account_id = @accountId AND source_id = @sourceId`).get,
  done: db.prepare<[FollowKey]>('the entries of a follow are settled',
    'DELETE FROM entries_due WHERE account_id = @accountId AND source_id = @sourceId').run,
  placeOf: db.prepare<[FollowKey], Placed>('place of the entries of a follow', `
    SELECT ${PLACE} AS place, f.read_up_to AS readUpTo FROM ${FOLLOWS} f ${joinSource('f.source_id')}
     WHERE f.account_id = @accountId AND f.source_id = @sourceId`).get,
  move: db.prepare<[Step & Pick<Placed, 'place'>]>('move the entries of a follow', `
    UPDATE entries SET place = @place WHERE account_id = @accountId AND post_id IN (
      SELECT post_id FROM entries INDEXED BY entries_source
       WHERE account_id = @accountId AND source_id = @sourceId AND place <> @place LIMIT @limit)`).change,
  add: db.prepare<[Step & Placed & { most: number }]>('add the entries of a follow', `
    INSERT INTO entries (account_id, post_id, source_id, published_at, place, is_unread, row_id)
    SELECT @accountId, p.id, @sourceId, p.published_at, @place, p.id > @readUpTo, l.row_id
      FROM (SELECT id, published_at FROM ${POSTS} WHERE source_id = @sourceId ORDER BY id DESC LIMIT @most) p
      LEFT JOIN ${LINK_ROWS} l ON l.post_id = p.id
     WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.account_id = @accountId AND e.post_id = p.id)
     ORDER BY p.id DESC LIMIT @limit`).change,
  dropOfSource: db.prepare<[sourceId: number, limit: number]>('remove the entries of a removed source', `
    DELETE FROM entries WHERE (account_id, post_id) IN (
      SELECT e.account_id, e.post_id FROM ${FOLLOWS} f CROSS JOIN entries e INDEXED BY entries_source
          ON e.account_id = f.account_id AND e.source_id = f.source_id WHERE f.source_id = ? LIMIT ?)`).change,
  /** Marks that the account has made one by one stay, as do stars and what rules have muted. */
  drop: db.prepare<[Step]>('remove the entries of an ended follow', `
    DELETE FROM entries WHERE account_id = @accountId AND post_id IN (
      SELECT post_id FROM entries INDEXED BY entries_source
       WHERE account_id = @accountId AND source_id = @sourceId AND starred_at IS NULL AND muted_by IS NULL
         AND (marked_at IS NULL OR act > 0) LIMIT @limit)`).change,

  /** The source of the post that waits longest for followers, and the first follower who waits. */
  late: db.prepare<[], Late>('next post that has not reached all followers', `
    SELECT p.source_id AS sourceId, l.from_account AS "from"
      FROM entries_late l CROSS JOIN ${POSTS} p ON p.id = l.post_id
     ORDER BY l.post_id LIMIT 1`).get,
  lateWith: db.prepare<[Late & { limit: number }], { id: number }>('posts that wait for the same followers', `
    SELECT p.id FROM entries_late l CROSS JOIN ${POSTS} p ON p.id = l.post_id
     WHERE p.source_id = @sourceId AND l.from_account = @from ORDER BY p.id LIMIT @limit`).all,
  addLate: db.prepare<[LateStep]>('add posts to lists of followers', `
    INSERT INTO entries (account_id, post_id, source_id, published_at, place, is_unread, row_id)
    SELECT f.account_id, p.id, p.source_id, p.published_at, ${PLACE}, p.id > f.read_up_to, l.row_id
      FROM (SELECT * FROM ${FOLLOWS} WHERE source_id = @sourceId AND account_id >= @from
             ORDER BY account_id LIMIT @accounts) f
      CROSS ${joinSource('f.source_id')}
      CROSS JOIN json_each(@ids) j CROSS JOIN ${POSTS} p ON p.id = j.value
      LEFT JOIN ${LINK_ROWS} l ON l.post_id = p.id
     WHERE true
    ON CONFLICT (account_id, post_id) DO UPDATE SET place = excluded.place, row_id = excluded.row_id,
      published_at = excluded.published_at`).change,
  nextFollower: db.prepare<[LateStep], { id: number }>('next follower whom posts have not reached', `
    SELECT account_id AS id FROM ${FOLLOWS} WHERE source_id = @sourceId AND account_id >= @from
     ORDER BY account_id LIMIT 1 OFFSET @accounts`).get,
  wait: db.prepare<[from: number, ids: string]>('followers wait for posts',
    'UPDATE entries_late SET from_account = ? WHERE post_id IN (SELECT value FROM json_each(?))').run,
  reached: db.prepare<[ids: string]>('posts have reached all followers',
    'DELETE FROM entries_late WHERE post_id IN (SELECT value FROM json_each(?))').run,
}));
