import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cidrContains, parseCidrs, type Cidr } from '../net/address-guard.ts';
import type { MetLimit } from './body.ts';
import { clientAddress, networksOf } from './call-handler.ts';
import type { HttpError } from './reply.ts';

/** Limits of connections: in total, and per IPv4 address or IPv6 /64 (twice as many per /56, four times per /48). */
const CONNECTIONS = 2_000;
const CONNECTIONS_OF_ONE = 100;

/** Extra connections from this machine, for monitoring only, so that `scripts/healthcheck.sh` can always connect. */
const FOR_MONITORING = 50;
const LOOPBACK = parseCidrs('127.0.0.0/8, ::1/128');

/**
 * Refuses connections over the limits. If CONNECTIONS are open, first closes the oldest idle connection of the network
 * with the most connections. `proxies` and this machine have no limit per address. Returns a function that tells if a
 * connection is an extra connection for monitoring.
 */
export function limitConnections(
  server: Server, proxies: readonly Cidr[], metLimit: MetLimit, refuse: (socket: Socket, error: HttpError) => void,
  places = CONNECTIONS,
): (socket: Socket) => boolean {
  const exempt = [...LOOPBACK, ...proxies];
  const open = new Map<Socket, [string, ...string[]]>(); // oldest first
  const held = new Map<string, number>();
  const lastAnswers = new WeakMap<Socket, ServerResponse>();
  const forMonitoring = new WeakSet<Socket>();

  function add(socket: Socket, networks: [string, ...string[]]): void {
    open.set(socket, networks);
    for (const network of networks) held.set(network, heldBy(network) + 1);
  }

  function remove(socket: Socket): void {
    for (const network of open.get(socket) ?? []) {
      if (heldBy(network) > 1) held.set(network, heldBy(network) - 1);
      else held.delete(network);
    }
    open.delete(socket);
  }

  function heldBy(network: string | undefined): number {
    return held.get(network ?? '') ?? 0;
  }

  /** Checks only the last response of a connection: pipelined requests are answered in order. */
  function isIdle(socket: Socket): boolean {
    const answer = lastAnswers.get(socket);
    return answer === undefined || answer.writableFinished || answer.destroyed;
  }

  function dropIdle(): void {
    let most = 0;
    let first: Socket | undefined;
    for (const [socket, networks] of open) {
      const ofNetwork = heldBy(networks.at(-1));
      if (ofNetwork > most && isIdle(socket)) [most, first] = [ofNetwork, socket];
    }
    if (!first) return;
    remove(first);
    first.destroy();
  }

  server.on('connection', (socket: Socket) => {
    const address = clientAddress(socket.remoteAddress, {}, []);
    if (open.size >= places) dropIdle();
    const networks = networksOf(address);
    add(socket, networks);
    socket.once('close', () => remove(socket));
    const isTooMany = !cidrContains(exempt, address)
      && networks.some((network, n) => heldBy(network) > CONNECTIONS_OF_ONE * 2 ** n);
    if (open.size <= places && !isTooMany) return;
    const mayMonitor = cidrContains(LOOPBACK, address) && open.size <= places + FOR_MONITORING;
    if (mayMonitor) forMonitoring.add(socket);
    else refuse(socket, metLimit('connections', 10, 'Too many connections are open.'));
  });

  const noteAnswer = ({ socket }: IncomingMessage, res: ServerResponse): void => void lastAnswers.set(socket, res);
  server.prependListener('request', noteAnswer).prependListener('checkExpectation', noteAnswer);
  return (socket) => forMonitoring.has(socket);
}
