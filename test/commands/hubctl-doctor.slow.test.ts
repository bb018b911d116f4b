// Protects `hubctl doctor` and `status`: each kind of damage is found and named, and looking changes nothing.
import assert from 'node:assert/strict';
import {
  closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync, writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { statePath } from '../../src/features/backups/restore-state.ts';
import { createHeartbeats } from '../../src/platform/jobs/scheduler.ts';
import { type Outcome } from '../support/run-program.ts';
import { hubctl, hubctlOnTerminal, hubctlProcess } from '../support/hubctl.ts';
import { startHub } from '../support/hub.ts';
import { hubEnvironment, temporaryDataDir } from '../support/hub-process.ts';
import { sha256 } from '../support/sha256.ts';
import { setUploadBytes } from '../support/stored-uploads.ts';
import { uploadPath, writePost, writer } from '../support/uploads.ts';

type Finding = { subject: string; level: string; state: string; problem: string | null; whatToDo: string | null };
type Report = { ok: boolean; findings: Finding[] };

/** A hub with three files and a backup, of which web and worker were just seen, and the doctor for it. */
async function hubToExamine(t: TestContext) {
  const hub = await startHub(t);
  hub.passTime(Date.now() - hub.now()); // hubctl has the system's clock
  await writePost(hub, await writer(hub, 'ada'), ['a', 'b', 'c'].map((data) => ({ filename: `${data}.txt`, data })));
  for (const program of ['web', 'worker'] as const) createHeartbeats(hub.db, Date.now).beat(program);
  const name = backupName(Date.now());
  mkdirSync(join(hub.dataDir, 'backups', name), { recursive: true });
  await noteRun(hub.dataDir, 'backup',
    { name, at: Date.now(), ok: true, verdict: 'verified', bytes: 1, seconds: 1, problem: null });

  const doctor = (...options: string[]) => hubctl(hub.dataDir, 'doctor', ...options);

  async function examine(...options: string[]): Promise<{ status: Outcome['status']; report: Report; bad: Finding[] }> {
    const { status, stdout } = await doctor('--json', ...options);
    const report: Report = JSON.parse(stdout);
    return { status, report, bad: report.findings.filter(({ problem }) => problem !== null) };
  }

  return { hub, doctor, examine, pathOf: (content: string) => uploadPath(hub.dataDir, sha256(content)) };
}

test('on a terminal it draws how far it has read the files; elsewhere nothing but its findings is said', async (t) => {
  const { hub, doctor } = await hubToExamine(t);
  const { stderr } = await hubctlOnTerminal(hub.dataDir, 'doctor', '--hashes');
  assert.match(stderr, /doctor: contents of uploads \[[#.]{20}\] \d+ %, (?:1 byte|[023] bytes) of 3 bytes[^\n]*\r\x1b\[K$/);
  assert.equal((await doctor('--hashes')).stderr, '');
});

test('a name in the environment that is nearly a setting is among the findings', async (t) => {
  const { hub } = await hubToExamine(t);
  const env = hubEnvironment(hub.dataDir, { NOTIFICATION_RETENTION_DAY: '0' });
  const { status, stdout } = await hubctl(env, 'doctor');

  assert.equal(status, 1);
  assert.match(stdout, /^WARN Settings: check the names\n {5}NOTIFICATION_RETENTION_DAY .* NOTIFICATION_RETENTION_DAYS\? Correct/m);
});

function overwriteByte(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from('X'), 0, 1, 0);
  closeSync(file);
}

test('a hub in which all is well: 0, and a line for each thing that was looked at', async (t) => {
  const { doctor, examine } = await hubToExamine(t);
  const { status, report } = await examine();

  assert.deepEqual([status, Object.keys(report), report.ok], [0, ['ok', 'findings'], true]);
  assert.deepEqual(report.findings.map((finding) => Object.keys(finding).join()),
    report.findings.map(() => 'subject,level,state,detail,at,problem,since,whatToDo'));
  const subjects = report.findings.map(({ subject }) => subject);
  const expected = ['Integrity of the database', 'Uploads', 'Strays', 'Web', 'Worker', 'Queue', 'Backup here', 'Disk'];
  assert.deepEqual(expected.filter((subject) => !subjects.includes(subject)), []);
  assert.ok(!subjects.includes('Contents of uploads'));
  assert.equal((await examine('--hashes')).report.findings.length, subjects.length + 1);

  const { stdout, stderr } = await doctor();
  const lines = stdout.trimEnd().split('\n').filter((line) => !line.startsWith('     '));
  assert.deepEqual([lines.length, stderr], [subjects.length + 1, '']);
  assert.match(stdout, /^ok {3}Integrity of the database: intact\n[^]*\nAll is well\.\n$/);
  for (const more of ['now', '--deep']) assert.equal((await doctor(more)).status, 2, more);
});

test('what a program said of its failure is one line of words, which changes nothing on a terminal', async (t) => {
  const { hub, doctor } = await hubToExamine(t);
  await noteRun(hub.dataDir, 'backup', { name: null, at: Date.now(), ok: false, verdict: 'failed', bytes: null, seconds: 1,
    problem: 'no room\x1b]0;title\x07\x1b[2J\nok   All is well.' });
  const { stdout } = await doctor();
  assert.match(stdout, /^ {5}The last backup failed: no room.* ok All is well\. Since /m);
  assert.doesNotMatch(stdout, /[\x07\x1b]/);
});

test('a missing and a shortened file are found, and named: 1', async (t) => {
  const { doctor, examine, pathOf } = await hubToExamine(t);
  rmSync(pathOf('a'));
  truncateSync(pathOf('b'), 0);
  const { status, report, bad } = await examine();

  assert.deepEqual([status, report.ok, bad.map(({ subject }) => subject)], [1, false, ['Uploads']]);
  assert.deepEqual(bad[0]?.problem?.replace('.', '').split(' ').sort(), [sha256('a'), sha256('b')].sort());
  assert.match(bad[0]?.state ?? '', /^2 missing/);
  assert.match(bad[0]?.whatToDo ?? '', /tar xzf backups\/<backup>\/uploads\.tar\.gz .* && chown -R --reference=hub\.db uploads/);
  const { stdout } = await doctor();
  assert.match(stdout, new RegExp(`^BAD  Uploads: 2 missing.*\\n {5}[0-9a-f ]+\\. Get them from a backup`, 'm'));
});

test('one flipped byte and a file that cannot be read are found when every file is read, and only then, also beside a missing file', async (t) => {
  const { hub, examine, pathOf } = await hubToExamine(t);
  const found = async () => (await examine('--hashes')).bad.map(({ subject, problem }) => [subject, problem]);
  overwriteByte(pathOf('c'));
  assert.equal((await examine()).status, 0);
  const changed = ['Contents of uploads', `${sha256('c')}.`];
  assert.deepEqual(await found(), [changed]);
  rmSync(pathOf('a'));
  assert.deepEqual(await found(), [['Uploads', `${sha256('a')}.`], changed]);

  mkdirSync(pathOf('a')); // a folder opens and cannot be read, as a file on a broken disk
  setUploadBytes(hub, sha256('a'), statSync(pathOf('a')).size);
  const { status, bad } = await examine('--hashes');
  assert.deepEqual([status, bad.map(({ subject }) => subject)], [1, ['Contents of uploads']]);
  assert.deepEqual(bad[0]?.problem?.replace('.', '').split(' ').sort(), [sha256('a'), sha256('c')].sort());
});

test('a file without a row is found once it is a day old: a fresh one may be of an upload under way', async (t) => {
  const { examine, pathOf } = await hubToExamine(t);
  for (const [content, hours] of [['old', 25], ['young', 23]] as const) {
    mkdirSync(dirname(pathOf(content)), { recursive: true });
    writeFileSync(pathOf(content), content);
    const then = Date.now() / 1000 - hours * 3600;
    utimesSync(pathOf(content), then, then);
  }
  const { bad } = await examine();
  assert.deepEqual(bad.map(({ subject, problem }) => [subject, problem]), [['Strays', `${sha256('old')}.`]]);
});

test('status says first whether all is well, then what is not, and ends with 1 while something is not', async (t) => {
  const { hub, examine } = await hubToExamine(t);
  const before = hub.db.pragma('data_version');
  const well = await hubctl(hub.dataDir, 'status');
  createHeartbeats(hub.db, () => Date.now() - 3_600_000).beat('worker');
  const unwell = await hubctl(hub.dataDir, 'status');
  const { ok, findings } = JSON.parse((await hubctl(hub.dataDir, 'status', '--json')).stdout) as Report;

  assert.deepEqual([well.status, unwell.status, ok], [0, 1, false]);
  assert.match(well.stdout, /^All is well\.\nok {3}Web: running\nok {3}Worker: running/);
  assert.match(unwell.stdout, /^One thing needs attention\.\nBAD {2}Worker: not running \(.* UTC\)\n {5}The worker is not running/);
  assert.deepEqual(findings.filter(({ level }) => level === 'bad').map(({ subject }) => subject), ['Worker']);
  const { status, bad } = await examine();
  assert.deepEqual([status, bad.map(({ subject }) => subject)], [1, ['Worker']], 'and so says the doctor');
  assert.equal(hub.db.pragma('data_version'), before);
});

const NEED_A_HUB = [
  'status', 'doctor', 'invite', 'account list', 'account disable ada', 'account reset-password ada', 'alerts test',
  'alerts list', 'jobs list', 'jobs retry 1', 'retention', 'retention --dry-run',
];

test('where there is no hub yet, what needs one says so and makes none, nor a DATA_DIR that was mistyped; a migration may be the first', async (t) => {
  const empty = temporaryDataDir(t);
  const dataDir = join(temporaryDataDir(t), 'mistyped');
  for (const command of NEED_A_HUB) {
    for (const said of [await hubctl(empty, ...command.split(' ')), await hubctlProcess(dataDir, command.split(' '))]) {
      assert.deepEqual([said.status, said.stdout], [1, ''], command);
      assert.match(said.stderr, /^hubctl: no hub is in DATA_DIR yet \(.*hub\.db is missing\): check DATA_DIR, or run npm start\n$/, command);
    }
  }
  assert.equal((await hubctlProcess(dataDir, ['config', 'DATA_DIR'])).stdout, `${dataDir}\n`);
  assert.deepEqual([readdirSync(empty), existsSync(dataDir)], [[], false]);
  assert.equal((await hubctlProcess(dataDir, ['migrate'])).status, 0);
  assert.ok(existsSync(join(dataDir, 'hub.db')));
});

test('while a restore has the database away, that is said, and not that there is no hub', async (t) => {
  const dataDir = temporaryDataDir(t);
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(statePath(dataDir), '{}');
  const { status, stderr } = await hubctl(dataDir, 'status');
  assert.equal(status, 1);
  assert.match(stderr, /^hubctl: a restore or an upgrade is in progress or was interrupted: /);
  assert.deepEqual(readdirSync(dataDir), ['run']);
});
