import { requireRoomForFile } from '../hub/disk-reserve.ts';
import { metLimit, once, type Hub } from '../hub/hub.ts';

/** How many forms with files one account may send at once. */
const AT_ONCE = 6;
const RETRY_SECONDS = 5;

/** How often the disk is asked, in bytes received. */
const LOOK_EVERY = 1024 * 1024;

/** Bytes of a form's files, from when they come in until rows name them, or none does. */
export type UploadShare = {
  /** Counts bytes that have come, before they are written. 507 where they would take from the disk's reserve. */
  take(bytes: number): void;
  /** From now on they no longer count. */
  release(): void;
};

/** By account, what each of its forms has taken. */
const shares = once((_: Hub) => new Map<number, Set<{ bytes: number }>>());

/** Bytes in flight of all forms of the account. */
export function bytesInFlight(hub: Hub, accountId: number): number {
  return [...shares(hub).get(accountId) ?? []].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Begins a form with files; 429 while the account has as many under way as it may. */
export function openShare(hub: Hub, accountId: number): UploadShare {
  const all = shares(hub);
  const ofAccount = all.get(accountId) ?? new Set();
  if (ofAccount.size >= AT_ONCE) {
    throw metLimit(hub, 'uploads-at-once', RETRY_SECONDS, 'Too many uploads of this account are under way.');
  }
  const share = { bytes: 0 };
  all.set(accountId, ofAccount.add(share));
  let looked = -Infinity;

  return {
    take(bytes) {
      share.bytes += bytes;
      if (share.bytes - looked < LOOK_EVERY) return;
      looked = share.bytes;
      requireRoomForFile(hub, LOOK_EVERY, NO_SPACE); // all that comes before the next look
    },
    release() {
      share.bytes = 0;
      ofAccount.delete(share);
      if (ofAccount.size === 0 && all.get(accountId) === ofAccount) all.delete(accountId); // a later one stays
    },
  };
}

/** The message of any refusal for want of space. */
export const NO_SPACE = 'There is no space left on the hub’s disk for this file.';
