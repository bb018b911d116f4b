// Protects a hub from being changed by a look at it: commands that only read write nothing and apply no migration.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { lockForRunning } from '../../src/features/hub/data-locks.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { hubOf } from '../../src/app/processes/open-hub.ts';
import { migrate, schemaVersion } from '../../src/platform/db/migrate.ts';
import { openDatabase, openToLook } from '../../src/platform/db/open-database.ts';
import { createLog } from '../../src/platform/log.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from '../support/hub-process.ts';
import { hubctl, hubctlProcess } from '../support/hubctl.ts';
import { MIGRATIONS } from '../support/migrated-database.ts';
import { sha256 } from '../support/sha256.ts';
import { addAccount } from '../support/stored-accounts.ts';
import { addJob } from '../support/stored-jobs.ts';
import { addLaterMigration } from '../support/stored-rows.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The migrations since the one that counts the contents of sources. */
const PENDING = MIGRATIONS.slice(18);
const [FIRST, LAST] = [PENDING[0], MIGRATIONS.at(-1)];
assert.ok(LAST?.safe, 'one that the hub would apply by itself');

const LOOKING = [
  'status', 'status --json', 'doctor', 'doctor --hashes', 'account list', 'alerts list', 'alerts test', 'jobs list',
  'jobs list --state all --json', 'retention --dry-run', 'await-writes 0 web', 'backups', 'backup due', 'config DATA_DIR',
  'recovery-kit describe',
];

/** A database with an account and a failed job, and nothing else in DATA_DIR; it lacks so many migrations. */
function makeHub(t: TestContext, lacking: number) {
  const dataDir = temporaryDataDir(t);
  const config = loadConfig(hubEnvironment(dataDir));
  const db = openDatabase(config.databasePath);
  t.after(() => db.close());
  migrate(db, MIGRATIONS.slice(0, MIGRATIONS.length - lacking), Date.now);
  const hub = hubOf('hubctl', config, db, createLog('test', 'error', Date.now, () => {}));
  addAccount(hub, 'ada', 'admin');
  addJob({ db }, { kind: 'sync-source', payload: { sourceId: 1 }, dedupeKey: '1', state: 'failed' });
  return { dataDir, db };
}

/**
 * Every file with its content and time. Of SQLite's index of a write-ahead log only that it is there: it is memory that
 * processes share, every reader marks its place in it, and it holds nothing that the log does not.
 */
function filesOf(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true }).map(String).toSorted().map((name) => {
    const path = join(dataDir, name);
    if (!statSync(path).isFile()) return `${name}/`;
    return name.endsWith('-shm') ? name : `${name} ${statSync(path).mtimeMs} ${sha256(readFileSync(path))}`;
  });
}

async function lookAll(dataDir: string, said: string): Promise<void> {
  const before = filesOf(dataDir);
  for (const command of LOOKING) {
    const { stderr, status } = await hubctl(dataDir, ...command.split(' '));
    assert.ok(status === 0 || status === 1, `${said}: ${command}`);
    assert.ok(!stderr.includes('hubctl: ') || stderr.startsWith('hubctl: this command needs migration '), `${said}: ${command}: ${stderr}`);
    assert.deepEqual(filesOf(dataDir), before, `${said}: ${command}`);
  }
  for (const command of ['status', 'doctor']) {
    assert.equal((await hubctlProcess(dataDir, [command])).stderr, '');
    assert.deepEqual(filesOf(dataDir), before, `${said}: ${command}, confined`);
  }
}

for (const [lacking, schema] of [[0, 'on the whole schema'], [1, 'on a schema that lacks the last migration']] as const) {
  test(`${schema}: looking at a stopped hub changes no file and leaves none behind`, async (t) => {
    const { dataDir, db } = makeHub(t, lacking);
    db.close();
    assert.deepEqual(readdirSync(dataDir), ['hub.db'], 'not even folders');
    await lookAll(dataDir, 'stopped');
    assert.equal(versionOf(dataDir), MIGRATIONS.length - lacking);
  });

  test(`${schema}: looking at a hub that was killed leaves the log for the next start`, async (t) => {
    const { dataDir, db } = makeHub(t, lacking);
    const killed = temporaryDataDir(t);
    cpSync(dataDir, killed, { recursive: true });
    assert.ok(statSync(join(killed, 'hub.db-wal')).size > 0);
    await lookAll(killed, 'killed');
    db.close();
    assert.match((await hubctl(killed, 'account', 'list')).stdout, /\tada\tadmin\t/, 'what stands in the log is read');
  });

  test(`${schema}: looking at a running hub changes nothing`, async (t) => {
    const { dataDir } = makeHub(t, lacking);
    mkdirSync(join(dataDir, 'run'));
    const lock = lockForRunning(dataDir, 'web');
    t.after(() => lock?.release());
    await lookAll(dataDir, 'running');
    assert.equal(versionOf(dataDir), MIGRATIONS.length - lacking);
  });
}

function versionOf(dataDir: string): number {
  const db = openToLook(join(dataDir, 'hub.db'));
  const version = schemaVersion(db);
  db.close();
  return version;
}

test('a real web process is looked at while it stands still: no byte of its files changes', async (t) => {
  const { dataDir, db } = makeHub(t, 0);
  db.close();
  const web = startHubProcess(t, 'web', dataDir);
  await web.address();
  await waitUntil('web has written', async () => !(await hubctl(dataDir, 'await-writes', '1', 'web')).status);
  web.child.kill('SIGSTOP');
  await lookAll(dataDir, 'standing still');
  web.child.kill('SIGCONT');
  assert.equal(await web.end('SIGTERM'), 0);
});

test('status and doctor name the pending migration and what to do, and say all that the schema allows', async (t) => {
  const { dataDir, db } = makeHub(t, PENDING.length);
  db.close();
  const whole = makeHub(t, 0);
  whole.db.close();
  for (const command of ['status', 'doctor']) {
    const { status, stdout } = await hubctl(dataDir, command);
    assert.equal(status, 1);
    assert.match(stdout, new RegExp(`^WARN Schema: ${PENDING.length} pending\\n {5}The database lacks migrations ${FIRST?.version} \\(${FIRST?.name}\\) to ${LAST?.version} \\(${LAST?.name}\\)\\. ` +
      'Make a backup \\(\\./scripts/backup\\.sh\\), then start or restart the hub, ' +
      'or run \\./scripts/hubctl migrate\\.$', 'm'));
    assert.match(stdout, /^ok {3}Sources: none yet$/m);
    const subjects = async (at: string) => (JSON.parse((await hubctl(at, command, '--json')).stdout) as
      { findings: { subject: string; state: string }[] }).findings;
    const unknown = (await subjects(dataDir)).filter(({ state }) => state === 'not known before the migration');
    // The check of uploads compares them with the files of drafts, for which the schema has no table.
    const needing = [...command === 'doctor' ? ['Uploads'] : [], 'Content quota', 'Alerts'];
    assert.deepEqual(unknown.map(({ subject }) => subject), needing, 'which needs what it makes');
    const [lacks, has] = [await subjects(dataDir), await subjects(whole.dataDir)].map((all) => all.map(({ subject }) => subject));
    assert.deepEqual(lacks?.filter((subject) => subject !== 'Schema' && !needing.includes(subject)),
      has?.filter((subject) => ![...needing, ...command === 'doctor' ? ['Strays'] : []].includes(subject)));
  }
});

test('a database without any table, and one of a later version, are told in words', async (t) => {
  const dataDir = temporaryDataDir(t);
  writeFileSync(join(dataDir, 'hub.db'), '');
  const { status, stdout } = await hubctl(dataDir, 'status');
  assert.equal(status, 1);
  assert.match(stdout, new RegExp(`The database lacks migrations 1 \\(platform\\) to ${MIGRATIONS.length} \\(`));
  assert.match((await hubctl(dataDir, 'jobs', 'list')).stderr,
    /^hubctl: this command needs migrations 1 \(platform\) to .*, which the database lacks\. Make a backup .*\n$/);
  assert.equal(statSync(join(dataDir, 'hub.db')).size, 0);

  const newer = makeHub(t, 0);
  addLaterMigration(newer, MIGRATIONS.length + 1);
  for (const command of ['status', 'doctor', 'account list']) {
    const refused = await hubctl(newer.dataDir, ...command.split(' '));
    assert.deepEqual([refused.status, refused.stdout], [1, ''], command);
    assert.match(refused.stderr, /^hubctl: the database has schema version \d+ \(later\), this program knows only up to /);
  }
});

const CHANGING = [
  'invite', 'account disable ada', 'account enable ada', 'account role ada member', 'account reset-password ada',
  'jobs retry 1', 'jobs discard 1', 'retention',
];

test('commands that change a hub refuse to run while a migration is pending, and work after hubctl migrate', async (t) => {
  const { dataDir, db } = makeHub(t, 1);
  db.close();
  const before = filesOf(dataDir);
  for (const command of CHANGING) {
    const { status, stdout, stderr } = await hubctl(dataDir, ...command.split(' '));
    assert.deepEqual([status, stdout], [1, ''], command);
    assert.match(stderr, new RegExp(`^hubctl: the database lacks migration ${LAST?.version} \\(${LAST?.name}\\), and nothing was ` +
      'changed\\. Make a backup \\(\\./scripts/backup\\.sh\\), then start or restart the hub, or run \\./scripts/hubctl migrate\\.\\n$'), command);
    assert.deepEqual(filesOf(dataDir), before, command);
  }
  assert.equal((await hubctl(dataDir, 'backup')).status, 0, 'the backup that is asked for can be made');
  assert.equal((await hubctl(dataDir, 'migrate')).stdout, `applied ${LAST?.version} ${LAST?.name}\n`);
  for (const command of ['invite', 'account reset-password ada', 'jobs retry 1', 'retention']) {
    assert.equal((await hubctl(dataDir, ...command.split(' '))).status, 0, command);
  }
  assert.ok(!existsSync(join(dataDir, 'hub.db-wal')));
});
