import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, SECOND } from '../../platform/clock.ts';
import { fetchFailure, fetchFromOperator } from '../../platform/net/operator-fetch.ts';
import { type Config, hubUserAgent } from '../hub/read-config.ts';
import { readJsonFile } from './backup-status.ts';
import { noteSignOfLife } from './note-run.ts';

type Patience = { timeoutMs: number; pauseMs: number };

const PATIENCE: Patience = { timeoutMs: 10 * SECOND, pauseMs: SECOND };

/** A call of HEARTBEAT_URL; times in unix ms. `problem`: why the call failed, without the URL's path and query. */
type SignOfLife = { at: number; host: string; problem: string | null; failingSince: number | null };

/** The result of the last call of HEARTBEAT_URL, maybe of an earlier address; null if there is none. Never throws. */
export function lastSignOfLife(dataDir: string): SignOfLife | null {
  const { at, host, problem, failingSince } = readJsonFile<SignOfLife>(notePath(dataDir)) ?? {};
  if (typeof at !== 'number' || typeof host !== 'string') return null;
  const hasFailed = typeof problem === 'string';
  return { at, host, problem: hasFailed ? problem : null, failingSince: hasFailed ? failingSince ?? at : null };
}

type Caller = { clock: Clock; patience?: Patience };

/** HEARTBEAT_URL may be a private address; null if it is not set. Only a 2xx status is a success, never a redirect. */
export async function giveSignOfLife(
  address: string | null, config: Config, { clock, patience = PATIENCE }: Caller,
): Promise<SignOfLife | null> {
  const { dataDir } = config;
  const path = notePath(dataDir);
  if (address === null) {
    if (lastSignOfLife(dataDir) !== null) await noteSignOfLife(path, null);
    return null;
  }
  const problem = await callTwice(new URL(address), hubUserAgent(config), patience);
  const [at, before] = [clock(), lastSignOfLife(dataDir)];
  const failingSince = problem === null ? null : before?.failingSince ?? at;
  const result = { at, host: new URL(address).host, problem, failingSince };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await noteSignOfLife(path, result);
  return result;
}

function notePath(dataDir: string): string {
  return join(dataDir, 'run', 'sign-of-life.json');
}

async function callTwice(url: URL, userAgent: string, { timeoutMs, pauseMs }: Patience): Promise<string | null> {
  if (await call(url, userAgent, timeoutMs) === null) return null;
  await pause(pauseMs);
  return call(url, userAgent, timeoutMs);
}

async function call(url: URL, userAgent: string, timeoutMs: number): Promise<string | null> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetchFromOperator(url, { headers: { 'User-Agent': userAgent }, signal });
    await response.body?.cancel();
    if (response.ok) return null;
    const why = response.status >= 300 && response.status < 400 ? ', a redirect, which is not followed' : '';
    return `${url.host} answered ${response.status}${why}`;
  } catch (error) {
    return signal.aborted ? `${url.host} gave no answer within ${timeoutMs / SECOND} s` : fetchFailure(error, url.host);
  }
}
