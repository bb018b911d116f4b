import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { copyFolder, temporaryFolder, writeFiles } from './temporary-project.ts';

const SCRIPTS = ['archive-version.sh', 'as-owner.sh', 'await-health.sh', 'common.sh', 'drive-hub.sh', 'find-node.sh', 'healthcheck.sh', 'hubctl',
  'new-version.sh', 'node.lock', 'rehearse-restore.sh', 'release.sh', 'set-up.sh', 'switch-version.sh', 'try-version.sh', 'upgrade.sh'];

/** Programs that change what matters: their calls are counted once an upgrade has begun, and it can be killed at each. */
const CHANGING = ['cp', 'git', 'mv', 'rm', 'xargs'];

/**
 * In the place of Node: a hub whose data is a line for each migration, whose web says that it listens, and which proves
 * itself unless its version says otherwise. $root is known from the path of the entrypoint.
 */
const NODE = `#!/bin/sh
[ "$1" != --disable-sigusr1 ] || shift
case $1 in --version) echo v24.21.0; exit ;; esac
root=\${1%/src/bin/*}
case $* in
  */hubctl.ts' config '*) while [ "$1" != config ]; do shift; done; shift
    for name in "$@"; do case $name in DATA_DIR) echo "$DATA_DIR" ;; HUB_STOP_COMMAND) echo "$STOP" ;;
      HUB_START_COMMAND) echo "$START" ;; RESTORE_*) echo 2 ;; UPGRADE_*) printenv "$name" || echo ;; *) echo ;; esac; done ;;
  *' hubctl migrate'*) for file in "$root"/migrations/*; do grep -qxFf "$file" "$DATA_DIR/hub.db" || cat "$file" >>"$DATA_DIR/hub.db"; done ;;
  *' hubctl await-writes '*) case $DATA_DIR in */upgrade) exit 0 ;; esac
    cp "$COUNT" "$DATA_DIR/../proof"; [ ! -e "$root/src/unfit" ] ;;
  *' web' | *' worker') echo '{"event":"listening","port":1}'; sleep 60 & trap 'kill $!; exit' TERM; wait ;;
  */healthcheck.ts*) [ -e "$DATA_DIR/../running" ] ;;
  *--nonsense) exit 2 ;;
esac
`;

/** As units do, it starts nothing while that is forbidden, and as any hub does, it applies the migrations that it finds. */
const START = 'cd "$HUB" && [ ! -e ../data/run/restore-state.json ] && "$HUB_NODE" "$HUB/src/bin/launch.ts" hubctl migrate && ' +
  'cat src/version node_modules/version ../data/hub.db >../running';
const STOP = 'rm -f "$HUB"/../running';

/** Before the kill, what it may leave half-done. */
const TORN = `case $name-$* in
  cp-*hub.db*) for last; do :; done; printf part >"$last" ;;
esac`;

/**
 * What git calls before it writes the file $1, and, as a hook, around its change of HEAD. Kills git at the change KILL_GIT
 * of an upgrade, every other time with half of the file written.
 */
const KILL_GIT = `#!/bin/sh
case $1 in prepared | committed | aborted) exec >/dev/null ;; *) [ -e .git/index.lock ] || exec cat ;; esac
[ -e "$COUNT" ] && [ "$(cat "$COUNT")" -gt 0 ] || exec cat
read -r n <"$COUNT.git"
n=$((n + 1)) && echo "$n" >"$COUNT.git"
[ "$n" -eq "$KILL_GIT" ] || exec cat
case $1-$((n % 2)) in prepared-* | committed-* | *-0) ;; *) head -c 3 >"$1" ;; esac
kill -9 "$PPID"
`;

export type Killable = ReturnType<typeof killableUpgrade>;

/** A hub of version 1 that can be upgraded to version 2, in no time; each call of \`world\` begins anew. */
export function killableUpgrade(t: TestContext, isFit: boolean) {
  const folder = temporaryFolder(t);
  const at = (...names: string[]): string => join(folder, ...names);
  const env: Record<string, string> = {
    PATH: `${at('bin')}:/usr/bin:/bin`, HUB_NODE: at('node'), DATA_DIR: at('world/data'), HUB: at('world/hub'), START, STOP,
    GIT_CONFIG_GLOBAL: at('gitconfig'), HOME: folder, COUNT: at('world/count'), TAKEN: at('world/pid'),
    KILL_AT: '0', KILL_GIT: '0', KILLER: at('hooks/reference-transaction'),
  };
  const settings = '[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n[advice]\ndetachedHead = false\n';
  writeFiles(folder, {
    gitconfig: settings,
    'killing/gitconfig': `${settings}[core]\nattributesFile = "${at('attributes')}"\nhooksPath = "${at('hooks')}"
[filter "kill"]\nsmudge = exec \\"$KILLER\\" %f\n`,
    attributes: '* filter=kill\n',
  });
  /** What is set while git is to be killed at that change; 0 for not at all. */
  const killingGit = (change: string): Record<string, string> =>
    (change === '0' ? {} : { KILL_GIT: change, GIT_CONFIG_GLOBAL: at('killing/gitconfig') });
  writeFiles(folder, { 'hooks/reference-transaction': KILL_GIT }, 0o755);
  writeFiles(folder, { node: NODE }, 0o755);
  const git = (where: string, ...args: string[]): string =>
    execFileSync('/usr/bin/git', ['-C', at(where), ...args], { env, encoding: 'utf8' }).trim();

  for (const name of SCRIPTS) {
    mkdirSync(at('author/scripts'), { recursive: true });
    copyFileSync(join(PROJECT_ROOT, 'scripts', name), at('author/scripts', name));
  }
  const backup = `[ ! -e "$DATA_DIR/../busy" ] || { echo 'result=busy off-site=none'; exit 75; }
[ ! -e "$DATA_DIR/../broken" ] || exit 1
mkdir -p "$DATA_DIR/backups/b" && cp "$DATA_DIR/hub.db" "$DATA_DIR/backups/b/"
echo "result=verified off-site=none name=b dir=$DATA_DIR/backups/b"\n`;
  writeFiles(at('author'), {
    '.gitignore': '.env\n.runtime/\nnode_modules/\n', 'scripts/backup.sh': backup, 'src/bin/launch.ts': '', 'src/bin/healthcheck.ts': '',
  });
  git('author', 'init', '-q');
  const release = (version: string, files: Record<string, string> = {}): string => {
    writeFiles(at('author'), {
      'package.json': `{\n  "version": "${version}.0.0",\n}\n`, 'package-lock.json': version, 'src/version': version,
      [`migrations/000${version}.sql`]: `migrated to ${version}\n`, ...files,
    });
    git('author', 'add', '-A');
    git('author', 'commit', '-qm', version);
    return git('author', 'rev-parse', 'HEAD');
  };
  const first = release('1', { 'src/gone/deep/one': 'gone', 'src/gone/two': 'gone', 'src/turns': 'a file', 'src/turned/file': 'in a folder' });
  for (const path of ['src/gone', 'src/turns', 'src/turned']) rmSync(at('author', path), { recursive: true });
  const commits = [first, release('2', {
    'scripts/as-owner.sh': `${readFileSync(at('author/scripts/as-owner.sh'), 'utf8')}# 2\n`,
    'scripts/upgrade.sh': readFileSync(at('author/scripts/upgrade.sh'), 'utf8').replace('\n', '\n#\n'),
    'src/added/deep/one': 'added', 'src/added/deeper/still/two': 'added', 'src/turns/file': 'in a folder', 'src/turned': 'a file',
    ...isFit ? {} : { 'src/unfit': '' },
  })];
  git('author', 'clone', '-q', '--bare', at('author'), at('remote.git'));
  git('author', 'clone', '-q', at('remote.git'), at('first/hub'));
  git('first/hub', 'reset', '-q', '--hard', String(commits[0]));
  writeFiles(at('first'), {
    'data/hub.db': 'migrated to 1\n', 'data/run/.keep': '', 'data/tmp/.keep': '', 'hub/node_modules/version': '1',
    'hub/node_modules/.installed-lock.json': '1', 'hub/node_modules/better-sqlite3/x': '', count: '0', 'count.git': '0', running: '11migrated to 1\n',
  });
  writeFiles(at('bin'), {
    df: '#!/bin/sh\n[ ! -e "$HUB/../low" ] || { printf "x\\n- - - 2\\n"; exit; }\nexec /usr/bin/df "$@"\n',
    npm: '#!/bin/sh\n[ "$1" = ci ] || exit 0\n[ ! -e "$0-ci" ] || exit 1\nmkdir -p node_modules/better-sqlite3 && cp src/version node_modules/version\n',
  }, 0o755);
  for (const name of CHANGING) writeFiles(at('bin'), { [name]: counting(name) }, 0o755);

  // One that a kill has taken away or torn lies in the new version too.
  const script = (): string =>
    read(at('world/hub/scripts/upgrade.sh')).endsWith('exit\n') ? 'scripts/upgrade.sh' : '.runtime/upgrade/new/scripts/upgrade.sh';
  const run = (args: string, killAt = 0, program = script()): Promise<Outcome> =>
    runProgram('/bin/sh', ['-c', `echo $$ >"$TAKEN"; exec /bin/sh "$HUB/${program}" ${args}`], {
      env: { ...env, ...killingGit(env['KILL_GIT'] ?? '0'), KILL_AT: String(killAt) }, cwd: '/',
    });
  return {
    at, env, git, run, release, commits,
    /** Everything as before the first upgrade. */
    begin(): void {
      rmSync(at('world'), { recursive: true, force: true });
      copyFolder(at('first'), at('world'));
    },
    save: (): void => (rmSync(at('saved'), { recursive: true, force: true }), copyFolder(at('world'), at('saved'))),
    load: (): void => (rmSync(at('world'), { recursive: true }), copyFolder(at('saved'), at('world'))),
    /** What the run was killed before. */
    command: (): string => read(at('world/count.command')).trim(),
    /** Does that, and kills it at its change n; false if it is not git's or has fewer. */
    tear(n: number): boolean {
      const [name, ...args] = this.command().split('\n');
      if (name !== 'git') return false;
      writeFiles(at('world'), { 'count.git': '0' });
      if (n > 0) return spawnSync('/usr/bin/git', args, { cwd: at('world/hub'), env: { ...env, ...killingGit(String(n)) } }).signal === 'SIGKILL';
      const lock = { 'update-ref': 'refs/heads/main', 'symbolic-ref': 'HEAD' }[args[0] ?? ''];
      writeFiles(at('world/hub'), { [`.git/${lock ?? 'index'}.lock`]: '' });
      if (lock !== undefined) return true;
      // git removes files before it writes the first.
      const removed = ['src/gone/two', 'migrations/0002.sql'].find((path) => existsSync(at('world/hub', path)));
      rmSync(at('world/hub', removed ?? ''));
      return true;
    },
    /** The files and folders of the project, and those of a version. */
    tree: (): string[] => execFileSync('find', ['.', '(', '-name', '.git', '-o', '-name', '.runtime', '-o', '-name', 'node_modules', ')',
      '-prune', '-o', '-mindepth', '1', '-print'], { cwd: at('world/hub'), encoding: 'utf8' }).trim().split('\n').map((path) => path.slice(2)).sort(),
    treeOf: (version: number): string[] => git('author', 'ls-tree', '-rt', '--name-only', String(commits[version - 1])).split('\n').sort(),
    /** How many changes there were in all, until the versions were switched, and until the new version had to prove itself. */
    changes: (): number => Number(read(at('world/count'))),
    untilSwitch: (): number => read(at('world/count.log')).split('\n').indexOf('git checkout') + 1,
    untilProof: (): number => Number(read(at('world/proof'))),
    /** Version of files, of packages and of data: "1 1 1", "2 2 2", or a mixture. */
    versions: (): string => [read(at('world/hub/src/version')), read(at('world/hub/node_modules/version')),
      read(at('world/data/hub.db')) === 'migrated to 1\n' ? '1' : read(at('world/data/hub.db')).replace('migrated to 1\nmigrated to ', '').trim()].join(' '),
    running: (): string => read(at('world/running')),
    mayStart: (): boolean => !existsSync(at('world/data/run/restore-state.json')),
    leftovers: (): string[] => [
      ...readdirSync(at('world/hub/.runtime/upgrade')).filter((name) => name !== 'flock'),
      ...readdirSync(at('world/data')).filter((name) => name.startsWith('pre-') || name.includes('partial')),
      ...readdirSync(at('world/data/run')).filter((name) => name.startsWith('restore')),
      ...readdirSync(at('world/data/tmp')).filter((name) => name !== '.keep'),
    ],
  };
}

function counting(name: string): string {
  return `#!/bin/sh
name=${name}
read -r n <"$COUNT"
case $name-$* in git-checkout* | git-symbolic-ref* | git-update-ref* | 'git-read-tree --reset '*) ;; git-*) exec /usr/bin/git "$@" ;; esac
if [ "$n" -gt 0 ] || [ -e "$HUB/.runtime/upgrade/state.partial" ]; then
  n=$((n + 1)) && echo "$n" >"$COUNT"
  echo "$name $1" >>"$COUNT.log"
  if [ "$n" -eq "$KILL_AT" ]; then
    printf '%s\\n' "$name" "$@" >"$COUNT.command"
    ${TORN}
    kill -9 "$(cat "$TAKEN")"
    exit 137
  fi
fi
exec /usr/bin/${name} "$@"
`;
}

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : 'none';
}
