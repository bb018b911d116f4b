import { readFileSync } from 'node:fs';
import { noteReading } from '../features/backups/note-run.ts';
import { destinationKey } from '../features/backups/offsite-status.ts';
import {
  isPruningDue, loadReading, nextPart, noteDamage, notePartRead, type RepositoryReading, takeIn,
} from '../features/backups/restic-reading.ts';
import type { CommandContext } from './command.ts';
import { readJsonList } from './restic-hub.ts';

/**
 * Updates the reading from two files: restic's snapshots (JSON) and its pack ids. `added`: bytes just sent. Prints the
 * part to read next, or a hyphen; and `prune` if space is to be freed, else `keep`.
 */
export async function planPart(
  context: CommandContext, snapshots: string, packs: string, added: string,
): Promise<void> {
  const ids = readFileSync(packs, 'utf8').split('\n').filter((line) => /^[0-9a-f]{64}$/.test(line));
  const listed = readJsonList(snapshots).map((one) => String((one as { id?: unknown } | null)?.id));
  await change(context, (reading, now) => {
    takeIn(reading, ids, listed, now, Number(added));
    context.out(`${nextPart(reading, now) ?? '-'} ${isPruningDue(reading, now) ? 'prune' : 'keep'}\n`);
  });
}

/** Records a part that was read without damage, with restic's byte count, if any. Prints the part to read next. */
export async function noteGood(context: CommandContext, part: string, bytes: string): Promise<void> {
  await change(context, (reading, now) => {
    notePartRead(reading, part, bytes === '' ? null : Number(bytes), now);
    const next = nextPart(reading, now, reading.checkedAt === now);
    if (next !== null) context.out(`${next}\n`);
  });
}

/** Records a damaged part. */
export async function noteDamaged(context: CommandContext, part: string): Promise<void> {
  await change(context, (reading, now) => noteDamage(reading, part, now));
}

/** Records that space was freed (`restic prune`). */
export async function notePruned(context: CommandContext): Promise<void> {
  await change(context, (reading, now) => void (reading.prunedAt = now));
}

/** Changes and stores what is known of the restic repository in the settings. */
async function change(
  { config }: CommandContext, work: (reading: RepositoryReading, now: number) => void,
): Promise<void> {
  const place = destinationKey(config, 'restic') ?? '';
  const now = Date.now();
  const reading = loadReading(config.dataDir, place, now);
  work(reading, now);
  await noteReading(config.dataDir, place, reading, process.pid);
}
