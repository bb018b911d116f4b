import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createClient, type Client } from './client.ts';
import { freePort } from './ports.ts';
import { isHealthy } from './restore-script.ts';
import { compiledIn, PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';
import { writeFiles, type Lifetime } from './temporary-project.ts';
import { waitUntil } from './wait-until.ts';

const PARTS = ['.env.example', '.gitignore', '.npmrc', 'LICENSE', 'README.md', 'data/.gitkeep', 'migrations',
  'package-lock.json', 'package.json', 'scripts', 'src', 'tsconfig.json'];
const PACKAGES = ['better-sqlite3', 'node-addon-api'];

export const ADAS_PASSWORD = 'correct horse battery';

/** A hub in the foreground of a terminal. */
export type InForeground = { said(): string; interrupt(): Promise<void> };

export type Operator = Awaited<ReturnType<typeof operator>>;

/**
 * Somebody with a repository of the project (`REMOTE`), a safe place (`SAFE`), another disk (`FAR`), and a machine whose
 * settings and units lie in folders of the test's own (`ETC`, `IMAGE`). There, `sudo` does nothing, the crontab is a
 * file, and npm takes the packages from this project instead of the network.
 */
export async function operator(t: Lifetime) {
  // Without a comma, of which Node warns in the path of DATA_DIR.
  const folder = mkdtempSync(join(tmpdir(), 'hub operator '));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const place = (name: string): string => join(folder, name);
  for (const name of ['bin', 'safe', 'far', 'etc', 'image/etc', 'box']) mkdirSync(place(name), { recursive: true });
  writeFiles(place('bin'), programs(), 0o755);
  const port = await freePort();
  const env: Record<string, string> = {
    PATH: [place('bin'), dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
    HUB_NODE: process.execPath, HOME: folder, TMPDIR: folder, npm_config_update_notifier: 'false',
    REMOTE: place('remote.git'), SAFE: place('safe'), FAR: place('far'), BOX: place('box'),
    ETC: place('etc/content-hub'), IMAGE: place('image'), HUB: place('hub'), PORT_OF_HUB: String(port), CRONTAB: place('crontab'),
    GIT_CONFIG_GLOBAL: place('gitconfig'), ...compiledIn(place('hub/data')),
  };
  writeFiles(folder, { gitconfig: '[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n' });
  publish(place('author'), env);

  /** Runs lines of shell to their end, in a folder of the operator's. */
  function run(script: string, where: string): Promise<Outcome> {
    return runProgram('sh', ['-ec', script], { cwd: place(where), env });
  }

  /** Runs lines of shell of which the last one stays: resolves when the hub has printed its address, answers and works. */
  async function runHub(script: string, where: string): Promise<InForeground> {
    const child = spawn('sh', ['-ec', script], { cwd: place(where), env, detached: true });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    let isOver = false;
    void ended.then(() => (isOver = true));
    const signal = (name: NodeJS.Signals): void => {
      if (!isOver && child.pid !== undefined) process.kill(-child.pid, name);
    };
    t.after(() => signal('SIGKILL'));
    const isPrinted = (): boolean => said.includes(`running at ${address}\n`);
    const isWorking = (): boolean => said.includes('"event":"working"'); // the worker starts last
    await waitUntil(`the hub's address is printed after: ${script}`, () => isOver || (isPrinted() && isWorking()));
    assert.ok(isPrinted() && await isHealthy(address), said);
    return { said: () => said, interrupt: () => (signal('SIGINT'), ended) };
  }

  /** Clones the project into the folder hub and starts it with those settings; Ada joins by the link that it prints. */
  async function firstStart(...settings: string[]): Promise<{ hub: InForeground; ada: Client }> {
    const lines = [`PORT=${port}`, ...settings].join("' '");
    await run(`git clone -q "$REMOTE" hub && (umask 077 && printf '%s\\n' '${lines}' >hub/.env)`, '.');
    const hub = await runHub('npm start', 'hub');
    await waitUntil('the link is printed', () => /\/join\/\S+\n/.test(hub.said()));
    const [invitation] = /http:\S+\/join\/\S+/.exec(hub.said()) ?? [];
    const ada = createClient(address);
    const joined = await ada.post('/api/accounts', { invitation, username: 'ada', password: ADAS_PASSWORD });
    assert.equal(joined.status, 201, joined.text);
    return { hub, ada };
  }

  const address = `http://127.0.0.1:${port}`;
  return {
    env, place, run, runHub, firstStart, address, port,
    settle: (where: string, line: string): void => appendFileSync(join(place(where), '.env'), `${line}\n`),
    /** The authors of the project change a file, or several. */
    release: (path: string, text: string, more: Record<string, string> = {}): void => {
      writeFiles(place('author'), { [path]: text, ...more });
      git(place('author'), env, 'add', '-A');
      git(place('author'), env, 'commit', '-qm', 'A new version');
      git(place('author'), env, 'push', '-q', env['REMOTE'] ?? '', 'main');
    },
    /** A file of the project, as its authors have it. */
    authored: (path: string): string => readFileSync(join(place('author'), path), 'utf8'),
  };
}

/** The version that a project's folder says it is. */
export function readVersion(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return version;
}

function publish(author: string, env: Record<string, string>): void {
  for (const part of PARTS) cpSync(join(PROJECT_ROOT, part), join(author, part), { recursive: true });
  git(author, env, 'init', '-q');
  git(author, env, 'add', '-A');
  git(author, env, 'commit', '-qm', 'The project');
  git(author, env, 'clone', '-q', '--bare', author, env['REMOTE'] ?? '');
}

function git(folder: string, env: Record<string, string>, ...args: string[]): void {
  execFileSync('git', ['-C', folder, ...args], { env });
}

function programs(): Record<string, string> {
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  const packages = PACKAGES.map((name) => `'${join(PROJECT_ROOT, 'node_modules', name)}'`).join(' ');
  return {
    sudo: '#!/bin/sh\n[ "$1" != -u ] || shift 2\nexec "$@"\n',
    npm: `#!/bin/sh\n[ "$1" = ci ] || exec '${npm}' "$@"\nmkdir -p node_modules && cp -R ${packages} node_modules/\n`,
    crontab: `#!/bin/sh
      if [ "$1" != -l ]; then cat -- "$1" >"$CRONTAB"; elif [ -f "$CRONTAB" ]; then cat "$CRONTAB"
      else echo "no crontab for $(id -un)" >&2 && exit 1; fi\n`,
  };
}
