import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { compiledIn, PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { sha256 } from './sha256.ts';
import { copyFolder, temporaryFolder, UNTIL_EXIT, writeFiles } from './temporary-project.ts';

export const SCRIPT = join(PROJECT_ROOT, 'scripts/off-site.sh');
export const NAME = '20260101-031500';
export const KNOWN_ROW = 'a row that everybody would recognise';
export const THREE_FILES = ['SHA256SUMS', 'hub.db', 'uploads.tar.gz'];

/** A finished backup in a DATA_DIR, an empty folder for off-site copies, and a place for programs of the test's own. */
export type OffSite = {
  folder: string;
  dataDir: string;
  backup: string;
  far: string;
  env: Record<string, string>;
  run(args: readonly string[], env?: Record<string, string>): Promise<Outcome>;
  send(env?: Record<string, string>): Promise<Outcome>;
  /** From now on a program of that name is this script; `REAL` in it is the real one. */
  replace(name: string, script: string): void;
  /** The off-site script's PATH from now on: all programs of the machine but this one. */
  uninstall(name: string): void;
};

export function offSite(t: TestContext): OffSite {
  // Without a comma, of which Node warns in the path of DATA_DIR.
  const folder = mkdtempSync(join(tmpdir(), 'hub off-site '));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [dataDir, far, bin] = ['the data', 'the far disk', 'bin'].map((name) => join(folder, name)) as
    [string, string, string];
  const backup = join(dataDir, 'backups', NAME);
  mkdirSync(far);
  mkdirSync(bin);
  mkdirSync(dirname(backup), { recursive: true });
  copyFolder((readyBackup ??= writeBackup()), backup);
  const env: Record<string, string> = {
    PATH: `${bin}:/usr/bin:/bin`, HOME: folder, DATA_DIR: dataDir, HUB_NODE: process.execPath,
    RCLONE_CONFIG: join(folder, 'rclone.conf'), ...compiledIn(dataDir),
  };
  const run: OffSite['run'] = (args, more = {}) =>
    runProgram('setsid', ['-w', 'sh', SCRIPT, ...args], { cwd: '/', env: { ...env, ...more } });
  return {
    folder, dataDir, backup, far, env, run,
    send: (more) => run(['send', backup], more),
    replace: (name, script) =>
      writeFiles(bin, { [name]: `#!/bin/sh\n${script.replaceAll('REAL', realProgram(name))}\n` }, 0o755),
    uninstall: (name) => void (env['PATH'] = programsWithout(folder, name)),
  };
}

let readyBackup: string | undefined;

/** Random bytes between what can be searched for: compressing them gains nothing. Written once, and then copied. */
function writeBackup(): string {
  const folder = temporaryFolder(UNTIL_EXIT);
  const noise = (seed: string): Buffer =>
    Buffer.concat(Array.from({ length: 6_000 }, (_, part) => createHash('sha256').update(seed + part).digest()));
  const database = Buffer.concat([Buffer.from(`SQLite format 3\0${KNOWN_ROW}`), noise('database')]);
  const files = { 'hub.db': database, 'uploads.tar.gz': noise('archive') };
  const sums = Object.entries(files).map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`).join('');
  for (const [name, bytes] of Object.entries({ ...files, SHA256SUMS: Buffer.from(sums) })) {
    writeFileSync(join(folder, name), bytes);
  }
  return folder;
}

/** A remote `box:` that is a folder of this machine, and `safe:`, an encrypted one (crypt) in it. */
export function withRemote(t: TestContext): OffSite {
  const place = offSite(t);
  const password = execFileSync('rclone', ['obscure', 'a password'], { encoding: 'utf8' }).trim();
  writeFileSync(join(place.folder, 'rclone.conf'), `[box]\ntype = alias\nremote = ${place.far}\n
[safe]\ntype = crypt\nremote = ${place.far}/safe\npassword = ${password}\n`);
  place.env['BACKUP_RCLONE_REMOTE'] = 'box:';
  return place;
}

/** Gives rclone a remote `box:` that is a folder beside the data; returns this folder. */
export function makeBox({ folder }: { folder: string }): string {
  const box = join(folder, 'box');
  mkdirSync(box, { recursive: true });
  writeFileSync(join(folder, 'rclone.conf'), `[box]\ntype = alias\nremote = ${box}\n`);
  return box;
}

/** A new key: where the secret half lies, and the recipient. */
export function makeKey(folder: string, name = 'key'): { path: string; recipient: string; secret: string } {
  const path = join(folder, name);
  execFileSync('age-keygen', ['-o', path], { stdio: 'ignore' });
  const text = readFileSync(path, 'utf8');
  const [recipient = '', secret = ''] = [/age1\w+/.exec(text)?.[0], /AGE-SECRET-KEY-\w+/.exec(text)?.[0]];
  return { path, recipient, secret };
}

/** Encrypts a backup as it lies elsewhere, below `into`; resolves to the file. */
export function sealBackup(backup: string, recipient: string, into: string): string {
  const name = basename(backup);
  const sealed = join(into, name, 'backup.tar.gz.age');
  mkdirSync(dirname(sealed), { recursive: true });
  const pack = `tar -C "$1" -cf - -- "$2/SHA256SUMS" "$2/hub.db" "$2/uploads.tar.gz" | gzip -1 | age -r "$3" -o "$4"`;
  execFileSync('sh', ['-c', pack, 'sh', dirname(backup), name, recipient, sealed]);
  return sealed;
}

/** Every file below the folder with its hash, by path relative to it. */
export function contents(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(names.sort().map((path) => [path.slice(folder.length + 1), sha256(readFileSync(path))]));
}

function realProgram(name: string): string {
  return execFileSync('sh', ['-c', `PATH=/usr/bin:/bin command -v -- "$1"`, 'sh', name], { encoding: 'utf8' }).trim();
}

/** A folder, to be PATH, of all programs of the machine but that one. */
export function programsWithout(folder: string, missing: string): string {
  const bin = join(folder, `no ${missing}`);
  mkdirSync(bin);
  for (const name of readdirSync('/usr/bin')) if (name !== missing) symlinkSync(join('/usr/bin', name), join(bin, name));
  return bin;
}
