import { HOUR } from '../platform/clock.ts';
import { COMMAND_LINE } from '../features/audit/audit.ts';
import { INVITATION_HOURS, invite } from '../features/accounts/join-hub.ts';
import { UsageError, type Command } from './run-hubctl.ts';

/** Prints an invitation link, and nothing else, on standard output. */
export const inviteCommand: Command = {
  usage: 'invite [--role admin|member] [--hours N]',
  summary: `Print a link by which one person can join (member, good for ${INVITATION_HOURS.standard} hours).`,
  options: { role: { type: 'string' }, hours: { type: 'string' } },

  run(args, { role = 'member', hours = String(INVITATION_HOURS.standard) }, { out, config, openApp }) {
    if (args.length > 0) throw new UsageError(`unexpected argument ${args[0]}`);
    if (role !== 'admin' && role !== 'member') throw new UsageError('--role must be admin or member');
    const count = Number(hours);
    if (!/^\d+$/.test(String(hours)) || count < 1 || count > INVITATION_HOURS.max) {
      throw new UsageError(`--hours must be an integer from 1 to ${INVITATION_HOURS.max}`);
    }
    const { token } = invite(openApp().hub, role, count * HOUR, COMMAND_LINE);
    out(`${config.baseUrl}/join/${token}\n`);
    return 0;
  },
};
