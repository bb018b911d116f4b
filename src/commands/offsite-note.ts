import { readFileSync } from 'node:fs';
import { noteOffsite } from '../features/backups/note-run.ts';
import { DESTINATIONS } from '../features/backups/offsite-status.ts';
import { SECOND } from '../platform/clock.ts';
import { excerpt } from '../platform/markup/tidy-text.ts';
import { type Command, type ExitCode, UsageError, type Values } from './command.ts';

const LONGEST_PROBLEM = 500; // characters

/** Records how sending copies to a destination ended. The problem comes on standard input. */
export const offsiteNoteCommand: Command = {
  options: { name: { type: 'string' }, bytes: { type: 'string' }, seconds: { type: 'string' },
    unsent: { type: 'string' }, checked: { type: 'string' } },
  operands: 2,

  async run([destination, result], { name, bytes, seconds, unsent, checked }, { config }): Promise<ExitCode> {
    const known = DESTINATIONS.find((one) => one === destination);
    const ok = result === 'ok';
    if (known === undefined || (!ok && result !== 'failed')) throw new UsageError('which destination, and how was it?');
    const text = (value: Values[string]): string | null => value === undefined ? null : String(value);
    await noteOffsite(config, known, {
      name: text(name), at: Date.now(), ok, bytes: bytes === undefined ? null : Number(bytes),
      seconds: Number(seconds ?? 0), unsent: text(unsent),
      checkedAt: checked === undefined ? null : Number(checked) * SECOND,
      problem: ok ? null : excerpt(readFileSync(0, 'utf8').trim(), LONGEST_PROBLEM),
    }, process.pid);
    return 0;
  },
};
