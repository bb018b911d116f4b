import tls from 'node:tls';
import { isIP } from 'node:net';

/** When it begins and ends (unix ms), and whether it is for the name that was asked for. */
export type Certificate = { from: number; until: number; isForName: boolean };

/** Shakes hands with a server, of whatever address, and tells its certificate. Sends nothing, and believes nothing. */
export function readCertificate(host: string, port: number, timeoutMs: number): Promise<Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<Certificate>();
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls.connect({ host, port, ...name, rejectUnauthorized: false }, () => {
    const certificate = socket.getPeerCertificate();
    const isForName = tls.checkServerIdentity(host, certificate) === undefined;
    resolve({ from: Date.parse(certificate.valid_from), until: Date.parse(certificate.valid_to), isForName });
  });
  const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), timeoutMs);
  socket.on('error', reject);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
