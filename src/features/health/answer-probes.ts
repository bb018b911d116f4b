import type { IncomingMessage } from 'node:http';
import { hasPassed, SECOND } from '../../platform/clock.ts';
import { clientAddress, networksOf } from '../../platform/http/call-handler.ts';
import type { Reply } from '../../platform/http/reply.ts';
import { metLimit, once, type Hub } from '../hub/hub.ts';
import { isSecret, makeOwnCheckSecret, OWN_CHECK_HEADER } from './own-check.ts';

/** Requests per second from one address or IPv6 /56; a /48 may send twice as many. */
const A_SECOND = 100;

/** Requests per second that may skip the queues; each takes 0.1 ms. Further requests wait in the queues. */
const AHEAD_A_SECOND = 400;

/** New answers per second and kind; each takes about 0.3 ms. Further requests get the last answer again. */
const MADE_A_SECOND = 40;

type MadeAnswer = { since: number; made: number; reply: Reply };

type Probes = {
  /** Counts a request. Returns false if a network of the request has sent too many within this second. */
  admit(networks: readonly string[]): boolean;
  /** Counts an admitted request. Returns false if too many requests have skipped the queues in this second. */
  goesAhead(): boolean;
  /** The answer of that kind: a new answer, or an answer of the last second. */
  answer(kind: string, make: () => Reply): Reply;
};

/** Limits the requests for health and metrics, which skip the queues, and their cost. `now`: a steady clock in ms. */
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

/** The secret by which web recognises the hub's own health check. */
export const ownCheckSecret = once(({ config, log }: Hub) => makeOwnCheckSecret(config.dataDir, log));

const probes = once((_hub: Hub) => createProbes(() => performance.now()));

/**
 * Whether a probe skips the queues. Throws 429 beyond 100 probes per second from one network. The hub's own check,
 * which sends the secret that is stored in DATA_DIR/run, always skips the queues.
 */
export function admitProbe(hub: Hub, { socket, headers }: IncomingMessage): boolean {
  if (isSecret(headers[OWN_CHECK_HEADER], ownCheckSecret(hub))) return true;
  const [host, ...larger] = networksOf(clientAddress(socket.remoteAddress, headers, hub.config.trustedProxies));
  if (probes(hub).admit(larger.length > 0 ? larger : [host])) return probes(hub).goesAhead();
  throw metLimit(hub, 'probes', 1, 'Too many requests for health or metrics.');
}

/** The answer to a probe of that kind, at most a second old. */
export function answerProbe(hub: Hub, kind: string, make: () => Reply): Reply {
  return probes(hub).answer(kind, make);
}
