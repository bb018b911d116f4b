// Protects the installation of systemd units: correct for any folder, complete, and undone by --remove.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { HOUR, MINUTE } from '../../src/platform/clock.ts';
import { canMount } from '../support/private-mounts.ts';
import { runProgram, type Outcome } from '../support/run-program.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';
import { requireRoot, testWith } from '../support/tools.ts';

const test = testWith('systemctl', 'systemd-analyze');
const UNITS = [
  'content-hub-backup.service', 'content-hub-backup.timer', 'content-hub-health.service', 'content-hub-health.timer',
  'content-hub-restore.path', 'content-hub-restore.service', 'content-hub-web.service', 'content-hub-worker.service',
];
const BRIDGE = 'content-hub-clamd-bridge.service';
const NIGHTS = 3 * 365;
const ZONES = Intl.supportedValuesOf('timeZone').filter((zone) => existsSync(join('/usr/share/zoneinfo', zone)));
const ACCOUNT = 'daemon'; // one that every system has

/**
 * What systemd-analyze says of each service, in tenths, where nothing of the hub is in a home folder: what is left is
 * the network and V8's compiler, and for the one that stops and starts the others root.
 */
const EXPOSURE: Record<string, number> = {
  'content-hub-backup.service': 11, 'content-hub-clamd-bridge.service': 9, 'content-hub-health.service': 11,
  'content-hub-restore.service': 14, 'content-hub-web.service': 11, 'content-hub-worker.service': 11,
};

type Machine = {
  root: string; // of the project
  image: string;
  units: string; // the folder they are installed in
  install(args?: readonly string[], settings?: Record<string, string>): Promise<Outcome>;
  /** Into the image, and it has to succeed. */
  installed(args?: readonly string[], settings?: Record<string, string>): Promise<Outcome>;
};

/**
 * A project as set-up leaves it, in a folder of that name, and a system's image for its units. Settings are written to
 * .env; a PORT in the environment, which the units would not see, is to have no effect.
 */
function machine(t: TestContext, name = 'a hub, 100% & $HOME'): Machine {
  const first = temporaryProject(t, ['scripts', 'package.json', 'src', 'node_modules/better-sqlite3']);
  const root = join(dirname(first), name);
  renameSync(first, root);
  const image = join(dirname(root), 'image');
  mkdirSync(join(image, 'etc'), { recursive: true });
  const install: Machine['install'] = (args = [], settings = {}) => {
    const lines = Object.entries(settings).map(([variable, value]) => `${variable}='${value}'\n`.replace(/'(.*'.*)'/, '$1'));
    writeFileSync(join(root, '.env'), lines.join(''));
    return runProgram('sh', [join(root, 'scripts/install-systemd.sh'), ...args], {
      cwd: '/', env: { PATH: '/usr/bin:/bin', HUB_NODE: process.execPath, PORT: '0' },
    });
  };
  return {
    root, image, install,
    units: join(image, 'etc/systemd/system'),
    async installed(args = [], env = {}) {
      const outcome = await install(['--root', image, '--user', ACCOUNT, ...args], env);
      assert.equal(outcome.status, 0, outcome.stderr);
      return outcome;
    },
  };
}

test('--dry-run prints every unit with its placeholders filled in, and changes nothing', async (t) => {
  const { root, install, image } = machine(t, 'hub');

  const { status, stdout } = await install(['--dry-run', '--user', ACCOUNT]);

  assert.equal(status, 0);
  const paths = [...stdout.matchAll(/^# (\/etc\/systemd\/system\/.*)$/gm)].map(([, path]) => path);
  assert.deepEqual(paths.sort(), UNITS.map((unit) => `/etc/systemd/system/${unit}`));
  const settings = stdout.replace(/^#.*$/gm, '');
  assert.doesNotMatch(settings, /@[A-Z]/);
  assert.ok(settings.includes(`ExecStart=:"${process.execPath}" --disable-sigusr1 "${root}/src/bin/launch.ts" web\n`));
  assert.ok(settings.includes(`User=${ACCOUNT}\n`));
  assert.deepEqual(readdirSync(join(image, 'etc')), []);
  assert.ok(!existsSync(join(root, 'data')));
});

for (const name of ['hub', 'a hub, 100% & $HOME', '%h %n;#|']) {
  test(`systemd understands every unit of a project in the folder ${name}, and rates it well`, async (t) => {
    const hub = machine(t, name);
    await hub.installed(['--with-bridge'], { BACKUP_OFFSITE_DIR: '/mnt/far 100%' });
    const paths = readdirSync(hub.units).filter((unit) => unit.includes('.')).map((unit) => join(hub.units, unit));
    const files = paths.filter((path) => /\.(service|timer|path)$/.test(path));
    const env = { PATH: '/usr/bin:/bin' };

    const verified = await runProgram('systemd-analyze', ['verify', '--man=no', ...files], { env });
    assert.deepEqual(verified, { status: 0, stdout: '', stderr: '' });

    for (const [unit, tenths] of Object.entries(EXPOSURE)) {
      const args = ['security', '--offline=yes', `--threshold=${tenths}`, '--no-pager', join(hub.units, unit)];
      const { status, stdout } = await runProgram('systemd-analyze', args, { env });
      assert.equal(status, 0, stdout.trimEnd().split('\n').at(-1));
    }
  });
}

test('every night of three years has one backup, at 03:15 where there is a 03:15, in every zone; a missed one is made up for', async (t) => {
  const { installed, units } = machine(t);
  await installed();
  const timer = readFileSync(join(units, 'content-hub-backup.timer'), 'utf8');
  assert.match(timer, /^Persistent=true$/m);
  const [, calendar = ''] = /^OnCalendar=(.*)$/m.exec(timer) ?? [];

  const starts = async (zone: string): Promise<RegExpExecArray[]> => {
    const { stdout } = await runProgram('systemd-analyze', ['calendar', `--iterations=${2 * NIGHTS}`, '--base-time=2026-01-01', calendar], {
      env: { PATH: '/usr/bin:/bin', TZ: zone },
    });
    return [...stdout.matchAll(/: \w+ (\d{4}-\d\d-\d\d) (\d\d):15:00 .*\n(?: *\(in UTC\): \w+ (.*) UTC$)?/gm)];
  };
  const withGap: string[] = [];
  for (const zone of ZONES) {
    const nights = new Map<string, string>();
    let made = 0;
    for (const [, date = '', hour = '', utc = `${date} ${hour}:15`] of await starts(zone)) {
      const at = Date.parse(`${utc}Z`);
      if (hour === '04' && at - made <= 130 * MINUTE) continue; // nightly-backup.sh finds the first one done
      assert.ok(!nights.has(date), `${zone}: two backups on ${date}`);
      assert.ok(made === 0 || at - made <= 26 * HOUR, `${zone}: ${(at - made) / HOUR} h without a backup before ${utc}`);
      nights.set(date, hour);
      made = at;
    }
    assert.ok(nights.size >= NIGHTS - 6, `${zone}: ${nights.size}`);
    if ([...nights.values()].includes('04')) withGap.push(zone);
  }
  assert.ok(withGap.includes('Europe/Helsinki') && !withGap.includes('Europe/Berlin'), withGap.join(' '));
});

test('the units see home folders only when something of the hub is there, whatever way leads to it', async (t) => {
  const { install, installed, units, root } = machine(t);
  const seen = (): string[] => ['web', 'worker', 'health', 'restore', 'backup'].map((unit) =>
    /^ProtectHome=(.*)$/m.exec(readFileSync(join(units, `content-hub-${unit}.service`), 'utf8'))?.[1] ?? '');
  await installed([], { DATA_DIR: '/var/lib/hub' });
  assert.deepEqual(seen(), ['yes', 'yes', 'yes', 'yes', 'yes']);
  const { stdout } = await install(['--dry-run', '--user', 'root'], { DATA_DIR: '/var/lib/hub' });
  assert.equal(stdout.match(/^ProtectHome=read-only$/gm)?.length, 1, 'the backup alone sees what rclone keeps in /root');

  const [link, token] = [join(root, 'elsewhere'), join(dirname(root), 'home/token')];
  symlinkSync('/home/ada/hub', link);
  writeFiles(dirname(root), { 'home/token': 'hunter2' });
  for (const settings of [{ DATA_DIR: link }, { BACKUP_DIR: '/root/backups' }, { METRICS_TOKEN_FILE: token }]) {
    await installed([], settings);
    assert.deepEqual(seen(), Array.from({ length: 5 }, () => 'read-only'), JSON.stringify(settings));
  }
});

test('web may listen at PORT alone, and the others nowhere', async (t) => {
  const { installed, units } = machine(t);
  await installed([], { PORT: '8123' });
  const said = (unit: string): string[] =>
    readFileSync(join(units, `content-hub-${unit}.service`), 'utf8').match(/^SocketBind.*$/gm) ?? [];
  assert.deepEqual(said('web'), ['SocketBindDeny=any', 'SocketBindAllow=tcp:8123']);
  for (const unit of ['worker', 'health']) assert.deepEqual(said(unit), ['SocketBindDeny=any'], unit);
});

/** Settings that name a folder or repository, and which parts of which unit then name it. */
const WRITABLE: [settings: Record<string, string>, lines: string[]][] = [
  [{ BACKUP_OFFSITE_DIR: '/mnt/far 100%' }, ['backup.service: ReadWritePaths']],
  [{ BACKUP_RESTIC_REPOSITORY: '/mnt/far 100%', BACKUP_RESTIC_PASSWORD_FILE: '/etc/password' }, ['backup.service: ReadWritePaths']],
  [{ BACKUP_DIR: '/mnt/far 100%' },
    ['backup.service: NoExecPaths', 'backup.service: ReadWritePaths', 'health.service: InaccessiblePaths']],
  [{ BACKUP_RESTIC_REPOSITORY: 'rclone:box:hub', BACKUP_RESTIC_PASSWORD_FILE: '/etc/password' }, []],
];

test('only the backup may write to BACKUP_DIR and to the places of copies, none if they are not set, and restic is stopped gently', async (t) => {
  const { installed, units } = machine(t);
  for (const [settings, lines] of WRITABLE) {
    await installed([], settings);
    const texts = UNITS.map((unit) => [unit, readFileSync(join(units, unit), 'utf8')] as const);
    const found = texts.flatMap(([unit, text]) => text.split('\n').filter((line) => line.includes('"-/mnt/far 100%%"'))
      .map((line) => `${unit.slice('content-hub-'.length)}: ${line.split('=')[0]}`));
    assert.deepEqual(found.sort(), lines, JSON.stringify(settings));
    for (const [unit, text] of texts) assert.doesNotMatch(text, /rclone:|^[^#\n].*@[A-Z]/m, unit);
    assert.match(texts[0]?.[1] ?? '', /^KillSignal=SIGINT$/m);
  }
});

test('units are installed, enabled and, with --remove, gone again; others stay', async (t) => {
  const { image, units, install, installed } = machine(t);
  mkdirSync(units, { recursive: true });
  writeFileSync(join(units, 'other.service'), '[Service]\nExecStart=/bin/true\n');

  await installed();
  await installed();
  assert.deepEqual(readdirSync(units).sort(),
    [...UNITS, 'multi-user.target.wants', 'other.service', 'paths.target.wants', 'timers.target.wants'].sort());
  assert.deepEqual(readdirSync(join(units, 'paths.target.wants')), ['content-hub-restore.path']);
  assert.deepEqual(readdirSync(join(units, 'multi-user.target.wants')).sort(),
    ['content-hub-web.service', 'content-hub-worker.service']);
  assert.deepEqual(readdirSync(join(units, 'timers.target.wants')).sort(),
    ['content-hub-backup.timer', 'content-hub-health.timer']);

  for (let round = 0; round < 2; round += 1) {
    const { status, stdout } = await install(['--root', image, '--remove']);
    assert.deepEqual([status, stdout], [0, 'the units of the hub are removed\n']);
  }
  const left = readdirSync(units, { recursive: true }).filter((name) => String(name).includes('content-hub'));
  assert.deepEqual(left, []);
  assert.ok(existsSync(join(units, 'other.service')));
});

test('the bridge comes only when asked for, and then stays when the rest is installed again', async (t) => {
  const { installed, units } = machine(t);
  await installed();
  assert.ok(!existsSync(join(units, BRIDGE)));
  await installed(['--with-bridge']);
  writeFileSync(join(units, BRIDGE), 'old');
  await installed();
  assert.match(readFileSync(join(units, BRIDGE), 'utf8'), /launch\.ts" clamd-bridge$/m);
});

for (const [title, args, env, message] of [
  ['root as the account', ['--user', 'root'], {}, /must not run as root/],
  ['an account that is not there', ['--user', 'no-such-one'], {}, /there is no account no-such-one/],
  ['a port that nothing can know', ['--user', ACCOUNT], { PORT: '0' }, /PORT must not be 0/],
  ['data where systemd cannot use them', ['--user', ACCOUNT], { DATA_DIR: '/srv/"x"' }, /cannot use \/srv\/"x"/],
  ['an apostrophe', ['--user', ACCOUNT], { DATA_DIR: "/srv/Ada's" }, /systemd cannot use/],
  ['data that end in a backslash', ['--user', ACCOUNT], { DATA_DIR: '/srv/x\\' }, /systemd cannot use/],
] as const) {
  test(`${title} is refused and nothing is installed`, async (t) => {
    const { install, image } = machine(t);
    const { status, stderr } = await install(['--root', image, ...args], env);
    assert.equal(status, 1);
    assert.match(stderr, message);
    assert.deepEqual(readdirSync(join(image, 'etc')), []);
  });
}

/** As root, in private mounts: the project at /srv, no units of the machine's, systemctl only noting its calls. */
async function runningMachine(t: TestContext, running: boolean, systemctl = ':') {
  if (!(await canMount(t))) return undefined;
  if (!requireRoot(t, 'only root can install units and make folders for other accounts')) return undefined;
  const { root } = machine(t);
  const home = dirname(root);
  const prepare = `mount -t tmpfs none /etc/systemd/system && mount -t tmpfs none /run && mount --bind '${root}' /srv &&
    ${running ? 'mkdir -p /run/systemd/system' : ':'} && mkdir /run/bin &&
    printf '%s\\n' '#!/bin/sh' 'echo "$*" >>/run/calls' '${systemctl}' >/run/bin/systemctl && chmod 755 /run/bin/systemctl`;
  const script = (args: string): string => `${prepare} || exit 99
    PATH=/run/bin:$PATH sh /srv/scripts/install-systemd.sh ${args}; status=$?
    cat /run/calls >"$CALLS" 2>/dev/null; ls /etc/systemd/system >"$LEFT"; stat -c '%U %a' /srv/data >>"$LEFT"; exit $status`;
  return async (args: string) => {
    const [calls, left] = [join(home, 'calls'), join(home, 'left')];
    const env = { PATH: '/usr/bin:/bin', CALLS: calls, LEFT: left, HUB_NODE: process.execPath };
    const outcome = await runProgram('unshare', ['-m', 'sh', '-c', script(args)], { env });
    assert.notEqual(outcome.status, 99, outcome.stderr);
    return { ...outcome, calls: readFileSync(calls, 'utf8').trim().split('\n'), left: readFileSync(left, 'utf8') };
  };
}

test('on a running system the units are loaded, enabled and started, on data of the account alone', async (t) => {
  const run = await runningMachine(t, true);
  if (!run) return;
  const { status, stderr, calls, left } = await run(`--user ${ACCOUNT}`);
  const started = 'content-hub-web.service content-hub-worker.service content-hub-backup.timer ' +
    'content-hub-health.timer content-hub-restore.path';
  assert.equal(status, 0, stderr);
  assert.deepEqual(calls, ['daemon-reload', `enable ${started}`, `restart ${started}`]);
  assert.match(left, new RegExp(`^${UNITS.join('\n')}\n${ACCOUNT} 700\n$`));
});

test('units that do not start make the installation fail and say where to look', async (t) => {
  const run = await runningMachine(t, true, '[ "$1" != restart ]');
  if (!run) return;
  const { status, stdout, stderr } = await run(`--user ${ACCOUNT}`);
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /not all units have started: see journalctl/);
});

test('where systemd does not run, nothing is installed and the alternatives are named', async (t) => {
  const run = await runningMachine(t, false);
  if (!run) return;
  const { status, stderr, left } = await run(`--user ${ACCOUNT}`);
  assert.equal(status, 1);
  assert.match(stderr, /this machine does not run systemd; --dry-run prints .*install-backup-cron\.sh uses cron instead/);
  assert.equal(left, '');
});

const INTERIM_UNITS = ['content-hub-interim.service', 'content-hub-interim.timer'];

test('--every installs a timer for interim backups, which stays until --every 24; systemd understands every interval', async (t) => {
  const { root, units, install, installed } = machine(t);
  const interim = (): string[] => readdirSync(units).filter((name) => name.includes('interim')).sort();
  for (const every of [1, 2, 3, 4, 6, 8, 12]) {
    await installed(['--every', String(every)]);
    const [service = '', timer = ''] = INTERIM_UNITS.map((unit) => readFileSync(join(units, unit), 'utf8'));
    assert.ok(service.includes(`ExecStart=:"${root.replaceAll('%', '%%')}/scripts/interim-backup.sh" --every ${every}\n`));
    const calendar = /^OnCalendar=(.*)$/m.exec(timer)?.[1] ?? '';
    const hours = Array.from({ length: 24 / every - 1 }, (_, n) => (3 + (n + 1) * every) % 24).sort((a, b) => a - b);
    assert.equal(calendar, `*-*-* ${hours.join(',')}:15`);
    const { status } = await runProgram('systemd-analyze', ['calendar', calendar], { env: { PATH: '/usr/bin:/bin' } });
    assert.equal(status, 0);
  }
  const verified = await runProgram('systemd-analyze', ['verify', '--man=no', ...INTERIM_UNITS.map((unit) => join(units, unit))],
    { env: { PATH: '/usr/bin:/bin' } });
  assert.deepEqual(verified, { status: 0, stdout: '', stderr: '' });
  await installed();
  assert.deepEqual(interim(), INTERIM_UNITS);
  assert.ok(readdirSync(join(units, 'timers.target.wants')).includes('content-hub-interim.timer'));

  const wrong = await install(['--dry-run', '--every', '5']);
  assert.deepEqual([wrong.status, wrong.stderr], [2, '--every must be 1, 2, 3, 4, 6, 8, 12 or 24 hours, not 5\n']);
  await installed(['--every', '24']);
  assert.deepEqual([interim(), readdirSync(join(units, 'timers.target.wants'))],
    [[], ['content-hub-backup.timer', 'content-hub-health.timer']]);
});
