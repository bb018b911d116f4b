import { isIP } from 'node:net';
import tls from 'node:tls';
import { DAY, SECOND } from '../../platform/clock.ts';
import { errorFields } from '../../platform/log.ts';
import { portOf } from '../../platform/net/outbound-target.ts';
import type { Hub } from '../hub/hub.ts';
import { type CertificateProblem, certificates } from './history-store.ts';

/** Certificates are usually renewed with a third of their lifetime left; a sixth, or MOST_LATE if less, is late. */
const LATE = 1 / 6;
const MOST_LATE = 14 * DAY;

const TIMEOUT = 10 * SECOND;

/** Only on https. If the hub cannot reach its own public address, the certificate is not at fault. */
export async function lookAtCertificate(hub: Hub): Promise<void> {
  const url = new URL(hub.config.baseUrl);
  if (url.protocol !== 'https:') return;
  try {
    const certificate = await readCertificate(url.hostname.replace(/^\[|\]$/g, ''), portOf(url), TIMEOUT);
    certificates(hub).note(url.origin, certificate.until, certificateProblem(certificate, hub.clock()));
  } catch (error) {
    hub.log.info('certificate not seen', errorFields(error));
    certificates(hub).note(url.origin, null, 'not seen');
  }
}

function certificateProblem({ from, until, isForName }: Certificate, now: number): CertificateProblem | null {
  if (until - now < Math.min(MOST_LATE, (until - from) * LATE)) return 'ending';
  return isForName ? null : 'other name';
}

/** `from`, `until`: unix ms. `isForName`: whether it is for the requested host name. */
type Certificate = { from: number; until: number; isForName: boolean };

/** Reads a server's certificate from the TLS handshake. Sends no request, and does not verify it. */
function readCertificate(host: string, port: number, timeoutMs: number): Promise<Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<Certificate>();
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls.connect({ host, port, ...name, rejectUnauthorized: false }, () => {
    const certificate = socket.getPeerCertificate();
    const isForName = tls.checkServerIdentity(host, certificate) === undefined;
    resolve({ from: Date.parse(certificate.valid_from), until: Date.parse(certificate.valid_to), isForName });
  });
  const timer = setTimeout(() => socket.destroy(new Error('no answer from the server in time')), timeoutMs);
  socket.on('error', reject);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
