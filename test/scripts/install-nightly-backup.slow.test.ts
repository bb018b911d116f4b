// Protects the nightly run: silent when all is well, loud with the report when anything is not.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readKeptDrills } from '../../src/features/backups/drill-status.ts';
import { backupName } from '../../src/features/backups/backup-name.ts';
import { noteRun } from '../../src/features/backups/note-run.ts';
import { reply, startOrigin } from '../support/origin.ts';
import { compiledInCopy, runProgram, type Outcome } from '../support/run-program.ts';
import { sha256 } from '../support/sha256.ts';
import { temporaryProject, writeFiles } from '../support/temporary-project.ts';

const MEBIBYTE = 1_048_576;

type Night = {
  root: string;
  backups: string;
  log(): string;
  /** What the script gets if a test says nothing else. */
  env: Record<string, string>;
  run(env?: Record<string, string>): Promise<Outcome>;
  /** What backup.sh and verify-backup.sh do from now on. */
  let(scripts: { backup?: string; verify?: string }): void;
};

/** nightly-backup.sh, and stand-ins for the two scripts that it calls. */
function night(t: TestContext): Night {
  const root = temporaryProject(t, ['scripts', 'package.json', 'src', 'node_modules/better-sqlite3']);
  const backups = join(root, 'data/backups');
  const script = join(root, 'scripts/nightly-backup.sh');
  mkdirSync(backups, { recursive: true });
  const env = { PATH: '/usr/bin:/bin', ...compiledInCopy(root) };
  const place: Night = {
    root,
    backups,
    env,
    log: () => readFileSync(join(backups, 'nightly.log'), 'utf8'),
    run: (env = place.env) =>
      runProgram(script, [], { cwd: '/', env: { HUB_NODE: process.execPath, ...env } }),
    let: ({ backup, verify }) => {
      if (backup) writeFiles(root, { 'scripts/backup.sh': `#!/bin/sh\n${backup}\n` }, 0o755);
      if (verify) writeFiles(root, { 'scripts/verify-backup.sh': `#!/bin/sh\n${verify}\n` }, 0o755);
    },
  };
  place.let({ backup: `mkdir '${backups}/20260102-031500'; echo made`, verify: 'echo "verified ${1##*/}"' });
  return place;
}

test('a good night is silent, and its report is in the log: backup, then verification of the newest and of the longest unverified', async (t) => {
  const place = night(t);
  for (const older of ['20260101-031500', '20251231-235959']) mkdirSync(join(place.backups, older));

  const outcome = await place.run();

  assert.deepEqual(outcome, { status: 0, stdout: '', stderr: '' });
  const utc = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  assert.match(place.log(), new RegExp(
    `^== ${utc} backup\nmade\n== ${utc} verify\nverified 20260102-031500\nverified 20251231-235959\n== ${utc} sign of life\n` +
    String.raw`no sign of life sent: HEARTBEAT_URL is not set\n== ${utc} ended with exit code 0\n$`));
  assert.equal(statSync(join(place.backups, 'nightly.log')).mode & 0o777, 0o600);
});

test('the second start by the timer, at 04:15, makes a backup only if the night has none; any other start makes one', async (t) => {
  const place = night(t);
  // What the clock on the wall says; all else is by the real one.
  const wall = 'case $1 in +%H) echo "${AT#* }" ;; +%F) echo "${AT% *}" ;; *) exec /usr/bin/date "$@" ;; esac';
  writeFiles(place.root, { 'bin/date': `#!/bin/sh\n${wall}\n` }, 0o755);
  mkdirSync(join(place.backups, backupName(Date.now()))); // by hand, or an interim backup: not the night's
  const run = async (at: string, args = ['--timer'], status = 0): Promise<number> => {
    writeFileSync(join(place.backups, 'nightly.log'), '');
    const outcome = await runProgram(join(place.root, 'scripts/nightly-backup.sh'), args,
      { cwd: '/', env: { ...place.env, HUB_NODE: process.execPath, PATH: `${join(place.root, 'bin')}:/usr/bin:/bin`, AT: at } });
    assert.equal(outcome.status, status, outcome.stderr);
    return place.log().match(/Z backup$/gm)?.length ?? 0;
  };
  place.let({ backup: 'exit 0' });
  assert.equal(await run('2026-03-29 04'), 1, 'clocks went from 3 to 4');
  assert.deepEqual([await run('2026-03-30 03'), await run('2026-03-30 04')], [1, 0]);
  assert.deepEqual([await run('2026-03-31 12'), await run('2026-04-01 04')], [1, 1], 'the machine was off at 03:15');
  assert.equal(await run('2026-04-01 04', []), 1, 'by hand');
  place.let({ backup: 'exit 1' });
  assert.equal(await run('2026-04-02 03', ['--timer'], 1), 1);
  place.let({ backup: 'exit 0' });
  assert.equal(await run('2026-04-02 04'), 1, 'the first start failed');
});

test('a good night gives one sign of life, a bad one none; one that fails is in the log, and the night stays good', async (t) => {
  const place = night(t);
  const service = await startOrigin(t, { '/ping/SECRET': reply(200, {}, 'OK') });
  const run = (path: string): Promise<Outcome> =>
    place.run({ ...place.env, HEARTBEAT_URL: service.url + path });
  place.let({ backup: `mkdir -p '${place.backups}/20260102-031500'; ! [ -e '${place.root}/bad' ]` });
  const silent = { status: 0, stdout: '', stderr: '' };

  assert.deepEqual(await run('/ping/SECRET'), silent);
  assert.deepEqual(service.requests.map(({ method, path }) => `${method} ${path}`), ['GET /ping/SECRET']);
  assert.deepEqual(await run('/gone/SECRET'), silent);
  assert.match(place.log(), /sign of life\nthe sign of life did not arrive: \S+ answered 404\n.*exit code 0\n$/);
  assert.match(readFileSync(join(place.root, 'data/run/sign-of-life.json'), 'utf8'), /answered 404/);
  assert.equal(service.requests.length, 3, 'repeated once');

  writeFileSync(join(place.root, 'bad'), '');
  const bad = await run('/ping/SECRET');
  rmSync(join(place.root, 'bad'));
  place.let({ verify: 'exit 1' });
  assert.deepEqual([bad.status, (await run('/ping/SECRET')).status, service.requests.length], [1, 1, 3]);
  assert.doesNotMatch(place.log() + bad.stderr, /SECRET/);
});

test('a drill that is killed or takes too long is recorded as failed, and the night stays good', async (t) => {
  const place = night(t);
  const far = { place: sha256('/mnt/far').slice(0, 16), unsent: null };
  const run = { name: '20260102-031500', at: Date.now(), ok: true, bytes: 1, seconds: 1, problem: null, ...far };
  mkdirSync(join(place.root, 'data/run'), { recursive: true });
  await noteRun(join(place.root, 'data'), 'offsite-dir', run);
  writeFiles(place.root, { 'scripts/drill.sh': '#!/bin/sh\necho "drilling $1"; kill -KILL $$\n' }, 0o755);

  const env = { ...place.env, BACKUP_OFFSITE_DIR: '/mnt/far', DRILL_EVERY_DAYS: '1' };
  assert.deepEqual(await place.run(env), { status: 0, stdout: '', stderr: '' });

  assert.match(place.log(), /Z drill\ndrilling dir\n.*ended with exit code 0\n$/s);
  const { last } = readKeptDrills(join(place.root, 'data'), 'dir');
  assert.deepEqual([last?.outcome, last?.problem], ['failed', 'the drill was killed, or took longer than 21600 s']);
});

test('of older backups one is verified each night, the longest unverified first; one from the future is not the newest', async (t) => {
  const place = night(t);
  const names = ['20251230-031500', '20251231-031500', '20260101-031500', '20991231-031500'];
  for (const name of names) mkdirSync(join(place.backups, name));
  mkdirSync(join(place.root, 'data/run'), { recursive: true });
  const nights: string[] = [];
  for (let at = 1; at <= 5; at++) {
    place.let({ backup: 'exit 0', verify: `echo "\${1##*/}"` });
    await place.run();
    const said = place.log().split('\n').filter((line) => names.includes(line)).slice(-2);
    nights.push(said.join(' '));
    const verdicts = join(place.root, 'data/run/backup-verdicts.json');
    const known = existsSync(verdicts) ? JSON.parse(readFileSync(verdicts, 'utf8')) : {};
    const judged = { at: Date.now() + at, verdict: 'verified', problem: null };
    writeFileSync(verdicts, JSON.stringify({ ...known, [said[1] ?? '']: judged }));
  }
  assert.deepEqual(nights, ['20991231-031500', '20251230-031500', '20251231-031500', '20991231-031500', '20251230-031500']
    .map((older) => `20260101-031500 ${older}`));
});

for (const [title, scripts, status, said] of [
  ['the backup fails', { backup: 'echo "disk full" >&2; exit 1' }, 1, /disk full\n.*verify\nverified 20260101-031500/],
  ['another backup runs', { backup: 'exit 75' }, 75, /ended with exit code 75/],
  ['the verification fails', { verify: 'echo "hub.db is damaged"; exit 1' }, 1, /made\n.*\nhub\.db is damaged/],
] as const) {
  test(`case 107: when ${title}, the exit code says so and the report is repeated on standard error`, async (t) => {
    const place = night(t);
    place.let(scripts);
    mkdirSync(join(place.backups, '20260101-031500'));

    const outcome = await place.run();

    assert.equal(outcome.status, status);
    assert.equal(outcome.stdout, '');
    assert.match(outcome.stderr, said);
    assert.equal(outcome.stderr, place.log());
  });
}

test('the reports of many nights stay below twice 1 MiB, and only the last one is repeated', async (t) => {
  const place = night(t);
  writeFileSync(join(place.backups, 'nightly.log'), 'old\n'.repeat(MEBIBYTE / 4));
  place.let({ backup: 'exit 1' });

  const { stderr } = await place.run();

  assert.equal(statSync(join(place.backups, 'nightly.log.1')).size, MEBIBYTE);
  assert.equal(place.log(), stderr);
  writeFileSync(join(place.backups, 'nightly.log'), 'old\n'.repeat(10));
  assert.doesNotMatch((await place.run()).stderr, /old/);
  assert.equal(statSync(join(place.backups, 'nightly.log.1')).size, MEBIBYTE);
});

for (const env of [{}, { PATH: '' }, { PATH: '/usr/bin:/bin', LC_ALL: 'POSIX' }]) {
  test(`case 102: it works with ${JSON.stringify(env)} for all its environment`, async (t) => {
    const place = night(t);
    place.let({ backup: 'command -v sed >/dev/null && case $PATH in *:/usr/local/bin:*|/usr/local/bin:*) echo found ;; esac' });
    mkdirSync(join(place.backups, '20260101-031500'));

    const outcome = await place.run(env);

    assert.equal(outcome.status, 0, outcome.stderr);
    assert.match(place.log(), /found/);
  });
}

test('case 106: a script that is replaced in place while it runs goes on as it was', async (t) => {
  const place = night(t);
  const script = join(place.root, 'scripts/nightly-backup.sh');
  place.let({ backup: `cat >'${script}' </dev/null; i=0; while [ $i -lt 900 ]; do echo 'touch "$HOME/new"'; i=$((i + 1)); done >>'${script}'` });
  mkdirSync(join(place.backups, '20260101-031500'));

  const outcome = await place.run({ ...place.env, HOME: place.root });

  assert.equal(outcome.status, 0, outcome.stderr);
  assert.match(place.log(), /verified 20260101-031500\n.*sign of life\n.*\n.*ended with exit code 0\n$/);
  assert.throws(() => statSync(join(place.root, 'new')));
});

test('case 103: settings of .env are read, never run', async (t) => {
  const place = night(t);
  writeFiles(place.root, { '.env': `DATA_DIR="${place.root}/data $(touch ${place.root}/gone) # not"\n` });
  const strange = join(place.root, `data $(touch ${place.root}/gone) # not`);
  mkdirSync(join(strange, 'backups/20260101-031500'), { recursive: true });

  const outcome = await place.run();

  assert.equal(outcome.status, 0, outcome.stderr);
  assert.match(readFileSync(join(strange, 'backups/nightly.log'), 'utf8'), /verified 20260101-031500/);
  assert.throws(() => statSync(join(place.root, 'gone')));
});

test('mistakes in the configuration and in the arguments exit 2', async (t) => {
  const place = night(t);
  assert.equal((await place.run({ PATH: '/usr/bin:/bin', PORT: 'x' })).status, 2);
  const script = join(place.root, 'scripts/nightly-backup.sh');
  assert.equal((await runProgram(script, ['now'], { env: { PATH: '/usr/bin:/bin' } })).status, 2);
});
