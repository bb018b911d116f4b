import { requireRoomForFile } from '../hub/disk-reserve.ts';
import { metLimit, once, type Hub } from '../hub/hub.ts';

/** Forms with files that one account may send at once. */
const AT_ONCE = 6;
const RETRY_SECONDS = 5;

/** The disk's free space is checked once per this many bytes received. */
const CHECKED_EVERY = 1024 * 1024;

/** The bytes of one form's files, counted until rows name the files or the form has failed. */
export type UploadShare = {
  /** Counts bytes that have arrived, before they are written. 507 if they would use up the disk's reserve. */
  take(bytes: number): void;
  /** Ends the counting. */
  release(): void;
};

/** The forms in flight, by account. */
const shares = once((_: Hub) => new Map<number, Set<{ bytes: number }>>());

/** Bytes in flight of all forms of the account. */
export function bytesInFlight(hub: Hub, accountId: number): number {
  return [...shares(hub).get(accountId) ?? []].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Begins a form with files. 429 while the account has its maximum of forms in flight. */
export function openShare(hub: Hub, accountId: number): UploadShare {
  const all = shares(hub);
  const ofAccount = all.get(accountId) ?? new Set();
  if (ofAccount.size >= AT_ONCE) {
    throw metLimit(hub, 'uploads-at-once', RETRY_SECONDS, 'Too many uploads of this account are in progress.');
  }
  const share = { bytes: 0 };
  all.set(accountId, ofAccount.add(share));
  let checkedAt = -Infinity;

  return {
    take(bytes) {
      share.bytes += bytes;
      if (share.bytes - checkedAt < CHECKED_EVERY) return;
      checkedAt = share.bytes;
      requireRoomForFile(hub, CHECKED_EVERY, NO_SPACE); // for all bytes until the next check
    },
    release() {
      share.bytes = 0;
      ofAccount.delete(share);
      if (ofAccount.size === 0 && all.get(accountId) === ofAccount) all.delete(accountId); // but not a newer set
    },
  };
}

/** The message of a refusal because the disk is full. */
export const NO_SPACE = 'There is no space left on the hub’s disk for this file.';
