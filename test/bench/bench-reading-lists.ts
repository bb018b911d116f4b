import type { Hub } from '../../src/features/hub/hub.ts';
import { DEFAULT_PREFERENCES } from '../../src/features/hub/preferences.ts';
import { markRead, setStar, undoMark } from '../../src/features/reading/mark-read.ts';
import { countsForPage, readingCounts } from '../../src/features/reading/reading-counts.ts';
import { searchCounts } from '../../src/features/reading/saved-searches.ts';
import { listView, wholePage } from '../../src/features/reading/reading-list.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import type { Viewer } from '../../src/platform/http/router.ts';
import { alternate, lessRow, limitRow, median, processorMsSince, type BenchRow } from './bench-row.ts';
import { NOW, readableWords, READERS } from './reading-readers.ts';

const ROUNDS = 15;
const PAGE = 30;

/**
 * Milliseconds of processor for the first page of unread posts, alone and with all counts, for a search among them, and
 * for marking everything as read, with 100,000 posts of 1,000 sources, some of them doubles, and 20 members, who follow
 * 300 sources each and have 100 rules, muted posts and 20 saved searches: beside what most readers keep, a row for each
 * post that somebody has read.
 */
export async function* benchReadingLists(path: string): AsyncGenerator<BenchRow> {
  const db = openDatabase(path);
  const peer = rowsOfRead(db);
  const hub = { db, clock: () => NOW } as Hub;
  for (const [kind, id] of Object.entries(READERS)) {
    const viewer = { id, role: 'member' } as Viewer;
    const ours = (): void => {
      listView(hub, viewer, { kind: 'unread' }, { limit: PAGE });
      readingCounts(hub, viewer);
    };
    yield await row(`unread list with all counts, read: ${kind}`, ours, () => peer.listAndCounts(id));
  }
  for (const [kind, id] of Object.entries(READERS)) yield* limitRows(hub, kind, id);
  const { commonest } = readableWords();
  for (const [kind, id] of Object.entries(READERS)) {
    const viewer = { id, role: 'member' } as Viewer;
    const search = () => wholePage(hub, viewer, { kind: 'unread', q: commonest }, { limit: PAGE });
    const name = `search of the commonest word within unread, read: ${kind}`;
    const found = await row(name, search, () => peer.search(`"${commonest}"*`));
    yield { ...found, peer: 'the newest of all that FTS5 finds', want: '>= 0.5' };
  }
  const never = { id: READERS.never, role: 'member' } as Viewer;
  const ours = async () => undoMark(hub, never, (await markRead(hub, never, { all: true })).undo);
  yield await row('all marked as read, and undone', ours, () => peer.markAndUndo(never.id));
  db.close();
}

async function row(name: string, ours: () => unknown, peers: () => unknown): Promise<BenchRow> {
  const [mine = NaN, theirs = NaN] = await alternate([ours, peers].map((work) => async () => {
    const before = process.cpuUsage();
    await work();
    return processorMsSince(before);
  }), ROUNDS);
  const peer = 'a row for each post that is read';
  return lessRow({ name, ours: mine, peer, peerFigure: theirs, unit: 'ms', want: '>= 1' });
}

/** The limits of an unread list, alone and with all counts of the sidebar, which a new star makes out of date. */
function limitRows(hub: Hub, kind: string, id: number): BenchRow[] {
  const viewer = { id, role: 'member', preferences: DEFAULT_PREFERENCES } as Viewer;
  const times: [list: number[], withCounts: number[]] = [[], []];
  for (let round = -1; round < 2 * ROUNDS; round++) {
    const { items: [first] } = listView(hub, viewer, { kind: 'unread' }, { limit: PAGE });
    setStar(hub, viewer, first?.id ?? 0, true);
    const asked = { ...viewer }; // the counts of a request are kept by its viewer
    const before = process.cpuUsage();
    listView(hub, asked, { kind: 'unread' }, { limit: PAGE });
    const list = processorMsSince(before);
    countsForPage(hub, asked);
    searchCounts(hub, asked);
    const all = processorMsSince(before);
    setStar(hub, viewer, first?.id ?? 0, false);
    if (round < 0) continue;
    times[0].push(list);
    times[1].push(all);
  }
  return [
    limitRow(`unread list, read: ${kind}`, median(times[0]), 5, 'ms'),
    limitRow(`unread list with all counts, also of 20 saved searches, read: ${kind}`, median(times[1]), 12, 'ms'),
  ];
}

/** The same state of all readers as rows (member, post), and what is asked of them. */
function rowsOfRead(db: Db) {
  db.exec(`
    CREATE TABLE peer_read (account_id INTEGER, post_id INTEGER, PRIMARY KEY (account_id, post_id)) WITHOUT ROWID;
    INSERT INTO peer_read
    SELECT account_id, post_id FROM entries WHERE is_unread = 0;
    ANALYZE`);
  const UNREAD = 'NOT EXISTS (SELECT 1 FROM peer_read r WHERE r.account_id = f.account_id AND r.post_id = p.id)';
  const list = db.prepare<[number, number], object>('list', `
    SELECT p.id, p.title, p.summary, p.published_at FROM posts p INDEXED BY posts_newest
      CROSS JOIN follows f ON f.account_id = ? AND f.source_id = p.source_id
     WHERE ${UNREAD} ORDER BY p.published_at DESC, p.id DESC LIMIT ?`);
  const counts = db.prepare<[number], object>('counts', `
    SELECT f.source_id, s.title, COUNT(p.id) FROM follows f JOIN sources s ON s.id = f.source_id
      LEFT JOIN posts p ON p.source_id = f.source_id AND ${UNREAD}
     WHERE f.account_id = ? GROUP BY f.source_id`);
  const search = db.prepare<[string, number], object>('search',
    'SELECT rowid FROM posts_words WHERE posts_words MATCH ? ORDER BY rowid DESC LIMIT ?');
  const mark = db.prepare<[number], object>('mark', `
    INSERT INTO peer_read SELECT f.account_id, p.id FROM follows f JOIN posts p ON p.source_id = f.source_id
     WHERE f.account_id = ? AND ${UNREAD} RETURNING post_id AS id`);
  const undo = db.prepare<[number, string]>('undo',
    'DELETE FROM peer_read WHERE account_id = ? AND post_id IN (SELECT value FROM json_each(?))');
  return {
    listAndCounts(accountId: number): void {
      list.all(accountId, PAGE);
      counts.all(accountId);
    },
    search: (expression: string): void => void search.all(expression, PAGE),
    markAndUndo(accountId: number): void {
      const marked = db.write('mark', () => mark.all(accountId)) as { id: number }[];
      db.write('undo', () => undo.run(accountId, JSON.stringify(marked.map(({ id }) => id))));
    },
  };
}
