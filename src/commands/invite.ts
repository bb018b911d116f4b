import { HOUR } from '../platform/clock.ts';
import { COMMAND_LINE } from '../features/audit/audit-store.ts';
import { INVITATION_HOURS, joinUrl, makeInvitation } from '../features/accounts/join-hub.ts';
import { UsageError, type Command, type ExitCode } from './command.ts';

/** Prints an invitation link, and nothing else, on standard output. */
export const inviteCommand: Command = {
  options: { role: { type: 'string' }, hours: { type: 'string' } },
  operands: 0,

  async run(_args, { role = 'member', hours = String(INVITATION_HOURS.standard) }, context): Promise<ExitCode> {
    if (role !== 'admin' && role !== 'member') throw new UsageError('--role must be admin or member');
    const count = Number(hours);
    if (!/^\d+$/.test(String(hours)) || count < 1 || count > INVITATION_HOURS.max) {
      throw new UsageError(`--hours must be an integer from 1 to ${INVITATION_HOURS.max}`);
    }
    const { token } = makeInvitation(await context.openHub(), role, count * HOUR, COMMAND_LINE);
    context.out(`${joinUrl(context.config, token)}\n`);
    return 0;
  },
};
