import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { COMPILED, compiledIn, PROJECT_ROOT } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

type LogLine = Record<string, unknown>;

export type HubProcess = {
  child: ChildProcess;
  /** Everything on standard output, and on standard error. */
  stdout(): string;
  stderr(): string;
  /** The lines logged so far, those of one event if it is named. */
  lines(event?: string): LogLine[];
  /** Resolves when that event has been logged. */
  logged(event: string): Promise<LogLine>;
  /** Where web listens, once it does. */
  address(): Promise<string>;
  /** Sends the signal; resolves, with what `ended` says, when no process holds its streams any more. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
  ended: Promise<number | NodeJS.Signals | null>; // exit status, or the signal
};

/** An empty folder for a hub, removed after the test. */
export function temporaryDataDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hub-data-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A real web, worker or whole hub (`start`) on that folder and a free port, killed after the test at the latest. */
export function startHubProcess(
  t: TestContext, name: 'web' | 'worker' | 'start', dataDir: string, env: Record<string, string> = {},
): HubProcess {
  const entrypoint = name === 'start' ? ['start.ts'] : ['launch.ts', name];
  const args = [join(PROJECT_ROOT, 'src/bin', entrypoint[0] ?? ''), ...entrypoint.slice(1)];
  const all = hubEnvironment(dataDir, { ...compiledIn(dataDir), ...env });
  return watchHubProcess(t, spawn(process.execPath, args, { env: all, stdio: 'pipe' }));
}

export function hubEnvironment(dataDir: string, env: Record<string, string> = {}): Record<string, string> {
  const node = { HUB_NODE: process.execPath }; // for scripts: the Node of the tests may not be on PATH
  return { ...COMPILED, ...node, DATA_DIR: dataDir, PORT: '0', OUTBOUND_ALLOW: '127.0.0.0/8', ...env };
}

/** The same for a process that was started otherwise, with piped streams. */
export function watchHubProcess(t: TestContext, child: ChildProcess): HubProcess {
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  function lines(event?: string): LogLine[] {
    const complete = output.stderr.slice(0, output.stderr.lastIndexOf('\n') + 1);
    const all = complete.split('\n').filter(Boolean).map((line) => JSON.parse(line) as LogLine);
    return all.filter((line) => event === undefined || line['event'] === event);
  }

  async function logged(event: string): Promise<LogLine> {
    await waitUntil(`"${event}" is logged`, () => child.exitCode !== null || lines(event).length > 0);
    const [line] = lines(event);
    if (!line) throw new Error(`ended with ${child.exitCode} before "${event}": ${output.stderr}`);
    return line;
  }

  async function address(): Promise<string> {
    return `http://127.0.0.1:${String((await logged('listening'))['port'])}`;
  }

  async function end(signal: NodeJS.Signals) {
    child.kill(signal);
    return ended;
  }

  return { child, stdout: () => output.stdout, stderr: () => output.stderr, lines, logged, address, end, ended };
}
