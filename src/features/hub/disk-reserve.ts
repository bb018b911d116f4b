import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpError } from '../../platform/http/reply.ts';
import type { Route, Viewer } from '../../platform/http/router.ts';
import { reserveOf } from './disk-space.ts';
import { type Hub, metLimit } from './hub.ts';
import { isOnTrial } from './trial.ts';

/** The disk counts as full until this much of the reserve is there again, so that the state does not come and go. */
const HYSTERESIS = 1.1;

/** Administrators write until this part of the reserve is left. That is for signing in, deleting and administering. */
const FOR_REPAIRS = 2 / 3;

/** Empty pages in the database are room while this part of the reserve is free: each write goes to the log first. */
const FOR_THE_LOG = 1 / 3;

const NO_ROOM = 'The hub’s disk is full: nothing was stored. Reading and deleting go on. ' +
  'An administrator has to make room.';

/**
 * Throws 507 where the disk is down to its reserve and the request may not use that. Routes that do may: they sign
 * somebody in, delete or administer. Administrators may use a third of it for anything.
 */
export function requireRoom(hub: Hub, route: Pick<Route, 'usesReserve'>, viewer: Viewer | null): void {
  if (!route.usesReserve) requireRoomOf(hub, viewer);
}

/** The same, without looking at the route: for forms where only some choices may use the reserve. */
export function requireRoomOf(hub: Hub, viewer: Viewer | null): void {
  if (viewer?.role === 'admin' ? isOnlyForRepairs(hub) : isDiskLow(hub)) throw noRoom(hub, NO_ROOM);
}

/** Throws 507 where a file of that size would take from the reserve, whoever sends it. */
export function requireRoomForFile(hub: Hub, bytes: number, message: string): void {
  const { free, reserve } = lookAtReserve(hub);
  if (free - bytes < reserve) throw noRoom(hub, message);
}

/**
 * Whether the disk is down to its reserve. All processes of a hub agree: a file in DATA_DIR/run says that it is, until
 * there is somewhat more room than that.
 */
export function isDiskLow(hub: Hub): boolean {
  const wasLow = lowSince(hub) !== null;
  const { room, reserve } = lookAtReserve(hub);
  const isLow = room < reserve * (wasLow ? HYSTERESIS : 1);
  if (isLow !== wasLow && hub.program !== 'hubctl') noteLow(hub, isLow);
  return isLow;
}

/** Since when the disk has been down to its reserve, in unix ms; null where it was not when last looked at. */
export function lowSince({ config }: Hub): number | null {
  return statSync(notePath(config), { throwIfNoEntry: false })?.mtimeMs ?? null;
}

/** Bytes that are free, that stay free for repairs, and that the database may still grow by. */
export function lookAtReserve({ config, disk }: Hub): { free: number; reserve: number; room: number } {
  const space = disk.space();
  const { free, emptyPages } = space;
  const reserve = reserveOf(config, space);
  return { free, reserve, room: free < reserve * FOR_THE_LOG ? free : free + emptyPages };
}

function isOnlyForRepairs(hub: Hub): boolean {
  const { room, reserve } = lookAtReserve(hub);
  return room < reserve * FOR_REPAIRS;
}

/** A disk may be too full for the note. Then it counts as low for as long as there is no room. */
function noteLow({ config }: Hub, isLow: boolean): void {
  try {
    if (isLow) writeFileSync(notePath(config), '');
    else rmSync(notePath(config), { force: true });
  } catch {
    // the next look tries again
  }
}

function notePath({ dataDir }: Hub['config']): string {
  return join(dataDir, 'run', 'disk-low');
}

function noRoom(hub: Hub, message: string): HttpError {
  return metLimit(hub, 'free-space', 0, message);
}

/**
 * False on trial and on a full disk: then skip writes that nobody asked for (read marks, last use, caches, syncs).
 */
export function mayRecord(hub: Hub): boolean {
  return !isOnTrial(hub) && !isDiskLow(hub);
}
