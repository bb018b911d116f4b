import { codeOf } from '../platform/error-code.ts';

/** Why a server could not listen, as a sentence for the operator; undefined for what is not about the address. */
export function listenProblem(error: unknown, host: string, port: number): string | undefined {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `${host} port ${port} is in use by another program: stop that one or set PORT`;
    case 'EACCES':
      return `${host} port ${port} may not be used by this account: set PORT to 1024 or more`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine: set HOST`;
    case 'ENOTFOUND':
      return `${host} is not a known host name: set HOST`;
    default:
      return undefined;
  }
}
