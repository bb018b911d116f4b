import { hasPassed, SECOND } from '../platform/clock.ts';
import { byteSize, duration } from '../platform/in-words.ts';
import type { Terminal } from './command.ts';

/** How often the bar is redrawn, and a line is written without a terminal. */
const DRAWN_MS = 200;
const TOLD_MS = 15 * SECOND;

const WIDTH = 20;
const CLEAR = '\r\x1b[K';

/** Reports a long command's progress. `end` clears the line; call it before other output. */
type Progress = { onStep(what: string): void; onProgress(done: number, total: number): void; end(): void };

/** Without a terminal: `steps` writes a line per step, `all` also lines during a step, `nothing` none. */
type Elsewhere = 'all' | 'steps' | 'nothing';

/** Shows a command's progress on standard error, on a terminal as a bar. */
export function showProgress(
  { err, isTerminal = false }: Terminal, name: string, elsewhere: Elsewhere, clock: () => number = Date.now,
): Progress {
  let [step, since, told] = ['', clock(), clock()];
  const pace = isTerminal ? DRAWN_MS : TOLD_MS;
  return {
    onStep(what) {
      [step, since, told] = [what, clock(), clock() - (isTerminal ? pace : 0)];
      if (isTerminal) err(`${CLEAR}${name}: ${what} …`);
      else if (elsewhere !== 'nothing') err(`${name}: ${what}\n`);
    },
    onProgress(done, total) {
      const now = clock();
      if (!hasPassed(told, pace, now) || total === 0 || (!isTerminal && elsewhere !== 'all')) return;
      told = now;
      const share = Math.min(1, done / total);
      const far = `${Math.floor(share * 100)} %, ${byteSize(done, 1)} of ${byteSize(total, 1)}`;
      const left = timeLeft(now - since, share);
      err(isTerminal ? `${CLEAR}${name}: ${step} ${bar(share)} ${far}${left}` : `${name}: ${step}: ${far}${left}\n`);
    },
    end: () => isTerminal ? err(CLEAR) : undefined,
  };
}

function bar(share: number): string {
  const full = Math.floor(share * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}]`;
}

/** The time left at the pace so far, once that can be estimated. */
function timeLeft(took: number, share: number): string {
  if (took < 3 * SECOND || share < 0.02) return '';
  return `, ${duration((took / share) * (1 - share))} left`;
}
