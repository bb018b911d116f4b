import { rename } from 'node:fs/promises';
import { writeNewFile } from '../../platform/files/durable-file.ts';
import type { Config } from '../hub/read-config.ts';
import {
  type BackupPlaces, type Kept, type Kind, listBackups, type OffsiteRun, readKept, readVerdicts, type Run, statusPath,
  verdictsPath,
} from './backup-status.ts';
import { placeOf, type Destination } from './offsite-status.ts';

/** Notes how a run ended. Throws where DATA_DIR/run must not be written. */
export async function noteRun(dataDir: string, kind: Kind, run: Run | OffsiteRun, pid: number): Promise<void> {
  const lastGood = run.ok ? run : readKept(dataDir, kind).lastGood;
  await replaceFile(statusPath(dataDir, kind), { last: run, lastGood } satisfies Kept<Run | OffsiteRun>, pid);
}

/** Notes how sending copies to a destination ended. */
export async function noteOffsite(
  config: Config, name: Destination, run: Omit<OffsiteRun, 'place'>, pid: number,
): Promise<void> {
  const place = placeOf(config, name);
  if (place === null) return;
  await noteRun(config.dataDir, `offsite-${name}`, { ...run, place }, pid);
}

/** Notes what a run found of a backup on this machine, and forgets those that have gone. */
export async function noteVerdict({ dataDir, backupDir }: BackupPlaces, run: Run, pid: number): Promise<void> {
  const there = new Set(listBackups(backupDir).map(({ name }) => name));
  const { name, at, verdict, problem } = run;
  const known = Object.entries({ ...readVerdicts(dataDir), ...(name && { [name]: { at, verdict, problem } }) });
  await replaceFile(verdictsPath(dataDir), Object.fromEntries(known.filter(([one]) => there.has(one))), pid);
}

async function replaceFile(path: string, content: object, pid: number): Promise<void> {
  const partial = `${path}.${pid}.partial`;
  await writeNewFile(partial, `${JSON.stringify(content)}\n`);
  await rename(partial, path);
}
