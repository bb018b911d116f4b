import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MINUTE } from '../clock.ts';
import { createTally } from '../limit-concurrency.ts';
import { cidrContains, networksOf, parseCidrs, type Cidr } from '../net/address-guard.ts';
import type { MetLimit } from './body.ts';
import { clientAddress } from './call-handler.ts';
import type { HttpError } from './http-error.ts';

/** Limits of connections: in total, and per IPv4 address or IPv6 /64 (twice as many per /56, four times per /48). */
const CONNECTIONS = 2_000;
const CONNECTIONS_OF_ONE = 100;

/** Extra connections from this machine, for monitoring only, so that `scripts/healthcheck.sh` reaches a full hub. */
const FOR_MONITORING = 50;
const LOOPBACK = parseCidrs('127.0.0.0/8, ::1/128');

/**
 * The hub cuts a connection with more unanswered requests than this: one read of a socket can bring 2,300 requests,
 * which take 15 ms to parse. For a minute, a cut connection counts as ten of its network's open connections.
 */
const UNANSWERED = 20;
const [CUT_COUNTS, CUT_FOR] = [10, MINUTE];

type Networks = readonly string[]; // the smallest first

type Place = { networks: Networks; isExempt: boolean };

/**
 * Refuses connections over the limits. If `places` are open, a new one replaces one that is idle, or whose network has
 * more open than its own. Of several such, it is one of the network with the most: the oldest that is idle, or the
 * oldest if all are busy. Connections from `proxies` and this machine have no limit per address, and are not replaced
 * while busy. The returned function tells whether a connection is an extra one for monitoring.
 */
export function limitConnections(
  server: Server, proxies: readonly Cidr[], metLimit: MetLimit, refuse: (socket: Socket, error: HttpError) => void,
  places = CONNECTIONS,
): (socket: Socket) => boolean {
  const exempt = [...LOOPBACK, ...proxies];
  const open = new Map<Socket, Place>(); // the oldest first
  const held = createTally();
  const unanswered = new WeakMap<Socket, ServerResponse[]>();
  const forMonitoring = new WeakSet<Socket>();

  function add(socket: Socket, place: Place): void {
    open.set(socket, place);
    held.add(place.networks, 1);
  }

  function remove(socket: Socket): void {
    held.add(open.get(socket)?.networks ?? [], -1);
    open.delete(socket);
  }

  function cut(socket: Socket): void {
    metLimit('connections', 60, 'Too many requests of one connection are unanswered.');
    const { networks = [] } = open.get(socket) ?? {};
    held.add(networks, CUT_COUNTS);
    setTimeout(held.add, CUT_FOR, networks, -CUT_COUNTS).unref();
    socket.destroy();
  }

  function makeRoom(newcomer: Networks): void {
    let [most, mostIsIdle] = [0, false];
    let first: Socket | undefined;
    const widest = (networks: Networks): number => held.countOf(networks.at(-1) ?? '');
    for (const [socket, { networks, isExempt }] of open) {
      const ofNetwork = widest(networks);
      if (ofNetwork < most || (ofNetwork === most && mostIsIdle)) continue;
      const isIdle = answersOf(socket).length === 0;
      const isBetter = ofNetwork > most || isIdle;
      const mayGo = isIdle || (ofNetwork > widest(newcomer) + 1 && !isExempt);
      if (isBetter && mayGo) [most, mostIsIdle, first] = [ofNetwork, isIdle, socket];
    }
    if (!first) return;
    remove(first);
    first.destroy();
  }

  function answersOf(socket: Socket): ServerResponse[] {
    return (unanswered.get(socket) ?? []).filter((res) => !res.writableFinished && !res.destroyed);
  }

  server.on('connection', (socket: Socket) => {
    const address = clientAddress(socket.remoteAddress, {}, []);
    const networks = networksOf(address);
    if (open.size >= places) makeRoom(networks);
    const isExempt = cidrContains(exempt, address);
    add(socket, { networks, isExempt });
    socket.once('close', () => remove(socket));
    const isTooMany = !isExempt && held.isOver(networks, CONNECTIONS_OF_ONE);
    if (open.size <= places && !isTooMany) return;
    const mayMonitor = cidrContains(LOOPBACK, address) && open.size <= places + FOR_MONITORING;
    if (mayMonitor) return void forMonitoring.add(socket);
    remove(socket);
    process.nextTick(() => socket.pause()); // Node begins to read the socket only after the "connection" event
    refuse(socket, metLimit('connections', 10, 'Too many connections are open.'));
  });

  const noteAnswer = ({ socket }: IncomingMessage, res: ServerResponse): void => {
    if (socket.destroyed) return;
    const answers = [...answersOf(socket), res];
    unanswered.set(socket, answers);
    if (answers.length > UNANSWERED) cut(socket);
  };
  server.prependListener('request', noteAnswer).prependListener('checkExpectation', noteAnswer);
  return (socket) => forMonitoring.has(socket);
}

/** Graceful shutdown: accepts no more connections, and cuts requests that are unanswered after `graceMs`. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const sweep = setInterval(() => server.closeIdleConnections(), 50); // closes connections kept alive by clients
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
