import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clockTrouble, DATABASE, SUMS } from '../features/backups/backup-folder.ts';
import { BackupError, backupName, timeOfBackup } from '../features/backups/backup-name.ts';
import { readBackupStatus } from '../features/backups/backup-status.ts';
import { type Manifest, parseManifest } from '../features/backups/manifest.ts';
import { readSeed, readSnapshot } from '../features/backups/snapshot-store.ts';
import type { UploadRow } from '../features/attachments/attachment-store.ts';
import { uploadPath } from '../features/attachments/upload-files.ts';
import type { Config } from '../features/hub/read-config.ts';
import { type Command, type CommandContext, type ExitCode, UsageError } from './command.ts';

type Step = (context: CommandContext, ...args: string[]) => Promise<void>;

const STEPS = new Map<string, [operands: number, step: Step]>([
  ['staged', [2, describeStaged]], ['snapshots', [0, listSnapshots]], ['settle', [6, settleSnapshot]],
  ['pack', [2, packFolder]],
]);

/** The steps of scripts/off-site-restic.sh and restic-backups.sh that read what restic prints, or a database. */
export const resticCommand: Command = {
  options: {},

  async run([name = '', ...args], _values, context): Promise<ExitCode> {
    const [operands, step] = STEPS.get(name) ?? [];
    if (!step || args.length !== operands) throw new UsageError('expected an internal step with its arguments');
    try {
      await step(context, ...args);
      return 0;
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      context.err(`off-site: ${error.message}\n`);
      return 1;
    }
  },
};

/**
 * Prints what a folder to be sent is, of the backup of that name: the hub's id, the tags, then the path of each upload
 * that belongs to it.
 */
async function describeStaged({ config, out }: CommandContext, folder: string, name: string): Promise<void> {
  const { facts } = parseManifest(readFileSync(join(folder, SUMS), 'utf8'));
  if (!facts) throw new BackupError(`${name} was not made by the hub: its SHA256SUMS says nothing of its content`);
  const { schemaVersion, uploads } = await readSnapshot(join(folder, DATABASE));
  const seed = await readSeed(join(folder, DATABASE));
  if (seed === undefined) throw new BackupError(`hub.db of ${name} has lost the row of the table hub`);
  const verifiedAt = verifiedWhen(config, name);
  const hub = createHash('sha256').update(`restic ${seed}`).digest('hex').slice(0, 16);
  const bytes = statSync(join(folder, DATABASE)).size + facts.counts.uploadBytes;
  const tags = [`hub=${hub}`, `name=${name}`, `schema=${schemaVersion}`, `bytes=${bytes}`];
  if (verifiedAt !== null) tags.push(`verified=${backupName(verifiedAt)}`);
  const paths = present(uploads, facts).map(({ sha256 }) => `${uploadPath(sha256)}\n`);
  out(`${hub}\n${tags.join(',')}\n${paths.join('')}`);
}

/** The uploads that were there when the backup was made. */
function present(uploads: UploadRow[], facts: Manifest['facts']): UploadRow[] {
  const absent = new Set(facts?.absent.map(({ sha256 }) => sha256));
  return uploads.filter(({ sha256 }) => !absent.has(sha256));
}

/** When the backup was last found good, or null. Throws BackupError where it was found bad since. */
function verifiedWhen(config: Config, name: string): number | null {
  const last = readBackupStatus({ config, clock: Date.now }).byVerification.find((one) => one.name === name);
  if (last?.verdict === 'failed') throw new BackupError(`${name} was found damaged: it is not sent`);
  return last?.verdict === 'verified' ? last.at : null;
}

/** One of a hub's backups in a repository. What restic's tags do not say is null. */
type Snapshot = {
  id: string;
  hub: string;
  name: string;
  bytes: string | null;
  schema: string | null;
  verified: string | null; // when, as in a backup's name
};

/**
 * Prints a line for each backup of a hub among the snapshots that restic lists on standard input, the oldest first:
 * `<name> <hub> <id> <bytes> <schema> <verified>`, a hyphen for what is not known.
 */
async function listSnapshots({ out }: CommandContext): Promise<void> {
  const lines = readList(0).flatMap(toSnapshot)
    .map(({ name, hub, id, bytes, schema, verified }) => [name, hub, id, bytes, schema, verified])
    .map((fields) => `${fields.map((field) => field ?? '-').join(' ')}\n`);
  out(lines.sort().join(''));
}

/** Of restic's JSON only what is known to be one of these. Nothing for the snapshots of others. */
function toSnapshot(value: unknown): Snapshot[] {
  const { id, tree, tags } = (value ?? {}) as { id?: unknown; tree?: unknown; tags?: unknown };
  const isWhole = typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) && typeof tree === 'string';
  if (!isWhole || !Array.isArray(tags)) return [];
  const said = (key: string, form: RegExp): string | null => {
    const [only, ...more] = tags.map(String).filter((tag) => tag.startsWith(`${key}=`));
    const text = only?.slice(key.length + 1) ?? '';
    return more.length === 0 && form.test(text) ? text : null;
  };
  const [hub, name, verified] = [said('hub', /^[0-9a-f]{16}$/), said('name', NAME), said('verified', NAME)];
  if (hub === null || name === null || timeOfBackup(name) === undefined) return [];
  return [{ id, hub, name, verified, bytes: said('bytes', /^\d{1,15}$/), schema: said('schema', /^\d{1,6}$/) }];
}

const NAME = /^\d{8}-\d{6}$/;

/**
 * Prints the full id of a snapshot that is all it should be, by the listing (`restic ls --json`); then those that are
 * to be forgotten by that plan. Once the id is printed the snapshot has arrived, whatever comes of the plan. It may be
 * started while restic is listing: the listing is read when standard input ends.
 */
async function settleSnapshot(
  { out }: CommandContext, folder: string, hub: string, name: string, id: string, listing: string, plan: string,
): Promise<void> {
  const expected = await laidReady(folder);
  readFileSync(0);
  const pieces = readLines(listing);
  const [head = 'null', ...entries] = (await pieces.next()).value ?? [];
  const [snapshot] = toSnapshot(JSON.parse(head));
  if (!snapshot?.id.startsWith(id) || snapshot.hub !== hub || snapshot.name !== name) {
    throw new BackupError(`restic lists no snapshot ${id} of ${name}`);
  }
  compareEntries(entries, expected);
  for await (const more of pieces) compareEntries(more, expected);
  refuseLack(expected);
  out(`${snapshot.id}\n`);
  for (const one of toForget(readList(plan), hub, name)) out(`${one}\n`);
}

/** What was laid ready in that folder: the length of each upload by its hash, and of the other files by their names. */
async function laidReady(folder: string): Promise<Map<string, number>> {
  const { facts } = parseManifest(readFileSync(join(folder, SUMS), 'utf8'));
  const { uploads } = await readSnapshot(join(folder, DATABASE));
  const expected = new Map<string, number>();
  for (const { sha256, bytes } of present(uploads, facts)) expected.set(sha256, bytes);
  for (const name of [DATABASE, SUMS]) expected.set(name, statSync(join(folder, name)).size);
  return expected;
}

/** Compares entries of such a listing with what is expected, and takes them out of that. */
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

function refuseLack(expected: Map<string, number>): void {
  const [first] = expected.keys();
  const more = expected.size > 1 ? ` and ${expected.size - 1} more` : '';
  if (first !== undefined) throw new BackupError(`the snapshot lacks ${first}${more}`);
}

/**
 * The ids of the snapshots to forget, by restic's plan (`forget --dry-run --json`), after the backup of that name has
 * been sent. Never the newest that was verified; and none after a backup that was not verified, or while a clock looks
 * wrong.
 */
function toForget(plan: unknown[], hub: string, name: string): string[] {
  const groups = plan as { keep?: unknown[] | null; remove?: unknown[] | null }[];
  const ours = (list: unknown[]): Snapshot[] => list.flatMap(toSnapshot).filter((snapshot) => snapshot.hub === hub);
  const remove = ours(groups.flatMap((group) => group.remove ?? []));
  const all = [...ours(groups.flatMap((group) => group.keep ?? [])), ...remove];
  const verified = all.filter((snapshot) => snapshot.verified !== null).map((snapshot) => snapshot.name).sort();
  const removable = remove.filter((snapshot) => snapshot.name !== name && snapshot.name !== verified.at(-1));
  if (!verified.includes(name) || removable.length === 0) return [];
  const names = [...new Set(all.map((snapshot) => snapshot.name))].sort();
  const trouble = clockTrouble(names.map((one) => ({ name: one, at: timeOfBackup(one) ?? NaN })), name, Date.now());
  if (trouble !== null) throw new BackupError(`nothing was removed from the repository: ${trouble}`);
  return removable.map(({ id }) => id);
}

/** Makes the folder of a backup out of what restic has restored; hub.db itself is moved by the script. */
async function packFolder(_context: CommandContext, from: string, into: string): Promise<void> {
  const { packFetched } = await import('../features/backups/make-backup.ts'); // which the other steps need not load
  await packFetched(from, into);
}

/** The lines of a file, some hundreds at a time: those of 200,000 uploads are 80 MB. */
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

function readList(from: string | 0): unknown[] {
  const list: unknown = JSON.parse(readFileSync(from, 'utf8'));
  return Array.isArray(list) ? list : [];
}
