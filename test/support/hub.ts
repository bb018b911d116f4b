import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { JOB_KINDS } from '../../src/app/job-kinds.ts';
import { openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { workerTasks } from '../../src/app/schedule.ts';
import { indexBytes } from '../../src/features/posts/search-index-store.ts';
import { createWebServer } from '../../src/app/processes/web-server.ts';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { sessionCookie } from '../../src/features/accounts/authenticate.ts';
import { sessions } from '../../src/features/accounts/credential-store.ts';
import { makeInvitation } from '../../src/features/accounts/join-hub.ts';
import { passwords } from '../../src/features/accounts/passwords.ts';
import { COMMAND_LINE } from '../../src/features/audit/audit.ts';
import { noteError } from '../../src/features/errors/error-store.ts';
import { planDueIcons } from '../../src/features/feeds/fetch-icon.ts';
import { planFullTexts } from '../../src/features/full-text/fetch-full-text.ts';
import { createDisk } from '../../src/features/hub/disk-space.ts';
import type { Hub as HubHandle, StoreHub } from '../../src/features/hub/hub.ts';
import { jobHandlers, workerQueue } from '../../src/features/hub/worker-jobs.ts';
import { PROJECT_ROOT, readConfig } from '../../src/features/hub/read-config.ts';
import { closeServer } from '../../src/platform/http/connections.ts';
import { createScheduler } from '../../src/platform/jobs/scheduler.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog } from '../../src/platform/log.ts';
import { createOutboundFetch, type OutboundOptions } from '../../src/platform/net/outbound-fetch.ts';
import { createClient, type Client } from './client.ts';
import { putDatabase } from './migrated-database.ts';

export type Hub = Awaited<ReturnType<typeof startHub>>;

const PASSWORD = 'correct horse battery';

/** Tasks that `work` leaves out, because they ask other servers, which most tests do not count. */
const APART = new Set(['plan due icons', 'plan full texts', 'look at the certificate']);

let hashing: Promise<string> | undefined;

/** The hash of everybody's password, made once in this process. */
function passwordHash(): Promise<string> {
  return (hashing ??= passwords({} as StoreHub).hash(PASSWORD));
}

/**
 * A whole hub in this process: a database in a temporary folder, a real server on a free port, the worker and its
 * schedule run by hand, and a clock that the test moves. It may fetch from this machine.
 */
export async function startHub(
  t: TestContext, env: Record<string, string> = {}, limits: Partial<OutboundOptions> = {},
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'hub-'));
  const settings = { DATA_DIR: dataDir, PORT: '0', OUTBOUND_ALLOW: '127.0.0.0/8,::1/128', ...env };
  const config = readConfig(settings, { projectRoot: PROJECT_ROOT, readFile: (path) => readFileSync(path, 'utf8') });
  let now = Date.UTC(2030, 0, 15, 12);
  const clock = () => now;
  const lines: string[] = [];
  const log = createLog('test', 'debug', clock, (text) => lines.push(...text.trimEnd().split('\n')));
  putDatabase(config.databasePath);
  const db = openHubDatabase(config, clock);
  const outbound = createOutboundFetch({ userAgent: 'ContentHub/test', allow: config.outboundAllow, ...limits });
  const disk = createDisk(db, config, () => indexBytes(db));
  const handle: HubHandle = { db, config, clock, random: () => 0.5, outbound, log, program: 'web', disk };
  const { server, release } = createWebServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const onError = (error: unknown): void => noteError(handle, error);
  const ran: string[] = [];
  const handlers = Object.fromEntries(Object.entries(jobHandlers(handle, JOB_KINDS)).map(([kind, handler]) => {
    const run: typeof handler.run = (job, signal) => (ran.push(kind), handler.run(job, signal));
    return [kind, { ...handler, run }];
  }));
  const worker = createWorker({ db, queue: workerQueue(handle), handlers, clock, log, onError });
  const tasks = workerTasks(handle).filter(({ name }) => !APART.has(name));
  const scheduler = createScheduler({ tasks, clock, log, onError });

  t.after(async () => {
    server.closeAllConnections();
    await closeServer(server, 100);
    release();
    db.close();
    rmSync(dataDir, { recursive: true });
  });

  /**
   * Somebody who has an account and is signed in; the first one is the administrator. Nobody has joined for it, which
   * would cost a password hash each time, so nothing of it is on record. In restored data the account may be there.
   */
  async function person(username: string): Promise<Client> {
    const role = accounts(handle).exists() ? 'member' : 'admin';
    const account = accounts(handle).findByName(username)
      ?? accounts(handle).create({ username, displayName: username, role, passwordHash: await passwordHash() });
    if (!account) throw new Error(`${username} is there already`);
    const client = createClient(address);
    client.keep(sessionCookie(handle, sessions(handle).start(account.id))['set-cookie']);
    return client;
  }

  /** Somebody who has joined by an invitation. */
  async function newcomer(username: string): Promise<Client> {
    const { token } = makeInvitation(handle, 'member', 60_000, COMMAND_LINE);
    const client = createClient(address);
    const joined = await client.post('/api/accounts', { invitation: token, username, password: PASSWORD });
    if (joined.status !== 201) throw new Error(`${username} could not join: ${joined.status} ${joined.text}`);
    return client;
  }

  return {
    handle,
    db,
    server,
    address,
    dataDir,
    config,
    person,
    newcomer,
    anybody: createClient(address),
    password: PASSWORD,
    /** Moves the clock; back too. */
    passTime: (ms: number): void => void (now += ms),
    now: clock,
    /** Runs the tasks of the schedule that are due now. */
    tick: () => scheduler.tick(),
    /** Does what the schedule and the queue have due, after so much time has passed (ms). */
    async work(passed = 0): Promise<void> {
      now += passed;
      await scheduler.tick();
      await worker.runDue();
    },
    /** As `work`; resolves to how many jobs of that kind were run: a test counts no others, whatever is scheduled. */
    async countJobs(kind: string): Promise<number> {
      const before = ran.length;
      await scheduler.tick();
      await worker.runDue();
      return ran.slice(before).filter((one) => one === kind).length;
    },
    /** Looks for the icons that are due, which `work` does not: they are no part of what most tests count. */
    findIcons(): Promise<number> {
      planDueIcons(handle);
      return worker.runDue();
    },
    /** Fetches the full texts that are due, after so much time has passed (ms). */
    fetchFullTexts(passed = 0): Promise<number> {
      now += passed;
      planFullTexts(handle);
      return worker.runDue();
    },
    /** What was logged so far. */
    logged(): Record<string, unknown>[] {
      log.flush();
      return lines.map((line) => JSON.parse(line));
    },
  };
}

/** Such a hub, and by their names people who are signed in there; the first one is the administrator. */
export async function hubWith<Name extends string>(
  t: TestContext, names: Name[], env: Record<string, string> = {}, limits: Partial<OutboundOptions> = {},
): Promise<{ hub: Hub } & Record<Name, Client>> {
  const hub = await startHub(t, env, limits);
  const people = {} as Record<Name, Client>;
  for (const name of names) people[name] = await hub.person(name);
  return { hub, ...people };
}
