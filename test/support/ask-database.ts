// Answers a question about the database named in its arguments, as JSON: for another mount space.
import { sourcePosts } from '../../src/features/posts/source-posts-store.ts';
import { searchDrift } from '../../src/features/posts/saved-posts-store.ts';
import { emptyLog, openDatabase } from '../../src/platform/db/open-database.ts';
import { endLeases } from './stored-jobs.ts';

const [path = '', question = '', sourceId] = process.argv.slice(2);
const db = openDatabase(path);
const answers: Record<string, () => unknown> = {
  posts: () => sourcePosts({ db, clock: Date.now }).count(Number(sourceId), Number.MAX_SAFE_INTEGER),
  soundness: () => ({
    file: db.pragma('integrity_check'), orphan: db.pragma('foreign_key_check') ?? null, search: searchDrift({ db }),
  }),
  'end leases': () => endLeases({ db }),
  'empty log': () => emptyLog(db),
};
process.stdout.write(JSON.stringify(answers[question]?.() ?? null));
db.close();
