import { store } from '../hub/hub.ts';
import { links } from '../posts/link-store.ts';

/** Tables of version 2.0.0. Migrations 0042 and 0043 have copied all rows but those of `read_undo`. */
export const oldTables = store((hub) => {
  const { db } = hub;
  const emptying = [
    db.prepare<[limit: number]>('empty read_marks', `
      DELETE FROM read_marks WHERE (account_id, source_id, post_id) IN
        (SELECT account_id, source_id, post_id FROM read_marks LIMIT ?)`),
    db.prepare<[limit: number]>('empty stars', `
      DELETE FROM stars WHERE (account_id, post_id) IN (SELECT account_id, post_id FROM stars LIMIT ?)`),
    db.prepare<[limit: number]>('empty muted_posts', `
      DELETE FROM muted_posts WHERE (account_id, source_id, post_id, rule_id) IN
        (SELECT account_id, source_id, post_id, rule_id FROM muted_posts LIMIT ?)`),
    db.prepare<[limit: number]>('empty read_undo',
      'DELETE FROM read_undo WHERE id IN (SELECT id FROM read_undo LIMIT ?)'),
  ];
  return {
    /** Removes up to `limit` rows, which nothing reads any more; returns how many. */
    empty: (limit: number): number => [...emptying.map(({ change }) => change), links(hub).emptyDoubles]
      .reduce((removed, emptySome) => removed + emptySome(limit - removed), 0),
  };
});
