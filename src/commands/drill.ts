import { requireSpace, reserveIn, spaceNeeded } from '../features/backups/backup-folder.ts';
import { BackupError } from '../features/backups/backup-name.ts';
import { DRILL_OUTCOMES, lastBackupBytes, readDrills } from '../features/backups/drill-status.ts';
import { noteDrill } from '../features/backups/note-run.ts';
import { DESTINATIONS } from '../features/backups/offsite-status.ts';
import { type Command, type CommandContext, type ExitCode, readProblem, UsageError, type Values } from './command.ts';

/** Steps of drill.sh and nightly-backup.sh: `due` prints the destinations to test, `room` checks the disk's space. */
export const drillCommand: Command = {
  options: { name: { type: 'string' }, seconds: { type: 'string' } },

  async run([step, first = '', second = '', ...rest], values, context): Promise<ExitCode> {
    if (step === 'note' && rest.length === 0) return await note(first, second, values, context);
    if (step === 'room' && /^\d+$/.test(first) && second === '') return await checkRoom(Number(first), context);
    if (step !== 'due' || first !== '') throw new UsageError('expected due, room <bytes> or note');
    const due = readDrills({ config: context.config, clock: Date.now }).filter(({ isDue }) => isDue);
    context.out(due.map(({ name }) => `${name}\n`).join(''));
    return 0;
  },
};

async function checkRoom(copyBytes: number, { config, err }: CommandContext): Promise<ExitCode> {
  const { dataDir } = config;
  const bytes = Math.max(copyBytes, lastBackupBytes(dataDir) ?? 0);
  try {
    await requireSpace(dataDir, spaceNeeded(bytes, bytes), 'a drill', reserveIn(dataDir, config));
    return 0;
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    err(`${error.message}\n`);
    return 1;
  }
}

async function note(
  destination: string, result: string, { name, seconds }: Values, { config }: CommandContext,
): Promise<ExitCode> {
  const known = DESTINATIONS.find((one) => one === destination);
  const outcome = DRILL_OUTCOMES.find((one) => one === result);
  if (known === undefined || outcome === undefined) {
    throw new UsageError('expected dir|rclone|restic and proven|compared|failed');
  }
  const problem = outcome === 'failed' ? readProblem() : null;
  await noteDrill(config, known, {
    outcome, name: name === undefined ? null : String(name), at: Date.now(), seconds: Number(seconds ?? 0), problem,
  });
  return 0;
}
