import { openSync, readSync, statSync, type Stats } from 'node:fs';

/** What can happen to the file of an open database. SQLite goes on with the open file, and may notice nothing. */
export type FileFault = 'removed' | 'replaced' | 'cut' | 'overwritten' | 'log-lost';

export type FileWatch = {
  /** What has happened to the file or its header: one call of stat (about 6 µs), and a read if the file has changed. */
  look(): FileFault | null;
  /** As `look`; also asks for the write-ahead log and its index, which a new process would otherwise make anew. */
  lookAtAll(): FileFault | null;
};

const MAGIC = 'SQLite format 3\0';
const HEADER = 100; // bytes
const VERSIONS_AT = 18; // two bytes, both 2 with a write-ahead log
const CHANGES_AT = 24; // a counter that only grows

/** Watches the file of a database that this process has open, in WAL mode, and has read from. */
export function watchDatabaseFile(path: string): FileWatch {
  const first = statOf(path);
  const logs = [`${path}-wal`, `${path}-shm`].map((log) => ({ log, id: idOf(statOf(log)) }));
  // Stays open: closing any descriptor of a file ends all locks that the process has on it, SQLite's too (fcntl(2)).
  const file = openSync(path, 'r');
  const header = Buffer.alloc(HEADER);
  let [bytes, changedAt, changes] = [0, NaN, 0];

  function look(): FileFault | null {
    const now = statOf(path);
    if (!now) return 'removed';
    if (idOf(now) !== idOf(first)) return 'replaced';
    const isShorter = now.size < bytes; // only VACUUM shrinks the file, which no process runs on it
    bytes = now.size;
    const fault = now.mtimeMs === changedAt ? null : headerFault();
    changedAt = now.mtimeMs;
    return fault ?? (isShorter ? 'cut' : null);
  }

  function headerFault(): FileFault | null {
    if (readSync(file, header, 0, HEADER, 0) < HEADER) return 'cut';
    const isOurs = header.toString('latin1', 0, MAGIC.length) === MAGIC && header.readUInt16BE(VERSIONS_AT) === 0x0202;
    const before = changes;
    changes = header.readUInt32BE(CHANGES_AT);
    return isOurs && changes >= before ? null : 'overwritten';
  }

  return {
    look,
    lookAtAll: () => look() ?? (logs.some(({ log, id }) => idOf(statOf(log)) !== id) ? 'log-lost' : null),
  };
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function idOf(stat: Stats | undefined): string {
  return stat ? `${stat.dev} ${stat.ino}` : '';
}
