import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { DAY } from '../../src/platform/clock.ts';
import { backupHub, type BackupHub } from './backup-hub.ts';
import { makeResticRepository, REPOSITORY_PASSWORD } from './restic-repository.ts';
import { compiledIn, PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { writeFiles } from './temporary-project.ts';

export type Listed = { name: string; hub: string; id: string; bytes: string; schema: string; verified: string };

export type ResticHub = ReturnType<typeof resticHub>;

/** A hub that nobody runs and a restic repository beside it. */
export function resticHub(t: TestContext, hub: BackupHub = backupHub(t)) {
  const folder = dirname(hub.dataDir);
  const [repository, password, bin] = [join(folder, 'the repository'), join(folder, 'password'), join(folder, 'bin')];
  mkdirSync(bin);
  writeFileSync(password, `${REPOSITORY_PASSWORD}\n`);
  makeResticRepository(repository);
  const env: Record<string, string> = {
    PATH: `${bin}:/usr/bin:/bin`, HUB_NODE: process.execPath, DATA_DIR: hub.dataDir, HOME: folder,
    BACKUP_RESTIC_REPOSITORY: repository, BACKUP_RESTIC_PASSWORD_FILE: password, ...compiledIn(hub.dataDir),
  };
  async function run(script: string, args: readonly string[], more: Record<string, string> = {}): Promise<Outcome> {
    const command = ['-w', 'sh', join(PROJECT_ROOT, 'scripts', script), ...args];
    const outcome = await runProgram('setsid', command, { cwd: '/', env: { ...env, ...more } });
    return { ...outcome, stderr: withoutNodesWarning(outcome.stderr) };
  }
  return {
    ...hub, folder, repository, password, env, run,
    /** A verified backup, of that time where one is given. */
    async verified(at = Date.now()): Promise<string> {
      const { name, verification } = await hub.backup({ clock: () => at });
      const { verdict, problem, seconds } = verification;
      await noteRun(hub.dataDir, 'backup', { name, at, ok: verdict === 'verified', verdict, bytes: 1, seconds, problem });
      return name;
    },
    send: (name: string, more?: Record<string, string>): Promise<Outcome> =>
      run('off-site.sh', ['send', join(hub.dataDir, 'backups', name)], more),
    /** restic itself, by hand. */
    restic: (...args: string[]): string => execFileSync('restic', ['-q', '-r', repository, '--password-file', password, ...args], {
      encoding: 'utf8', env: { ...env, RESTIC_CACHE_DIR: join(folder, 'cache of mine') }, stdio: ['ignore', 'pipe', 'pipe'],
    }),
    async list(): Promise<Listed[]> {
      const { stdout } = await run('restic-backups.sh', ['list']);
      return stdout.split('\n').filter((line) => line !== '').map((line) => {
        const [name = '', its = '', id = '', bytes = '', schema = '', verified = ''] = line.split(' ');
        return { name, hub: its, id, bytes, schema, verified };
      });
    },
    /** From now on a program of that name is this script; `REAL` in it is the real one. */
    replace: (name: string, script: string): void =>
      writeFiles(bin, { [name]: `#!/bin/sh\n${script.replaceAll('REAL', `/usr/bin/${name}`)}\n` }, 0o755),
    unreplace: (name: string): void => rmSync(join(bin, name)),
    /** What a run must not leave in DATA_DIR/tmp. */
    leftovers: (): string[] => existsSync(join(hub.dataDir, 'tmp')) ? readdirSync(join(hub.dataDir, 'tmp')) : [],
  };
}

/** Without what Node says of a comma in the path of DATA_DIR. */
export function withoutNodesWarning(said: string): string {
  return said.replace(/.*--allow-fs-write[^]*?created\)\n/g, '');
}

/** The paths of the packs in its repository. */
export function packsOf(hub: ResticHub): string[] {
  return readdirSync(join(hub.repository, 'data'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Flips one bit in the middle of a file, as a disk may; a new file, since restic makes its own read-only. */
export function flipBit(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.length >> 1;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  rmSync(path);
  writeFileSync(path, bytes);
}

/** Snapshots as the hub makes them, of nothing, `days` ago each; faster than sending backups. */
export function olderSnapshots(hub: ResticHub, id: string, now: number, days: number[], verified = 'verified=20260101-000000'): string[] {
  mkdirSync(join(hub.folder, 'nothing'), { recursive: true });
  return days.map((ago) => {
    const name = backupName(now - ago * DAY);
    const time = new Date(now - ago * DAY).toISOString().slice(0, 19).replace('T', ' ');
    hub.restic('backup', '--host', `hub-${id}`, '--tag', `hub=${id},name=${name},${verified}`, '--time', time, join(hub.folder, 'nothing'));
    return name;
  });
}
