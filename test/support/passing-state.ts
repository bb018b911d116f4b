import { setTimeout as sleep } from 'node:timers/promises';
import { writeRestoreState, type Phase } from '../../src/features/backups/restore-state.ts';

/** node passing-state.ts <DATA_DIR>: has the state of a restore pass to probation and back, again and again. */
const [dataDir = ''] = process.argv.slice(2);
async function write(phase: Phase): Promise<void> {
  await writeRestoreState(dataDir, { phase, id: '20260131-031500', backup: '/b', startedAt: 0, old: [] });
  await sleep(5); // as a disk does: in memory it would pass there and back within one look
}

for (let n = 0; n < 400; n++) {
  await write('undoing');
  await write('probation');
}
