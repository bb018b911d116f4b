import { syncBuiltinESMExports } from 'node:module';
import files from 'node:fs/promises';

const CHANGES = ['chmod', 'copyFile', 'mkdir', 'open', 'rename', 'rm', 'rmdir'] as const;

type Run = { left: number; stopped: () => void };

let run: Run | undefined;
let isHooked = false;

/**
 * Does the work until just before its n-th change to files (from 1) and leaves it there for ever, as kill -9 does to a
 * process: nothing that would come after, no `catch` and no `finally`, is done. Resolves to whether it was stopped.
 */
export async function stopBefore(n: number, work: () => Promise<unknown>): Promise<boolean> {
  hookOnce();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const mine: Run = { left: n, stopped: resolve };
  run = mine;
  const ended = work().then(() => false);
  return Promise.race([ended, stopped.then(() => true)]).finally(() => (run = undefined));
}

/** Named imports of node:fs/promises follow its default export when told to. */
function hookOnce(): void {
  if (isHooked) return;
  isHooked = true;
  for (const name of CHANGES) hook(name);
  syncBuiltinESMExports();
}

function hook(name: (typeof CHANGES)[number]): void {
  const real: (...args: never[]) => Promise<unknown> = files[name];
  const stoppable = (...args: never[]): Promise<unknown> => (isOver() ? new Promise(() => {}) : real(...args));
  Object.assign(files, { [name]: stoppable });
}

function isOver(): boolean {
  if (!run || --run.left > 0) return false;
  run.stopped();
  return true;
}
