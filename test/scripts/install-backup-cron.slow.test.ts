// Protects the operator's crontab: one line is added or removed, and no other is touched.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DAY, MINUTE } from '../../src/platform/clock.ts';
import { canMount } from '../support/private-mounts.ts';
import { runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { requireRoot, requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const OTHERS = `# my own table
MAILTO="ada@example.org"
PATH=/usr/local/bin:/usr/bin

*/5 * * * * echo '50\\% of it' | mail -s "a  b" ada\t# trailing
# 15 3 * * * /somewhere/else/scripts/nightly-backup.sh
15 3 * * * /somewhere/else/scripts/nightly-backup.sh
@reboot  /usr/bin/true
`;

/** A project whose nightly-backup.sh only notes that it ran, in a folder of that name. */
function projectIn(t: TestContext, name = "a hub, 100% Ada's"): { root: string; ran: string } {
  const first = temporaryProject(t, ['scripts', 'package.json', 'src', 'node_modules/better-sqlite3']);
  const root = join(dirname(first), name);
  renameSync(first, root);
  const ran = join(dirname(root), 'ran');
  writeFiles(root, { 'scripts/nightly-backup.sh': `#!/bin/sh\nprintf '%s\\n' "$0" "$HUB_NODE" >'${ran}'\n` }, 0o755);
  return { root, ran };
}

type Cron = {
  root: string;
  ran: string;
  /** The crontab, or null where there is none. */
  table(): string | null;
  replace(table: string): Promise<void>;
  install(args?: string[], before?: string): Promise<Outcome>;
};

/**
 * The real crontab, with tables in a folder of the test's own in place of the machine's. `before` is a line of shell
 * that runs in the same surroundings.
 */
async function realCron(t: TestContext, table: string | null, name?: string): Promise<Cron | undefined> {
  if (!requireTool(t, 'crontab') || !(await canMount(t))) return undefined;
  const { root, ran } = projectIn(t, name);
  const home = dirname(root);
  const kept = join(home, 'spool/crontabs/root');
  mkdirSync(dirname(kept), { recursive: true });
  const inside = (script: string, args: string[]): Promise<Outcome> =>
    runProgram('unshare', ['-rm', 'sh', '-c', `mount --bind '${home}/spool' /var/spool/cron && ${script}`, ...args], {
      cwd: root,
      env: { PATH: '/usr/bin:/bin', HOME: home, HUB_NODE: process.execPath },
    });
  const install: Cron['install'] = (args = [], before = ':') =>
    inside(`${before} && exec sh "$@"`, ['sh', join(root, 'scripts/install-backup-cron.sh'), ...args]);
  // Debian's crontab writes three lines of its own before a table and takes them off again.
  const read = (): string | null =>
    existsSync(kept) ? readFileSync(kept, 'utf8').split('\n').slice(3).join('\n') : null;
  const replace = async (text: string): Promise<void> => {
    writeFileSync(join(home, 'table'), text);
    assert.equal((await inside(`crontab '${home}/table'`, [])).status, 0);
  };
  if (table !== null) await replace(table);
  return { root, ran, table: read, replace, install };
}

/** What cron hands to the shell: after five fields, up to a % that has no backslash before it. */
function commandOf(line: string): string {
  const command = line.replace(/^(\S+\s+){5}/, '');
  return (/^(?:\\.|[^%\\])*/.exec(command)?.[0] ?? '').replaceAll('\\%', '%');
}

function lastLine(table: string | null): string {
  return table?.trimEnd().split('\n').at(-1) ?? '';
}

test('case 99: the line is added once, and every other line stays byte for byte', async (t) => {
  const cron = await realCron(t, OTHERS);
  if (!cron) return;

  const first = await cron.install();
  const table = cron.table();
  const second = await cron.install();

  assert.equal(first.status, 0, first.stderr);
  assert.match(lastLine(table), /^15 3 \* \* \* HUB_NODE='.*' '.*nightly-backup\.sh'$/);
  assert.equal(table, `${OTHERS}${lastLine(table)}\n`);
  assert.equal(first.stdout, `the crontab contains this line: ${lastLine(table)}\n`);
  assert.equal(second.stdout, first.stdout);
  assert.equal(cron.table(), table);
});

test('case 99: a line that is somewhere in the middle keeps its place; doubled or moved in time it becomes one', async (t) => {
  const cron = await realCron(t, OTHERS);
  if (!cron) return;
  await cron.install();
  const line = lastLine(cron.table());
  const later = line.replace('15 3', '0 4');
  const withoutNode = line.replace(/HUB_NODE='[^']*' /, '');

  for (const [before, after] of [
    [`a=1\n${line}\n${OTHERS}`, `a=1\n${line}\n${OTHERS}`],
    [`${line}\na=1\n${line}\n`, `a=1\n${line}\n`],
    [`${later}\n${OTHERS}`, `${OTHERS}${line}\n`],
    [`${withoutNode}\n${OTHERS}`, `${OTHERS}${line}\n`],
    [`#${line}\n# ${line}\n`, `#${line}\n# ${line}\n${line}\n`],
  ] as const) {
    await cron.replace(before);
    assert.equal((await cron.install()).status, 0);
    assert.equal(cron.table(), after);
  }
});

/** A time zone whose clocks go from 3 to 4 at that time (unix ms, a whole minute): standard time, then summer time. */
function zoneThatJumps(at: number): string {
  const minutesOfDay = Math.floor(at / MINUTE) % (24 * 60);
  const ahead = (3 * 60 - minutesOfDay + 36 * 60) % (24 * 60) - 12 * 60; // of UTC, from -12 h to 12 h
  const local = new Date(at + ahead * MINUTE);
  const day = (Date.UTC(2025, local.getUTCMonth(), local.getUTCDate()) - Date.UTC(2025, 0)) / DAY + 1; // without 29 February
  const behind = (minutes: number): string => `${minutes < 0 ? '' : '-'}${Math.floor(Math.abs(minutes) / 60)}:${Math.abs(minutes) % 60}`;
  return `AAA${behind(ahead)}BBB${behind(ahead + 60)},J${day}/3,J${day > 182 ? day - 90 : day + 90}/4`;
}

test('the night in which clocks go from 3 to 4 has a backup by cron, too', async (t) => {
  const cron = await realCron(t, null);
  if (!cron || !requireTool(t, 'cron') || !requireRoot(t, 'cron runs lines of a table only as root')) return;
  await cron.install();
  const home = dirname(cron.root);
  for (const name of ['run', 'cron.d']) mkdirSync(join(home, name));
  const jump = (Math.floor(Date.now() / MINUTE) + 2) * MINUTE;
  const mounts = `mount --bind '${home}/spool' /var/spool/cron && mount --bind '${home}/run' /run && mount --bind '${home}/cron.d' /etc/cron.d`;
  const daemon = spawn('unshare', ['-m', 'sh', '-c', `${mounts} && exec cron -f`], { env: { PATH: '/usr/sbin:/usr/bin:/bin', TZ: zoneThatJumps(jump) } });
  t.after(() => daemon.kill('SIGKILL'));
  await waitUntil('cron has run the line of 03:15', () => existsSync(cron.ran), 180_000);
  assert.ok(Date.now() >= jump, 'not before the clocks were changed');
});

test('--dry-run prints the table and changes nothing', async (t) => {
  const cron = await realCron(t, OTHERS);
  if (!cron) return;

  const { status, stdout } = await cron.install(['--dry-run']);

  assert.equal(status, 0);
  assert.equal(stdout, `${OTHERS}${lastLine(stdout)}\n`);
  assert.equal(cron.table(), OTHERS);
});

test('case 100: for somebody without a crontab one is made', async (t) => {
  const cron = await realCron(t, null);
  if (!cron) return;
  const { status, stderr } = await cron.install();
  assert.equal(status, 0, stderr);
  assert.equal(cron.table(), `${lastLine(cron.table())}\n`);
});

test('case 100: cron that does not run is mentioned, one that runs is not', async (t) => {
  const cron = await realCron(t, null);
  if (!cron) return;
  // In a process table of its own, with one other process in it.
  const alone = (program: string): string =>
    `cp /usr/bin/sleep ./${program} && exec unshare -pf --mount-proc sh -c './${program} 60 & exec sh "$@"' sh "$@"`;

  const without = await cron.install([], alone('idle'));
  const withCron = await cron.install([], alone('cron'));

  assert.deepEqual([without.status, withCron.status], [0, 0]);
  assert.match(without.stderr, /cron does not seem to be running: start it/);
  assert.equal(withCron.stderr, '');
});

for (const [title, crontab, message] of [
  ['is refused by cron.allow', 'echo "You (ada) are not allowed to use this program (crontab)" >&2; exit 1', /crontab -l failed, nothing was changed: You \(ada\)/],
  ['cannot read the table', 'echo "crontabs/ada/: fopen: Permission denied" >&2; exit 1', /nothing was changed: .*Permission denied/],
  ['says nothing and fails', 'exit 1', /nothing was changed/],
] as const) {
  test(`case 100: when crontab ${title}, nothing is overwritten`, async (t) => {
    const { root } = projectIn(t);
    const called = join(dirname(root), 'called');
    const bin = join(dirname(root), 'bin');
    writeFiles(bin, { crontab: `#!/bin/sh\n[ "$1" = -l ] || touch '${called}'\n${crontab}\n` }, 0o755);

    const { status, stderr } = await runProgram('sh', [join(root, 'scripts/install-backup-cron.sh')], {
      cwd: root,
      env: { PATH: `${bin}:/usr/bin:/bin`, HUB_NODE: process.execPath },
    });

    assert.equal(status, 1);
    assert.match(stderr, message);
    assert.ok(!existsSync(called));
  });
}

test('case 100: without crontab the message says what to install', async (t) => {
  const { root } = projectIn(t);
  const bin = join(dirname(root), 'bin');
  mkdirSync(bin);
  for (const name of ['sh', 'dirname', 'readlink', 'sed', 'uname']) cpSync(`/usr/bin/${name}`, join(bin, name));

  const { status, stderr } = await runProgram('/bin/sh', [join(root, 'scripts/install-backup-cron.sh')], {
    env: { PATH: bin },
  });

  assert.equal(status, 1);
  assert.match(stderr, /crontab is not installed: install cron, or use install-systemd\.sh/);
});

for (const name of ['plain', "a hub, 100% Ada's", '%%', "'", '$(touch gone) `touch gone` "x" & ; # *', '-n', '\u00fcber']) {
  test(`case 101: the line works under the shell of cron for a project in the folder ${name}`, async (t) => {
    const cron = await realCron(t, OTHERS, name);
    if (!cron) return;
    const { status, stderr } = await cron.install();
    assert.equal(status, 0, stderr);

    const ran = await runProgram('/bin/sh', ['-c', commandOf(lastLine(cron.table()))], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', HOME: dirname(cron.root) },
    });

    assert.deepEqual(ran, { status: 0, stdout: '', stderr: '' });
    assert.equal(readFileSync(cron.ran, 'utf8'), `${cron.root}/scripts/nightly-backup.sh\n${process.execPath}\n`);
    await cron.install(['--remove']);
    assert.equal(cron.table(), OTHERS);
  });
}

const HOURS: Record<string, string> = {
  1: '0,1,2,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23', 2: '1,5,7,9,11,13,15,17,19,21,23', 3: '0,6,9,12,15,18,21',
  4: '7,11,15,19,23', 6: '9,15,21', 8: '11,19', 12: '15',
};

test('--every adds a line for interim backups at each interval that divides the day, without the hour of the night', async (t) => {
  const cron = await realCron(t, OTHERS);
  if (!cron) return;
  for (const [every, hours] of Object.entries(HOURS)) {
    assert.equal((await cron.install(['--every', every])).status, 0);
    const lines: string[] = cron.table()?.trimEnd().split('\n').slice(-2) ?? [];
    const [nightly = '', interim = ''] = lines;
    assert.match(nightly, /^15 3 \* \* \* HUB_NODE='.*' '.*nightly-backup\.sh'$/);
    assert.equal(interim, nightly.replace('15 3', `15 ${hours}`).replace('nightly', 'interim') + ` --every ${every}`);
    assert.equal(cron.table(), `${OTHERS}${nightly}\n${interim}\n`);
    await cron.install();
    assert.equal(cron.table(), `${OTHERS}${nightly}\n${interim}\n`, 'it stays without --every');
  }
  const before = cron.table();
  for (const wrong of ['5', '0', '01', '1.5', '48', '', '-1', '1 2']) {
    const { status, stderr } = await cron.install(['--every', wrong]);
    assert.deepEqual([status, stderr], [2, `--every must be 1, 2, 3, 4, 6, 8, 12 or 24 hours, not ${wrong}\n`]);
  }
  assert.equal(cron.table(), before);
  const last = join(cron.root, 'data/run/last-interim.json');
  writeFiles(cron.root, { 'data/run/last-interim.json': '{}' });
  await cron.install(['--every', '24']);
  assert.match(cron.table() ?? '', /nightly-backup\.sh'\n$/);
  assert.ok(!existsSync(last), 'the hub waits for no interim backup any more');
  await cron.install(['--every', '1']);
  await cron.install(['--remove']);
  assert.equal(cron.table(), OTHERS);
});

test('a folder that cron cannot name is refused', async (t) => {
  const { root } = projectIn(t, 'back\\slash');
  const { status, stderr } = await runProgram('sh', [join(root, 'scripts/install-backup-cron.sh')], {
    env: { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath },
  });
  assert.equal(status, 1);
  assert.match(stderr, /cron cannot use .*: move the hub to a path without backslashes/);
});

test("another account's data are refused: its backups would not be its own", async (t) => {
  if (!requireRoot(t, 'only root can give a folder to another account')) return;
  const { root } = projectIn(t);
  const bin = join(dirname(root), 'bin');
  writeFiles(bin, { crontab: '#!/bin/sh\nexit 0\n' }, 0o755);
  mkdirSync(join(root, 'data'));
  chownSync(join(root, 'data'), 65534, 65534);

  const { status, stderr } = await runProgram('sh', [join(root, 'scripts/install-backup-cron.sh')], {
    cwd: root,
    env: { PATH: `${bin}:/usr/bin:/bin`, HUB_NODE: process.execPath },
  });

  assert.equal(status, 1);
  assert.match(stderr, /belongs to nobody: run this as that account/);
});
