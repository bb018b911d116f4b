import { setTimeout as delay } from 'node:timers/promises';
import { OWN_CHECK_HEADER } from '../../features/health/own-check.ts';
import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';

const POLL = 100;

type HealthAnswer = { ok?: unknown; error?: unknown; worker?: { ok?: unknown; lastSeenSeconds?: unknown } } | null;

/**
 * The problems of the web and worker processes, or null; `workerProblem` is also null if web has a problem. `isLost`:
 * web says that the hub has lost its database.
 */
export type Readiness = { problem: string | null; workerProblem: string | null; isLost: boolean };

/** Requests `address`/api/health, with the hub's own secret if given. Ready means an answer 200 with ok: true. */
export async function askReadiness(address: string, signal: AbortSignal, secret?: string): Promise<Readiness> {
  const notReady = (problem: string): Readiness => ({ problem, workerProblem: null, isLost: false });
  try {
    const headers = secret === undefined ? {} : { [OWN_CHECK_HEADER]: secret };
    const response = await fetch(`${address}/api/health`, { signal, redirect: 'error', headers });
    const body = await response.json().catch(() => null) as HealthAnswer;
    const ok = body?.ok === true;
    if (response.status === 200 && ok) return { problem: null, workerProblem: problemOf(body.worker), isLost: false };
    const isLost = body?.error === 'database-gone';
    return { ...notReady(`${address} answered ${response.status}, not ready`), isLost };
  } catch (error) {
    const why = signal.aborted ? 'did not answer in time' : `does not answer (${reason(error)})`;
    return notReady(`${address} ${why}`);
  }
}

function problemOf(worker: NonNullable<HealthAnswer>['worker']): string | null {
  if (worker?.ok === true) return null;
  const seconds = worker?.lastSeenSeconds;
  return typeof seconds === 'number' ? `the worker was last seen ${seconds} seconds ago` : 'the worker was never seen';
}

export async function waitForHealth(address: string): Promise<void> {
  while ((await askReadiness(address, AbortSignal.timeout(5 * SECOND))).problem !== null) await delay(POLL);
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return codeOf(error.cause) ?? error.message;
}

/** The one message of web to its parent process: where it listens, or why it cannot. */
export type WebMessage = Listening | { failed: string };

export type Listening = { listening: { host: string; port: number } };

/** Whether a message of a child process is a WebMessage; other programs may send anything. */
export function isWebMessage(message: unknown): message is WebMessage {
  if (typeof message !== 'object' || message === null) return false;
  if ('failed' in message) return typeof message.failed === 'string';
  if (!('listening' in message) || typeof message.listening !== 'object' || message.listening === null) return false;
  const { listening } = message;
  return 'host' in listening && typeof listening.host === 'string' && 'port' in listening;
}

/** Why a server could not listen, for the operator; undefined for errors that are not about the address. */
export function listenProblem(error: unknown, host: string, port: number): string | undefined {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `${host} port ${port} is in use by another program: stop that program or set PORT`;
    case 'EACCES':
      return `${host} port ${port} may not be used by this account: set PORT to 1024 or more`;
    case 'EPERM':
      return `${host} port ${port} is not the port in the systemd unit: run scripts/install-systemd.sh again`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine: set HOST`;
    case 'ENOTFOUND':
      return `${host} is not a known host name: set HOST`;
    default:
      return undefined;
  }
}
