import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cidrContains, parseCidrs, type Cidr } from '../net/address-guard.ts';
import type { MetLimit } from './body.ts';
import { clientAddress, networksOf } from './call-handler.ts';
import type { HttpError } from './reply.ts';

/** Connections at once: in all, and of an IPv4 address or IPv6 /64. A /56 may have twice as many, a /48 four times. */
const CONNECTIONS = 2_000;
const CONNECTIONS_OF_ONE = 100;

/** More from this machine, which serve nothing but monitoring: `scripts/healthcheck.sh` always gets in. */
const FOR_MONITORING = 50;
const LOOPBACK = parseCidrs('127.0.0.0/8, ::1/128');

/**
 * Refuses connections over the limits. If all places are taken, the oldest idle connection of the network that holds
 * most goes first. `proxies` and this machine may hold as many as they like. Returns a function that tells whether a
 * connection is one of those for monitoring.
 */
export function limitConnections(
  server: Server, proxies: readonly Cidr[], metLimit: MetLimit, refuse: (socket: Socket, error: HttpError) => void,
): (socket: Socket) => boolean {
  const exempt = [...LOOPBACK, ...proxies];
  const open = new Map<Socket, [string, ...string[]]>(); // the oldest first
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

  /** Of pipelined requests the last is answered last. */
  function isIdle(socket: Socket): boolean {
    const answer = lastAnswers.get(socket);
    return answer === undefined || answer.writableFinished || answer.destroyed;
  }

  function dropIdle(): void {
    const idle = [...open].filter(([socket]) => isIdle(socket)).map(([socket, networks]) =>
      ({ socket, held: heldBy(networks.at(-1)) }));
    const first = idle.reduce((one, other) => (other.held > one.held ? other : one), { socket: null, held: 0 } as
      { socket: Socket | null; held: number });
    if (!first.socket) return;
    remove(first.socket);
    first.socket.destroy();
  }

  server.on('connection', (socket: Socket) => {
    const address = clientAddress(socket.remoteAddress, {}, []);
    if (open.size >= CONNECTIONS) dropIdle();
    const networks = networksOf(address);
    add(socket, networks);
    socket.once('close', () => remove(socket));
    const isTooMany = !cidrContains(exempt, address)
      && networks.some((network, n) => heldBy(network) > CONNECTIONS_OF_ONE * 2 ** n);
    if (open.size <= CONNECTIONS && !isTooMany) return;
    const mayMonitor = cidrContains(LOOPBACK, address) && open.size <= CONNECTIONS + FOR_MONITORING;
    if (mayMonitor) forMonitoring.add(socket);
    else refuse(socket, metLimit('connections', 10, 'Too many connections are open.'));
  });

  const noteAnswer = ({ socket }: IncomingMessage, res: ServerResponse): void => void lastAnswers.set(socket, res);
  server.prependListener('request', noteAnswer).prependListener('checkExpectation', noteAnswer);
  return (socket) => forMonitoring.has(socket);
}
