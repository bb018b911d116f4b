import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as round } from 'node:timers/promises';
import { hasPassed, SECOND } from './clock.ts';

/*
 * Fair queuing of requests in the web process, whose main thread runs them in turns. A turn lasts from one
 * `setImmediate` callback to the next. It goes to a request of the client that has lately used the main thread least:
 * the time that each client has used is halved every second. Signed-in accounts (members) and networks get half of
 * the time each while requests of both wait. Accounts share their half equally, and so do the networks (IPv4 addresses,
 * IPv6 /48s, the /56s within a /48). A client whose requests have waited for two seconds is next. Requests of one
 * client begin in order of arrival; a begun one goes on before another begins.
 *
 * In a turn, only one request runs: its code, and its promises that resolve without waiting. The turn's time counts as
 * used by the request's client. A request that has waited for I/O (a body, a password hash, a file, another server)
 * calls `ownTurn` before it continues, unless all that is left is to send a short answer: that is sent at once, and
 * `charged`, because writes that were committed together are then also answered together, which wakes waiting clients
 * less often. In the middle of long work a request calls `nextTurn`, so that other clients come first. Work for which
 * several requests wait runs outside turns; `charged` measures its time. Waiting, work in other threads, and Node's own
 * reading and writing of sockets do not count.
 *
 * Node accepts only one connection in a round of its event loop. The round after a new connection runs no request,
 * because further connections may wait; at most ROUNDS_OF_CONNECTIONS rounds in succession run none.
 */

/** Each client's used main-thread time, in ms, is halved every HALF_LIFE and forgotten below NEXT_TO_NOTHING. */
const HALF_LIFE = SECOND;
const NEXT_TO_NOTHING = 0.1; // ms

/** A client whose requests have waited this long (ms) is next. */
const PATIENCE = 2 * SECOND;

/**
 * Maximum number of waiting requests of a client: OF_ONE, or, while at least OF_KIND requests of members (or of
 * networks) wait, OF_ONE_OF_MANY for each member (or network).
 */
const OF_ONE = 1_000;
const OF_ONE_OF_MANY = 10;
const OF_KIND = 2_000;

/** One round of the event loop runs at most TURNS_OF_ROUND requests, all begun within the first ROUND of the round. */
const TURNS_OF_ROUND = 8;
const ROUND = 1; // ms

/** Maximum rounds of the event loop in succession that run no request, because further connections may wait. */
const ROUNDS_OF_CONNECTIONS = 32;

/** Milliseconds per event-loop round for sending cached responses without waiting for a turn of the main thread. */
const AHEAD = 5;

export type ClientKind = 'member' | 'network';

/** The groups that a client belongs to, widest first; the last group is the client itself. */
export type ClientGroups = readonly [ClientKind, ...string[]];

export type Ticket = {
  enter(): Promise<void>; // resolves when the request first runs; rejects if too many requests wait
  again(): Promise<void>; // resolves when the main thread runs the request again
  isRunning(): boolean; // whether the main thread runs this request now
  othersWait(): boolean; // whether any request waits for the main thread
  charge(ms: number): void;
  now(): number;
};

type Turns = {
  ticket(client: ClientGroups): Ticket;
  charge(client: ClientGroups, ms: number): void; // counts main-thread time that a client used without waiting
  mayGoAhead(): boolean; // whether a cached response may be sent without waiting for the main thread
  accepted(): void; // notes that Node has accepted a connection
};

type TurnsOptions = {
  full(): Error; // the refusal when a queue is full
  now?(): number; // a monotonic clock in ms
  defer?(act: () => void): unknown; // setImmediate
};

type Waiter = { ticket: Ticket; start(): void };

/** The waiting requests and used main-thread time of an account, of a network, or of all accounts or networks. */
type Group = {
  parent: Group | null;
  groups: Map<string, Group>;
  busy: Set<Group>; // the `groups`, such as accounts, that have waiting requests
  begun: Waiter[]; // waiting requests that the main thread has already begun
  queue: Waiter[]; // waiting requests that the main thread has not run yet
  waiting: number; // number of waiting requests, also of all `groups`
  used: number; // main-thread time in ms that the accounts or networks in this group have lately used
  since: number; // since when this group's requests have waited and the main thread has run no such request
};

const tickets = new AsyncLocalStorage<Ticket>();

export function createTurns({ full, now = () => performance.now(), defer = setImmediate }: TurnsOptions): Turns {
  const root = createGroup(null);
  let running: Ticket | null = null;
  let [startedAt, halvedAt] = [0, now()];
  let [turnsLeft, roundStartedAt] = [0, 0];
  let [ahead, isCounting, hasAccepted, roundsSkipped] = [0, false, false, 0];

  function groupOf(client: ClientGroups): Group {
    return client.reduce((group, name) => {
      const inner = group.groups.get(name) ?? createGroup(group);
      group.groups.set(name, inner);
      return inner;
    }, root);
  }

  function isFull(client: ClientGroups): boolean {
    const ofKind = root.groups.get(client[0])?.waiting ?? 0;
    return groupOf(client).waiting >= (ofKind < OF_KIND ? OF_ONE : OF_ONE_OF_MANY);
  }

  function join(client: ClientGroups, waiter: Waiter, line: 'begun' | 'queue'): void {
    const own = groupOf(client);
    own[line].push(waiter);
    for (let group = own; group.parent; group = group.parent) {
      if (group.waiting++ === 0) group.since = now();
      group.parent.busy.add(group);
    }
    if (turnsLeft === 0) schedule(1);
  }

  function leave(group: Group): void {
    for (; group.parent; group = group.parent) if (--group.waiting === 0) group.parent.busy.delete(group);
  }

  function schedule(turns: number): void {
    turnsLeft = turns;
    roundStartedAt = 0;
    for (let n = 0; n < turns; n++) {
      defer(begin);
      defer(end);
    }
  }

  function begin(): void {
    roundStartedAt ||= isForConnections() ? -Infinity : now();
    if (now() - roundStartedAt > ROUND) return;
    halve();
    let group = root;
    while (group.busy.size > 0) {
      group = leastUsed(group.busy, now());
      group.since = now();
    }
    const next = group.begun.shift() ?? group.queue.shift();
    if (!next) return;
    leave(group);
    running = next.ticket;
    startedAt = now();
    next.start();
  }

  /** Whether this round of the event loop runs no request, because Node may have further connections to accept. */
  function isForConnections(): boolean {
    roundsSkipped = hasAccepted ? (roundsSkipped + 1) % (ROUNDS_OF_CONNECTIONS + 1) : 0;
    hasAccepted = false;
    return roundsSkipped > 0;
  }

  function end(): void {
    running?.charge(now() - startedAt);
    running = null;
    if (--turnsLeft > 0) return;
    const waiting = [...root.busy].reduce((sum, kind) => sum + kind.waiting, 0);
    if (waiting > 0) schedule(Math.min(waiting, TURNS_OF_ROUND));
  }

  function charge(client: ClientGroups, ms: number): void {
    halve();
    for (let group: Group | null = groupOf(client); group; group = group.parent) group.used += ms;
  }

  function halve(): void {
    const times = Math.floor((now() - halvedAt) / HALF_LIFE);
    if (times < 1) return;
    halvedAt += times * HALF_LIFE;
    halveGroup(root, 2 ** -times);
  }

  function createTicket(client: ClientGroups): Ticket {
    const wait = (line: 'begun' | 'queue'): Promise<void> =>
      new Promise((start) => join(client, { ticket, start }, line));
    const ticket: Ticket = {
      enter: () => (isFull(client) ? Promise.reject(full()) : wait('queue')),
      again: () => wait('begun'),
      isRunning: () => running === ticket,
      othersWait: () => root.busy.size > 0,
      charge(ms) {
        charge(client, ms);
        if (running !== ticket) startedAt += ms; // this time is not charged to the running request
      },
      now,
    };
    return ticket;
  }

  return {
    ticket: createTicket,
    charge(client, ms) {
      charge(client, ms);
      ahead += ms;
      if (isCounting) return;
      isCounting = true;
      defer(() => void ([ahead, isCounting] = [0, false]));
    },
    mayGoAhead: () => ahead < AHEAD,
    accepted: () => void (hasAccepted = true),
  };
}

const createGroup = (parent: Group | null): Group =>
  ({ parent, groups: new Map(), busy: new Set(), begun: [], queue: [], waiting: 0, used: 0, since: 0 });

function leastUsed(groups: Iterable<Group>, now: number): Group {
  const rank = ({ used, since }: Group): number => (hasPassed(since, PATIENCE, now) ? since - 1e15 : used);
  return [...groups].reduce((one, other) => (rank(other) < rank(one) ? other : one));
}

function halveGroup(group: Group, by: number): void {
  group.used *= by;
  for (const [name, inner] of group.groups) {
    halveGroup(inner, by);
    if (inner.used < NEXT_TO_NOTHING && inner.waiting === 0) group.groups.delete(name);
  }
}

/** Runs `work` as part of a request: `nextTurn` and `ownTurn` inside `work` queue with this request's ticket. */
export const withTicket = <T>(ticket: Ticket, work: () => T): T => tickets.run(ticket, work);

/** Lets other requests run in the middle of long work. Outside a request, waits for one round of the event loop. */
export const nextTurn = (): Promise<void> => tickets.getStore()?.again() ?? nextRound();

/** Waits one event-loop round without queuing: for the middle of work that several requests wait for. */
export const nextRound = (): Promise<void> => round();

/** After I/O, resolves when the main thread runs the current request again; undefined if it does, or outside one. */
export function ownTurn(): Promise<void> | undefined {
  const ticket = tickets.getStore();
  return ticket?.isRunning() === false ? ticket.again() : undefined;
}

/** Whether any request waits for the main thread; always false in the worker and outside a request. */
export const othersWait = (): boolean => tickets.getStore()?.othersWait() ?? false;

/** Wraps `work` so that its main-thread time counts for the current request's client, whichever request runs `work`. */
export function charged<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T {
  const ticket = tickets.getStore();
  if (!ticket) return work;
  return (...args) => {
    if (ticket.isRunning()) return work(...args);
    const started = ticket.now();
    try {
      return work(...args);
    } finally {
      ticket.charge(ticket.now() - started);
    }
  };
}
