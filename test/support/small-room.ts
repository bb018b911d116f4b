import type { DiskSpace } from '../../src/features/hub/disk-space.ts';
import type { Hub } from './hub.ts';

const MiB = 1024 * 1024;

/** A disk of 10 GiB, whose reserve is 64 MiB. */
const DISK = { total: 10 * 1024 * MiB, used: 0, searchIndex: 0 };

/** From now on the hub takes that for its disk. Figures in MiB. */
export function setRoom({ handle }: Pick<Hub, 'handle'>, free: number, emptyPages = 0): void {
  const space: DiskSpace = { ...DISK, free: free * MiB, emptyPages: emptyPages * MiB };
  handle.disk.space = () => space;
}

/** The disk is down to its reserve, and has plenty of room again. */
export const fill = (hub: Pick<Hub, 'handle'>): void => setRoom(hub, 63);
export const empty = (hub: Pick<Hub, 'handle'>): void => setRoom(hub, 5_000);
