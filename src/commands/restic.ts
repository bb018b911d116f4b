import { createReadStream, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clockTrouble, DATABASE, SUMS } from '../features/backups/backup-folder.ts';
import { BackupError, backupName, interimName, timeOfBackup } from '../features/backups/backup-name.ts';
import { readBackupStatus, readVerdicts } from '../features/backups/backup-status.ts';
import { type Manifest, parseManifest } from '../features/backups/manifest.ts';
import { originOf } from '../features/backups/offsite-hub.ts';
import { readAtOf, type RepositoryRecord } from '../features/backups/restic-record.ts';
import { readSeed, readSnapshot } from '../features/backups/snapshot-store.ts';
import type { UploadRow } from '../features/attachments/attachment-store.ts';
import { uploadPath } from '../features/attachments/upload-files.ts';
import type { Config } from '../features/hub/read-config.ts';
import { grantedName } from '../platform/files/granted-name.ts';
import { type Command, type CommandContext, type ExitCode, UsageError } from './command.ts';
import {
  answerAdoption, idsOf, lookForOlder, printHub, recordOf, readJsonList, settleHub, type Snapshot, toSnapshot,
  noteDamaged, noteGood, notePruned, planPart,
} from './restic-hub.ts';

type ResticStep = (context: CommandContext, ...args: string[]) => Promise<void>;

const STEPS = new Map<string, [operands: number, step: ResticStep]>([
  ['hub', [2, printHub]], ['look', [0, lookForOlder]], ['answer', [2, answerAdoption]],
  ['staged', [4, describeStaged]], ['snapshots', [0, listSnapshots]], ['compare', [5, compareSnapshot]],
  ['part', [3, planPart]], ['good', [2, noteGood]], ['damaged', [1, noteDamaged]],
  ['forgettable', [3, listForgettable]], ['pruned', [0, notePruned]], ['pack', [2, packFolder]],
]);

/** Steps of scripts/off-site-restic.sh and restic-backups.sh. */
export const resticCommand: Command = {
  options: {},

  async run([name = '', ...args], _values, context): Promise<ExitCode> {
    const [operands, step] = STEPS.get(name) ?? [];
    if (!step || args.length !== operands) throw new UsageError('expected an internal step with its arguments');
    try {
      await step(context, ...args.map(grantedName));
      return 0;
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      context.err(`off-site: ${error.message}\n`);
      return 1;
    }
  },
};

/** Prints for off-site-restic.sh the lines of `printHub`, a line of tags, and the paths of the uploads it has. */
async function describeStaged(
  context: CommandContext, folder: string, name: string, machineId: string, fileSystem: string,
): Promise<void> {
  const { facts } = parseManifest(readFileSync(join(folder, SUMS), 'utf8'));
  if (!facts) throw new BackupError(`${name} was not made by the hub: its SHA256SUMS does not describe its content`);
  const { schemaVersion, uploads } = await readSnapshot(join(folder, DATABASE));
  const seed = await readSeed(join(folder, DATABASE));
  if (seed === undefined) throw new BackupError(`hub.db of ${name} has lost the row of the table hub`);
  const verifiedAt = verifiedWhen(context.config, name);
  const { id } = await settleHub(context.config, machineId, fileSystem);
  const bytes = statSync(join(folder, DATABASE)).size + facts.counts.uploadBytes;
  const tags = [`hub=${id}`, `name=${name}`, `schema=${schemaVersion}`, `bytes=${bytes}`, `origin=${originOf(seed)}`];
  if (verifiedAt !== null) tags.push(`verified=${backupName(verifiedAt)}`);
  const paths = present(uploads, facts).map(({ sha256 }) => `${uploadPath(sha256)}\n`);
  await printHub(context, machineId, fileSystem);
  context.out(`${tags.join(',')}\n${paths.join('')}`);
}

function present(uploads: UploadRow[], facts: Manifest['facts']): UploadRow[] {
  const absent = new Set(facts?.absent.map(({ sha256 }) => sha256));
  return uploads.filter(({ sha256 }) => !absent.has(sha256));
}

/**
 * When the nightly backup `name`, or else the interim backup made at the time in `name`, was last verified (unix ms);
 * null if neither was, or the last verdict is `degraded`. Throws BackupError if it is `failed`.
 */
function verifiedWhen(config: Config, name: string): number | null {
  const last = readBackupStatus({ config, clock: Date.now }).byVerification.find((one) => one.name === name) ??
    readVerdicts(config.dataDir)[interimName(timeOfBackup(name) ?? 0)];
  if (last?.verdict === 'failed') throw new BackupError(`${name} was found damaged: it is not sent`);
  return last?.verdict === 'verified' ? last.at : null;
}

/**
 * Prints a line for each backup of a hub among the snapshots that restic lists on standard input, the oldest first:
 * `<name> <hub> <id> <bytes> <schema> <verified>`, a hyphen if unknown. `verified`: `damaged` for every backup while
 * the repository is damaged; else a hyphen if the backup was not verified when it was sent; else the time at which all
 * its data had been read back, `checking` before that time.
 */
async function listSnapshots({ config, out }: CommandContext): Promise<void> {
  const record = recordOf(config);
  const lines = readJsonList(0).flatMap(toSnapshot)
    .map((one) => [one.name, one.hub, one.id, one.bytes, one.schema, stateOf(one, record)])
    .map((fields) => `${fields.map((field) => field ?? '-').join(' ')}\n`);
  out(lines.sort().join(''));
}

function stateOf({ id, verified }: Snapshot, record: RepositoryRecord): string | null {
  if (record.damagedAt > 0) return 'damaged';
  if (verified === null) return null;
  const readAt = readAtOf(record, id);
  return readAt === null ? 'checking' : backupName(readAt);
}

/** Prints the snapshot's full id if a listing of `restic ls --json` has its tags and exactly the staged files. */
async function compareSnapshot({ out }: CommandContext, ...operands: string[]): Promise<void> {
  const [folder = '', hub = '', name = '', id = '', listing = ''] = operands;
  const expected = await stagedFiles(folder);
  const pieces = readLines(listing);
  const [head = 'null', ...entries] = (await pieces.next()).value ?? [];
  const [snapshot] = toSnapshot(JSON.parse(head));
  if (!snapshot?.id.startsWith(id) || snapshot.hub !== hub || snapshot.name !== name) {
    throw new BackupError(`restic lists no snapshot ${id} of ${name}`);
  }
  compareEntries(entries, expected);
  for await (const more of pieces) compareEntries(more, expected);
  const [first] = expected.keys();
  const others = expected.size > 1 ? ` and ${expected.size - 1} more` : '';
  if (first !== undefined) throw new BackupError(`the snapshot lacks ${first}${others}`);
  out(`${snapshot.id}\n`);
}

async function stagedFiles(folder: string): Promise<Map<string, number>> {
  const { facts } = parseManifest(readFileSync(join(folder, SUMS), 'utf8'));
  const { uploads } = await readSnapshot(join(folder, DATABASE));
  const expected = new Map<string, number>();
  for (const { sha256, bytes } of present(uploads, facts)) expected.set(sha256, bytes);
  for (const name of [DATABASE, SUMS]) expected.set(name, statSync(join(folder, name)).size);
  return expected;
}

function compareEntries(lines: string[], expected: Map<string, number>): void {
  for (const line of lines) {
    const { type, path, size } = JSON.parse(line) as { type?: unknown; path?: unknown; size?: unknown };
    if (type === 'dir') continue;
    const name = String(path).slice(1);
    const key = name.startsWith('uploads/') ? basename(name) : name;
    const bytes = key === name || name === uploadPath(key) ? expected.get(key) : undefined;
    if (type !== 'file' || bytes === undefined) throw new BackupError(`the snapshot should not hold ${name}`);
    const found = `${String(size)} bytes instead of ${bytes}`;
    if (bytes !== size) throw new BackupError(`the snapshot holds ${name} with ${found}`);
    expected.delete(key);
  }
}

/**
 * Prints the snapshots to forget, from restic's plan (`forget --dry-run --json`), after this hub sent the backup
 * `name`: only those of this hub and of the hubs that it has adopted, never `name`, the newest backup that was verified
 * when sent, nor the newest of these that was read back, and none at all if `name` was not verified. Throws BackupError
 * if the repository is damaged, or if there are some to forget and a clock looks wrong.
 */
async function listForgettable(
  { config, out }: CommandContext, hub: string, name: string, plan: string,
): Promise<void> {
  const groups = readJsonList(plan) as { keep?: unknown[] | null; remove?: unknown[] | null }[];
  const record = recordOf(config);
  if (record.damagedAt > 0) throw new BackupError(STILL_DAMAGED);
  const owned = idsOf(config, hub);
  const ours = (list: unknown[]): Snapshot[] => list.flatMap(toSnapshot).filter((one) => owned.includes(one.hub));
  const remove = ours(groups.flatMap((group) => group.remove ?? []));
  const all = [...ours(groups.flatMap((group) => group.keep ?? [])), ...remove];
  const verified = backupNames(all.filter((one) => one.verified !== null));
  const read = backupNames(all.filter((one) => one.verified !== null && readAtOf(record, one.id) !== null));
  const kept = [name, verified.at(-1), read.at(-1)];
  const removable = remove.filter((one) => !kept.includes(one.name));
  if (!verified.includes(name) || removable.length === 0) return;
  const dated = backupNames(all).map((one) => ({ name: one, at: timeOfBackup(one) ?? NaN }));
  const trouble = clockTrouble(dated, name, Date.now());
  if (trouble !== null) throw new BackupError(`nothing was removed from the repository: ${trouble}`);
  out(removable.map(({ id }) => `${id}\n`).join(''));
}

const STILL_DAMAGED = 'nothing was removed from the repository: it is damaged, and not all damaged parts have been ' +
  'read again; see "A damaged restic repository" in scripts/README.md';

function backupNames(snapshots: Snapshot[]): string[] {
  return [...new Set(snapshots.map(({ name }) => name))].sort();
}

/** Makes a backup folder from the files that restic restored. restic-backups.sh moves hub.db itself. */
async function packFolder(_context: CommandContext, from: string, into: string): Promise<void> {
  const { packFetched } = await import('../features/backups/make-backup.ts');
  await packFetched(from, into);
}

/** The lines of a file, in batches: the listing of 200,000 uploads has 80 MB. */
async function* readLines(path: string): AsyncGenerator<string[], undefined> {
  let rest = '';
  for await (const piece of createReadStream(path, { encoding: 'utf8', highWaterMark: PIECE })) {
    const lines = (rest + String(piece)).split('\n');
    rest = lines.pop() ?? '';
    yield lines;
  }
  if (rest !== '') yield [rest];
}

const PIECE = 256 * 1024; // bytes
