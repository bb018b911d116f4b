import { replaceFile } from '../../platform/files/durable-file.ts';
import type { Config } from '../hub/read-config.ts';
import {
  type BackupPlaces, type KeptRuns, type Kind, listBackups, type OffsiteRun, readKept, readVerdicts, type RunResult,
  statusPath, verdictsPath,
} from './backup-status.ts';
import { destinationKey, type Destination } from './offsite-status.ts';
import { type RepositoryReading, readingPath, textOfReading } from './restic-reading.ts';

/** Notes how a run ended. Throws where DATA_DIR/run must not be written. */
export async function noteRun(dataDir: string, kind: Kind, run: RunResult | OffsiteRun, pid: number): Promise<void> {
  const lastGood = run.ok ? run : readKept(dataDir, kind).lastGood;
  const kept: KeptRuns<RunResult | OffsiteRun> = { last: run, lastGood };
  await replaceOwn(statusPath(dataDir, kind), toJsonLine(kept), pid);
}

/** Notes how sending copies to a destination ended. */
export async function noteOffsite(
  config: Config, name: Destination, run: Omit<OffsiteRun, 'place'>, pid: number,
): Promise<void> {
  const place = destinationKey(config, name);
  if (place === null) return;
  await noteRun(config.dataDir, `offsite-${name}`, { ...run, place }, pid);
}

/** Notes what a run found of a backup on this machine, and forgets those that have gone. */
export async function noteVerdict({ dataDir, backupDir }: BackupPlaces, run: RunResult, pid: number): Promise<void> {
  const there = new Set(listBackups(backupDir).map(({ name }) => name));
  const { name, at, verdict, problem } = run;
  const known = Object.entries({ ...readVerdicts(dataDir), ...(name && { [name]: { at, verdict, problem } }) });
  await replaceOwn(verdictsPath(dataDir), toJsonLine(Object.fromEntries(known.filter(([one]) => there.has(one)))), pid);
}

/** Stores what was read of the restic repository with that `destinationKey`. */
export async function noteReading(
  dataDir: string, place: string, reading: RepositoryReading, pid: number,
): Promise<void> {
  await replaceOwn(readingPath(dataDir, place), textOfReading(reading), pid);
}

/** A backup and a verification may note at the same time, so each process writes under a name of its own. */
function replaceOwn(path: string, content: string, pid: number): Promise<void> {
  return replaceFile(path, content, `${path}.${pid}.partial`);
}

function toJsonLine(content: object): string {
  return `${JSON.stringify(content)}\n`;
}
