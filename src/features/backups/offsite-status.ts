import { createHash } from 'node:crypto';
import { startedAt, type Hub } from '../hub/hub.ts';
import type { Config } from '../hub/read-config.ts';
import { isStale, readKept, type OffsiteRun } from './backup-status.ts';

/** The off-site destinations of backups, by the names that the scripts use for them. */
export const DESTINATIONS = ['dir', 'rclone', 'restic'] as const;

export type Destination = (typeof DESTINATIONS)[number];

export const COPIES = {
  dir: 'Copies on another disk', rclone: 'Copies by rclone', restic: 'Copies by restic',
} as const satisfies Record<Destination, string>;

export type Copies = (typeof COPIES)[Destination];

export type OffsiteStatus = {
  name: Destination;
  place: string; // its `destinationKey`
  last: OffsiteRun | null;
  lastGood: OffsiteRun | null; // the last run without a failure: of sending, checking or removing old copies
  hasFailed: boolean; // whether the last off-site run failed
  isStale: boolean; // no off-site run has succeeded in the last 26 hours
};

/**
 * The state of the copies at each configured destination. Off-site runs read .env each time, so the address of a run
 * that is newer than this process replaces the one in the process's settings. Never throws.
 */
export function readOffsite(hub: Pick<Hub, 'config' | 'clock'>): OffsiteStatus[] {
  const { config, clock } = hub;
  return DESTINATIONS.flatMap((name) => {
    const kept = readKept<OffsiteRun>(config.dataDir, `offsite-${name}`);
    const newer = kept.last !== null && kept.last.at > startedAt(hub) ? kept.last.place : undefined;
    const place = newer ?? destinationKey(config, name);
    if (place === null) return [];
    const [last = null, lastGood = null] = [kept.last, kept.lastGood].map((run) => run?.place === place ? run : null);
    const sent = lastGood && { createdAt: lastGood.at };
    return [{ name, place, last, lastGood, hasFailed: last?.ok === false, isStale: isStale(sent, clock()) }];
  });
}

/** A hash of a destination's address, so that copies at an earlier address do not count; null without an address. */
export function destinationKey(config: Config, name: Destination): string | null {
  const { backupOffsiteDir: dir, backupRcloneRemote: rclone, backupResticRepository: restic } = config;
  const set = { dir, rclone, restic }[name];
  return set ? createHash('sha256').update(set).digest('hex').slice(0, 16) : null;
}
