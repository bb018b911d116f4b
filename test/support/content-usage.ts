import assert from 'node:assert/strict';
import type { Db } from '../../src/platform/db/open-database.ts';

/** What the contents of a source take, counted anew from its rows. */
const COUNTED = `
  COALESCE((SELECT SUM(1000 + octet_length(content_html) + octet_length(title) + octet_length(summary)
    + octet_length(guid) + COALESCE(octet_length(url), 0)) FROM posts WHERE source_id = s.id), 0)
  + COALESCE((SELECT SUM(octet_length(t.text)) FROM post_texts t JOIN posts p ON p.id = t.post_id
     WHERE p.source_id = s.id), 0)
  + COALESCE((SELECT SUM(200 + octet_length(a.filename) + COALESCE(octet_length(a.remote_url), 0)
    + COALESCE(octet_length(a.title), 0) + iif(a.kind = 'native' AND a.owner_id IS NULL, a.bytes, 0))
     FROM attachments a JOIN posts p ON p.id = a.post_id WHERE p.source_id = s.id), 0)
  + COALESCE((SELECT SUM(200 + octet_length(guid)) FROM post_tombstones WHERE source_id = s.id), 0)
  + COALESCE((SELECT SUM(200 + octet_length(event_id)) FROM webhook_events WHERE source_id = s.id), 0)`;

/** The kept usage of every source and account is what a count of all rows gives. */
export function assertContentIsCounted(db: Db, message?: string): void {
  const rows = db.prepare<[], { kept: number; counted: number }>('usage of sources', `
    SELECT u.bytes AS kept, ${COUNTED} AS counted FROM sources s LEFT JOIN source_usage u ON u.source_id = s.id`).all();
  const accounts = db.prepare<[], { kept: number; counted: number }>('usage of accounts', `
    SELECT u.bytes AS kept, COALESCE((SELECT SUM(${COUNTED}) FROM sources s WHERE s.owner_id = a.id), 0) AS counted
      FROM accounts a LEFT JOIN content_usage u ON u.account_id = a.id`).all();
  for (const { kept, counted } of [...rows, ...accounts]) assert.equal(kept, counted, message);
}
