import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Readable } from 'node:stream';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SESSION_COOKIE } from '../../src/features/accounts/authenticate.ts';
import { sessions } from '../../src/features/accounts/credential-store.ts';
import type { Hub } from '../../src/features/hub/hub.ts';
import { HOUR } from '../../src/platform/clock.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { benchFolder, PROJECT } from './bench-hub.ts';
import { lessRow, limitRow, type BenchRow } from './bench-row.ts';
import { answer, feedUrl, hubOfFeeds, untilSynced } from './bench-sync.ts';

const FEEDS = 500;
const IDLE_MS = 8_000;
const READS = 300;
const LIMITS_MIB = { start: 192, idle: 165, used: 210 };
const SAMPLE_MS = 20;

/** The programs of `npm start` by a word of their command line; what else runs is npm. */
const PROGRAMS = { supervisor: 'src/bin/start.ts', web: 'src/bin/web.ts', worker: 'src/bin/worker.ts' };

type Figures = Record<string, number>;

/**
 * PSS of each process of `npm start`, in which a page that several processes share counts once: of an idle hub with 500
 * feeds, and after these were synchronised and their owner read some pages. Beside it: a Node that does nothing.
 * And the most memory that the hub's start needs, which a small machine must have.
 */
export async function benchMemory(): Promise<BenchRow[]> {
  using folder = benchFolder('memory');
  const origin = createServer(answer).listen(0, '0.0.0.0');
  await once(origin, 'listening');
  const urls = Array.from({ length: FEEDS }, (_, index) => feedUrl(origin, index));
  const db = hubOfFeeds(join(folder.path, 'hub.db'), urls, Date.now() + HOUR);
  const bare = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  const hub = spawn('npm', ['start'], {
    cwd: PROJECT, detached: true, stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, DATA_DIR: folder.path, PORT: '0', HOST: '127.0.0.1', OUTBOUND_ALLOW: '127.0.0.0/8' },
  });
  const peak = peakOfStart(hub.pid ?? 0);
  try {
    const address = await addressFrom(hub.stdout);
    const measure = (): Figures => ({ ...memoryOf(hub.pid ?? 0), bare: pss(bare.pid ?? 0) });
    await sleep(IDLE_MS);
    const start = peak.end();
    const idle = measure();
    await synchronise(db);
    await read(address, sessions({ db, clock: Date.now } as Hub).start(1));
    await sleep(IDLE_MS);
    return [
      limitRow('start: all processes together, at most', start, LIMITS_MIB.start, 'MiB'),
      ...rows('idle', idle, LIMITS_MIB.idle), ...rows('after use', measure(), LIMITS_MIB.used),
    ];
  } finally {
    peak.end();
    process.kill(-(hub.pid ?? 0), 'SIGTERM');
    bare.kill();
    await once(hub, 'close');
    db.close();
    origin.closeAllConnections();
    origin.close();
  }
}

/** Samples the memory of all processes but npm that no file backs (MiB), which is what a limit of memory counts. */
function peakOfStart(npm: number): { end(): number } {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, descendants(npm).reduce((sum, pid) => sum + anonymous(pid), 0));
  }, SAMPLE_MS);
  return {
    end() {
      clearInterval(timer);
      return most;
    },
  };
}

async function addressFrom(stdout: Readable): Promise<string> {
  let said = '';
  for await (const text of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += String(text);
    const [, address] = /running at (http:\S+)\n/.exec(said) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`npm start did not start: ${said}`);
}

async function synchronise(db: Db): Promise<void> {
  db.exec('UPDATE sources SET next_sync_at = 1');
  await untilSynced(db, FEEDS);
}

/** Lists, posts, searches and the API in turn, of an account that is signed in. */
async function read(address: string, session: string): Promise<void> {
  const headers = { cookie: `${SESSION_COOKIE}=${session}` };
  for (let index = 0; index < READS; index++) {
    const path = ['/all', '/?q=words', `/posts/${1 + index}`, '/api/posts?limit=100', '/sources'][index % 5] ?? '/';
    const response = await fetch(address + path, { headers });
    await response.text();
    if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
  }
}

function memoryOf(npm: number): Figures {
  const figures: Figures = { npm: 0, supervisor: 0, web: 0, worker: 0 };
  for (const pid of [npm, ...descendants(npm)]) {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const isOf = (file: string): boolean => words.some((word) => word === file || word.endsWith(`/${file}`));
    const [name = 'npm'] = Object.entries(PROGRAMS).find(([, file]) => isOf(file)) ?? [];
    figures[name] = (figures[name] ?? 0) + pss(pid);
  }
  return figures;
}

function descendants(pid: number): number[] {
  const parents = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => [Number(name), parentOf(name)]);
  const children = parents.filter(([, parent]) => parent === pid).map(([child = 0]) => child);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function parentOf(pid: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]);
  } catch {
    return 0; // it has ended
  }
}

function anonymous(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0; // it has ended
  }
}

/** The proportional set size in MiB. */
function pss(pid: number): number {
  return Number(/^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024;
}

function rows(when: string, figures: Figures, limit: number): BenchRow[] {
  const { bare = NaN, supervisor = NaN, web = NaN, worker = NaN } = figures;
  return [
    ...['npm', 'supervisor', 'web', 'worker'].map((name) => lessRow({
      name: `${when}: memory of ${name}`, ours: figures[name] ?? NaN, peer: 'bare Node', peerFigure: bare, unit: 'MiB',
      want: 'as reported',
    })),
    limitRow(`${when}: supervisor, web and worker together`, supervisor + web + worker, limit, 'MiB'),
  ];
}
