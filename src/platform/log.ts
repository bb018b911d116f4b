import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from './clock.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export type Log = Record<LogLevel, (event: string, fields?: LogFields) => void> & { flush(): void };

/** What every line of the log carries: the id of the request or job that it belongs to. */
type LogContext = { requestId: string } | { jobId: number };

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
const context = new AsyncLocalStorage<LogContext>();

/** Runs `work` so that every log line it causes carries the id. */
export function withLogContext<T>(ids: LogContext, work: () => T): T {
  return context.run(ids, work);
}

/**
 * A structured log: one JSON line per event. Lines up to `info` are collected and written together
 * within 100 ms, so that a busy server does not pay one system call a request; warnings go out at once.
 */
export function createLog(program: string, level: LogLevel, clock: Clock, write: (text: string) => void): Log {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const text = waiting;
    waiting = '';
    if (text) write(text);
  }

  const timeText = createTimeText();
  const logger = (at: LogLevel) => (event: string, fields: LogFields = {}): void => {
    if (RANK[at] < RANK[level]) return;
    const ids = context.getStore();
    const rest = JSON.stringify(ids ? { event, ...ids, ...fields } : { event, ...fields });
    waiting += `{"time":"${timeText(clock())}","level":"${at}","program":"${program}",${rest.slice(1)}\n`;
    if (RANK[at] >= RANK.warn) flush();
    else timer ??= setTimeout(flush, 100).unref();
  };

  return { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error'), flush };
}

/** RFC 3339 text of unix ms. A busy server writes many lines in one millisecond; the text is made once for them. */
function createTimeText(): (at: number) => string {
  let last = NaN;
  let text = '';
  return (at) => {
    if (at !== last) text = new Date(at).toISOString();
    last = at;
    return text;
  };
}

/** An error as fields of a log line: the message, and the stack for whoever has to find the place. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { error: error.message, stack: error.stack, cause };
}
