import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY, hasPassed, HOUR } from '../../platform/clock.ts';

/** A backup is verified when all its packs have been read since it was sent. Times are in unix ms; 0 means never. */
export type RepositoryRecord = {
  isLarge: boolean; // as far as is known, the repository has at least WHOLE_BYTES, so it is read in parts
  checkedAt: number; // when a part of the repository was last read and found good
  damagedAt: number; // when damage was found in the repository that is not repaired yet
  prunedAt: number;
  packs: Map<string, Pack>;
  snapshots: Map<string, ReadSnapshot>;
};

/** A pack of a restic repository. `isMoved`: the pack may hold data that a prune moved from packs that are gone now. */
type Pack = { since: number; readAt: number; isMoved: boolean; isBad: boolean };

/** `since`: when the hub first saw a snapshot. `readAt`: when all the snapshot's packs had been read after `since`. */
type ReadSnapshot = { since: number; readAt: number };

/** A restic repository with fewer bytes is read completely each time. */
export const WHOLE_BYTES = 1_024 ** 3;
export const WHOLE = '1G';

/** About how many packs (files of about 16 MiB) a part of a restic repository has; more if MAX_PARTS are too few. */
const PACKS_OF_A_PART = 40;
const MAX_PARTS = 30;

/** The least time between two off-site runs that read back parts of a large repository, unless it is damaged. */
const BETWEEN_PARTS = 20 * HOUR;

/** If a part of the restic repository has not been read for this long, one off-site run reads two parts. */
const LONGEST_UNREAD = 30 * DAY;

const BETWEEN_PRUNINGS = 7 * DAY;

export function emptyRecord(): RepositoryRecord {
  return { isLarge: false, checkedAt: 0, damagedAt: 0, prunedAt: 0, packs: new Map(), snapshots: new Map() };
}

/** Notes which packs and snapshots the repository has now. `added`: bytes just sent to it. */
export function takeIn(record: RepositoryRecord, packs: string[], snapshots: string[], now: number, added = 0): void {
  const there = new Set(packs);
  const gone = [...record.packs.keys()].filter((id) => !there.has(id));
  const isMoved = gone.length > 0;
  // If more than a quarter of the packs has gone, the restic repository may be small enough to be read completely.
  if (gone.length * 4 > record.packs.size) record.isLarge = false;
  if (added >= WHOLE_BYTES) record.isLarge = true;
  for (const id of gone) record.packs.delete(id);
  for (const id of there) {
    if (!record.packs.has(id)) record.packs.set(id, { since: now, readAt: 0, isMoved, isBad: false });
  }
  const listed = snapshots.map((id) => [id, record.snapshots.get(id) ?? { since: now, readAt: 0 }] as const);
  record.snapshots = new Map(listed);
}

/**
 * The part of the repository to read next: WHOLE, `n/t` for part n of t, or null for none. The first byte of a pack's
 * id decides to which part it belongs. `isNext`: the off-site run has just read another part.
 */
export function nextPart(record: RepositoryRecord, now: number, isNext = false): string | null {
  const parts = partsOf(record);
  const [first] = parts.toSorted((a, b) => a.unreadSince - b.unreadSince);
  if (!record.isLarge) return isNext ? null : WHOLE;
  if (!first) return null;
  const isDue = isNext ? hasPassed(first.unreadSince, LONGEST_UNREAD, now) :
    record.damagedAt > 0 || hasPassed(record.checkedAt, BETWEEN_PARTS, now);
  return isDue ? first.name : null;
}

/** A repository's parts. `unreadSince`: when a part's longest unread pack was read or first seen; 0 if damaged. */
function partsOf({ packs }: RepositoryRecord): { name: string; unreadSince: number }[] {
  const count = Math.min(MAX_PARTS, Math.max(2, Math.ceil(packs.size / PACKS_OF_A_PART)));
  const parts = new Map<string, number>();
  for (const [id, { since, readAt, isBad }] of packs) {
    const name = partOf(id, count);
    const unreadSince = isBad ? 0 : readAt || since;
    parts.set(name, Math.min(unreadSince, parts.get(name) ?? Infinity));
  }
  return [...parts].map(([name, unreadSince]) => ({ name, unreadSince }));
}

function partOf(id: string, count: number): string {
  return `${parseInt(id.slice(0, 2), 16) % count + 1}/${count}`;
}

/** Records the reading of a repository's part. `bytes`: the repository's size, if the whole repository was read. */
export function notePartRead(record: RepositoryRecord, part: string, bytes: number | null, now: number): void {
  record.isLarge = part !== WHOLE || !(bytes !== null && bytes < WHOLE_BYTES);
  if (part === WHOLE && record.isLarge) return; // restic does not report which packs it has read
  record.checkedAt = now;
  for (const pack of packsIn(record, part)) Object.assign(pack, { readAt: now, isBad: false });
  const packs = [...record.packs.values()];
  if (!packs.some(({ isBad }) => isBad)) record.damagedAt = 0;
  for (const snapshot of record.snapshots.values()) {
    const readAt = readSince(packs, snapshot.since, now);
    if (readAt !== null) snapshot.readAt = Math.max(snapshot.readAt, readAt);
  }
}

export function noteDamage(record: RepositoryRecord, part: string, now: number): void {
  record.damagedAt ||= now;
  for (const pack of packsIn(record, part)) pack.isBad = true;
}

function packsIn({ packs }: RepositoryRecord, part: string): Pack[] {
  const count = Number(part.split('/')[1]);
  return [...packs].filter(([id]) => part === WHOLE || partOf(id, count) === part).map(([, pack]) => pack);
}

/** The time since which all packs that a backup sent at `time` may need have been read; null if one was not. */
function readSince(packs: Pack[], time: number, now: number): number | null {
  const needed = packs.filter(({ since, isMoved }) => since <= time || isMoved);
  const readAt = needed.reduce((earliest, pack) => Math.min(earliest, pack.readAt), now);
  return readAt >= time ? readAt : null;
}

/**
 * Whether `restic prune` is due: once a week, but not while the repository is damaged. A large repository is pruned
 * only if all packs were read since the last prune: packs that a prune rewrites have to be read again.
 */
export function isPruningDue(record: RepositoryRecord, now: number): boolean {
  const isRead = !record.isLarge || readSince([...record.packs.values()], record.prunedAt, now) !== null;
  return record.damagedAt === 0 && hasPassed(record.prunedAt, BETWEEN_PRUNINGS, now) && isRead;
}

/** When all data of a snapshot had been read back after it was sent; null if it was not, or if that is unknown. */
export function readAtOf(record: RepositoryRecord, snapshot: string): number | null {
  return record.snapshots.get(snapshot)?.readAt || null;
}

/** `place`: the repository's `destinationKey`. */
export function recordPath(dataDir: string, place: string): string {
  return join(dataDir, 'run', `restic-reading.${place}.json`);
}

type StoredRecord = Omit<RepositoryRecord, 'packs' | 'snapshots'> & {
  packs: Record<string, [since: number, readAt: number, isMoved: number, isBad: number]>;
  snapshots: Record<string, [since: number, readAt: number]>;
};

/** If the clock was wrong, times may lie in the future: a pack then counts as never read, or as first seen now. */
export function loadRecord(dataDir: string, place: string, now: number): RepositoryRecord {
  const past = (at: number): number => (Number.isFinite(at) && at <= now ? at : 0);
  try {
    const { isLarge, checkedAt, damagedAt, prunedAt, packs, snapshots } =
      JSON.parse(readFileSync(recordPath(dataDir, place), 'utf8')) as StoredRecord;
    return {
      isLarge, checkedAt: past(checkedAt), damagedAt: Math.min(damagedAt, now), prunedAt: past(prunedAt),
      packs: new Map(Object.entries(packs).map(([id, [since, readAt, isMoved, isBad]]) =>
        [id, { since: past(since) || now, readAt: past(readAt), isMoved: isMoved === 1, isBad: isBad === 1 }])),
      snapshots: new Map(Object.entries(snapshots).map(([id, [since, readAt]]) =>
        [id, { since: past(since) || now, readAt: past(readAt) }])),
    };
  } catch {
    return emptyRecord();
  }
}

/** JSON: about 100 bytes for each pack. */
export function textOfRecord({ packs, snapshots, ...facts }: RepositoryRecord): string {
  const kept: StoredRecord = {
    ...facts,
    packs: Object.fromEntries([...packs].map(([id, { since, readAt, isMoved, isBad }]) =>
      [id, [since, readAt, Number(isMoved), Number(isBad)]])),
    snapshots: Object.fromEntries([...snapshots].map(([id, { since, readAt }]) => [id, [since, readAt]])),
  };
  return `${JSON.stringify(kept)}\n`;
}
