import { codeOf } from '../../platform/error-code.ts';

/** What web tells whoever started it, once: where it listens, or why it cannot. */
export type WebMessage = { listening: { host: string; port: number } } | { failed: string };

/** Whether a message of a child process is that; a program that is not ours may send anything. */
export function isWebMessage(message: unknown): message is WebMessage {
  if (typeof message !== 'object' || message === null) return false;
  if ('failed' in message) return typeof message.failed === 'string';
  if (!('listening' in message) || typeof message.listening !== 'object' || message.listening === null) return false;
  const { listening } = message;
  return 'host' in listening && typeof listening.host === 'string' && 'port' in listening;
}

/** Why a server could not listen, as a sentence for the operator; undefined for what is not about the address. */
export function listenProblem(error: unknown, host: string, port: number): string | undefined {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `${host} port ${port} is in use by another program: stop that one or set PORT`;
    case 'EACCES':
      return `${host} port ${port} may not be used by this account: set PORT to 1024 or more`;
    case 'EPERM':
      return `${host} port ${port} is not that of the systemd unit: run scripts/install-systemd.sh again`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine: set HOST`;
    case 'ENOTFOUND':
      return `${host} is not a known host name: set HOST`;
    default:
      return undefined;
  }
}
