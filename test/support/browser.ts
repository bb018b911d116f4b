import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestContext } from 'node:test';

/** A real headless Chromium. Elements are named by CSS selectors; a missing element is an error. */
export type Browser = {
  goto: (url: string) => Promise<void>;
  /** Runs the body of a function in the page; what it returns, or what its promise becomes, comes back as JSON. */
  run: <T>(script: string, ...args: unknown[]) => Promise<T>;
  /** The WebDriver reference of the first element that matches. */
  find: (selector: string) => Promise<string>;
  click: (selector: string) => Promise<void>;
  type: (selector: string, text: string) => Promise<void>;
  /** Strikes keys on whatever has the focus, as hands on a keyboard do; capitals and "?" with the shift key. */
  press: (...keys: string[]) => Promise<void>;
  /** The rendered text of the first element that matches; of the whole page without a selector. */
  text: (selector?: string) => Promise<string>;
  url: () => Promise<string>;
  /** Closes the other windows that pages have opened; how many there were. */
  closeOthers: () => Promise<number>;
  setWindowSize: (width: number, height: number) => Promise<void>;
  setColorScheme: (scheme: 'light' | 'dark') => Promise<void>;
  /** Pages are shown as on that medium, by people with these preferences, until the next call. */
  emulate: (medium: 'print' | 'screen', preferences?: Record<string, string>) => Promise<void>;
  /** Forgets all cookies of the hub at that address and has these. */
  become: (address: string, cookies: Map<string, string>) => Promise<void>;
  /** From now on no page runs scripts of its own; `run` goes on working. */
  disableScripts: () => Promise<void>;
  /** From now on runs in every page before its own scripts. */
  runFirst: (script: string) => Promise<void>;
  /** What the browser complained of since it was last asked: errors of pages, refused and failed loads. */
  complaints: () => Promise<string[]>;
  /** Pages are this wide from now on, as on a phone too. */
  setPageWidth: (width: number) => Promise<void>;
  /** How many sheets of paper the page takes. */
  printedPages: () => Promise<number>;
  /** Writes a PNG of the visible part of the page. */
  screenshot: (path: string) => Promise<void>;
  /** The same of the whole page, as narrow as a phone too. */
  wholePage: (path: string, width: number, height: number) => Promise<void>;
};

type Send = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<unknown>;

// The key under which WebDriver puts an element's reference (W3C WebDriver, section 12.1).
const ELEMENT_KEY = 'element-6066-11e4-a52e-4f735466cecf';

/** Starts chromedriver and a browser with an empty profile; both end with the test. */
export async function openBrowser(t: Pick<TestContext, 'after'>, { scrollbars = false } = {}): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'browser-'));
  const { driver, port } = await startDriver();
  const send = client(port);
  let session = '';
  t.after(async () => {
    if (session !== '') await send('DELETE', session);
    await stop(driver);
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  session = await startSession(send, profile, scrollbars ? [] : ['--hide-scrollbars']);
  return browser((method, path, body) => send(method, session + path, body));
}

function browser(send: Send): Browser {
  const find = async (selector: string) => {
    const found = await send('POST', '/element', { using: 'css selector', value: selector });
    return stringField(found, ELEMENT_KEY);
  };
  const cdp = (cmd: string, params: object) => send('POST', '/goog/cdp/execute', { cmd, params });
  return {
    find,
    goto: async (url) => void await send('POST', '/url', { url }),
    run: async <T>(script: string, ...args: unknown[]) => await send('POST', '/execute/sync', { script, args }) as T,
    click: async (selector) => void await send('POST', `/element/${await find(selector)}/click`, {}),
    type: async (selector, text) => void await send('POST', `/element/${await find(selector)}/value`, { text }),
    press: async (...keys) => void await send('POST', '/actions', {
      actions: [{ type: 'key', id: 'keyboard', actions: keys.flatMap(strokes) }],
    }),
    text: async (selector = 'body') => String(await send('GET', `/element/${await find(selector)}/text`)),
    url: async () => String(await send('GET', '/url')),
    closeOthers: async () => {
      const [own, all] = [await send('GET', '/window'), await send('GET', '/window/handles')];
      const others = Array.isArray(all) ? all.filter((handle) => handle !== own) : [];
      for (const handle of others) {
        await send('POST', '/window', { handle });
        await send('DELETE', '/window');
      }
      await send('POST', '/window', { handle: own });
      return others.length;
    },
    setWindowSize: async (width, height) => {
      await send('POST', '/window/rect', { width, height });
      // The page learns of it later, on a busy machine; with `setPageWidth` never.
      const isThere = () => send('POST', '/execute/sync', { script: 'return innerWidth', args: [] });
      for (let tries = 0; tries < 60 && await isThere() !== width; tries++) await sleep(50);
    },
    setColorScheme: async (scheme) => void await cdp('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    }),
    emulate: async (media, preferences = {}) => void await cdp('Emulation.setEmulatedMedia', {
      media, features: Object.entries(preferences).map(([name, value]) => ({ name, value })),
    }),
    runFirst: async (source) => void await cdp('Page.addScriptToEvaluateOnNewDocument', { source }),
    become: async (url, cookies) => {
      await cdp('Network.clearBrowserCookies', {});
      for (const [name, value] of cookies) await cdp('Network.setCookie', { name, value, url, httpOnly: true });
    },
    disableScripts: async () => void await cdp('Emulation.setScriptExecutionDisabled', { value: true }),
    complaints: async () => {
      const entries = await send('POST', '/se/log', { type: 'browser' });
      return Array.isArray(entries) ? entries.map((entry) => stringField(entry, 'message')) : [];
    },
    setPageWidth: async (width) => void await cdp('Emulation.setDeviceMetricsOverride', {
      width, height: 844, deviceScaleFactor: 1, mobile: false,
    }),
    wholePage: async (path, width, height) => {
      await cdp('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
      const shot = await cdp('Page.captureScreenshot', { captureBeyondViewport: true });
      await writeFile(path, Buffer.from(stringField(shot, 'data'), 'base64'));
    },
    printedPages: async () => {
      const pdf = Buffer.from(String(await send('POST', '/print', {})), 'base64').toString('latin1');
      return pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    },
    screenshot: async (path) => writeFile(path, Buffer.from(String(await send('GET', '/screenshot')), 'base64')),
  };
}

const SHIFT = '\ue008';

function strokes(key: string): { type: string; value: string }[] {
  const stroke = [{ type: 'keyDown', value: key }, { type: 'keyUp', value: key }];
  const isShifted = /[A-Z?]/.test(key);
  return isShifted ? [{ type: 'keyDown', value: SHIFT }, ...stroke, { type: 'keyUp', value: SHIFT }] : stroke;
}

/** The path under which the new session is reached. Name resolution is off: only this machine can be visited. */
async function startSession(send: Send, profile: string, more: string[]): Promise<string> {
  const args = [
    '--headless', '--window-size=1280,900', '--no-sandbox', '--disable-gpu', '--disable-quic',
    '--disable-dev-shm-usage', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', ...more,
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost', `--user-data-dir=${profile}`,
  ];
  const options = { 'goog:chromeOptions': { args }, 'goog:loggingPrefs': { browser: 'WARNING' } };
  const capabilities = { alwaysMatch: { browserName: 'chrome', ...options } };
  return `/session/${stringField(await send('POST', '/session', { capabilities }), 'sessionId')}`;
}

function client(port: number): Send {
  return async (method, path, body) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const answer: unknown = await reply.json();
    const value = field(answer, 'value');
    if (reply.ok) return value;
    throw new Error(`${method} ${path}: ${stringField(value, 'error')}: ${stringField(value, 'message')}`);
  };
}

/**
 * Chromedriver takes a free port of IPv4 and then the same number of IPv6, and gives up where somebody has taken that
 * meanwhile: browsers of other test files start at the same time.
 */
async function startDriver(attempts = 5): Promise<{ driver: ChildProcess; port: number }> {
  const driver = spawn('chromedriver', ['--port=0'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said: string[] = [];
  driver.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const port = await portOf(driver, said);
  if (port !== undefined) return { driver, port };
  await stop(driver);
  if (attempts > 1) return startDriver(attempts - 1);
  throw new Error(`chromedriver ended before it listened: ${said.join('')}`);
}

/** Chromedriver names the port it took in a line on its standard output; undefined where it ended without one. */
async function portOf({ stdout }: { stdout: Readable }, said: string[]): Promise<number | undefined> {
  for await (const line of createInterface({ input: stdout })) {
    said.push(`${line}\n`);
    const port = /started successfully on port (\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    stdout.resume();
    return Number(port);
  }
  return undefined;
}

async function stop(driver: ChildProcess): Promise<void> {
  if (driver.exitCode !== null) return;
  const ended = once(driver, 'exit');
  driver.kill();
  await ended;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}

function stringField(value: unknown, name: string): string {
  const found = field(value, name);
  if (typeof found !== 'string') throw new Error(`no ${name} in ${JSON.stringify(value)}`);
  return found;
}
