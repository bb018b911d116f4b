import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { type KeptDrills, readKeptDrills } from '../../src/features/backups/drill-status.ts';
import type { Destination } from '../../src/features/backups/offsite-status.ts';
import { backupHub, type BackupHub } from './backup-hub.ts';
import { contents, makeKey } from './off-site.ts';
import { resticHub, withoutNodesWarning } from './restic.ts';
import { compiledIn, PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';

export type DrilledHub = ReturnType<typeof drilledHub>;

/** A hub that nobody runs, with a file, and an off-site destination beside it. */
export function drilledHub(t: TestContext, destination: Destination, isSealed = false) {
  const hub = backupHub(t);
  hub.upload('of the backup');
  const folder = dirname(hub.dataDir);
  const far = destination === 'restic' ? join(folder, 'the repository') : join(folder, 'far');
  const key = isSealed ? makeKey(folder) : { path: join(folder, 'no key'), recipient: '' };
  const env: Record<string, string> = {
    ...settingsFor(t, destination, hub, far), ...(isSealed && { BACKUP_AGE_RECIPIENT: key.recipient }),
    PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, DATA_DIR: hub.dataDir, HOME: folder, TMPDIR: join(folder, 'tmp'),
    ...compiledIn(hub.dataDir),
  };
  mkdirSync(join(folder, 'tmp'));
  const run = async (script: string, args: string[] = [], more: Record<string, string> = {}): Promise<Outcome> => {
    const command = ['-w', 'sh', join(PROJECT_ROOT, 'scripts', script), ...args];
    const outcome = await runProgram('setsid', command, { cwd: '/', env: { ...env, ...more } });
    return { ...outcome, stderr: withoutNodesWarning(outcome.stderr) };
  };
  return {
    ...hub, folder, far, env, run, keyPath: key.path, destination,
    /** Makes a backup and sends it; returns its name. */
    async sent(): Promise<string> {
      const { status, stdout, stderr } = await run('backup.sh');
      if (status !== 0) throw new Error(stdout + stderr);
      return /name=([\d-]+)/.exec(stdout)?.[1] ?? '';
    },
    drill: (args: string[] = [], more: Record<string, string> = {}) => run('drill.sh', [destination, ...args], more),
    recorded: (): KeptDrills => readKeptDrills(hub.dataDir, destination),
    /** What a drill must not leave. */
    leftovers: (): string[] => [join(hub.dataDir, 'tmp'), join(folder, 'tmp')].flatMap((one) => readdirSync(one)),
    /** All that a drill must not change: the copies, the database, the files, the backups and the list of copies. */
    state: (): Record<string, string> => {
      const own = Object.entries(contents(hub.dataDir)).filter(([path]) => /^(hub\.db|uploads|backups)/.test(path));
      return { ...contents(far), ...Object.fromEntries(own.filter(([path]) => !path.endsWith('nightly.log'))) };
    },
  };
}

function settingsFor(t: TestContext, destination: Destination, hub: BackupHub, far: string): Record<string, string> {
  if (destination === 'restic') {
    const { BACKUP_RESTIC_REPOSITORY = '', BACKUP_RESTIC_PASSWORD_FILE = '' } = resticHub(t, hub).env;
    return { BACKUP_RESTIC_REPOSITORY, BACKUP_RESTIC_PASSWORD_FILE };
  }
  mkdirSync(far);
  if (destination === 'dir') return { BACKUP_OFFSITE_DIR: far };
  const config = join(dirname(far), 'rclone.conf');
  writeFileSync(config, `[box]\ntype = alias\nremote = ${far}\n`);
  return { BACKUP_RCLONE_REMOTE: 'box:', RCLONE_CONFIG: config };
}

/** Environments of the processes that run now and have this text in theirs. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
      return environment.includes(text) ? [readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')] : [];
    } catch {
      return []; // it has ended, or belongs to another account
    }
  });
}
