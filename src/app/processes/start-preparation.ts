import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Listening } from './readiness.ts';
import { onStopSignals } from './stop-signals.ts';
import type { StartCommand } from './supervise.ts';

/** The message of prepare.ts to its parent process, which trusts the message: both are the same program. */
export type Prepared = {
  dataDir: string;
  commands: StartCommand[];
  failure: string | null; // why the hub cannot run on restored data that is being tried
};

type Preparation = {
  prepared: Prepared;
  announce(message: Listening): void; // makes prepare.ts print the address once web is healthy
  end(): void; // ends prepare.ts if it still waits for web
};

/** Runs prepare.ts. Resolves to the message of prepare.ts, or to the exit status with which `npm start` must end. */
export async function startPreparation(args: readonly string[]): Promise<Preparation | number> {
  const child = spawn(process.execPath, [...process.execArgv, 'src/bin/prepare.ts', ...args],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    child.kill();
  };
  const ignoreSignals = onStopSignals(stop, stop);
  const ended = once(child, 'exit');
  const prepared = await Promise.race([once(child, 'message'), ended.then(() => null)]);
  ignoreSignals();
  if (isStopped) return 0; // a signal ends the start even if everything was prepared at that moment
  if (prepared === null) return statusOf(child);
  return {
    prepared: prepared[0] as Prepared,
    announce: (message) => void (child.connected && child.send(message)),
    end: () => void (child.connected && child.disconnect()),
  };
}

/** The exit status of a failed prepare.ts, which has printed its reason unless a signal has ended the process. */
function statusOf({ exitCode, signalCode }: ChildProcess): number {
  if (signalCode) process.stderr.write(`the preparation of the hub was ended by ${signalCode}; nothing was started\n`);
  return exitCode ?? 1;
}
