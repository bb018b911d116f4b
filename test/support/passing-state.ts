import { once } from 'node:events';
import type { Phase } from '../../src/features/backups/restore-state.ts';
import { writeRestoreState } from '../../src/features/backups/restore-steps.ts';

/**
 * node passing-state.ts <DATA_DIR>: has the state of a restore pass to probation or back for each byte of input, and
 * says a byte of output when it has.
 */
const [dataDir = ''] = process.argv.slice(2);
const PHASES: Phase[] = ['undoing', 'probation'];

for (let n = 0; ; n++) {
  const phase = PHASES[n % 2] ?? 'undoing';
  await writeRestoreState(dataDir, { phase, id: '20260131-031500', backup: '/b', startedAt: 0, old: [] });
  process.stdout.write('.');
  await once(process.stdin, 'data');
}
