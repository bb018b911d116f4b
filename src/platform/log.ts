import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from './clock.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export type Log = Record<LogLevel, (event: string, fields?: LogFields) => void> & { flush(): void };

/** Every log line carries the id of its request or job. */
type LogContext = { requestId: string } | { jobId: number };

/** The most characters that the log buffers. V8 would move a longer buffer to its old generation, at a higher cost. */
const MOST_WAITING = 16 * 1024;

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
const context = new AsyncLocalStorage<LogContext>();

/** Runs `work` so that every log line written by `work` carries the id. */
export function withLogContext<T>(ids: LogContext, work: () => T): T {
  return context.run(ids, work);
}

/**
 * A structured log: one JSON line per event. Lines of the levels `debug` and `info` are collected and written together
 * after 100 ms, or at `MOST_WAITING` characters, so that a busy server needs no system call per request. Warnings are
 * written at once.
 */
export function createLog(program: string, level: LogLevel, clock: Clock, write: (text: string) => void): Log {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  let [last, time] = [NaN, '']; // cached: a busy server writes many lines in one millisecond

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
    if (now !== last) [last, time] = [now, new Date(now).toISOString()];
    const head = `"level":"${at}","program":"${program}","event":${JSON.stringify(event)}`;
    waiting += `{"time":"${time}",${head}${members(context.getStore())}${members(fields)}}\n`;
    if (RANK[at] >= RANK.warn || waiting.length > MOST_WAITING) flush();
    else timer ??= setTimeout(flush, 100).unref();
  };

  return { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error'), flush };
}

/** The fields as JSON with a leading comma, to be appended to earlier fields. */
function members(more: LogFields = {}): string {
  const text = JSON.stringify(more).slice(1, -1);
  return text && `,${text}`;
}

/** An error as fields of a log line: message, stack and the message of its cause. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { error: error.message, stack: error.stack, cause };
}
