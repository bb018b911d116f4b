import { existsSync } from 'node:fs';
import { sumUploads, uploads } from '../features/attachments/attachment-store.ts';
import { findStraysAndMissing, uploadFiles } from '../features/attachments/upload-files.ts';
import { hashFile } from '../features/backups/manifest.ts';
import { isRestoreUnderWay } from '../features/backups/restore-state.ts';
import { damagedIndices, integrityProblems } from '../features/backups/snapshot-store.ts';
import { sinceInWords } from '../features/health/condition.ts';
import { findings, problemsOf, type Finding, type Level, finding, unknownYet } from '../features/health/findings.ts';
import { isHubRunning } from '../features/hub/data-locks.ts';
import { standingLoss } from '../features/hub/database-file.ts';
import {
  describeDatabase, newDatabaseNote, readDatabaseNote, writeDatabaseNote,
} from '../features/hub/database-note.ts';
import type { Hub } from '../features/hub/hub.ts';
import type { Config } from '../features/hub/read-config.ts';
import { isoTime } from '../platform/clock.ts';
import { inBatches } from '../platform/db/batched-writes.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import { utcTime } from '../platform/in-words.ts';
import { singleLine } from '../platform/markup/tidy-text.ts';
import { type Command, type CommandContext, showProgress } from './command.ts';

export const statusCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, context) {
    const lost = lostDatabase(context.config);
    const { hub, pending } = lost.length > 0 ? { hub: null, pending: [] } : await context.lookAtHub();
    const all = hub ? findings(hub, pending) : lost;
    const problems = problemsOf(all);
    const others = all.filter(({ isBad }) => !isBad);
    const text = (): string => overallVerdict(all) + [...problems, ...others].map(findingLines).join('');
    context.out(values['json'] ? jsonOf(all) : text());
    return problems.length === 0 ? 0 : 1;
  },
};

/** The only finding while a running hub has lost its database, or its copy waits: nothing may open another hub.db. */
function lostDatabase({ dataDir, databasePath }: Config): Finding[] {
  if (!existsSync(dataDir)) return []; // Node lets hubctl read nothing within it
  const isMissing = !existsSync(databasePath) && isHubRunning(dataDir);
  const note = standingLoss(dataDir) ?? (isMissing ? newDatabaseNote('removed', Date.now()) : null);
  if (!note || isRestoreUnderWay(dataDir)) return [];
  const told = describeDatabase(note, writtenPath(dataDir));
  return [finding({ subject: 'Database', level: 'bad', state: 'lost or damaged', since: note.since, ...told })];
}

const MARKS: Record<Level, string> = { good: 'ok', off: '-', warn: 'WARN', bad: 'BAD' };

function overallVerdict(all: readonly Finding[]): string {
  const problems = problemsOf(all);
  if (problems.length === 0) return 'All is well.\n';
  return problems.length === 1 ? 'One thing needs attention.\n' : `${problems.length} things need attention.\n`;
}

function findingLines({ subject, level, state, detail, at, problem, since, whatToDo }: Finding): string {
  const more = [detail, at !== null && utcTime(at)].filter(Boolean).join(', ');
  const line = `${MARKS[level].padEnd(4)} ${singleLine(`${subject}: ${state}${more && ` (${more})`}`)}\n`;
  const below = [problem, sinceInWords(since), whatToDo].filter(Boolean).join(' ');
  return below === '' ? line : `${line}     ${singleLine(below)}\n`;
}

function jsonOf(all: readonly Finding[]): string {
  const findings = all.map(({ subject, level, state, detail, at, problem, since, whatToDo }) => ({
    subject, level, state, detail, at: at === null ? null : isoTime(at),
    problem, since: since === null ? null : isoTime(since), whatToDo,
  }));
  return `${JSON.stringify({ ok: problemsOf(all).length === 0, findings })}\n`;
}

const NAMED = 10;

const FROM_BACKUP = 'Get them from a backup, in DATA_DIR: tar xzf backups/<backup>/uploads.tar.gz ' +
  'uploads/<ab>/<sha256> && chown -R --reference=hub.db uploads';

function toTheHub({ config: { dataDir } }: Hub): string {
  const folder = `'${writtenPath(dataDir).replaceAll("'", `'\\''`)}'`;
  return 'Give them to the account of the hub, as root: ' +
    `chown -R --reference=${folder}/hub.db ${folder}/uploads && chmod -R u+rX ${folder}/uploads`;
}

export const doctorCommand: Command = {
  options: { hashes: { type: 'boolean' }, json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, context) {
    const { out, config } = context;
    const lost = lostDatabase(config);
    const all = lost.length > 0 ? lost : await examine(values['hashes'] === true, context);
    out(values['json'] ? jsonOf(all) : all.map(findingLines).join('') + overallVerdict(all));
    return problemsOf(all).length === 0 ? 0 : 1;
  },
};

async function examine(withHashes: boolean, context: CommandContext): Promise<Finding[]> {
  const { hub, pending } = await context.lookAtHub();
  const uploaded = await checkUploads(hub, withHashes, context)
    .catch((error: unknown) => unknownYet(error, 'Uploads', pending));
  const settings = checkSettings(hub);
  const database = databaseFinding(hub);
  if (database.isBad && isHubRunning(hub.config.dataDir)) return [database, ...uploaded, ...settings];
  return [database, ...uploaded, ...settings, ...findings(hub, pending)];
}

const INTEGRITY = 'Integrity of the database';

/** Tells a running hub of damage, so that it saves what can be read. */
function databaseFinding({ db, config: { dataDir } }: Hub): Finding {
  const problems = integrityProblems(db);
  if (problems.length === 0) return finding({ subject: INTEGRITY, state: 'intact' });
  const indices = damagedIndices(problems);
  const note = { ...newDatabaseNote(indices ? 'index' : 'damaged', Date.now()), indices: indices ?? [] };
  const isRunning = isHubRunning(dataDir);
  if (isRunning && !readDatabaseNote(dataDir)) writeDatabaseNote(dataDir, note);
  const { problem, whatToDo } = describeDatabase(note);
  const found = { subject: INTEGRITY, level: 'bad', state: indices ? 'a damaged index' : 'damaged' } as const;
  if (indices || isRunning) return finding({ ...found, problem: `${problem} (${problems[0]})`, whatToDo });
  return finding({
    ...found, problem: problems[0] ?? null,
    whatToDo: 'Check the disk, and restore the newest verified backup (./scripts/restore.sh --list); the restore ' +
      'keeps the damaged database.',
  });
}

function checkSettings({ config }: Hub): Finding[] {
  return config.doubtfulNames.map((problem) => finding({
    subject: 'Settings', level: 'warn', state: 'check the names', problem,
    whatToDo: 'Correct or remove it in .env or the environment, then restart the hub.',
  }));
}

async function checkUploads(hub: Hub, withHashes: boolean, context: CommandContext): Promise<Finding[]> {
  const { strays, missing, unreadable } = await findStraysAndMissing(hub);
  const changed = withHashes ? await listChanged(hub, new Set([...missing, ...unreadable]), context) : [];
  return [
    about('Uploads', missing, 'missing or of the wrong size', FROM_BACKUP),
    ...(unreadable.length > 0 ? [about('Uploads', unreadable, 'unreadable to the hub', toTheHub(hub))] : []),
    ...(withHashes ? [about('Contents of uploads', changed, 'changed on disk or unreadable', FROM_BACKUP)] : []),
    about('Strays', strays, 'not named by the database', 'Do nothing: the worker removes them within a day.'),
  ];
}

async function listChanged(hub: Hub, missing: Set<string>, context: CommandContext): Promise<string[]> {
  const changed = [];
  const { named } = uploads(hub);
  const { onStep, onProgress, end } = showProgress(context, 'doctor', 'nothing');
  const { uploadBytes } = sumUploads(hub);
  let done = 0;
  onStep('contents of uploads');
  const all = inBatches<{ sha256: string; bytes: number }>((last) => named(last?.sha256 ?? '', 100));
  for (const { sha256, bytes } of all) {
    if (!missing.has(sha256) && await isChanged(hub, sha256)) changed.push(sha256);
    onProgress(done += bytes, uploadBytes);
  }
  end();
  return changed;
}

/** Whether a file's content differs from its hash or cannot be read; a file that the worker has removed is fine. */
async function isChanged(hub: Hub, sha256: string): Promise<boolean> {
  const found = await hashFile(uploadFiles(hub).pathOf(sha256)).catch(() => undefined);
  return found?.sha256 !== sha256 && uploads(hub).find(sha256) !== undefined;
}

function about(subject: string, files: string[], what: string, whatToDo: string): Finding {
  if (files.length === 0) return finding({ subject, state: 'ok' });
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
  const problem = `${files.slice(0, NAMED).join(' ')}${more}.`;
  return finding({ subject, level: 'bad', state: `${files.length} ${what}`, problem, whatToDo });
}
