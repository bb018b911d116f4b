import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export type ChildProgram = {
  child: ChildProcess;
  output(): string;
  errors(): string;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
  ended: Promise<unknown>;
};

/** Runs a program of this folder in a process of its own, killed after the test at the latest. */
export function startProgram(t: TestContext, name: string, ...args: string[]): ChildProgram {
  const child = spawn(process.execPath, [join(import.meta.dirname, name), ...args], { stdio: 'pipe' });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = once(child, 'close');
  t.after(() => child.kill('SIGKILL'));
  return {
    child,
    output: () => output,
    errors: () => errors,
    ended,
    async end(signal) {
      child.kill(signal);
      await ended;
    },
  };
}
