// Protects the configuration: documented defaults, every mistake named at once, and no secret in a message.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readBridgeConfig } from '../../../src/app/clamd-bridge/bridge-settings.ts';
import { misspeltNames } from '../../../src/features/hub/env-file.ts';
import { ConfigError, loadConfig, readConfig, settingsSource, type Config } from '../../../src/features/hub/read-config.ts';
import { SETTINGS } from '../../../src/features/hub/settings.ts';
import { deriveSealingKey } from '../../../src/platform/secrets.ts';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';

const ROOT = '/srv/hub';
const RECIPIENT = 'age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z';
const KEY = 'ABCDEF0123456789ABCDEF0123456789ABCDEF01'; // fingerprint
const SECRET = 'AGE-SECRET-KEY-1NOBODYSHOULDEVERSEETHIS';

function read(env: Record<string, string>, files: Record<string, string> = {}): Config {
  const known: Record<string, string> = { [`${ROOT}/package.json`]: '{"version":"1.2.3"}', ...files };
  const readFile = (path: string): string => {
    const text = known[path];
    if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
    return text;
  };
  return readConfig(env, { projectRoot: ROOT, readFile });
}

function catchConfigError(work: () => unknown): { problems: string[] } {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  return { problems: [] };
}

function problems(env: Record<string, string>, files: Record<string, string> = {}): string[] {
  return catchConfigError(() => read(env, files)).problems;
}

/** A folder with that .env. */
function withEnvFile(t: TestContext, text: string): string {
  const folder = temporaryFolder(t);
  writeFiles(folder, { 'package.json': '{"version":"0.0.1"}', '.env': text });
  return folder;
}

test('a name in .env that looks like a setting is an error that names the nearest one, with all other mistakes', (t) => {
  for (const [name, nearest] of [
    ['NOTIFICATION_RETENTION_DAY', 'NOTIFICATION_RETENTION_DAYS'], ['port', 'PORT'], ['HSOT', 'HOST'],
    ['LOGLEVEL', 'LOG_LEVEL'], ['HUB_SECRET_KEY', 'HUB_SECRET_KEY_FILE'], ['PORT_FILE', 'PORT'],
    ['METRICS_TOKEN_FIEL', 'METRICS_TOKEN_FILE'], ['POR', 'PORT'], ['PORX', 'PORT'], ['UPLOADS_MAX_BYTES', 'UPLOAD_MAX_BYTES'],
  ]) {
    const folder = withEnvFile(t, `${name}=1\nHOST=999.1.1.1\n`);
    const { problems } = catchConfigError(() => loadConfig({}, folder));
    assert.equal(problems.length, 2, name);
    assert.equal(problems[1], `${name} in .env is not a setting; did you mean ${nearest}?`);
  }
});

test('every setting is found from its name with two slips, with or without its underscore', () => {
  const names = Object.values(SETTINGS).map(({ name }) => name).filter((name) => name.length >= 8 && name.includes('_'));
  for (const name of names) {
    for (const slipped of [`${name.replace('_', '')}X`, name.replace('_', '-').replace(/.$/, 'Q'), `${name.slice(1)}7`]) {
      const problems = misspeltNames([slipped], names);
      assert.match(problems.join(), /did you mean/, slipped);
    }
  }
});

test("names in .env that look like none of ours, and those of the clamd bridge, are other programs' business", (t) => {
  const lines = ['RCLONE_CONFIG', 'AWS_ACCESS_KEY_ID', 'TZ', 'HOME', 'HOSTNAME', 'HUB_NODE', 'NODE_OPTIONS', 'CONFIRM_RESTORE',
    'CLAMD_ADDRESS', 'CLAMD_BRIDGE_PORT', 'CLAMD_STREAM_MAX_BYTES', 'GOTIFY_TOKEN', 'RESTIC_PASSWORD'];
  assert.equal(loadConfig({}, withEnvFile(t, lines.map((name) => `${name}=1\n`).join(''))).port, 8080);

  const bridge = settingsSource({}, withEnvFile(t, 'CLAMD_ADRESS=x\nPORT=80\n'));
  assert.deepEqual(catchConfigError(() => readBridgeConfig(bridge)).problems,
    ['CLAMD_ADRESS in .env is not a setting; did you mean CLAMD_ADDRESS?']);
});

test('in the environment, which others share, only long names that are hardly another one are doubted, and hold nothing up', () => {
  const env = { NOTIFICATION_RETENTION_DAY: '0', HUB_SECRETKEY_FILE: 'x', LOGLEVEL: 'debug', POST: '1', HOSTNAME: 'x' };
  assert.deepEqual(read(env).doubtfulNames, [
    'NOTIFICATION_RETENTION_DAY in the environment is not a setting; did you mean NOTIFICATION_RETENTION_DAYS?',
    'HUB_SECRETKEY_FILE in the environment is not a setting; did you mean HUB_SECRET_KEY_FILE?',
  ]);
});

test('without settings the data lies in the project’s folder, and the hub is reached on this machine alone', () => {
  const { databasePath, backupDir, migrationsDir, baseUrl, secure, version } = read({});
  assert.deepEqual([databasePath, backupDir, migrationsDir].map((path) => path.replace(`${ROOT}/`, '')),
    ['data/hub.db', 'data/backups', 'migrations']);
  assert.deepEqual([baseUrl, secure, version], ['http://127.0.0.1:8080', false, '1.2.3']);
});

test('the hub answers to the host of BASE_URL, or without it to any name where others than this machine reach it', () => {
  assert.deepEqual(read({ BASE_URL: 'https://Hub.Example:8443' }).hostNames, ['hub.example']);
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) assert.deepEqual(read({ HOST }).hostNames, [], HOST);
  for (const HOST of ['0.0.0.0', '192.168.1.5', 'hub.lan']) assert.equal(read({ HOST }).hostNames, null, HOST);
});

const GIVEN: [name: string, text: string, key: keyof Config, value: unknown][] = [
  ['HOST', '::1', 'host', '::1'],
  ['PORT', '0', 'port', 0],
  ['BASE_URL', 'https://hub.example.org/', 'baseUrl', 'https://hub.example.org'],
  ['TRUSTED_PROXIES', '10.0.0.0/8, ::1', 'trustedProxies', parseCidrs('10.0.0.0/8, ::1')],
  ['DATA_DIR', '/var/lib/hub, too', 'dataDir', '/var/lib/hub, too'],
  ['OUTBOUND_ALLOW', '192.168.0.0/16', 'outboundAllow', parseCidrs('192.168.0.0/16')],
  ['NOTIFICATION_RETENTION_DAYS', '0', 'notificationRetentionDays', 0],
  ['ALERT_WEBHOOK_URL', 'https://u:p@chat.example.org/hooks/abc?x=1', 'alertWebhookUrl', 'https://u:p@chat.example.org/hooks/abc?x=1'],
  ['HEARTBEAT_URL', 'http://192.168.1.7:3001/api/push/abc?status=up', 'heartbeatUrl', 'http://192.168.1.7:3001/api/push/abc?status=up'],
  ['UPGRADE_VERIFY', 'signed', 'upgradeVerify', 'signed'],
  ['UPGRADE_SIGNERS', ` ${KEY.toLowerCase()}  ${KEY} `, 'upgradeSigners', `${KEY} ${KEY}`],
  ['BACKUP_TIMEOUT_SECONDS', '604800', 'backupTimeoutSeconds', 604_800],
  ['BACKUP_DIR', '/mnt/near/../near disk/', 'backupDir', '/mnt/near disk'],
  ['BACKUP_OFFSITE_DIR', '/mnt/../mnt/far disk/', 'backupOffsiteDir', '/mnt/far disk'],
  ['BACKUP_AGE_RECIPIENT', ` ${RECIPIENT}  ${RECIPIENT} `, 'backupAgeRecipient', `${RECIPIENT} ${RECIPIENT}`],
  ['BACKUP_RCLONE_REMOTE', 'my box:a path/of mine', 'backupRcloneRemote', 'my box:a path/of mine'],
];

test('a variable reaches its field, read as what it is', () => {
  const derived = { secure: true, hostNames: ['hub.example.org'], databasePath: '/var/lib/hub, too/hub.db' };
  const fields = Object.fromEntries(GIVEN.map(([, , key, value]) => [key, value]));
  assert.deepEqual(read(Object.fromEntries(GIVEN)), { ...read({}), ...fields, ...derived });
});

test('a restic repository may be a folder or behind a backend, and says how many of its snapshots are kept', () => {
  const config = read({
    BACKUP_RESTIC_REPOSITORY: '/mnt/../mnt/far disk/hub/', BACKUP_RESTIC_PASSWORD_FILE: '/etc/the password',
    BACKUP_RESTIC_KEEP: ' last=3  yearly=9999 ',
  });

  assert.equal(config.backupResticRepository, '/mnt/far disk/hub');
  assert.equal(config.backupResticPasswordFile, '/etc/the password');
  assert.equal(config.backupResticKeep, 'last=3 yearly=9999');
  assert.equal(read({}).backupResticKeep, 'hourly=24 daily=7 weekly=4 monthly=12');
  for (const repository of ['rclone:my box:hub', 'sftp:me@host:/hub', 's3:https://host/bucket', 'rest:https://u:p@host/']) {
    const env = { BACKUP_RESTIC_REPOSITORY: repository, BACKUP_RESTIC_PASSWORD_FILE: '/p' };
    assert.equal(read(env).backupResticRepository, repository);
  }
});

test('backups lie in DATA_DIR/backups, or in a folder of their own', () => {
  assert.equal(read({ DATA_DIR: '/srv/data' }).backupDir, '/srv/data/backups');
  assert.equal(read({ DATA_DIR: '/srv/data', BACKUP_DIR: '/srv/data/backups' }).backupDir, '/srv/data/backups');
  assert.match(problems({ BACKUP_DIR: '/mnt/disk', BACKUP_OFFSITE_DIR: '/mnt/disk/far' }).join(), /outside BACKUP_DIR/);
});

test('a restic repository needs its password, lies outside DATA_DIR, and is not combined with age', () => {
  const both = { BACKUP_RESTIC_REPOSITORY: '/mnt/hub', BACKUP_RESTIC_PASSWORD_FILE: '/p' };
  const [inside, ...rest] = problems({ ...both, BACKUP_RESTIC_REPOSITORY: `${ROOT}/data/restic` });

  assert.match(inside ?? '', /^BACKUP_RESTIC_REPOSITORY must be outside DATA_DIR/);
  assert.deepEqual(rest, []);
  const beside = { ...both, BACKUP_DIR: '/mnt/disk', BACKUP_RESTIC_REPOSITORY: '/mnt/disk/restic' };
  assert.match(problems(beside).join(), /^BACKUP_RESTIC_REPOSITORY must be outside DATA_DIR and BACKUP_DIR: [^;]*$/);
  assert.match(problems({ ...both, BACKUP_AGE_RECIPIENT: RECIPIENT }).join(), /^BACKUP_RESTIC_REPOSITORY and BACKUP_AGE_/);
  for (const name of ['BACKUP_RESTIC_REPOSITORY', 'BACKUP_RESTIC_PASSWORD_FILE'] as const) {
    assert.match(problems({ [name]: both[name] }).join(), /^BACKUP_RESTIC_REPOSITORY and .* belong together; [^,]*$/);
  }
});

test('UPGRADE_VERIFY needs the keys to verify with, and keys alone verify nothing', () => {
  for (const env of [{ UPGRADE_VERIFY: 'signed' }, { UPGRADE_SIGNERS: KEY }]) {
    assert.deepEqual(problems(env), ['UPGRADE_VERIFY and UPGRADE_SIGNERS belong together; set both or neither']);
  }
});

test('BASE_URL is kept as an origin; its default puts an IPv6 host in brackets', () => {
  assert.equal(read({ HOST: '::1', PORT: '81' }).baseUrl, 'http://[::1]:81');
  assert.equal(read({ BASE_URL: 'HTTPS://Hub.Example.ORG:443' }).baseUrl, 'https://hub.example.org');
  assert.equal(read({ BASE_URL: 'http://[::1]:8080/' }).baseUrl, 'http://[::1]:8080');
});

const INVALID: Record<string, string[]> = {
  HOST: ['', 'a b', '[::1]', 'http://a', '-a', 'fe80::1%eth0', '127.0.0.1:80', '999.1.1.1',
    '127.0.0.256', '1', 'hub.0x7f'],
  PORT: ['', '-1', '65536', '80a', '0x50', '8.5', ' 80', '1e3'],
  BASE_URL: [
    '', 'hub.example.org', 'ftp://a', 'http:a', 'https:\\\\a', ' https://a', 'https://u:p@a', 'https://u@a',
    'https://a/hub', 'https://a/?', 'https://a/#', 'https://a?x=1',
  ],
  TRUSTED_PROXIES: ['10.0.0.0/33', 'proxy', '10.0.0.0/8,,', '10.0.0.0/8 ::1'],
  OUTBOUND_ALLOW: ['all', '*'],
  DATA_DIR: ['', '~/hub', '.', '/', '/srv', '/srv/hub', '..'],
  LOG_LEVEL: ['', 'INFO', 'trace'],
  SYNC_CONCURRENCY: ['', '0', '65', '-1'],
  SYNC_MAX_ATTEMPTS: ['0', '101', 'many'],
  SOURCES_MAX: ['', '0', '-1'],
  VIRUS_SCAN_URL: ['', 'scanner:1344', 'http://scanner:6667/'],
  VIRUS_SCAN_TIMEOUT_SECONDS: ['', '0', '301', '600'],
  ALERT_WEBHOOK_URL: ['', 'ftp://a/b', 'chat.example.org/hooks', 'https://a b', 'http://u:p@chat:6667/x'],
  ALERT_WEBHOOK_FORMAT: ['', 'Slack', 'irc'],
  HEARTBEAT_URL: ['', 'hc-ping.com/1234', 'file:///etc/passwd', 'https://a b', 'http://a:25/'],
  NODE_TLS_REJECT_UNAUTHORIZED: ['0'],
  METRICS_TOKEN: ['', 'with space', 'émile', 'line\nbreak', 'hub_', 'hub_a-secret'],
  RESTORE_HEALTH_SECONDS: ['', '0', '-1', '1.5', '1m', '86401'],
  RESTORE_STOP_SECONDS: ['', '-1', '1.5', '1m', '86401'],
  UPGRADE_VERIFY: ['', 'Signed', 'yes', '1', 'off'],
  UPGRADE_SIGNERS: ['', ' ', 'ada', KEY.slice(1), KEY.slice(24), `${KEY},${KEY}`, `${KEY}\n${KEY}`, `0x${KEY}`, `/${KEY}`],
  DRILL_EVERY_DAYS: ['', '-1', '1.5', '7d', 'monthly', '10000'],
  BACKUP_TIMEOUT_SECONDS: ['', '0', '-5', '1h', '604801'],
  BACKUP_RETENTION_DAYS: ['', '0', '-1', 'abc', '7d', '08', '1e3', '10000', '12345678901234567890', ' 7', '7.5'],
  BACKUP_OFFSITE_DIR: ['', 'backups', './x', '~/x', '/mnt/a\nb', `${ROOT}/data/backups`, `${ROOT}/data`, `${ROOT}/x/../data/x`],
  BACKUP_DIR: ['', 'backups', '~/x', '/', '/a\nb', `${ROOT}/data`, `${ROOT}/data/uploads`, `${ROOT}/data/backups/x`, ROOT,
    `${ROOT}/src`, `${ROOT}/..`],
  BACKUP_AGE_RECIPIENT: [
    '', ' ', 'age1', 'AGE1ABC', 'file', SECRET, SECRET.toLowerCase(), `${RECIPIENT} ${SECRET}`, `/file/${SECRET}`,
    `${RECIPIENT},${RECIPIENT}`, `${RECIPIENT}\n${RECIPIENT}`, 'ssh-ed25519 AAAAC3Nza', '/a\nb', `${RECIPIENT} -i`,
  ],
  BACKUP_RESTIC_REPOSITORY: [
    '', 'repo', './repo', '~/repo', 'local:/repo', 'rclone:', 'rclone:-x:y', 'rest:box', 'ftp:box', '/a\nb', 's3:\na',
  ],
  BACKUP_RESTIC_PASSWORD_FILE: ['', 'password', '~/password', '/a\nb'],
  BACKUP_RESTIC_KEEP: [
    '', 'all', '7', 'daily', 'daily=', 'daily=0', 'daily=-1', 'daily=07', 'daily=10000', 'daily=7,weekly=4', 'within=7d',
    'daily=7 daily=8', 'tag=x', 'daily=7\nweekly=4', '--keep-daily=7',
  ],
  BACKUP_RCLONE_REMOTE: ['', 'box', '/srv/x', '-box:x', ':local:/x', 'box,a=b:x', ' box:x', 'box :x', 'a/b:c', 'box:a\nb'],
};

for (const [name, values] of Object.entries(INVALID)) {
  test(`${name} with a value that cannot be meant is refused by name, never replaced by the default`, () => {
    for (const value of values) {
      const found = problems({ [name]: value });
      assert.equal(found.length, 1, JSON.stringify(value));
      assert.match(found[0] ?? '', new RegExp(`^${name} must (?:not )?be .+`), JSON.stringify(value));
    }
  });
}

test('all mistakes are reported at once', () => {
  const found = problems({ HOST: ' ', PORT: 'x', LOG_LEVEL: 'loud', METRICS_TOKEN: 'a b', DATA_DIR: '/' });
  const names = found.map((problem) => problem.split(' ')[0]);
  assert.deepEqual(names, ['HOST', 'PORT', 'LOG_LEVEL', 'METRICS_TOKEN', 'DATA_DIR']);
});

test('recipients may be in a file, whose path may hold spaces', () => {
  assert.equal(read({ BACKUP_AGE_RECIPIENT: '/etc/the recipients' }).backupAgeRecipient, '/etc/the recipients');
});

test('a wrong address range is named', () => {
  assert.match(problems({ OUTBOUND_ALLOW: '10.0.0.0/8, 10.0.0.0/99' })[0] ?? '', /10\.0\.0\.0\/99/);
});

test('a secret may come from a file, without its last newline, relative to the project', () => {
  const files = { '/run/secrets/token': 'abc\n', '/srv/hub/token': 'def\r\n' };

  const outside = read({ METRICS_TOKEN_FILE: '/run/secrets/token' }, files);
  const inside = read({ METRICS_TOKEN_FILE: 'token' }, files);

  assert.equal(outside.metricsToken, 'abc');
  assert.deepEqual(outside.secretFiles, ['/run/secrets/token']);
  assert.equal(inside.metricsToken, 'def');
  assert.deepEqual(inside.secretFiles, ['/srv/hub/token']);
});

test('a secret file that is missing, empty or holds more than a token is refused', () => {
  const files = { '/empty': '\n', '/two': 'abc\n\n' };

  assert.deepEqual(problems({ METRICS_TOKEN_FILE: '/none' }), [
    'METRICS_TOKEN_FILE must name a readable file (ENOENT)',
  ]);
  assert.match(problems({ METRICS_TOKEN_FILE: '/empty' }, files)[0] ?? '', /^METRICS_TOKEN_FILE must be one or more/);
  assert.match(problems({ METRICS_TOKEN_FILE: '/two' }, files)[0] ?? '', /^METRICS_TOKEN_FILE must be one or more/);
});

test('a secret that is set both ways is a mistake, and no secret is repeated in a message', () => {
  const found = [
    ...problems({ METRICS_TOKEN: 'hunter2', METRICS_TOKEN_FILE: '/token' }, { '/token': 'hunter2' }),
    ...problems({ BASE_URL: 'https://admin:hunter2@hub.example.org' }),
    ...problems({ BACKUP_AGE_RECIPIENT: 'AGE-SECRET-KEY-hunter2' }),
  ];

  assert.equal(found[0], 'METRICS_TOKEN and METRICS_TOKEN_FILE are both set; set only one of them');
  assert.equal(found.length, 3);
  assert.ok(!found.join().includes('hunter2'));
});

test('nothing in the configuration can be changed afterwards', () => {
  const config = read({ TRUSTED_PROXIES: '10.0.0.0/8' });

  assert.ok(Object.isFrozen(config));
  assert.ok(Object.isFrozen(config.trustedProxies));
  assert.ok(Object.isFrozen(config.trustedProxies[0]));
  assert.ok(Object.isFrozen(config.secretFiles));
});

test('the .env of the project is read, and a mistake in it names the line', (t) => {
  const folder = withEnvFile(t, 'PORT=81\nHOST="::1"\n');
  assert.equal(loadConfig({}, folder).port, 81);
  assert.equal(loadConfig({}, folder).host, '::1');
  assert.equal(loadConfig({}, folder).dataDir, join(folder, 'data'));

  writeFiles(folder, { '.env': 'PORT=81\noops\n' });
  assert.throws(() => loadConfig({}, folder), { problems: ['.env line 2 is not of the form KEY=value'] });
});

test('a project without .env is fine', (t) => {
  const folder = temporaryFolder(t);
  writeFiles(folder, { 'package.json': '{"version":"0.0.1"}' });

  assert.equal(loadConfig({}, folder).port, 8080);
});

test('the key for secrets is made of every byte of its file, whatever they are', (t) => {
  const folder = temporaryFolder(t);
  const bytes = Buffer.from(Array.from({ length: 64 }, (_, index) => (index * 37 + 129) % 256)); // no valid UTF-8
  writeFileSync(join(folder, 'key'), bytes);
  writeFileSync(join(folder, 'other'), Buffer.concat([bytes, Buffer.from('\n')]));
  writeFileSync(join(folder, 'short'), bytes.subarray(0, 31));
  const keyOf = (name: string): Buffer | undefined =>
    loadConfig({ HUB_SECRET_KEY_FILE: join(folder, name) }).hubSecretKey?.export();

  assert.deepEqual(keyOf('key'), deriveSealingKey(bytes).export());
  assert.notDeepEqual(keyOf('other'), keyOf('key'));
  assert.deepEqual(loadConfig({ HUB_SECRET_KEY_FILE: join(folder, 'key') }).secretFiles, [join(folder, 'key')]);
  assert.throws(() => keyOf('short'), /HUB_SECRET_KEY_FILE must name a file of 32 to 4096 random bytes/);
  assert.throws(() => keyOf('none'), /HUB_SECRET_KEY_FILE must name a readable file \(ENOENT\)/);
});
