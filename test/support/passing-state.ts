import { writeRestoreState, type Phase } from '../../src/features/backups/restore-state.ts';

/** node passing-state.ts <DATA_DIR>: has the state of a restore pass to probation and back, again and again. */
const [dataDir = ''] = process.argv.slice(2);
const write = (phase: Phase): Promise<void> =>
  writeRestoreState(dataDir, { phase, id: '20260131-031500', backup: '/b', startedAt: 0, old: [] });

for (let n = 0; n < 400; n++) {
  await write('undoing');
  await write('probation');
}
