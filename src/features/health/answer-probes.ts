import type { IncomingMessage } from 'node:http';
import { hasPassed, SECOND } from '../../platform/clock.ts';
import { arrivalAfter, waitFor } from '../../platform/db/rate-limit-store.ts';
import { clientAddress } from '../../platform/http/call-handler.ts';
import type { Reply } from '../../platform/http/reply.ts';
import { createTally } from '../../platform/limit-concurrency.ts';
import { networksOf } from '../../platform/net/address-guard.ts';
import { metLimit, once, type Hub } from '../hub/hub.ts';
import { isSecret, makeOwnCheckSecret, OWN_CHECK_HEADER } from './own-check.ts';

/** The maximum of probes per second from one address or IPv6 /56; an IPv6 /48 may send twice as many. */
const A_SECOND = 100;

/** At most this many probes per second skip the queues (0.1 ms each); further probes wait in the queues. */
const AHEAD_A_SECOND = 400;

/** New answers to probes of one kind, which take up to 3 ms each; more probes get the last answer. */
const MADE = { burst: 10, everyMs: 25 };

type MadeAnswer = { arrivesAt: number; reply: Reply };

/** Limits probes, which are requests for health and metrics. `now`: a clock in ms that never runs backwards. */
export function createProbes(now: () => number) {
  const answers = new Map<string, MadeAnswer>();
  const sent = createTally();
  let since = now();
  let ahead = 0;

  return {
    admit(networks: readonly string[]): boolean {
      if (hasPassed(since, SECOND, now())) {
        sent.clear();
        ahead = 0;
        since = now();
      }
      sent.add(networks, 1);
      return !sent.isOver(networks, A_SECOND);
    },

    goesAhead: (): boolean => ahead++ < AHEAD_A_SECOND,

    /** The answer to a probe of this kind, at most MADE.everyMs old. */
    answer(kind: string, make: () => Reply): Reply {
      const last = answers.get(kind);
      const arrivesAt = last?.arrivesAt ?? 0;
      if (last && waitFor(MADE, arrivesAt, now()) > 0) return last.reply;
      const made = { arrivesAt: arrivalAfter(MADE, arrivesAt, now()), reply: make() };
      answers.set(kind, made);
      return made.reply;
    },
  };
}

/** A secret that only the hub's own health check sends, so that the web process recognises this check. */
export const ownCheckSecret = once(({ config, log }: Hub) => makeOwnCheckSecret(config.dataDir, log));

export const probes = once((_hub: Hub) => createProbes(() => performance.now()));

/** Whether a probe skips the queues of other requests. Throws 429 above a network's limit (A_SECOND). */
export function admitProbe(hub: Hub, { socket, headers }: IncomingMessage): boolean {
  if (isSecret(headers[OWN_CHECK_HEADER], ownCheckSecret(hub))) return true;
  const [host, ...larger] = networksOf(clientAddress(socket.remoteAddress, headers, hub.config.trustedProxies));
  if (probes(hub).admit(larger.length > 0 ? larger : [host])) return probes(hub).goesAhead();
  throw metLimit(hub, 'probes', 1, 'Your network sends too many requests for health or metrics.');
}
