import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';
import type { Order } from './list-orders.ts';

export const LIST_SHOWS = ['unread', 'all', 'each'] as const;

/** A list's order, and the posts that it shows; `each`: only the newest unread post of each source. */
export type Choice = { order: Order; show: (typeof LIST_SHOWS)[number] };

/** A member's choice for `list`: `unread`, `all`, `starred`, `muted`, `folder:NAME` or `source:ID`. */
export type ListChoice = Choice & { list: string; chosenAt: number };

export const listChoices = store(({ db, clock }) => {
  const columns = 'list, COALESCE(order_name, sort_order) AS "order", show, chosen_at AS chosenAt';
  const upsert = db.prepare<[Choice & { accountId: number; list: string; now: number }]>('choose for a list', `
    INSERT INTO list_choices (account_id, list, sort_order, order_name, show, chosen_at)
    VALUES (@accountId, @list, 'newest', @order, @show, @now)
    ON CONFLICT DO UPDATE SET order_name = excluded.order_name, show = excluded.show, chosen_at = excluded.chosen_at`);
  const removeOldest = db.prepare<[{ accountId: number; kept: number }]>('forget the oldest choice for a list', `
    DELETE FROM list_choices WHERE (account_id, list) IN (SELECT account_id, list FROM list_choices
     WHERE account_id = @accountId ORDER BY chosen_at DESC, list LIMIT -1 OFFSET @kept)`);
  const rename = db.prepare<[{ accountId: number; from: string; to: string }]>('rename the list of a choice',
    'UPDATE OR REPLACE list_choices SET list = @to WHERE account_id = @accountId AND list = @from');

  return {
    find: db.prepare<[accountId: number, list: string], ListChoice>('choice for a list',
      `SELECT ${columns} FROM list_choices WHERE account_id = ? AND list = ?`).get,
    put(accountId: number, list: string, { order, show }: Choice): void {
      upsert.run({ accountId, list, order, show, now: clock() });
      removeOldest.run({ accountId, kept: TABLES.list_choices.most });
    },
    rename: (accountId: number, from: string, to: string): void => void rename.run({ accountId, from, to }),
    listOf: db.prepare<[accountId: number, after: string, limit: number], ListChoice>('choices of account', `
      SELECT ${columns} FROM list_choices WHERE account_id = ? AND list > ? ORDER BY list LIMIT ?`).all,
  };
});
