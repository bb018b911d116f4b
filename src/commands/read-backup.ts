import { readBackupStatus } from '../features/backups/backup-status.ts';
import { type CommandContext, type ExitCode, UsageError } from './command.ts';

/** What `hubctl backup` does with backups that are there. */
export async function readBackup([verb, ...rest]: string[], context: CommandContext): Promise<ExitCode> {
  if (verb === 'due' && rest.length === 0) return tellDue(context);
  throw new UsageError('expected due, or nothing to make a backup');
}

/** Names the backups that are to be verified tonight: the newest, and the one that was not for the longest time. */
function tellDue({ config, out }: CommandContext): ExitCode {
  const { newest, byVerification } = readBackupStatus({ config, clock: Date.now });
  const longest = byVerification.find(({ name }) => name !== newest?.name);
  for (const one of [newest, longest]) if (one) out(`${one.name}\n`);
  return 0;
}
