import type { Hub } from './hub.ts';

/** The character that takes most bytes in a page for one: `&quot;`. */
const Q = '"';

/** How many sources, folders, tokens, sessions and rows of each list somebody has: more than any page shows. */
const MANY = 2_000;

const TEXTS = { title: Q.repeat(200), folder: Q.repeat(95), name: Q.repeat(80), url: `https://x.test/?${`'&`.repeat(2_000)}` };

/** Rows of account 1 and of the hub that make its pages as long as rows of 1.0.0 can make them; ids begin with 1. */
export function addWorstRows({ db, now }: Hub, postHtml: string): void {
  const run = (sql: string): void => void db.prepare<[object]>('worst rows', `
    WITH n(n) AS (SELECT value FROM json_each(@numbers)) ${sql}`).run({
    numbers: JSON.stringify(Array.from({ length: MANY }, (_, n) => n + 1)),
    now: now(), many: MANY, ...TEXTS, q500: Q.repeat(500), q4000: Q.repeat(4_000), q20000: Q.repeat(20_000), postHtml,
    long: Q.repeat(300),
  });
  db.write('worst rows', () => {
    run(`INSERT INTO sources (id, owner_id, kind, title, state, state_since, state_reason, created_at, updated_at)
      SELECT n, 1, CASE WHEN n % 2 THEN 'native' ELSE 'feed' END, @title, 'failing', @now, @long, @now, @now FROM n`);
    run(`INSERT INTO feeds (source_id, url, host, site_url, description)
      SELECT n, @url || n, 'x.test', @url, @q500 || @q500 FROM n WHERE n % 2 = 0`);
    run(`INSERT INTO folders (id, account_id, name) SELECT n, 1, @folder || n FROM n`);
    run(`INSERT INTO follows (account_id, source_id, folder_id, read_up_to, created_at) SELECT 1, n, n, 0, @now FROM n`);
    run(`INSERT INTO source_runs (source_id, run, ended_at, times, failed, added, changed, event, note)
      SELECT 2, n, @now, 1, 1, 0, 0, @name, @long FROM n WHERE n <= 100`);
    run(`INSERT INTO posts (id, source_id, guid, is_public, owner_id, title, url, author, summary, content_hash,
        published_at, updated_at, created_at, content_html)
      SELECT n, 1, n, 1, 1, @q500, @url, @title, substr(@q500, 1, 280), '', @now - n, @now, @now,
        CASE WHEN n = 1 THEN @postHtml ELSE '<p>x</p>' END FROM n`);
    run(`INSERT INTO posts (source_id, guid, is_public, owner_id, title, url, author, summary, content_hash,
        published_at, updated_at, created_at, content_html)
      SELECT n, 'last', 1, 1, @q500, @url, @title, substr(@q500, 1, 280), '', @now - @many - n, @now, @now, '' FROM n`);
    run(`INSERT INTO attachments (post_id, kind, position, filename, media_type, remote_url, title, is_inline, created_at)
      SELECT 1, 'remote', n, substr(@title, 1, 120), 'image/png', @url || n, @title, 0, @now FROM n WHERE n <= 100`);
    run(`INSERT INTO reading_history (account_id, post_id, read_at) SELECT 1, n, @now FROM n`);
    run(`INSERT INTO api_tokens (account_id, name, token_hash, scope, created_at) SELECT 1, @name, n, 'read', @now FROM n`);
    run(`INSERT INTO sessions (account_id, token_hash, created_at, seen_at, address, expires_at)
      SELECT 1, n, @now, @now, @name, @now + 1000000 FROM n`);
    run(`INSERT INTO notifications (account_id, kind, title, path, created_at) SELECT 1, 'x', @q500, @folder, @now FROM n`);
    run(`INSERT INTO alert_deliveries (event, severity, title, body, suppressed, state, created_at, finished_at, last_error)
      SELECT 'x', 'error', @title, @q20000, 0, 'failed', @now, @now, @q500 FROM n`);
    run(`INSERT INTO error_events (fingerprint, program, message, stack, count, first_at, last_at)
      SELECT n, 'web', @q4000, @q4000, 1, @now, @now FROM n`);
    run(`INSERT INTO jobs (kind, payload, dedupe_key, state, run_at, max_attempts, last_error, created_at, finished_at)
      SELECT 'x', '{}', @title, 'failed', @now, 1, substr(@q4000, 1, 2000), @now, @now FROM n`);
    run(`INSERT INTO audit_records (at, act, actor_name, target_kind, target_name, address, detail)
      SELECT @now, 'source.changed', @name, 'source', @q500, @name, json_object('title', @q500) FROM n`);
    run(`INSERT INTO invitations (token_hash, role, purpose, created_at, expires_at)
      SELECT n, 'member', 'invite', @now, @now + 1000000 FROM n`);
    run(`INSERT INTO imports (id, account_id, visibility, made_at, done_at) SELECT n, 1, 'private', @now, @now FROM n WHERE n = 1`);
    run(`INSERT INTO import_lines (import_id, line, url, title, folder, outcome, reason)
      SELECT 1, n, @url, @title, @folder, 'refused', @long FROM n`);
    run(`UPDATE accounts SET display_name = @name WHERE id = 1`);
    run(`UPDATE hub SET name = substr(@name, 1, 60), front_text = @q500`);
  });
}
