import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { PROJECT_ROOT } from '../../src/features/hub/read-config.ts';
import { cannotRun, requireRoot } from './tools.ts';

/** An account without rights of its own. */
export const NOBODY = 65_534;

/** Whether this process can run the project's scripts as somebody else; where not, the test is skipped and says why. */
export function requireAnotherUser(t: TestContext): boolean {
  if (!requireRoot(t, 'only root can act for another account')) return false;
  const script = join(PROJECT_ROOT, 'scripts/healthcheck.sh');
  const outcome = spawnSync(script, ['--help'], { uid: NOBODY, gid: NOBODY, cwd: '/', env: { PATH: '/usr/bin:/bin' } });
  return outcome.status === 0 || cannotRun(t, 'another account cannot reach the project: chmod a+x the folders above it');
}
