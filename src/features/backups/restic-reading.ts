import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY, hasPassed, HOUR } from '../../platform/clock.ts';

/**
 * The packs of a restic repository that this hub has read back, and when. A backup in the repository is verified once
 * all packs that the backup needs have been read after it was sent. Times in unix ms, 0 for never.
 */
export type RepositoryReading = {
  isLarge: boolean; // the repository had over WHOLE_BYTES when last measured: it is read in parts
  checkedAt: number; // when a part was last read and found good
  damagedAt: number; // when damage was found that is not yet repaired
  prunedAt: number;
  packs: Map<string, Pack>;
  snapshots: Map<string, ReadSnapshot>;
};

/** `isMoved`: the pack appeared while others disappeared: a prune may have moved older snapshots' data into it. */
type Pack = { since: number; readAt: number; isMoved: boolean; isBad: boolean };

/** `since`: when the snapshot was first listed. `readAt`: when all packs that it needs had been read after `since`. */
type ReadSnapshot = { since: number; readAt: number };

/** A repository of fewer bytes is read completely. */
export const WHOLE_BYTES = 1_024 ** 3;
export const WHOLE = '1G';

/** Packs per part of a repository (a pack has 16 MiB as a rule). Parts grow when there would be more than MAX_PARTS. */
const PACKS_OF_A_PART = 40;
const MAX_PARTS = 30;

/** Minimum age of the last reading before the next part of a large repository is read: about once a day. */
const BETWEEN_PARTS = 20 * HOUR;

/** A run reads a second part if a pack of it was not read for this long. */
const LONGEST_UNREAD = 30 * DAY;

const BETWEEN_PRUNINGS = 7 * DAY;

export function emptyReading(): RepositoryReading {
  return { isLarge: false, checkedAt: 0, damagedAt: 0, prunedAt: 0, packs: new Map(), snapshots: new Map() };
}

/** Updates `reading` to the repository's current packs and snapshots, after `added` bytes were sent. */
export function takeIn(reading: RepositoryReading, packs: string[], snapshots: string[], now: number, added = 0): void {
  const there = new Set(packs);
  const gone = [...reading.packs.keys()].filter((id) => !there.has(id));
  const isMoved = gone.length > 0;
  if (gone.length * 4 > reading.packs.size) reading.isLarge = false; // the repository has to be measured again
  if (added >= WHOLE_BYTES) reading.isLarge = true;
  for (const id of gone) reading.packs.delete(id);
  for (const id of there) {
    if (!reading.packs.has(id)) reading.packs.set(id, { since: now, readAt: 0, isMoved, isBad: false });
  }
  const listed = snapshots.map((id) => [id, reading.snapshots.get(id) ?? { since: now, readAt: 0 }] as const);
  reading.snapshots = new Map(listed);
}

/**
 * The part to read next, for `restic check --read-data-subset`: WHOLE, or part n of t by the first byte of the packs'
 * ids; null: no part is due. `isNext`: a part has just been read, so another part follows only if long overdue.
 */
export function nextPart(reading: RepositoryReading, now: number, isNext = false): string | null {
  const parts = partsOf(reading);
  const [first] = parts.toSorted((a, b) => a.unreadSince - b.unreadSince);
  if (!reading.isLarge) return isNext ? null : WHOLE;
  if (!first) return null; // the repository has no packs
  const isDue = isNext ? hasPassed(first.unreadSince, LONGEST_UNREAD, now) :
    reading.damagedAt > 0 || hasPassed(reading.checkedAt, BETWEEN_PARTS, now);
  return isDue ? first.name : null;
}

/** The parts that hold packs. `unreadSince`: the oldest reading of a pack in the part; 0 if a pack is damaged. */
function partsOf({ packs }: RepositoryReading): { name: string; unreadSince: number }[] {
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

/** Records that a part was read and found good. `bytes`: how many restic says it read, if the part is WHOLE. */
export function notePartRead(reading: RepositoryReading, part: string, bytes: number | null, now: number): void {
  reading.isLarge = part !== WHOLE || !(bytes !== null && bytes < WHOLE_BYTES);
  if (part === WHOLE && reading.isLarge) return; // restic does not say which packs it read
  reading.checkedAt = now;
  for (const pack of packsIn(reading, part)) Object.assign(pack, { readAt: now, isBad: false });
  const packs = [...reading.packs.values()];
  if (!packs.some(({ isBad }) => isBad)) reading.damagedAt = 0;
  for (const snapshot of reading.snapshots.values()) {
    const readAt = readSince(packs, snapshot.since, now);
    if (readAt !== null) snapshot.readAt = Math.max(snapshot.readAt, readAt);
  }
}

/** Records that a part of the repository is damaged. */
export function noteDamage(reading: RepositoryReading, part: string, now: number): void {
  reading.damagedAt ||= now;
  for (const pack of packsIn(reading, part)) pack.isBad = true;
}

function packsIn({ packs }: RepositoryReading, part: string): Pack[] {
  const count = Number(part.split('/')[1]);
  return [...packs].filter(([id]) => part === WHOLE || partOf(id, count) === part).map(([, pack]) => pack);
}

/**
 * The time since which every pack that a snapshot of `time` may need has been read. Null if such a pack was not read
 * after `time`.
 */
function readSince(packs: Pack[], time: number, now: number): number | null {
  const needed = packs.filter(({ since, isMoved }) => since <= time || isMoved);
  const readAt = needed.reduce((earliest, pack) => Math.min(earliest, pack.readAt), now);
  return readAt >= time ? readAt : null;
}

/**
 * Whether `restic prune` is due: once a week, but not while the repository is damaged. In a large repository, all packs
 * must have been read since the last prune, because the packs that a prune rewrites have to be read again.
 */
export function isPruningDue(reading: RepositoryReading, now: number): boolean {
  const isRead = !reading.isLarge || readSince([...reading.packs.values()], reading.prunedAt, now) !== null;
  return reading.damagedAt === 0 && hasPassed(reading.prunedAt, BETWEEN_PRUNINGS, now) && isRead;
}

/** When all data of a snapshot had been read back after it was sent; null if not yet, or unknown. */
export function readAtOf(reading: RepositoryReading, snapshot: string): number | null {
  return reading.snapshots.get(snapshot)?.readAt || null;
}

/** The file that records the packs read of a repository. `place`: the repository's `destinationKey`. */
export function readingPath(dataDir: string, place: string): string {
  return join(dataDir, 'run', `restic-reading.${place}.json`);
}

type StoredReading = Omit<RepositoryReading, 'packs' | 'snapshots'> & {
  packs: Record<string, [since: number, readAt: number, isMoved: number, isBad: number]>;
  snapshots: Record<string, [since: number, readAt: number]>;
};

/** Loads the record of read packs. A future time of reading counts as never, a future time of listing as now. */
export function loadReading(dataDir: string, place: string, now: number): RepositoryReading {
  const past = (at: number): number => (Number.isFinite(at) && at <= now ? at : 0);
  try {
    const { isLarge, checkedAt, damagedAt, prunedAt, packs, snapshots } =
      JSON.parse(readFileSync(readingPath(dataDir, place), 'utf8')) as StoredReading;
    return {
      isLarge, checkedAt: past(checkedAt), damagedAt: Math.min(damagedAt, now), prunedAt: past(prunedAt),
      packs: new Map(Object.entries(packs).map(([id, [since, readAt, isMoved, isBad]]) =>
        [id, { since: past(since) || now, readAt: past(readAt), isMoved: isMoved === 1, isBad: isBad === 1 }])),
      snapshots: new Map(Object.entries(snapshots).map(([id, [since, readAt]]) =>
        [id, { since: past(since) || now, readAt: past(readAt) }])),
    };
  } catch {
    return emptyReading();
  }
}

/** The record of read packs as JSON: about 100 bytes for each pack. */
export function textOfReading({ packs, snapshots, ...facts }: RepositoryReading): string {
  const kept: StoredReading = {
    ...facts,
    packs: Object.fromEntries([...packs].map(([id, { since, readAt, isMoved, isBad }]) =>
      [id, [since, readAt, Number(isMoved), Number(isBad)]])),
    snapshots: Object.fromEntries([...snapshots].map(([id, { since, readAt }]) => [id, [since, readAt]])),
  };
  return `${JSON.stringify(kept)}\n`;
}
