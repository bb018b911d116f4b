import Database from 'better-sqlite3';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import { waitUntil } from './wait-until.ts';

type Article = { id: string; title: string; isRead: boolean; isStarred: boolean };

/** Of the service "FreshRSS", for which RSS Guard adds `api/greader.php` to the address. */
const FRESHRSS = 1;

/** Keys for what a test does, a fixed window, and no questions at the first start. */
const CONFIG = `[main]
first_run=false
first_run_4.0.4=false
update_on_start=false
[gui]
enable_notifications=false
use_tray_icon=false
[feeds]
feed_update_timeout=30000
[keyboard]
m_actionMarkSelectedMessagesAsRead=F7
m_actionSwitchImportanceOfSelectedMessages=F8
m_actionMarkSelectedMessagesAsUnread=F9
`;

const SYNCHRONISED = 'All caches synchronized';

/**
 * Debian's RSS Guard with a fresh profile and an account of the Google Reader API, on a screen of its own. Nobody
 * clicks: keys are sent to its window, and its database tells what it has.
 */
export async function startRssGuard(t: TestContext, account: { address: string; username: string; password: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'rssguard-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const env = await startScreen(t, folder);
  const [profile, log] = [join(folder, 'profile'), join(folder, 'log')];
  const database = join(profile, 'database/database.db');
  mkdirSync(join(profile, 'config'), { recursive: true });
  writeFileSync(join(profile, 'config/config.ini'), CONFIG);
  const start = (): ChildProcess => {
    const child = spawn('rssguard', ['-s', '-d', profile, '-l', log], { env, stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    return child;
  };

  const empty = start(); // makes the database
  await waitUntil('the database of RSS Guard', () => existsSync(database) && rows(database, 'Accounts') !== undefined);
  await sleep(2_000); // it goes on making tables, and says nothing of the end
  empty.kill();
  await once(empty, 'exit');
  addAccount(profile, account);
  writeFileSync(log, '');
  start();
  const key = async (...keys: string[]): Promise<void> => {
    for (const one of keys) {
      spawnSync('xdotool', ['key', '--clearmodifiers', one], { env });
      await sleep(1_000); // a key during another act is lost
    }
  };
  const synchronised = (): number => readFileSync(log, 'latin1').split(SYNCHRONISED).length - 1;
  /** Keys that come while RSS Guard is still at work are lost: its log says when it rests. */
  const quiet = async (): Promise<void> => {
    let [size, since] = [-1, performance.now()];
    await waitUntil('RSS Guard to come to rest', () => {
      const now = readFileSync(log).length;
      if (now !== size) [size, since] = [now, performance.now()];
      return performance.now() - since > 3_000;
    }, 120_000);
  };
  let window = '';
  await waitUntil('the window of RSS Guard', () => {
    window = spawnSync('xdotool', ['search', '--onlyvisible', '--name', '^RSS Guard 4'], { env }).stdout.toString().split('\n')[0] ?? '';
    return window !== '';
  }, 60_000);
  await waitUntil('the feeds', () => (rows(database, 'Feeds')?.length ?? 0) > 0);

  return {
    key,
    feeds: (): string[] => (rows(database, 'Feeds') ?? []).map(({ title }) => String(title)).sort(),
    articles: (): Article[] => (rows(database, 'Messages') ?? []).map((row) => ({
      id: String(row['custom_id']), title: String(row['title']), isRead: row['is_read'] === 1, isStarred: row['is_important'] === 1,
    })),
    /** Sends what was marked, then fetches everything; resolves once `isDone` says that it has arrived. */
    async fetchAll(what: string, isDone: () => boolean): Promise<void> {
      const before = synchronised();
      spawnSync('xdotool', ['windowfocus', window], { env });
      await key('ctrl+shift+u');
      await waitUntil('RSS Guard to send its marks', () => synchronised() > before);
      await waitUntil(what, isDone);
      await quiet();
    },
  };
}

/** A screen, a message bus and a home that nobody else uses, as environment of programs. */
async function startScreen(t: TestContext, folder: string): Promise<Record<string, string>> {
  const screen = spawn('Xvfb', ['-displayfd', '3', '-noreset', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  t.after(() => screen.kill('SIGKILL'));
  const [number] = await once(screen.stdio[3] as NodeJS.ReadableStream, 'data') as [Buffer];
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address=1'], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => bus.kill('SIGKILL'));
  const [address] = await once(bus.stdout, 'data') as [Buffer];
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  return {
    PATH: process.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home, LC_ALL: 'C.UTF-8', TZ: 'UTC',
    DISPLAY: `:${number.toString().trim()}`, DBUS_SESSION_BUS_ADDRESS: address.toString().trim(),
    QTWEBENGINE_DISABLE_SANDBOX: '1', QT_QPA_PLATFORM: 'xcb', LIBGL_ALWAYS_SOFTWARE: '1', NO_AT_BRIDGE: '1',
  };
}

type Table = 'Accounts' | 'Feeds' | 'Messages';

/** All rows of one table of RSS Guard's database; undefined while the table is not there. */
function rows(path: string, table: Table): Record<string, unknown>[] | undefined {
  const statements = {
    Accounts: 'SELECT * FROM Accounts', Feeds: 'SELECT * FROM Feeds',
    Messages: 'SELECT * FROM Messages WHERE is_deleted = 0 AND is_pdeleted = 0',
  };
  try {
    const db = new Database(path, { readonly: true, timeout: 5_000 });
    try {
      return db.prepare<[], Record<string, unknown>>(statements[table]).all();
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
}

/** Puts an account into the profile, as RSS Guard's own dialogue would. */
function addAccount(profile: string, { address, username, password }: { address: string; username: string; password: string }): void {
  const key = randomBytes(8).readBigUInt64LE() >> 1n;
  writeFileSync(join(profile, 'config/key.private'), String(key), { mode: 0o600 });
  const custom = {
    service: FRESHRSS, username, password: sealed(password, key), batch_size: 100, download_only_unread: false,
    intelligent_synchronization: true, url: address,
  };
  const db = new Database(join(profile, 'database/database.db'));
  db.exec('DELETE FROM Accounts');
  db.prepare("INSERT INTO Accounts (id, type, proxy_type, custom_data) VALUES (1, 'greader', 0, ?)").run(JSON.stringify(custom));
  db.close();
}

/** A password as RSS Guard stores it: version 3 of SimpleCrypt, compressed (1) and with a hash (4). */
function sealed(password: string, key: bigint): string {
  const raw = Buffer.from(password);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(raw.length);
  const packed = Buffer.concat([length, deflateSync(raw, { level: 9 })]);
  const plain = Buffer.concat([randomBytes(1), createHash('sha1').update(packed).digest(), packed]);
  let last = 0;
  const mixed = plain.map((byte, index) => (last = byte ^ Number((key >> BigInt(8 * (index % 8))) & 0xffn) ^ last));
  return Buffer.concat([Buffer.from([3, 5]), mixed]).toString('base64');
}
