import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runProgram, type Outcome } from './run-program.ts';
import { SCRIPT, type OffSite } from './off-site.ts';
import { cannotRun } from './tools.ts';

/**
 * Runs off-site.sh where the off-site folder ($F) is mounted as `mount` says, for this process alone; gives also what
 * is left in it. The test is skipped where the system does not let an account make its own mounts.
 */
export async function privately(
  t: TestContext, { env, far, folder }: OffSite, mount: string, args: string,
): Promise<(Outcome & { left: string[] }) | undefined> {
  if (!(await canMount(t))) return undefined;
  const script = `${mount} || exit 99; sh '${SCRIPT}' ${args}; status=$?; ls -A "$F" >"$LEFT"; exit $status`;
  const left = join(folder, 'left');
  const outcome = await runProgram('unshare', ['-rm', 'sh', '-c', script], {
    cwd: folder,
    env: { ...env, F: far, LEFT: left },
  });
  if (outcome.status === 99) throw new Error(outcome.stderr);
  return { ...outcome, left: readFileSync(left, 'utf8').split('\n').filter(Boolean) };
}

/** Whether a process may have mounts of its own; skips the test otherwise. */
export async function canMount(t: TestContext): Promise<boolean> {
  const tried = await runProgram('unshare', ['-rm', 'true'], { env: { PATH: '/usr/bin:/bin' } });
  return tried.status === 0 || cannotRun(t, 'this system does not let an account make its own mounts (unshare -rm)');
}

/** Whether a file system of our own can be mounted in `folder`, which only one command sees; skips the test otherwise. */
export function mayMountSmallDisk(t: TestContext, folder: string): boolean {
  const { status } = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
  return status === 0 || cannotRun(t, 'small file systems can only be mounted by root, with unshare and mount of util-linux');
}
