import type { Stored } from './stored-rows.ts';

/** Adds so many unread notifications of an account, more than the hub would keep: as in a database of 1.0.0. */
export function storeNotifications({ db }: Stored, accountId: number, count: number): void {
  db.prepare<[{ accountId: number; count: number }]>('store notifications', `
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @count)
    INSERT INTO notifications (account_id, kind, title, path, created_at)
    SELECT @accountId, 'test.told', 'One of many', '/', 0 FROM n`).run({ accountId, count });
}
