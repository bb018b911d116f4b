import { readFileSync } from 'node:fs';

const HEADER = 32; // bytes; of the file and of each frame: "The SQLite database file format", section 4.1
const FRAME_HEADER = 24;

/** Counts the transactions that are committed to a database in WAL mode, whoever commits them, by its log's frames. */
export function countingCommits(databasePath: string): () => number {
  const before = readLog(`${databasePath}-wal`);
  return () => {
    const now = readLog(`${databasePath}-wal`);
    return now.salts === before.salts ? now.commits - before.commits : now.commits;
  };
}

/** Commits since the log was last begun anew, which gives it other salts. */
function readLog(path: string): { salts: string; commits: number } {
  const log = readFileSync(path);
  const salts = log.toString('hex', 16, 24);
  const frame = FRAME_HEADER + log.readUInt32BE(8);
  let commits = 0;
  for (let at = HEADER; at + frame <= log.length && log.toString('hex', at + 8, at + 16) === salts; at += frame) {
    if (log.readUInt32BE(at + 4) > 0) commits++; // the size of the database after a commit, else 0
  }
  return { salts, commits };
}
