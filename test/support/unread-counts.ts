import assert from 'node:assert/strict';
import { rowsOf, type Stored } from './stored-rows.ts';

type Entry = { account_id: number; source_id: number; is_unread: number; muted_by: string | null };
type Count = { account_id: number; source_id: number; unread: number };

/** Asserts that unread_counts has the numbers that its entries give. */
export function assertUnreadCounted(stored: Stored): void {
  const [entries = [], counts = []] = rowsOf(stored, 'entries', 'unread_counts') as [Entry[], Count[]];
  const byHand = new Map<string, number>();
  for (const { account_id, source_id, is_unread, muted_by } of entries) {
    if (is_unread === 0 || muted_by !== null) continue;
    const key = `account ${account_id}, source ${source_id}`;
    byHand.set(key, (byHand.get(key) ?? 0) + 1);
  }
  const counted = counts.filter(({ unread }) => unread !== 0)
    .map(({ account_id, source_id, unread }) => [`account ${account_id}, source ${source_id}`, unread] as const);
  assert.deepEqual(new Map(counted), byHand);
}
