import type { IncomingMessage } from 'node:http';
import { createHash, timingSafeEqual } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { hasPassed, SECOND } from '../../platform/clock.ts';
import { clientAddress, networksOf } from '../../platform/http/call-handler.ts';
import type { Reply } from '../../platform/http/reply.ts';
import { errorFields } from '../../platform/log.ts';
import { newSecret } from '../../platform/secrets.ts';
import { metLimit, once, type Hub } from '../hub/hub.ts';
import { OWN_CHECK_HEADER, ownCheckPath } from './own-check.ts';

/** Requests in a second from one address or IPv6 /56; a /48 may send twice as many. */
const A_SECOND = 100;

/** Requests of all networks in a second that wait for nobody: each takes 0.1 ms. More wait for their turn. */
const AHEAD_A_SECOND = 400;

/** Answers that are made anew in a second, of each kind, in about 0.3 ms each. More requests get the last one again. */
const MADE_A_SECOND = 40;

type MadeAnswer = { since: number; made: number; reply: Reply };

type Probes = {
  /** Counts a request; false if its networks have sent too many in this second. */
  admit(networks: readonly string[]): boolean;
  /** Counts an admitted request; false if too many of all networks have gone ahead in this second. */
  goesAhead(): boolean;
  /** The answer of that kind, made within the last second. */
  answer(kind: string, make: () => Reply): Reply;
};

/** Requests for health and metrics wait for nobody. So those are few, and cost little. `now`: a steady clock in ms. */
export function createProbes(now: () => number): Probes {
  const answers = new Map<string, MadeAnswer>();
  const sent = new Map<string, number>();
  let since = now();
  let ahead = 0;

  return {
    admit(networks) {
      if (hasPassed(since, SECOND, now())) {
        sent.clear();
        ahead = 0;
        since = now();
      }
      for (const network of networks) sent.set(network, (sent.get(network) ?? 0) + 1);
      return networks.every((network, n) => (sent.get(network) ?? 0) <= A_SECOND * 2 ** n);
    },

    goesAhead: () => ahead++ < AHEAD_A_SECOND,

    answer(kind, make) {
      const last = answers.get(kind);
      const isOver = !last || hasPassed(last.since, SECOND, now());
      if (!isOver && last.made >= MADE_A_SECOND) return last.reply;
      const [since, made] = isOver ? [now(), 1] : [last.since, last.made + 1];
      const reply = make();
      answers.set(kind, { since, made, reply });
      return reply;
    },
  };
}

const probes = once((_hub: Hub) => createProbes(() => performance.now()));

/**
 * Whether a probe waits for nobody. Throws 429 beyond 100 probes a second from one network. The hub's own check, which
 * shows the secret in DATA_DIR/run, always goes ahead.
 */
export function admitProbe(hub: Hub, { socket, headers }: IncomingMessage): boolean {
  if (isOwnCheck(hub, headers)) return true;
  const [host, ...larger] = networksOf(clientAddress(socket.remoteAddress, headers, hub.config.trustedProxies));
  if (probes(hub).admit(larger.length > 0 ? larger : [host])) return probes(hub).goesAhead();
  throw metLimit(hub, 'probes', 1, 'Health and metrics are asked for too often.');
}

/** The answer to a probe of that kind, of at most a second's age. */
export function answerProbe(hub: Hub, kind: string, make: () => Reply): Reply {
  return probes(hub).answer(kind, make);
}

/** The secret of this run of web. Without room for the file, checks are counted like other requests. */
export const ownCheckSecret = once(({ config: { dataDir }, log }: Hub): string => {
  const secret = newSecret();
  try {
    rmSync(ownCheckPath(dataDir), { force: true });
    writeFileSync(ownCheckPath(dataDir), secret, { mode: 0o600 });
  } catch (error) {
    log.warn('the secret of health checks was not stored', errorFields(error));
  }
  return secret;
});

/** Whether a request shows that secret. */
function isOwnCheck(hub: Hub, headers: IncomingHttpHeaders): boolean {
  return isSecret(headers[OWN_CHECK_HEADER], ownCheckSecret(hub));
}

/** Compares digests, which have equal lengths. */
export function isSecret(sent: string | string[] | undefined, secret: string): boolean {
  return typeof sent === 'string' && timingSafeEqual(digest(sent), digest(secret));
}

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
