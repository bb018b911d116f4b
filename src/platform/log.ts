import { AsyncLocalStorage } from 'node:async_hooks';
import { isoTime, type Clock } from './clock.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export type Log = Record<LogLevel, (event: string, fields?: LogFields) => void> & { flush(): void };

type LogContext = { requestId: string } | { jobId: number };

/** The most characters of log lines that wait; more would reach V8's old generation, at a cost. */
const MOST_WAITING = 16 * 1024;

/** The most bytes of a line, and characters of a path: strangers choose paths, publishers the texts of errors. */
const MAX_LINE = 2_000;
const MAX_PATH = 200;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
const context = new AsyncLocalStorage<LogContext>();

/** Adds the id of a request or job to every log line that `work` writes. */
export function withLogContext<T>(ids: LogContext, work: () => T): T {
  return context.run(ids, work);
}

/**
 * One JSON line per event. Lines of the levels `debug` and `info` wait for others, up to 100 ms or MOST_WAITING
 * characters, so that a busy server needs no system call per request.
 */
export function createLog(program: string, level: LogLevel, clock: Clock, write: (text: string) => void): Log {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  let [last, time] = [NaN, '']; // a busy server writes many lines in one millisecond

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const text = waiting;
    waiting = '';
    if (text) write(text);
  }

  const logger = (at: LogLevel) => (event: string, fields: LogFields = {}): void => {
    if (RANK[at] < RANK[level]) return;
    const now = clock();
    if (now !== last) [last, time] = [now, isoTime(now)];
    const head = `"level":"${at}","program":"${program}","event":${JSON.stringify(event)}`;
    waiting += lineOf(`{"time":"${time}",${head}${members(context.getStore())}`, fields);
    if (RANK[at] >= RANK.warn || waiting.length > MOST_WAITING) flush();
    else timer ??= setTimeout(flush, 100).unref();
  };

  return { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error'), flush };
}

/** Cuts texts shorter until the line fits; if it never does, leaves the fields out. */
function lineOf(head: string, fields: LogFields): string {
  for (let most = MAX_LINE / 2; most > 1; most = most / 2) {
    const line = `${head}${members(cut(fields, most))}}\n`;
    if (Buffer.byteLength(line) <= MAX_LINE) return line;
  }
  return `${head},"cut":true}\n`;
}

/** Returns the fields themselves if all are short enough, as nearly always. */
function cut(fields: LogFields, most: number): LogFields {
  const lengthOf = (name: string): number => (name === 'path' ? Math.min(most, MAX_PATH) : most);
  const isLong = (name: string, value: LogFields[string]): value is string =>
    typeof value === 'string' && value.length > lengthOf(name);
  const all = Object.entries(fields);
  if (!all.some(([name, value]) => isLong(name, value))) return fields;
  return Object.fromEntries(all.map(([name, value]) =>
    [name, isLong(name, value) ? `${value.slice(0, lengthOf(name) - 1)}…` : value]));
}

function members(more: LogFields = {}): string {
  const text = JSON.stringify(more).slice(1, -1);
  return text && `,${text}`;
}

export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { error: error.message, stack: error.stack, cause };
}
