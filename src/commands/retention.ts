import { DAY, isoTime } from '../platform/clock.ts';
import { COMMAND_LINE } from '../features/audit/audit-store.ts';
import type { Command, ExitCode } from './command.ts';
import { previewRetention, removeOldRowsNow, type ExpiredRows } from '../features/retention/retention-store.ts';

/** Removes what has been kept long enough, as the worker does once a day. */
export const retentionCommand: Command = {
  options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, { out, openHub }): Promise<ExitCode> {
    const hub = await openHub();
    const found = previewRetention(hub);
    if (values['dry-run'] !== true) await removeOldRowsNow(hub, COMMAND_LINE);
    out(values['json'] ? `${JSON.stringify(found.map(asJson))}\n` : found.map(line).join(''));
    return 0;
  },
};

function asJson({ kind, keptMs, before, rows }: ExpiredRows) {
  return { kind, keptDays: keptMs / DAY, before: isoTime(before), rows };
}

function line({ kind, before, rows }: ExpiredRows): string {
  return `${kind}\t${rows}\t${before === null ? 'kept for ever' : `older than ${isoTime(before)}`}\n`;
}
