import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isRunning, runProgram, type Outcome } from './run-program.ts';
import { requireTool } from './tools.ts';
import { waitUntil } from './wait-until.ts';

export type BootedSystem = {
  /** Runs a line of shell in it, as root. */
  sh(script: string): Promise<Outcome>;
};

/**
 * A real systemd, started with this machine's own files (what it writes goes to memory) and a network of its own;
 * `project` is seen at `at`, and this Node at /opt/node. Skips the test where that is not possible, and says why.
 */
export async function bootSystem(t: TestContext, project: string, at: string): Promise<BootedSystem | undefined> {
  if (!requireTool(t, 'systemd-nspawn')) return undefined;
  if (process.getuid?.() !== 0) return void t.skip('only root can start another system');
  const folder = mkdtempSync(join(tmpdir(), 'hub-system-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'root'));
  const nspawn = ['systemd-nspawn', '-D', join(folder, 'root'), '--volatile=overlay', '--boot', '--register=no',
    '--keep-unit', '--private-network', '--console=pipe', '--link-journal=no', `--bind=${project}:${at}`,
    `--bind-ro=${process.execPath}:/opt/node`, 'systemd.unit=basic.target'];
  const script = `mount --bind / '${folder}/root' && exec "$@"`;
  const container = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', ...nspawn], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [container.stdout, container.stderr]) stream.on('data', (text: Buffer) => (said += String(text)));
  const ended = new Promise((resolve) => container.once('close', resolve));
  const leader = (): number => Number(childrenOf(container.pid ?? 0)[0] ?? 0);
  t.after(async () => {
    if (leader() > 0) process.kill(leader(), 'SIGKILL'); // the first process of a system takes all others with it
    await ended;
  });

  const sh: BootedSystem['sh'] = (line) =>
    runProgram('nsenter', ['-t', String(leader()), '-a', '/bin/sh', '-c', line], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', HUB_NODE: '/opt/node' },
    });
  const isUp = async (): Promise<boolean> => {
    if (container.exitCode !== null) throw new Error(`systemd does not start here: ${said}`);
    return leader() > 0 && isRunning(leader()) && (await sh('systemctl is-active basic.target')).status === 0;
  };
  await waitUntil('systemd has started', isUp, 60_000);
  return { sh };
}

function childrenOf(pid: number): string[] {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).flatMap((task) => readFileSync(join(tasks, task, 'children'), 'utf8').split(' '))
      .filter(Boolean);
  } catch {
    return [];
  }
}
