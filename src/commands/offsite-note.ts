import { noteOffsite } from '../features/backups/note-run.ts';
import { type OffsiteRun, readKept } from '../features/backups/backup-status.ts';
import { type Destination, DESTINATIONS } from '../features/backups/offsite-status.ts';
import type { Config } from '../features/hub/read-config.ts';
import { type Command, type ExitCode, readProblem, UsageError, type Values } from './command.ts';
import { recordOf } from './restic-hub.ts';

export const offsiteNoteCommand: Command = {
  options: { name: { type: 'string' }, bytes: { type: 'string' }, seconds: { type: 'string' },
    unsent: { type: 'string' }, owed: { type: 'string' }, killed: { type: 'boolean' }, interim: { type: 'boolean' } },
  operands: 2,

  async run([destination, result], values, { config }): Promise<ExitCode> {
    const { name, bytes, seconds, unsent, owed, killed, interim } = values;
    const known = DESTINATIONS.find((one) => one === destination);
    const ok = result === 'ok';
    if (known === undefined || (!ok && result !== 'failed')) {
      throw new UsageError('expected dir|rclone|restic and ok|failed');
    }
    const text = (value: Values[string]): string | null => value === undefined ? null : String(value);
    await noteOffsite(config, known, {
      name: text(name), at: Date.now(), ok, bytes: bytes === undefined ? null : Number(bytes),
      seconds: Number(seconds ?? 0), unsent: text(unsent),
      owed: killed ? lastUnsent(config, known) : text(owed),
      ...(known === 'restic' && whatWasRead(config)),
      problem: ok ? null : readProblem(),
    }, interim === true);
    return 0;
  },
};

/** The oldest backup that the previous off-site run left unsent; a killed run may not have sent it either. */
function lastUnsent({ dataDir }: Config, destination: Destination): string | null {
  return readKept<OffsiteRun>(dataDir, `offsite-${destination}`).last?.unsent ?? null;
}

function whatWasRead(config: Config): Pick<OffsiteRun, 'checkedAt' | 'isDamaged'> {
  const { checkedAt, damagedAt } = recordOf(config);
  return { checkedAt: checkedAt || null, isDamaged: damagedAt > 0 };
}

/** `hubctl offsite` needs restic, so scripts/hubctl runs scripts/off-site.sh instead. */
export const offsiteCommand: Command = {
  options: {},

  run(): ExitCode {
    throw new UsageError('run ./scripts/hubctl offsite adopt');
  },
};
