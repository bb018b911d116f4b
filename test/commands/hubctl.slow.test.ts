// Protects the operator's command line: its output, exit codes and records, and migrations that need consent.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { COMMANDS } from '../../src/commands/run-hubctl.ts';
import { INVITATION_HOURS } from '../../src/features/accounts/join-hub.ts';
import { DELIVERY_STATES } from '../../src/features/alerts/alert-store.ts';
import { lockForRunning } from '../../src/features/hub/data-locks.ts';
import { workerQueue } from '../../src/features/hub/worker-jobs.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { hubOf, openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { invitations } from '../../src/features/accounts/account-store.ts';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { HOUR, MINUTE } from '../../src/platform/clock.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { JOB_STATES } from '../../src/platform/jobs/job-records.ts';
import { createLog } from '../../src/platform/log.ts';
import { createClient } from '../support/client.ts';
import { hubEnvironment, startHubProcess, temporaryDataDir } from '../support/hub-process.ts';
import { hubctl } from '../support/hubctl.ts';
import { oneMigrationMore, putDatabase } from '../support/migrated-database.ts';
import { compiledIn, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { storedActs } from '../support/stored-accounts.ts';
import { addFailedJob } from '../support/stored-jobs.ts';
import { namesOf } from '../support/stored-rows.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';

const PASSWORD = 'correct horse battery';

function idleHub(t: TestContext) {
  const dataDir = temporaryDataDir(t);
  const config = loadConfig(hubEnvironment(dataDir));
  putDatabase(config.databasePath);
  const db = openHubDatabase(config);
  t.after(() => db.close());
  const log = createLog('test', 'error', Date.now, () => {});
  const jobs = workerQueue(hubOf('hubctl', config, db, log));
  const acts = () => storedActs({ db }).map(({ act, actorName, targetId }) => ({ act, actorName, targetId }));
  const failedJob = (dedupeKey: string): number => addFailedJob(jobs, dedupeKey, 'the publisher\nis away');
  return { dataDir, db, jobs, acts, failedJob };
}

test('invite prints the link and nothing else, and somebody can join by it, once', async (t) => {
  const dataDir = temporaryDataDir(t);
  const web = startHubProcess(t, 'web', dataDir);
  const address = await web.address();
  const env = {
    ...hubEnvironment(dataDir, { BASE_URL: 'https://hub.example.org' }), PATH: '/usr/bin:/bin',
  };

  const command = [join(PROJECT_ROOT, 'scripts/hubctl'), 'invite', '--role', 'admin'];
  const { status, stdout, stderr } = await runProgram('/bin/sh', command, { env, cwd: '/' });

  assert.deepEqual([status, stderr], [0, '']);
  assert.match(stdout, /^https:\/\/hub\.example\.org\/join\/[\w-]{20,}\n$/);
  const person = { invitation: stdout.trim(), password: PASSWORD };
  const joinAs = (username: string) => createClient(address).post('/api/accounts', { ...person, username });
  const joined = await joinAs('ada');
  assert.deepEqual([joined.status, joined.json()['role']], [201, 'admin']);
  assert.equal((await joinAs('bo')).status, 410);
});

test('invite takes role and hours, and the record says that it came from the command line', async (t) => {
  const { dataDir, db, acts } = idleHub(t);
  await hubctl(dataDir, 'invite');
  await hubctl(dataDir, 'invite', '--role=admin', '--hours', '1');

  const made = invitations({ db, clock: Date.now }).list(0, 9);
  assert.deepEqual(made.map(({ role, createdAt, expiresAt }) => [role, (expiresAt - createdAt) / HOUR]),
    [['member', 72], ['admin', 1]]);
  assert.deepEqual(acts().map(({ act }) => act), ['invitation.created', 'invitation.created']);
});

const WRONG = [
  'invite ada', 'invite --role owner', 'invite --role', 'invite --hours 0', 'invite --hours 721', 'invite --hours 1.5',
  'invite --hours=', 'invite --json', 'jobs', 'jobs list 3', 'jobs list --state dead', 'jobs retry', 'jobs retry x',
  'jobs retry 0', 'jobs retry -1', 'jobs retry 1 2', 'jobs discard 1e3', 'jobs remove 1', 'migrate now', 'migrate --force',
  '', 'remove', 'constructor', 'toString', '__proto__', // no command, and names that every object has
];

test('what cannot be meant is wrong usage, with the usage of the command or the list of commands; nothing is opened', async (t) => {
  const dataDir = temporaryDataDir(t);
  for (const typed of WRONG) {
    const argv = typed.split(' ').filter(Boolean);
    const { status, stdout, stderr } = await hubctl(dataDir, ...argv);
    assert.deepEqual([status, stdout], [2, ''], typed);
    assert.match(stderr, COMMANDS.some(({ name }) => name === argv[0]) ? new RegExp(`^hubctl: .+\\nusage: hubctl ${argv[0]} `)
      : /usage: hubctl <command>[^]*invite[^]*jobs[^]*migrate[^]*Exit codes/);
  }
  assert.ok(!existsSync(join(dataDir, 'hub.db')));
});

test('--help is no failure and opens nothing, for all commands and for each', async (t) => {
  const dataDir = temporaryDataDir(t);
  for (const argv of [['--help'], ['-h'], ['help']]) {
    const { status, stdout, stderr } = await hubctl(dataDir, ...argv);
    assert.deepEqual([status, stderr], [0, '']);
    for (const name of ['invite', 'jobs', 'migrate']) assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
    assert.doesNotMatch(stdout, /[Ii]nternal|await-writes|offsite-note|rehearse|unattended|backup due|^ {2}(?:backups|drill|restic|restore) /m);
  }
  for (const name of ['invite', 'jobs', 'migrate']) {
    const { status, stdout } = await hubctl(dataDir, name, '--help');
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^usage: hubctl ${name} `));
  }
  assert.ok(!existsSync(join(dataDir, 'hub.db')));
});

test('--version prints the version, also before the hub is set up', async (t) => {
  const folder = temporaryProject(t, ['scripts', 'package.json']);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const said = await runProgram('sh', [join(folder, 'scripts/hubctl'), '--version'], { env: { PATH: '/usr/bin:/bin' } });
  assert.deepEqual(said, { status: 0, stdout: `Content Hub ${version}\n`, stderr: '' });
});

test('the list of commands is in order, and says what the commands themselves hold: states, and hours', async () => {
  const names = COMMANDS.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
  for (const { name, usage } of COMMANDS) assert.equal(usage.split(' ')[0], name);

  const summaryOf = (name: string) => COMMANDS.find((command) => command.name === name)?.summary ?? '';
  assert.ok(summaryOf('jobs').includes(`${JOB_STATES.join('|')}|all`));
  assert.ok(summaryOf('alerts').includes(DELIVERY_STATES.join('|')));
  assert.ok(summaryOf('invite').includes(`${INVITATION_HOURS.standard} hours`));
});

test('jobs list shows failed jobs, or those of a state, one a line', async (t) => {
  const { dataDir, jobs, failedJob } = idleHub(t);
  assert.deepEqual(await hubctl(dataDir, 'jobs', 'list'), { status: 0, stdout: '', stderr: 'no failed jobs\n' });
  const id = failedJob('7');
  jobs.enqueue({ kind: 'clean-up', payload: {}, runAt: Date.UTC(2030, 0, 1) });

  const failed = await hubctl(dataDir, 'jobs', 'list');
  assert.match(failed.stdout, new RegExp(`^${id}\tfailed\tsync-source 7\t1/1\t\\S+Z\tthe publisher is away\n$`));
  const queued = await hubctl(dataDir, 'jobs', 'list', '--state', 'queued');
  assert.match(queued.stdout, /^2\tqueued\tclean-up\t0\/\d+\t2030-01-01T00:00:00\.000Z\t\n$/);
  assert.equal((await hubctl(dataDir, 'jobs', 'list', '--state', 'all')).stdout.split('\n').length, 3);
});

test('jobs list --json is one array, also when there are none; a longer list says that it is cut', async (t) => {
  const { dataDir, db, jobs, failedJob } = idleHub(t);
  assert.equal((await hubctl(dataDir, 'jobs', 'list', '--json')).stdout, '[]\n');
  const id = failedJob('7');
  const [row] = JSON.parse((await hubctl(dataDir, 'jobs', 'list', '--json')).stdout);
  assert.deepEqual([row.id, row.kind, row.state, row.payload], [id, 'sync-source', 'failed', { sourceId: 1 }]);
  assert.equal(row.lastError, 'the publisher\nis away');
  const job = jobs.find(id);
  const iso = (at: number | null | undefined) => new Date(at ?? NaN).toISOString();
  assert.deepEqual([row.runAt, row.createdAt, row.finishedAt, row.leaseExpiresAt],
    [iso(job?.runAt), iso(job?.createdAt), iso(job?.finishedAt), null]);

  db.transaction('many', () => {
    for (let n = 0; n < 101; n++) jobs.enqueue({ kind: 'k', payload: {} });
  })();
  const { stdout, stderr } = await hubctl(dataDir, 'jobs', 'list', '--state=queued', '--json');
  assert.deepEqual([JSON.parse(stdout).length, stderr], [100, 'only the newest 100 are listed\n']);
});

test('jobs retry and discard settle a failed job and are recorded; what cannot be settled ends with 1', async (t) => {
  const { dataDir, jobs, acts, failedJob } = idleHub(t);
  const [first, second] = [failedJob('1'), failedJob('2')];

  assert.deepEqual(await hubctl(dataDir, 'jobs', 'retry', String(first)), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual(await hubctl(dataDir, 'jobs', 'discard', String(second)), { status: 0, stdout: '', stderr: '' });
  assert.deepEqual([jobs.find(first)?.state, jobs.find(second)?.state], ['queued', 'discarded']);
  assert.equal(jobs.find(first)?.attempts, 0);
  assert.deepEqual(acts(), [
    { act: 'job.retried', actorName: 'command line', targetId: first },
    { act: 'job.discarded', actorName: 'command line', targetId: second },
  ]);

  for (const [act, id] of [['retry', first], ['discard', second], ['retry', 999], ['discard', 999]] as const) {
    const { status, stdout, stderr } = await hubctl(dataDir, 'jobs', act, String(id));
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, new RegExp(`job ${id}\\b`));
  }
  assert.equal(acts().length, 2, 'what did not happen is not recorded');
});

test('a file that is no database, or a damaged one, ends with 1, its path and the way out', async (t) => {
  const dataDir = temporaryDataDir(t);
  const path = join(dataDir, 'hub.db');
  const damages: [string, () => void][] = [
    ['is not a database, or its first page is damaged', () => writeFileSync(path, 'no database'.repeat(100))],
    ['is damaged', () => (rmSync(path), putDatabase(path), truncateSync(path, 4096))],
  ];
  for (const [what, damage] of damages) {
    damage();
    for (const command of [['jobs', 'list'], ['migrate']]) {
      const { status, stdout, stderr } = await hubctl(dataDir, ...command);
      assert.deepEqual([status, stdout], [1, '']);
      const wayOut = 'restore a backup (the restore keeps this file): CONFIRM_RESTORE=YES ./scripts/restore.sh <backup_dir>';
      assert.equal(stderr, `hubctl: ${path} ${what}: ${wayOut}\n`);
    }
  }
});

test('migrate makes the schema of a new hub and then has nothing to do', async (t) => {
  const dataDir = temporaryDataDir(t);
  const first = await hubctl(dataDir, 'migrate');
  assert.deepEqual([first.status, first.stderr], [0, '']);
  assert.match(first.stdout, /^applied 1 platform\napplied 2 hub\n/);

  const nothing = { status: 0, stdout: '', stderr: 'nothing to apply: the schema is up to date\n' };
  assert.deepEqual(await hubctl(dataDir, 'migrate'), nothing);
  assert.deepEqual(await hubctl(dataDir, 'migrate', '--allow-unsafe'), nothing, 'which needs no backup');
});

/** A copy of the hub that has run once, to which a later version brought a migration that drops. */
async function upgradedHub(t: TestContext) {
  const folder = temporaryProject(t, ['package.json', 'src', 'migrations']);
  symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(folder, 'node_modules'));
  const dataDir = join(folder, 'data');
  const env = { PORT: '0', DATA_DIR: dataDir, ...compiledIn(dataDir) };
  mkdirSync(env.DATA_DIR);
  const run = (program: string, ...args: string[]) =>
    runProgram(process.execPath, [join(folder, 'src/bin', program), ...args], { env });
  assert.equal((await run('hubctl.ts', 'migrate')).status, 0);
  const number = readdirSync(join(folder, 'migrations')).filter((name) => name.endsWith('.sql')).length + 1;
  const file = `${String(number).padStart(4, '0')}_no_idle_index.sql`;
  const files = oneMigrationMore(file, '-- safe: no\nDROP INDEX rate_limits_idle;\n', (path) => readFileSync(join(folder, path), 'utf8'));
  writeFiles(folder, files);

  function hasIndex(): boolean {
    const db = openDatabase(join(env.DATA_DIR, 'hub.db'));
    const found = namesOf({ db }, 'index').includes('rate_limits_idle');
    db.close();
    return found;
  }

  const noteBackup = async (createdAt: number, ok: boolean): Promise<void> => {
    const name = backupName(createdAt);
    for (const place of ['run', join('backups', name)]) mkdirSync(join(env.DATA_DIR, place), { recursive: true });
    const verdict = ok ? 'verified' : 'degraded';
    await noteRun(env.DATA_DIR, 'backup', { name, at: Date.now(), ok, verdict, bytes: 1, seconds: 1, problem: null });
  };
  return { run, number, hasIndex, noteBackup, folder, dataDir: env.DATA_DIR };
}

test('a migration that is not safe stops start, web and worker with the command to run', async (t) => {
  const { run, number, hasIndex } = await upgradedHub(t);

  for (const program of ['start.ts', 'web.ts', 'worker.ts']) {
    const { status, stdout, stderr } = await run(program);
    assert.deepEqual([status, stdout], [1, ''], program);
    assert.match(stderr, new RegExp(`migration ${number} \\(no_idle_index\\) `), program);
    assert.match(stderr, / run: \.\/scripts\/hubctl migrate --allow-unsafe\b/, program);
    assert.equal(stderr.split('\n').length, 2, 'one line');
  }
  assert.ok(hasIndex());
});

test('nothing starts or migrates while migrations of another version are there, or some of its own are not', async (t) => {
  const { run, number, hasIndex, folder } = await upgradedHub(t);
  const foreign = `migrations/${String(number + 1).padStart(4, '0')}_of_another.sql`;
  const own = `migrations/${String(number).padStart(4, '0')}_no_idle_index.sql`;
  for (const [what, change] of [
    [`${foreign} is not of this version`, () => writeFiles(folder, { [foreign]: '-- safe: yes\nCREATE TABLE another (id INTEGER) STRICT;\n' })],
    [`${own} is missing`, () => [foreign, own].forEach((file) => rmSync(join(folder, file)))],
  ] as const) {
    change();
    for (const command of [['start.ts'], ['web.ts'], ['worker.ts'], ['hubctl.ts', 'migrate', '--allow-unsafe'], ['hubctl.ts', 'invite'], ['hubctl.ts', 'status']]) {
      const [file = '', ...args] = command;
      const { status, stdout, stderr } = await run(file, ...args);
      assert.deepEqual([status, stdout, stderr.split('\n').length], [1, '', 2], `${command.join(' ')}: ${stderr}`);
      assert.match(stderr, new RegExp(`${what}; nothing was changed\\. If an upgrade was interrupted, run \\./scripts/upgrade\\.sh --recover`));
    }
  }
  assert.ok(hasIndex());
});

test('migrate --allow-unsafe needs a verified backup that was made within the last hour', async (t) => {
  const { run, number, hasIndex, noteBackup } = await upgradedHub(t);
  const plain = await run('hubctl.ts', 'migrate');
  assert.equal(plain.status, 1);
  assert.match(plain.stderr, /is not safe to apply by itself/);

  const insufficient: [age: number, ok: boolean][] = [[NaN, false], [0, false], [HOUR, true], [-5 * MINUTE, true]];
  for (const [age, ok] of insufficient) {
    if (!Number.isNaN(age)) await noteBackup(Date.now() - age, ok);
    const { status, stdout, stderr } = await run('hubctl.ts', 'migrate', '--allow-unsafe');
    assert.deepEqual([status, stdout], [1, ''], `${age} ${ok}`);
    assert.match(stderr, /^hubctl: .*verified backup younger than an hour: run .*backup\.sh .*nothing was changed\n$/);
    assert.ok(hasIndex());
  }

  await noteBackup(Date.now() - HOUR + 5 * MINUTE, true);
  const applied = { status: 0, stdout: `applied ${number} no_idle_index\n`, stderr: '' };
  assert.deepEqual(await run('hubctl.ts', 'migrate', '--allow-unsafe'), applied);
  assert.ok(!hasIndex());
  assert.equal((await run('hubctl.ts', 'jobs', 'list')).status, 0);
});

test('whatever would migrate is refused with 75 while a hub runs on the data, and goes on when it has stopped', async (t) => {
  const { run, number, hasIndex, noteBackup, dataDir } = await upgradedHub(t);
  await noteBackup(Date.now(), true);

  for (const program of ['web', 'worker'] as const) {
    const lock = lockForRunning(dataDir, program);
    for (const command of [['hubctl.ts', 'migrate', '--allow-unsafe'], ['hubctl.ts', 'invite'], ['worker.ts']]) {
      const [file = '', ...args] = command;
      const { status, stdout, stderr } = await run(file, ...args);
      assert.deepEqual([status, stdout], [75, ''], command.join(' '));
      assert.match(stderr, /migrations are pending while a hub runs on \/.*: stop it; nothing was changed/);
    }
    const second = await run('start.ts');
    assert.deepEqual([second.status, second.stdout], [75, '']);
    assert.match(second.stderr, /^another hub runs on \/.*: stop it, or give this one another DATA_DIR\n$/);
    lock?.release();
  }

  assert.ok(hasIndex());
  const applied = { status: 0, stdout: `applied ${number} no_idle_index\n`, stderr: '' };
  assert.deepEqual(await run('hubctl.ts', 'migrate', '--allow-unsafe'), applied);
});

test('a folder that cannot be read is told in one line, without a stack', async (t) => {
  const dataDir = temporaryDataDir(t);
  putDatabase(join(dataDir, 'hub.db'));
  writeFileSync(join(dataDir, 'uploads'), 'in the way');

  const { status, stdout, stderr } = await hubctl(dataDir, 'doctor');
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^hubctl: [^\n]*uploads[^\n]*\n$/);
});
