import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { takeFileLock } from '../../src/features/hub/data-locks.ts';
import { everyTitle } from './accounts.ts';
import { createClient, type Client } from './client.ts';
import { startHubProcess, type HubProcess } from './hub-process.ts';
import { hubctlProcess } from './hubctl.ts';
import { compiledIn, runProgram } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

/** A running hub with somebody who writes, and the titles of all posts that were answered with 201. */
export type WritingHub = {
  dataDir: string;
  database: string;
  processes: HubProcess[];
  client: Client;
  address: string;
  acknowledged: string[];
  /** Posts once, and returns the status. */
  write(): Promise<number>;
  /** Posts until a post is refused; returns that answer's status. */
  writeUntilRefused(): Promise<number>;
  health(): Promise<Health>;
  /** Resolves to what health says once the copy is verified. */
  saved(): Promise<Health>;
};

type Health = {
  status: number; ok: boolean; error?: string; rescue?: { file: string; verified: boolean }; problem?: string; whatToDo?: string;
};

/** `names`: `start` for the whole hub, or web and worker each as systemd runs them. */
export async function startWriting(
  t: TestContext, dataDir: string, names: ('start' | 'web' | 'worker')[] = ['start'], env: Record<string, string> = {},
): Promise<WritingHub> {
  const processes: HubProcess[] = [];
  for (const name of names) {
    processes.push(startHubProcess(t, name, dataDir, env));
    await processes.at(-1)?.logged(name === 'worker' ? 'working' : 'listening');
  }
  if (names[0] === 'start') await processes[0]?.logged('working');
  const address = await processes[0]?.address() ?? '';
  const client = createClient(address);
  const { stdout, stderr } = await hubctlProcess(dataDir, ['invite'], { ...compiledIn(dataDir), ...env });
  const person = { invitation: stdout.trim(), username: 'ada', password: 'correct horse battery' };
  assert.equal((await client.post('/api/accounts', person)).status, 201, stderr);
  const { id: sourceId } = (await client.post('/api/sources', { kind: 'native', title: 'Notes' })).json<{ id: number }>();
  const acknowledged: string[] = [];

  async function write(): Promise<number> {
    const title = `Post ${acknowledged.length}`;
    const post = { sourceId, title, content: `${title} says something. `.repeat(40), contentType: 'text/plain' };
    const { status } = await client.post('/api/posts', post);
    if (status === 201) acknowledged.push(title);
    return status;
  }

  async function writeUntilRefused(): Promise<number> {
    for (let status = 201; ;) if ((status = await write()) !== 201) return status;
  }

  const health = async (): Promise<Health> => {
    const { status, json } = await client.get('/api/health');
    return { ...json<Omit<Health, 'status'>>(), status };
  };

  async function saved(): Promise<Health> {
    let last = await health();
    await waitUntil('the copy is verified', async () => (last = await health()).rescue?.verified === true, 60_000);
    return last;
  }

  return {
    dataDir, database: join(dataDir, 'hub.db'), processes, client, address, acknowledged, write, writeUntilRefused, health, saved,
  };
}

/** The commands between "Put the copy in place: " and " Then start the hub." of an advice. */
export async function followAdvice(advice: string): Promise<void> {
  const [, commands = ''] = /Put the copy in place: (.*?) Then start the hub\./.exec(advice) ?? [];
  assert.notEqual(commands, '', advice);
  const { status, stderr } = await runProgram('/bin/sh', ['-c', commands], { env: { PATH: '/usr/bin:/bin' } });
  assert.deepEqual([status, stderr], [0, '']);
}

/** Starts the hub again and asserts that it has all posts that were acknowledged. */
export async function assertNothingLost(t: TestContext, { dataDir, acknowledged, client }: WritingHub): Promise<void> {
  const hub = startHubProcess(t, 'start', dataDir);
  const again = createClient(await hub.address());
  for (const [name, value] of client.cookies) again.keep(`${name}=${value}`);
  const found = await everyTitle(again);
  assert.deepEqual(acknowledged.filter((title) => !found.includes(title)), []);
  assert.equal((await again.get('/api/health')).status, 200);
  assert.equal((await again.get('/api/account')).json()['username'], 'ada');
  await hub.end('SIGTERM');
}

/** Keeps every process from writing the copy, until the returned function is called. */
export function holdRescue(dataDir: string): () => void {
  const lock = takeFileLock(join(dataDir, 'run', 'rescue-lock.db'));
  assert.ok(lock);
  return () => lock.release();
}
