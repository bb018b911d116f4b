import { createHash } from 'node:crypto';
import type { Config } from '../hub/read-config.ts';
import { noteRun, readKept, type OffsiteRun } from './backup-status.ts';

/** Where copies may go. The scripts know each by this name. */
export const DESTINATIONS = ['dir', 'rclone', 'restic'] as const;

export type Destination = (typeof DESTINATIONS)[number];

export type OffsiteStatus = {
  name: Destination;
  /** Whether the last run left no backup unsent. */
  ok: boolean;
  last: OffsiteRun | null;
  lastGood: OffsiteRun | null;
};

/** Notes how sending copies to a destination ended. */
export async function noteOffsite(
  config: Config, name: Destination, run: Omit<OffsiteRun, 'place'>, pid: number,
): Promise<void> {
  const place = placeOf(config, name);
  if (place === null) return;
  await noteRun(config.dataDir, `offsite-${name}`, { ...run, place }, pid);
}

/** Each destination that is configured, and what is known of its copies. Never throws. */
export function readOffsite(config: Config): OffsiteStatus[] {
  return DESTINATIONS.flatMap((name) => {
    const place = placeOf(config, name);
    if (place === null) return [];
    const { last, lastGood } = readKept<OffsiteRun>(config.dataDir, `offsite-${name}`);
    const here = (run: OffsiteRun | null): OffsiteRun | null => run?.place === place ? run : null;
    return [{ name, ok: here(last)?.ok === true, last: here(last), lastGood: here(lastGood) }];
  });
}

/** Stands for what the destination is set to: what was sent to another disk is not on this one. */
function placeOf(config: Config, name: Destination): string | null {
  const set = { dir: config.backupOffsiteDir, rclone: config.backupRcloneRemote, restic: null }[name];
  return set === null ? null : createHash('sha256').update(set).digest('hex').slice(0, 16);
}
