// Protects the supervision of processes: stopped together, killed when they do not stop, and no grandchild is left.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { onStopSignals } from '../../../src/app/processes/stop-signals.ts';
import { supervise, type Supervision } from '../../../src/app/processes/supervise.ts';
import { isRunning } from '../../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';
import { waitUntil } from '../../support/wait-until.ts';

// `run` makes the file once every process is running.
const ONCE_ALL_RUN = `const { existsSync } = await import('node:fs'); setInterval(() => existsSync('all run') && `;

// What a stand-in does when it is asked to stop; each says its process id first, once it listens for signals.
const STAND_INS = {
  obedient: `process.on('SIGTERM', () => process.exit(0));`,
  stubborn: `process.on('SIGTERM', () => process.send('refused'));`,
  dying: `${ONCE_ALL_RUN}process.exit(3), 5);`,
  crashing: `${ONCE_ALL_RUN}process.kill(process.pid, 'SIGSEGV'), 5);`,
  parent: `
    const { spawn } = await import('node:child_process');
    process.send({ grandchild: spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']).pid });
    process.on('SIGTERM', () => {});`,
};

type Running = { supervision: Supervision; messages: unknown[]; pids: number[] };

/** Supervises one process of each kind, and waits until all of them have said who they are. */
async function run(
  t: TestContext, kinds: (keyof typeof STAND_INS)[], graceMs?: number, isSaving?: () => boolean,
): Promise<Running> {
  const folder = temporaryFolder(t);
  for (const kind of kinds) {
    const hello = 'process.send({ pid: process.pid }); setInterval(() => {}, 1000);';
    writeFiles(folder, { [`${kind}.mjs`]: `${STAND_INS[kind]}\n${hello}` });
  }
  const messages: unknown[] = [];
  const supervision = supervise(
    kinds.map((kind) => ({ name: kind, file: process.execPath, args: [join(folder, `${kind}.mjs`)] })),
    { cwd: folder, env: {}, onMessage: (_name, message) => messages.push(message), ...(graceMs ? { graceMs } : {}), ...(isSaving && { isSaving }) },
  );
  t.after(() => supervision.kill());
  await waitUntil('every process is running', () => numbers(messages, 'pid').length === kinds.length);
  writeFiles(folder, { 'all run': '' });
  return { supervision, messages, pids: numbers(messages, 'pid') };
}

function numbers(messages: unknown[], key: string): number[] {
  return messages.flatMap((message) => {
    const entry = typeof message === 'object' && message !== null ? Object.entries(message)[0] : undefined;
    return entry?.[0] === key ? [Number(entry[1])] : [];
  });
}

test('a stop asks every process once and is over when the last has ended', async (t) => {
  const { supervision, pids } = await run(t, ['obedient', 'obedient']);

  supervision.stop();

  assert.deepEqual(await supervision.ended, { stopRequested: true, died: null, killed: [] });
  assert.ok(!pids.some(isRunning));
});

test('every process has two arenas of memory and returns freed memory', { skip: process.platform !== 'linux' && 'no /proc' }, async (t) => {
  const { pids } = await run(t, ['obedient']);
  const environment = `\0${readFileSync(`/proc/${pids[0]}/environ`, 'utf8')}`;
  assert.match(environment, /\0MALLOC_ARENA_MAX=2\0/);
  assert.match(environment, /\0MALLOC_TRIM_THRESHOLD_=131072\0/);
});

test('a process that does not stop within the grace time is killed', async (t) => {
  const { supervision, messages, pids } = await run(t, ['obedient', 'stubborn'], 300);

  supervision.stop();

  assert.deepEqual(await supervision.ended, { stopRequested: true, died: null, killed: ['stubborn'] });
  assert.ok(messages.includes('refused'));
  assert.ok(!pids.some(isRunning));
});

test('a process that saves a lost database is not killed before it has', async (t) => {
  const answers = [true, true, false];
  const { supervision } = await run(t, ['stubborn'], 300, () => answers.shift() ?? false);

  supervision.stop();

  assert.deepEqual((await supervision.ended).killed, ['stubborn']);
  assert.deepEqual(answers, []);
});

test('kill ends at once what a stop did not', async (t) => {
  const { supervision, messages } = await run(t, ['stubborn']);

  supervision.stop();
  await waitUntil('the process has refused', () => messages.includes('refused'));
  supervision.kill();

  assert.deepEqual((await supervision.ended).killed, ['stubborn']);
});

test('when a process is killed, so is what it started', async (t) => {
  const { supervision, messages } = await run(t, ['parent']);
  const [grandchild = 0] = numbers(messages, 'grandchild');
  assert.ok(isRunning(grandchild));

  supervision.kill();
  await supervision.ended;

  await waitUntil('the grandchild is gone', () => !isRunning(grandchild));
});

test('when one process ends by itself, the others are stopped and the first is named', async (t) => {
  const { supervision, pids } = await run(t, ['obedient', 'dying']);

  assert.deepEqual(await supervision.ended, {
    stopRequested: false,
    died: 'dying ended by itself (exit code 3)',
    killed: [],
  });
  assert.ok(!pids.some(isRunning));
});

test('a process that a signal ended is described by it', async (t) => {
  const { supervision } = await run(t, ['crashing']);

  assert.equal((await supervision.ended).died, 'crashing ended by itself (SIGSEGV)');
});

test('others start when the first is ready, and not at all if it has ended before', async (t) => {
  for (const [kind, ready] of [['obedient', true], ['dying', false]] as const) {
    const folder = temporaryFolder(t);
    for (const name of ['obedient', 'dying'] as const) {
      writeFiles(folder, { [`${name}.mjs`]: `${STAND_INS[name]}\nprocess.send({ pid: process.pid }); setInterval(() => {}, 1000);` });
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const said: string[] = [];
    const supervision = supervise(
      [kind, 'obedient'].map((name, index) => ({ name: `${index} ${name}`, file: process.execPath, args: [join(folder, `${name}.mjs`)] })),
      { cwd: folder, env: {}, onMessage: (name) => said.push(name), othersAfter: promise },
    );
    t.after(() => supervision.kill());
    await waitUntil('the first runs', () => said.length === 1);
    assert.deepEqual(said, [`0 ${kind}`]);
    if (!ready) writeFiles(folder, { 'all run': '' });
    if (!ready) await supervision.ended;
    resolve();
    if (ready) await waitUntil('the other runs', () => said.length === 2);
    supervision.stop();
    await supervision.ended;
    assert.equal(said.length, ready ? 2 : 1);
  }
});

const GROUPS = '/sys/fs/cgroup/memory';

test('a process that the system kills for lack of memory is described so', {
  skip: (!existsSync(GROUPS) || process.getuid?.() !== 0) && 'no limits of memory can be made here',
}, async (t) => {
  const group = join(GROUPS, `hub-test-${process.pid}`);
  mkdirSync(group);
  t.after(() => rmdirSync(group));
  writeFileSync(join(group, 'memory.limit_in_bytes'), String(64 * 2 ** 20));
  const greedy = 'const kept = []; for (;;) kept.push(Buffer.alloc(2 ** 22, 1));';
  const command = `echo $$ > ${group}/cgroup.procs; exec "${process.execPath}" -e '${greedy}'`;
  const { ended } = supervise([{ name: 'web', file: 'sh', args: ['-c', command] }], { cwd: '/', env: { PATH: process.env['PATH'] } });

  assert.equal((await ended).died, 'web was killed by the system, because memory was used up');
});

test('a program that cannot be started stops the others too', async (t) => {
  const folder = temporaryFolder(t);
  writeFiles(folder, { 'obedient.mjs': `${STAND_INS.obedient}\nsetInterval(() => {}, 1000);` });

  const { ended } = supervise(
    [
      { name: 'present', file: process.execPath, args: [join(folder, 'obedient.mjs')] },
      { name: 'absent', file: join(folder, 'nothing'), args: [] },
    ],
    { cwd: folder, env: {} },
  );

  assert.match((await ended).died ?? '', /^absent could not be started \(.*ENOENT\)$/);
});

test('a process does not see the terminal\'s signals: it has a process group of its own', async (t) => {
  const { pids } = await run(t, ['obedient']);
  const [pid = 0] = pids;

  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];

  assert.equal(Number(fields[2]), pid);
});

test('the second signal kills, unless it comes with the first, as on Ctrl-C under npm', (t) => {
  const calls: string[] = [];
  let now = 0;
  const before = process.listeners('SIGHUP');
  onStopSignals(() => calls.push('stop'), () => calls.push('kill'), () => now);
  const [added] = process.listeners('SIGHUP').filter((listener) => !before.includes(listener));
  t.after(() => {
    if (added) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeListener(signal, added);
  });

  process.emit('SIGINT');
  process.emit('SIGINT');
  now = 999;
  process.emit('SIGTERM');
  assert.deepEqual(calls, ['stop']);

  now = 1_000;
  process.emit('SIGHUP');
  assert.deepEqual(calls, ['stop', 'kill']);
});
