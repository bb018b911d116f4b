import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isStorageTrouble } from '../../platform/db/open-database.ts';
import type { Route, Viewer } from '../../platform/http/router.ts';
import { byteSize } from '../../platform/in-words.ts';
import { errorFields } from '../../platform/log.ts';
import { isFrozen } from './database-file.ts';
import { type DiskSpace, reserveOf } from './disk-space.ts';
import { type Hub, metLimit, once } from './hub.ts';
import { isOnTrial } from './trial.ts';

/** A disk stays full, or nearly full, until this many times the threshold is free, so that alerts do not flap. */
export const HYSTERESIS = 1.1;

/** Administrators may write until this share of the reserve is left; then only routes with `usesReserve` may. */
const FOR_REPAIRS = 2 / 3;

/** Empty database pages count as free space only if this share of the disk reserve is free for the write-ahead log. */
const FOR_THE_LOG = 1 / 3;

const NO_ROOM = 'The hub’s disk is full: nothing was stored. You can still read and delete. An administrator has to ' +
  'make room.';

/**
 * Throws 507 if only the reserve is left on the hub's disk. Routes with `usesReserve` (such as signing in, deleting,
 * administering) may use it; administrators may use a third of it for any request.
 */
export function requireRoom(hub: Hub, route: Pick<Route, 'usesReserve'>, viewer: Viewer | null): void {
  if (!route.usesReserve) requireRoomOf(hub, viewer);
}

/** Throws 507 as `requireRoom` does, for a form in which only some actions may use the disk reserve. */
export function requireRoomOf(hub: Hub, viewer: Viewer | null): void {
  if (viewer?.role === 'admin' ? isOnlyForRepairs(hub) : isDiskLow(hub)) throw metLimit(hub, 'free-space', 0, NO_ROOM);
}

/** Throws 507, to administrators as to members, if a file of `bytes` bytes would use some of the disk reserve. */
export function requireRoomForFile(hub: Hub, bytes: number, message: string): void {
  const { free, reserve } = lookAtReserve(hub);
  if (free - bytes < reserve) throw metLimit(hub, 'free-space', 0, message);
}

/** What was said of the last measurement, which is used for a second while much is free. */
const judged = once((_hub: Hub) => ({ space: null as DiskSpace | null, isLow: false }));

/** A file in DATA_DIR/run tells all processes that the disk is low, until clearly more than the reserve is free. */
export function isDiskLow(hub: Hub): boolean {
  const { space, room, reserve } = lookAtReserve(hub);
  const last = judged(hub);
  if (last.space === space) return last.isLow;
  const wasLow = lowSince(hub) !== null;
  const isLow = room < reserve * (wasLow ? HYSTERESIS : 1);
  if (isLow !== wasLow && hub.program !== 'hubctl') noteLow(hub, isLow);
  Object.assign(last, { space, isLow });
  return isLow;
}

/** The time since which only the disk reserve is left (unix ms), or null if more was free at the last check. */
export function lowSince({ config }: Hub): number | null {
  return statSync(notePath(config), { throwIfNoEntry: false })?.mtimeMs ?? null;
}

/** In bytes: the measured space, what of it is free, the reserve for repairs, and by how much the database may grow. */
function lookAtReserve({ config, disk }: Hub): { space: DiskSpace; free: number; reserve: number; room: number } {
  const space = disk.space();
  const { free, emptyPages } = space;
  const reserve = reserveOf(config, space);
  return { space, free, reserve, room: free < reserve * FOR_THE_LOG ? free : free + emptyPages };
}

/** Free disk space in words: "63 MiB are free, 64 MiB are kept for repairs". */
export function roomInWords(hub: Hub): string {
  const { free, reserve } = lookAtReserve(hub);
  return `${byteSize(Math.max(0, free))} are free, ${byteSize(reserve)} are kept for repairs`;
}

function isOnlyForRepairs(hub: Hub): boolean {
  const { room, reserve } = lookAtReserve(hub);
  return room < reserve * FOR_REPAIRS;
}

function noteLow({ config }: Hub, isLow: boolean): void {
  try {
    if (isLow) writeFileSync(notePath(config), '');
    else rmSync(notePath(config), { force: true });
  } catch {
    // the next call of `isDiskLow` tries again to create or remove the file run/disk-low
  }
}

function notePath({ dataDir }: Hub['config']): string {
  return join(dataDir, 'run', 'disk-low');
}

/** Whether a hub may store read marks, caches and new posts: not on a full disk, on trial, or with a lost database. */
export function mayRecord(hub: Hub): boolean {
  return !isFrozen(hub) && !isOnTrial(hub) && !isDiskLow(hub);
}

/** Notes what a reader has read, unless `mayRecord` is false. A storage error in `write` does not fail the request. */
export function recordReading(hub: Hub, write: () => void): void {
  if (!mayRecord(hub)) return;
  try {
    write();
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
    hub.log.warn('reading not recorded', errorFields(error));
  }
}
