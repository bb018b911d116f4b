import { replaceFile } from '../../platform/files/durable-file.ts';
import type { Config } from '../hub/read-config.ts';
import {
  type BackupPlaces, type InterimRun, type KeptRuns, type Kind, listBackups, listInterim, type OffsiteRun, readKept,
  readVerdicts, type RunResult, statusPath, verdictsPath,
} from './backup-status.ts';
import { type DrillRun, type KeptDrills, readKeptDrills } from './drill-status.ts';
import { destinationKey, type Destination } from './offsite-status.ts';
import { type RepositoryRecord, recordPath, textOfRecord } from './restic-record.ts';

type Run = RunResult | InterimRun | OffsiteRun;

/** `last`: this run, or an earlier run whose failure must stay visible. Throws if DATA_DIR/run is not writable. */
export async function noteRun(dataDir: string, kind: Kind, run: Run, last: Run = run): Promise<void> {
  const lastGood = run.ok ? run : readKept(dataDir, kind).lastGood;
  const kept: KeptRuns<Run> = { last, lastGood };
  await replaceNote(statusPath(dataDir, kind), toJsonLine(kept));
}

/**
 * Records the result of sending copies to a destination. `owed`: a backup that neither the previous off-site run nor
 * this off-site run could send; it stays recorded as unsent until a run succeeds, even if it is no longer on this
 * machine. If the run before sent all copies, but could not check the repository or remove old copies there, its
 * failure stays recorded when an interim backup is sent.
 */
export async function noteOffsite(
  config: Config, name: Destination, { owed = null, ...run }: Omit<OffsiteRun, 'place'> & { owed?: string | null },
  isInterim = false,
): Promise<void> {
  const place = destinationKey(config, name);
  if (place === null) return;
  const { last } = readKept<OffsiteRun>(config.dataDir, `offsite-${name}`);
  const before = last?.place === place ? last : null;
  const isOwed = owed !== null && !run.ok && before !== null && owed < (run.unsent ?? '9');
  const stays = isInterim && run.ok && before?.ok === false && before.unsent === null ? before : undefined;
  await noteRun(config.dataDir, `offsite-${name}`, { ...run, unsent: isOwed ? owed : run.unsent, place }, stays);
}

/** Records nothing for a destination that is not configured. */
export async function noteDrill(
  config: Config, name: Destination, drill: Omit<DrillRun, 'place'>,
): Promise<void> {
  const place = destinationKey(config, name);
  if (place === null) return;
  const last = { ...drill, place };
  const lastProven = drill.outcome === 'proven' ? last : readKeptDrills(config.dataDir, name).lastProven;
  const kept: KeptDrills = { last, lastProven };
  await replaceNote(statusPath(config.dataDir, `drill-${name}`), toJsonLine(kept));
}

/** Records the result of a local backup, nightly or interim, and drops the records of removed backups. */
export async function noteVerdict({ dataDir, backupDir }: BackupPlaces, run: RunResult): Promise<void> {
  const there = new Set([...listBackups(backupDir), ...listInterim(backupDir)].map(({ name }) => name));
  const { name, at, verdict, problem } = run;
  const known = Object.entries({ ...readVerdicts(dataDir), ...(name && { [name]: { at, verdict, problem } }) });
  const kept = there.size === 0 ? known : known.filter(([one]) => there.has(one)); // the backups' disk may be unmounted
  await replaceNote(verdictsPath(dataDir), toJsonLine(Object.fromEntries(kept)));
}

/** `place`: the repository's `destinationKey`. */
export function noteRecord(dataDir: string, place: string, record: RepositoryRecord): Promise<void> {
  return replaceNote(recordPath(dataDir, place), textOfRecord(record));
}

/** `last`: the last call of HEARTBEAT_URL; null if it is not set any more. */
export function noteSignOfLife(path: string, last: object | null): Promise<void> {
  return replaceNote(path, toJsonLine(last));
}

/** Several processes may write the file at the same time, so each process uses its own temporary name. */
function replaceNote(path: string, content: string): Promise<void> {
  return replaceFile(path, content, `${path}.${process.pid}.partial`);
}

function toJsonLine(content: object | null): string {
  return `${JSON.stringify(content)}\n`;
}
