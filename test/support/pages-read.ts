import { readFileSync } from 'node:fs';
import type { Stored } from './stored-rows.ts';

const PAGE = 4_096; // bytes

/** How many pages of the database's file are read meanwhile, each again whenever it is looked at: nothing is kept. */
export async function pagesRead({ db }: Stored, read: () => unknown): Promise<number> {
  const kept = Number(db.pragma('cache_size'));
  db.pragma('cache_size = 1');
  db.pragma('shrink_memory');
  const before = bytesRead();
  try {
    await read();
    return (bytesRead() - before) / PAGE;
  } finally {
    db.pragma(`cache_size = ${kept}`);
  }
}

function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
