// Counts what code does, so that tests compare no times: a clock also measures other processes and the collector of
// garbage. V8 itself counts how often each block of JavaScript was run; beside that, each built-in that walks a text, a
// list or bytes is counted with as many steps as it looks at units.
import { Session } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Profiler } from 'node:inspector';

type Patched = Record<string, (this: never, ...args: never[]) => unknown>;
type Cost = (self: { length: number }, args: unknown[], result: unknown) => number;

/** What a built-in does with a unit, in blocks of JavaScript: copying and comparing are quick, joining pieces is not. */
const [COPIED, MATCHED, JOINED] = [1 / 16, 1 / 4, 16];

const lengthOf = (value: unknown): number => (value as { length?: number }).length ?? 1;
const whole: Cost = (self) => self.length * COPIED;
const made: Cost = (_self, _args, result) => lengthOf(result) * COPIED;
const given: Cost = (_self, [text]) => lengthOf(text) * COPIED;
/** From where a search begins to where it ends. */
const upTo: Cost = (self, [, from = 0], found) =>
  ((Number(found) < 0 ? self.length : Number(found)) - Number(from)) * COPIED;

const WALKING: [owner: object, costs: Record<string, Cost>][] = [
  [String.prototype, {
    indexOf: upTo, lastIndexOf: whole, includes: whole, toLowerCase: whole, toUpperCase: whole, normalize: whole,
    trim: whole, trimEnd: whole, trimStart: whole, repeat: made, toWellFormed: whole, isWellFormed: whole,
  }],
  [Array.prototype, {
    join: (self, args, result) => self.length * JOINED + made(self, args, result), indexOf: upTo, lastIndexOf: whole,
    includes: whole, shift: whole, unshift: whole, slice: made, reverse: whole, concat: made, toReversed: whole,
    splice: (self, [start = 0], removed) => (lengthOf(removed) + Math.max(0, self.length - Number(start))) * COPIED,
    fill: whole,
  }],
  [Buffer.prototype, {
    indexOf: upTo, lastIndexOf: whole, includes: whole, equals: whole, compare: whole, fill: whole, toString: made,
    copy: (_self, _args, copied) => Number(copied) * COPIED,
  }],
  [Uint8Array.prototype, { set: given }],
  [Buffer, { concat: made, from: made, byteLength: given }],
  [JSON, { stringify: made, parse: given }],
];

let walked = 0;

/** Runs the code while built-ins count; puts them back. */
function patched<Result>(run: () => Result): Result {
  const undo: (() => void)[] = [];
  const put = (owner: object, name: string, counting: unknown): void => {
    const own = Object.getOwnPropertyDescriptor(owner, name);
    undo.push(() => void (own ? Object.defineProperty(owner, name, own) : Reflect.deleteProperty(owner, name)));
    Object.defineProperty(owner, name, { configurable: true, writable: true, value: counting });
  };
  for (const [owner, costs] of WALKING) {
    for (const [name, cost] of Object.entries(costs)) {
      const original = (owner as Patched)[name];
      if (!original) continue;
      put(owner, name, function counting(this: never, ...args: never[]) {
        const result = Reflect.apply(original, this, args);
        walked += Math.max(1, cost(this, args, result));
        return result;
      });
    }
  }
  // With an own exec, each regular expression comes by here, also within replace, match, split and test.
  const { exec } = RegExp.prototype;
  put(RegExp.prototype, 'exec', function counting(this: RegExp, text: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = Reflect.apply(exec, this, [text]) as RegExpExecArray | null;
    const until = match ? match.index + match[0].length : this.sticky ? from : text.length;
    walked += Math.max(1, (until - from) * MATCHED);
    return match;
  });
  const putBack = (): void => undo.splice(0).reverse().forEach((back) => back());
  let result: Result | undefined;
  try {
    result = run();
    return result instanceof Promise ? result.finally(putBack) as Result : result;
  } finally {
    if (!(result instanceof Promise)) putBack();
  }
}

function post<Result>(session: Session, method: string, params: object = {}): Result {
  let result: Result | undefined;
  session.post(method, params, (error: Error | null, value?: object) => {
    if (error) throw error;
    result = value as Result;
  }); // calls back before it returns
  return result as Result;
}

/** Counts from now on in all functions; those that were compiled without a counter in each block are compiled anew. */
function startCounting(): Session {
  const session = new Session();
  session.connect();
  post(session, 'Profiler.enable');
  post(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  for (const flag of ['--expose-gc', '--stress-flush-code']) setFlagsFromString(flag);
  (runInNewContext('gc') as () => void)();
  setFlagsFromString('--no-stress-flush-code');
  return session;
}

let counting: Session | undefined; // is never stopped: functions that were compiled meanwhile would keep no counters

/** A running count of the steps of this process, but for those of Node's own modules. */
export function countSteps<Result>(run: (steps: () => number) => Result): Result {
  const session = (counting ??= startCounting());
  let blocks = 0;
  const steps = (): number => {
    const { result } = post<Profiler.TakePreciseCoverageReturnType>(session, 'Profiler.takePreciseCoverage');
    for (const { url, functions } of result) {
      if (!url.startsWith('file:') || url === import.meta.url) continue;
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
    }
    return blocks + walked;
  };
  steps();
  return patched(() => run(steps));
}

/** How many steps the code takes. */
export function stepsOf(run: () => Promise<unknown>): Promise<number>;
export function stepsOf(run: () => unknown): number;
export function stepsOf(run: () => unknown): number | Promise<number> {
  return countSteps((steps) => {
    const before = steps();
    const result = run();
    return result instanceof Promise ? result.then(() => steps() - before) : steps() - before;
  });
}

/** The most steps that the work takes between two rounds of the event loop: for so long nobody else has a turn. */
export function longestStretch(work: () => Promise<unknown>): Promise<number> {
  return countSteps(async (steps) => {
    let [longest, before, isOver] = [0, steps(), false];
    const look = (): void => {
      const now = steps();
      [longest, before] = [Math.max(longest, now - before), now];
      if (!isOver) setImmediate(look);
    };
    setImmediate(look);
    await work();
    isOver = true;
    look();
    return longest;
  });
}
