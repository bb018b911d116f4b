import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile, writeNewFile } from '../../platform/files/durable-file.ts';
import type { Config } from '../hub/read-config.ts';
import { readJsonFile, readKept } from './backup-status.ts';
import { destinationKey } from './offsite-status.ts';

/** Never in a backup, but a restore replaces it together with the data (`swap-data.ts`). */
export const OFFSITE_HUB = 'offsite-hub.json';

/** Another hub that came from the same first hub, and that has backups in the same restic repository. */
export type OlderHub = { id: string; backups: number; newest: string };

/**
 * The identity by which a restic repository tells this hub from others, even from those restored from the same backup.
 * The id is random and belongs to one place: the inode of DATA_DIR/run, its file system and this machine. In another
 * place the hub makes a new id. A move of DATA_DIR within its disk keeps the inode, and so the id; a copy has another.
 */
export type OffsiteHub = Place & {
  id: string;
  isRestored: boolean; // this identity was made by a restore of the hub
  lookedAt: string | null; // the restic repository (`destinationKey`) in which this hub has looked for older hubs
  older: OlderHub[]; // older hubs about which the operator has not decided yet
  adopted: string[]; // the ids of older hubs that this hub replaces
  left: string[]; // the ids of older hubs that it does not replace, and whose backups it does not remove
};

/** The inode of DATA_DIR/run, and the ids of machine and file system; an id of null, as in a container, fits any id. */
export type Place = { run: string; machine: string | null; fileSystem: string | null };

/** Tells where DATA_DIR is: an inode, and the ids of machine and file system that scripts/off-site-restic.sh reads. */
export function locateHub(dataDir: string, machineId: string, fileSystem: string): Place {
  const machine = /^[0-9a-f]{32}$/.test(machineId) ? shortHash(`content-hub ${machineId}`) : null; // see machine-id(5)
  return { run: inodeOfRun(dataDir), machine, fileSystem: /^(?!0+$)[0-9a-f]+$/.test(fileSystem) ? fileSystem : null };
}

function inodeOfRun(dataDir: string): string {
  return String(statSync(join(dataDir, 'run'), { bigint: true, throwIfNoEntry: false })?.ino ?? '');
}

function newOffsiteHub(place: Place, isRestored: boolean): OffsiteHub {
  const id = randomBytes(8).toString('hex');
  return { id, ...place, isRestored, lookedAt: null, older: [], adopted: [], left: [] };
}

/** Stages a new off-site identity for a restored DATA_DIR; the next off-site run adds machine and file system. */
export async function stageOffsiteHub(staged: string, dataDir: string): Promise<void> {
  const place = { run: inodeOfRun(dataDir), machine: null, fileSystem: null };
  await writeNewFile(join(staged, OFFSITE_HUB), toLine(newOffsiteHub(place, true)));
}

/** Makes a new identity if OFFSITE_HUB is missing, damaged or a copy. The caller must hold the lock of off-site.sh. */
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

export async function writeOffsiteHub(dataDir: string, hub: OffsiteHub): Promise<OffsiteHub> {
  await replaceFile(join(dataDir, OFFSITE_HUB), toLine(hub));
  return hub;
}

function toLine(hub: OffsiteHub): string {
  return `${JSON.stringify(hub)}\n`;
}

/** The stored identity, even if DATA_DIR is a copy; null if it is missing or damaged. */
export function readOffsiteHub(dataDir: string): OffsiteHub | null {
  const hub = readJsonFile<OffsiteHub>(join(dataDir, OFFSITE_HUB));
  const lists = [hub?.older, hub?.adopted, hub?.left];
  const isWhole = HUB_ID.test(hub?.id ?? '') && typeof hub?.run === 'string' && lists.every(Array.isArray);
  return isWhole ? (hub as OffsiteHub) : null;
}

export const HUB_ID = /^[0-9a-f]{16}$/;

/** A hub's origin, an id that all hubs restored from one backup share. In version 1.0.0, a hub's id was its origin. */
export function originOf(seed: string): string {
  return shortHash(`restic ${seed}`);
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * `about`: the id of an older hub (`OlderHub`), or null for all older hubs about which the operator has not decided.
 * Returns null if there is none of these.
 */
export function answerAbout(hub: OffsiteHub, isAdopted: boolean, about: string | null): OffsiteHub | null {
  const undecided = hub.older.map(({ id }) => id);
  const ids = about === null ? undecided : [...undecided, ...hub.adopted, ...hub.left].filter((id) => id === about);
  if (ids.length === 0) return null;
  const without = (list: string[]): string[] => list.filter((id) => !ids.includes(id));
  const [adopted, left] = [without(hub.adopted), without(hub.left)];
  const older = hub.older.filter(({ id }) => !ids.includes(id));
  if (isAdopted) return { ...hub, older, left, adopted: [...adopted, ...ids] };
  return { ...hub, older, adopted, left: [...left, ...ids] };
}

/** `found`: what the repository `place` has. Hubs about which the operator has decided already are left out. */
export function withOlder(hub: OffsiteHub, place: string, found: OlderHub[]): OffsiteHub {
  const decided = [hub.id, ...hub.adopted, ...hub.left];
  return { ...hub, lookedAt: place, older: found.filter(({ id }) => !decided.includes(id)) };
}

/**
 * May this hub remove the backups of other hubs that came from the same first hub? `older` names them; it is empty
 * until this hub has searched the restic repository.
 */
export type OffsiteQuestion = { reason: 'restored' | 'copied' | 'upgraded' | 'found'; older: OlderHub[] };

/** The question to the operator about older hubs' backups that the operator has not answered, or null. Never throws. */
export function readOffsiteQuestion(config: Config): OffsiteQuestion | null {
  const place = destinationKey(config, 'restic');
  if (place === null) return null;
  const hub = readOffsiteHub(config.dataDir);
  if (!hub) return readKept(config.dataDir, 'offsite-restic').last ? { reason: 'upgraded', older: [] } : null;
  if (hub.run !== inodeOfRun(config.dataDir)) return { reason: 'copied', older: [] };
  if (hub.lookedAt === place) return hub.older.length > 0 ? { reason: 'found', older: hub.older } : null;
  return hub.isRestored && hub.lookedAt === null ? { reason: 'restored', older: [] } : null;
}
