import { giveSignOfLife } from '../features/backups/sign-of-life.ts';
import type { Command, ExitCode } from './command.ts';

/** Calls HEARTBEAT_URL and prints the result. nightly-backup.sh runs this command after a night without failures. */
export const heartbeatCommand: Command = {
  options: {},
  operands: 0,

  async run(_args, _values, { config, out, err }): Promise<ExitCode> {
    const result = await giveSignOfLife(config.heartbeatUrl, config, { clock: Date.now });
    if (result?.problem) {
      err(`the sign of life did not arrive: ${result.problem}\n`);
      return 1;
    }
    out(result ? `the sign of life arrived at ${result.host}\n` : 'no sign of life sent: HEARTBEAT_URL is not set\n');
    return 0;
  },
};
