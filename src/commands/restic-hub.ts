import { readFileSync } from 'node:fs';
import { BackupError, timeOfBackup } from '../features/backups/backup-name.ts';
import { noteRecord } from '../features/backups/note-run.ts';
import {
  answerAbout, HUB_ID, type OffsiteHub, type OlderHub, originOf, locateHub, readOffsiteHub, settleOffsiteHub,
  withOlder, writeOffsiteHub,
} from '../features/backups/offsite-hub.ts';
import { destinationKey } from '../features/backups/offsite-status.ts';
import {
  isPruningDue, loadRecord, nextPart, noteDamage, notePartRead, type RepositoryRecord, takeIn,
} from '../features/backups/restic-record.ts';
import { readHubSeed } from '../features/hub/hub-row-store.ts';
import type { Config } from '../features/hub/read-config.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { plural } from '../platform/in-words.ts';
import { type CommandContext, UsageError } from './command.ts';

/** This hub's identity in the restic repository: a new one if it has none, or if its DATA_DIR is a copy. */
export function settleHub({ dataDir }: Config, machineId: string, fileSystem: string): Promise<OffsiteHub> {
  return settleOffsiteHub(dataDir, locateHub(dataDir, machineId, fileSystem));
}

/**
 * Prints the ids of the hubs whose snapshots this hub removes, this hub's own id first; then a line `look` if this hub
 * has not yet searched the repository for snapshots of older hubs, otherwise `known`.
 */
export async function printHub({ config, out }: CommandContext, machineId: string, fileSystem: string): Promise<void> {
  const { id, adopted, lookedAt } = await settleHub(config, machineId, fileSystem);
  out(`${[id, ...adopted].join(' ')}\n${lookedAt === destinationKey(config, 'restic') ? 'known' : 'look'}\n`);
}

/** The hub ids whose snapshots this hub removes: its own and those that it adopted. */
export function idsOf({ dataDir }: Config, id: string): string[] {
  const hub = readOffsiteHub(dataDir);
  return hub?.id === id ? [id, ...hub.adopted] : [id];
}

/** Finds the backups of older hubs, whose data this hub has taken over, in the repository; tells the operator. */
export async function lookForOlder({ config, err }: CommandContext): Promise<void> {
  const origin = readOrigin(config.databasePath);
  const related = readJsonList(0).flatMap(toSnapshot).filter((one) => one.origin === origin || one.hub === origin);
  const found = [...Map.groupBy(related, ({ hub }) => hub)].map(([id, its]): OlderHub =>
    ({ id, backups: its.length, newest: its.map(({ name }) => name).sort().at(-1) ?? '' }));
  const looked = withOlder(requireIdentity(config), destinationKey(config, 'restic') ?? '', found);
  await writeOffsiteHub(config.dataDir, looked);
  for (const older of looked.older) {
    err(`off-site: note: the restic repository has ${describeHub(older)}, from whose data this hub comes. It does ` +
      `not remove them. If it replaces hub ${older.id}, run ./scripts/hubctl offsite adopt; if not, ` +
      'run ./scripts/hubctl offsite adopt --no\n');
  }
}

function readOrigin(databasePath: string): string {
  const db = openDatabase(databasePath, { readonly: true });
  try {
    const seed = readHubSeed({ db });
    if (seed === undefined) throw new BackupError('hub.db has lost the row of the table hub: restore a backup');
    return originOf(seed);
  } finally {
    db.close();
  }
}

function describeHub({ id, backups, newest }: OlderHub): string {
  return `${plural(backups, 'backup')} of hub ${id} (newest ${newest})`;
}

/**
 * Stores the operator's answer whether this hub replaces an older hub with backups in the restic repository: `adopt`
 * (yes) or `leave` (no). `about`: the id of the older hub; if empty, all those without an answer yet.
 */
export async function answerAdoption({ config, out }: CommandContext, answer: string, about: string): Promise<void> {
  if (answer !== 'adopt' && answer !== 'leave') throw new UsageError('expected adopt or leave');
  const hub = requireIdentity(config);
  const answered = answerAbout(hub, answer === 'adopt', about === '' ? null : about);
  if (!answered && about !== '') throw new BackupError(`no hub ${about} is known to have the same origin`);
  const others = answer === 'adopt' ? hub.left : hub.adopted;
  if (!answered && others.length > 0) {
    throw new BackupError(`nothing is undecided. To change an answer, name the hub: ./scripts/hubctl offsite adopt ${
      answer === 'adopt' ? '' : '--no '}${others.join(' or ')}`);
  }
  if (!answered) return out('there is nothing to decide: there are no backups of older hubs of the same origin\n');
  await writeOffsiteHub(config.dataDir, answered);
  const undecided = hub.older.filter(({ id }) => about === '' || id === about).map(describeHub);
  const named = undecided.length > 0 ? undecided : [`hub ${about}`];
  out(named.map((one) => `${answer === 'adopt' ? 'taken over' : 'left alone'}: ${one}\n`).join(''));
}

function requireIdentity({ dataDir }: Config): OffsiteHub {
  const hub = readOffsiteHub(dataDir);
  if (!hub) throw new BackupError('this hub has no id in the restic repository yet');
  return hub;
}

/** A backup in a restic repository. A field is null if restic's tags lack it. */
export type Snapshot = {
  id: string;
  hub: string;
  name: string;
  bytes: string | null;
  schema: string | null;
  verified: string | null; // when the backup was verified, written as in a backup's name
  origin: string | null; // id of the hub's origin, equal in all hubs restored from one backup; null before 1.0.1
};

/** Parses a snapshot from restic's JSON. Returns an empty array if the snapshot is not a backup of a hub. */
export function toSnapshot(value: unknown): Snapshot[] {
  const { id, tree, tags } = (value ?? {}) as { id?: unknown; tree?: unknown; tags?: unknown };
  const isWhole = typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) && typeof tree === 'string';
  if (!isWhole || !Array.isArray(tags)) return [];
  const said = (key: string, form: RegExp): string | null => {
    const [only, ...more] = tags.map(String).filter((tag) => tag.startsWith(`${key}=`));
    const text = only?.slice(key.length + 1) ?? '';
    return more.length === 0 && form.test(text) ? text : null;
  };
  const [hub, name, verified] = [said('hub', HUB_ID), said('name', NAME), said('verified', NAME)];
  if (hub === null || name === null || timeOfBackup(name) === undefined) return [];
  const [bytes, schema] = [said('bytes', /^\d{1,15}$/), said('schema', /^\d{1,6}$/)];
  return [{ id, hub, name, verified, origin: said('origin', HUB_ID), bytes, schema }];
}

const NAME = /^\d{8}-\d{6}$/;

/** The JSON array in a file or on standard input (0); empty for any other JSON. */
export function readJsonList(from: string | 0): unknown[] {
  const list: unknown = JSON.parse(readFileSync(from, 'utf8'));
  return Array.isArray(list) ? list : [];
}

/**
 * Updates the repository's stored state from two files: restic's snapshots (JSON) and its pack ids. `added`: the bytes
 * that off-site.sh has just sent. Prints, for off-site-restic.sh, the part that `restic check` shall read next (a
 * hyphen: none), then `prune` if `restic prune` is due, otherwise `keep`.
 */
export async function planPart(context: CommandContext, snapshots: string, packs: string, added: string) {
  const ids = readFileSync(packs, 'utf8').split('\n').filter((line) => /^[0-9a-f]{64}$/.test(line));
  const listed = readJsonList(snapshots).map((one) => String((one as { id?: unknown } | null)?.id));
  await change(context, (record, now) => {
    takeIn(record, ids, listed, now, Number(added));
    context.out(`${nextPart(record, now) ?? '-'} ${isPruningDue(record, now) ? 'prune' : 'keep'}\n`);
  });
}

/**
 * Records that a part of the restic repository was read and is undamaged (`bytes`: how many restic read; empty if
 * unknown). Prints, for off-site-restic.sh, the part that shall be read next, if any.
 */
export async function noteGood(context: CommandContext, part: string, bytes: string): Promise<void> {
  await change(context, (record, now) => {
    notePartRead(record, part, bytes === '' ? null : Number(bytes), now);
    const next = nextPart(record, now, record.checkedAt === now);
    if (next !== null) context.out(`${next}\n`);
  });
}

export async function noteDamaged(context: CommandContext, part: string): Promise<void> {
  await change(context, (record, now) => noteDamage(record, part, now));
}

/** Records that `restic prune` has run. */
export async function notePruned(context: CommandContext): Promise<void> {
  await change(context, (record, now) => void (record.prunedAt = now));
}

/** The stored state of the configured restic repository. */
export function recordOf(config: Config, now = Date.now()): RepositoryRecord {
  return loadRecord(config.dataDir, destinationKey(config, 'restic') ?? '', now);
}

async function change(
  { config }: CommandContext, work: (record: RepositoryRecord, now: number) => void,
): Promise<void> {
  const now = Date.now();
  const record = recordOf(config, now);
  work(record, now);
  await noteRecord(config.dataDir, destinationKey(config, 'restic') ?? '', record);
}
