import { DAY } from '../../platform/clock.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { displayNameOf } from '../accounts/account-store.ts';
import { store } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';

export const OFFER_LIFETIME = 14 * DAY;
const OFFERS_COUNTED = 100;
/** Ended offers are kept this long, so that the next hand-over asks another follower. */
export const ENDED_OFFERS_KEPT = 90 * DAY;

/** An offer of a source by `senderId`, its owner or an administrator, to `receiverId`. All times are in unix ms. */
export type Offer = {
  id: number; sourceId: number; title: string;
  senderId: number; sender: string; // display name of the sender
  receiverId: number; receiver: string;
  toFollower: number; // 1 if the hub chose the new owner, whose name the old owner must not learn
  offeredAt: number; expiresAt: number;
  endedAt: number | null; // when the member declined the source, or the offer was found to have expired
};

type NewOffer = Pick<Offer, 'sourceId' | 'senderId' | 'receiverId' | 'toFollower'>;
type Asked = { accountId: number; after: number; limit: number; now: number | null };

const TIMES: StoredTime[] = [{ table: 'source_offers', column: 'offered_at', furthest: 0, along: 'expires_at' }];

const SELECT = `
  SELECT o.id, o.source_id AS sourceId, s.title, o.sender_id AS senderId, ${displayNameOf('o.sender_id')} AS sender,
         o.receiver_id AS receiverId, ${displayNameOf('o.receiver_id')} AS receiver, o.to_follower AS toFollower,
         o.offered_at AS offeredAt, o.expires_at AS expiresAt, o.ended_at AS endedAt
    FROM source_offers o ${joinSource('o.source_id')}`;
const OPEN = 'ended_at IS NULL AND expires_at > @now';

/**
 * Stores offers of sources to members. SQL triggers remove the offers of a source that is deleted or has a new owner,
 * and the offers of an account that leaves, is disabled or has lost the right to give the source away.
 */
export const offers = store(({ db, clock }) => {
  const select = db.prepare<[{ id: number; now: number }], Offer>('offer', `${SELECT} WHERE o.id = @id AND ${OPEN}`);
  const selectOfSource = db.prepare<[{ sourceId: number; now: number }], Offer>('offer of source',
    `${SELECT} WHERE o.source_id = @sourceId AND ${OPEN}`);
  const selectPage = db.prepare<[Asked], Offer>('offers of account', `
    ${SELECT} WHERE (o.sender_id = @accountId OR o.receiver_id = @accountId) AND o.id > @after
       AND (@now IS NULL OR ${OPEN}) ORDER BY o.id LIMIT @limit`);
  const selectAsked = db.prepare<[number], { id: number }>('read the accounts that were offered a source',
    'SELECT receiver_id AS id FROM source_offers WHERE source_id = ?');
  const countSent = db.prepare<[{ id: number; now: number }], { n: number }>('count sent offers',
    `SELECT COUNT(*) AS n FROM source_offers WHERE sender_id = @id AND ${OPEN}`);
  const countReceived = db.prepare<[{ id: number; now: number }], { n: number }>('count received offers', `
    SELECT COUNT(*) AS n FROM
      (SELECT 1 FROM source_offers WHERE receiver_id = @id AND ${OPEN} LIMIT ${OFFERS_COUNTED})`);
  const removeSame = db.prepare<[NewOffer]>('remove ended offer',
    'DELETE FROM source_offers WHERE source_id = @sourceId AND receiver_id = @receiverId');
  const insert = db.prepare<[NewOffer & { now: number; expiresAt: number }], { id: number }>('offer source', `
    INSERT INTO source_offers (source_id, sender_id, receiver_id, to_follower, offered_at, expires_at)
    VALUES (@sourceId, @senderId, @receiverId, @toFollower, @now, @expiresAt) RETURNING id`);
  const end = db.prepare<[number, number]>('end offer', 'UPDATE source_offers SET ended_at = ? WHERE id = ?');
  const selectExpired = db.prepare<[number, number], Offer>('expired offers',
    `${SELECT} WHERE o.ended_at IS NULL AND o.expires_at <= ? ORDER BY o.expires_at LIMIT ?`);
  const removeEnded = db.prepare<[number, number]>('forget ended offers', `
    DELETE FROM source_offers WHERE id IN (SELECT id FROM source_offers WHERE ended_at <= ? LIMIT ?)`);

  return {
    find: (id: number): Offer | undefined => select.get({ id, now: clock() }),
    wasMade: db.prepare<[id: number], { seq: number }>('whether an id was ever given to an offer',
      `SELECT seq FROM sqlite_sequence WHERE name = 'source_offers' AND seq >= ?`).has,
    ofSource: (sourceId: number): Offer | undefined => selectOfSource.get({ sourceId, now: clock() }),
    openOf: (accountId: number, after: number, limit: number): Offer[] =>
      selectPage.all({ accountId, after, limit, now: clock() }),
    listOf: (accountId: number, after: number, limit: number): Offer[] =>
      selectPage.all({ accountId, after, limit, now: null }),
    /** The accounts with an offer of the source that is open or ended in the last 90 days; a withdrawn one is gone. */
    askedFor: (sourceId: number): Set<number> => new Set(selectAsked.all(sourceId).map(({ id }) => id)),
    countSent: (id: number): number => countSent.get({ id, now: clock() })?.n ?? 0,
    countReceived: (id: number): number => countReceived.get({ id, now: clock() })?.n ?? 0,

    /** The source must not have another open offer. */
    add(offer: NewOffer): Offer {
      removeSame.run(offer);
      const row = insert.get({ ...offer, now: clock(), expiresAt: clock() + OFFER_LIFETIME });
      const added = row && select.get({ id: row.id, now: clock() });
      if (!added) throw new Error('the offer of the source was not stored');
      return added;
    },

    end: (id: number): void => void end.run(clock(), id),
    remove: db.prepare<[id: number]>('remove offer', 'DELETE FROM source_offers WHERE id = ?').run,
    expired: (limit: number): Offer[] => selectExpired.all(clock(), limit),
    forgetEnded: (limit: number): number => removeEnded.run(clock() - ENDED_OFFERS_KEPT, limit).changes,
    bringBackTimes: createTimeRepair(db, clock, TIMES),
  };
});
