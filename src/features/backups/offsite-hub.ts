import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile, writeNewFile } from '../../platform/files/durable-file.ts';
import type { Config } from '../hub/read-config.ts';
import { readKept } from './backup-status.ts';
import { destinationKey } from './offsite-status.ts';

/** In DATA_DIR, and in no backup. A restore puts it aside with the old data and brings a new one (`swap-data.ts`). */
export const OFFSITE_HUB = 'offsite-hub.json';

/** A hub that has backups in the repository which came from the same data. */
export type OlderHub = { id: string; backups: number; newest: string };

/**
 * Who this hub is in a restic repository. Several hubs may come from one backup, so the id is random and belongs to one
 * place: the folder `run` of this DATA_DIR, its file system and this machine. In another place it is worth nothing, and
 * a new id is made. The inode of `run` stays when DATA_DIR is moved on its disk, and no copy has it on that disk.
 */
export type OffsiteHub = Place & {
  id: string;
  isRestored: boolean; // made by a restore
  lookedAt: string | null; // the repository (`destinationKey`) that was searched for older hubs
  older: OlderHub[]; // which nobody has decided about
  adopted: string[]; // ids of hubs whose place this one takes
  left: string[]; // ids of hubs whose backups are left alone
};

/** Null: unknown, for example the machine id in a container. Unknown values match everything. */
export type Place = { run: string; machine: string | null; fileSystem: string | null };

/** The place as scripts/off-site-restic.sh tells it: the content of /etc/machine-id, and the file system's id. */
export function placeOfHub(dataDir: string, machineId: string, fileSystem: string): Place {
  const machine = /^[0-9a-f]{32}$/.test(machineId) ? shortHash(`content-hub ${machineId}`) : null; // see machine-id(5)
  return { run: inodeOfRun(dataDir), machine, fileSystem: /^(?!0+$)[0-9a-f]+$/.test(fileSystem) ? fileSystem : null };
}

function inodeOfRun(dataDir: string): string {
  return String(statSync(join(dataDir, 'run'), { bigint: true, throwIfNoEntry: false })?.ino ?? '');
}

/** A hub without any backups elsewhere. */
function newOffsiteHub(place: Place, isRestored: boolean): OffsiteHub {
  const id = randomBytes(8).toString('hex');
  return { id, ...place, isRestored, lookedAt: null, older: [], adopted: [], left: [] };
}

/** The one that a restore lays ready for that DATA_DIR; the next run adds what only scripts can find out. */
export async function stageOffsiteHub(staged: string, dataDir: string): Promise<void> {
  const place = { run: inodeOfRun(dataDir), machine: null, fileSystem: null };
  await writeNewFile(join(staged, OFFSITE_HUB), toLine(newOffsiteHub(place, true)));
}

/**
 * Returns this hub's off-site identity. Makes a new one if the file is missing or was copied from elsewhere. The caller
 * holds the lock of off-site.sh.
 */
export async function settleOffsiteHub(dataDir: string, place: Place): Promise<OffsiteHub> {
  const kept = readOffsiteHub(dataDir);
  if (!kept || !isSamePlace(kept, place)) return writeOffsiteHub(dataDir, newOffsiteHub(place, false));
  const [machine, fileSystem] = [kept.machine ?? place.machine, kept.fileSystem ?? place.fileSystem];
  if (machine === kept.machine && fileSystem === kept.fileSystem) return kept;
  return writeOffsiteHub(dataDir, { ...kept, machine, fileSystem });
}

function isSamePlace(kept: Place, place: Place): boolean {
  const agree = (one: string | null, other: string | null): boolean => one === null || other === null || one === other;
  return kept.run === place.run && agree(kept.machine, place.machine) && agree(kept.fileSystem, place.fileSystem);
}

/** Replaces the file durably. */
export async function writeOffsiteHub(dataDir: string, hub: OffsiteHub): Promise<OffsiteHub> {
  await replaceFile(join(dataDir, OFFSITE_HUB), toLine(hub));
  return hub;
}

function toLine(hub: OffsiteHub): string {
  return `${JSON.stringify(hub)}\n`;
}

/** What the file says, wherever it was written; null where it says nothing usable. */
export function readOffsiteHub(dataDir: string): OffsiteHub | null {
  try {
    const hub = JSON.parse(readFileSync(join(dataDir, OFFSITE_HUB), 'utf8')) as Partial<OffsiteHub> | null;
    const lists = [hub?.older, hub?.adopted, hub?.left];
    const isWhole = HUB_ID.test(hub?.id ?? '') && typeof hub?.run === 'string' && lists.every(Array.isArray);
    return isWhole ? (hub as OffsiteHub) : null;
  } catch {
    return null;
  }
}

/** The form of every hub's id in a repository. */
export const HUB_ID = /^[0-9a-f]{16}$/;

/**
 * What the backups of all hubs share that came from one backup. Version 1.0.0 sent under this as its id, and so did
 * every hub restored from its backups.
 */
export function originOf(seed: string): string {
  return shortHash(`restic ${seed}`);
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * This hub after the operator's answer: about that older hub, decided or not, or else about all that are undecided.
 * Null where there is none such.
 */
export function answerAbout(hub: OffsiteHub, isAdopted: boolean, about: string | null): OffsiteHub | null {
  const ids = about === null ? hub.older.map(({ id }) => id) : knownIds(hub).filter((id) => id === about);
  if (ids.length === 0) return null;
  const without = (list: string[]): string[] => list.filter((id) => !ids.includes(id));
  const [adopted, left] = [without(hub.adopted), without(hub.left)];
  const older = hub.older.filter(({ id }) => !ids.includes(id));
  if (isAdopted) return { ...hub, older, left, adopted: [...adopted, ...ids] };
  return { ...hub, older, adopted, left: [...left, ...ids] };
}

function knownIds({ older, adopted, left }: OffsiteHub): string[] {
  return [...older.map(({ id }) => id), ...adopted, ...left];
}

/** Adds the hubs of the same origin that have backups in that repository, without those decided about. */
export function withOlder(hub: OffsiteHub, place: string, found: OlderHub[]): OffsiteHub {
  const decided = [hub.id, ...hub.adopted, ...hub.left];
  return { ...hub, lookedAt: place, older: found.filter(({ id }) => !decided.includes(id)) };
}

/** Why it is asked whether this hub takes the place of others; `older` is empty until the repository was searched. */
export type OffsiteQuestion = { reason: 'restored' | 'copied' | 'upgraded' | 'found'; older: OlderHub[] };

/** What the operator is to decide about backups in the restic repository; null for nothing. Never throws. */
export function readOffsiteQuestion(config: Config): OffsiteQuestion | null {
  const place = destinationKey(config, 'restic');
  if (place === null) return null;
  const hub = readOffsiteHub(config.dataDir);
  if (!hub) return readKept(config.dataDir, 'offsite-restic').last ? { reason: 'upgraded', older: [] } : null;
  if (hub.run !== inodeOfRun(config.dataDir)) return { reason: 'copied', older: [] };
  if (hub.lookedAt === place) return hub.older.length > 0 ? { reason: 'found', older: hub.older } : null;
  return hub.isRestored && hub.lookedAt === null ? { reason: 'restored', older: [] } : null;
}
