import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as round } from 'node:timers/promises';
import { hasPassed, SECOND } from './clock.ts';

/*
 * The rule. The main thread does one thing at a time, so all requests wait here for a turn. The next turn goes to the
 * client that has used the main thread least lately: every second, the time that each client has used is halved.
 * Clients are compared in groups. First all members are compared with all networks, so each of the two gets half while
 * both have requests waiting. Then accounts are compared with each other, and networks with each other: IPv4 addresses
 * and IPv6 /48s, and within a /48 its /56s. A client that has waited for two seconds goes first. Requests of one client
 * begin in the order in which they came, and one that has begun goes on before another begins.
 *
 * A client is charged the time of its turns. A turn lasts from one immediate of the event loop to the next. Only its
 * request runs meanwhile: its code and all its promises that need no waiting. A request that has waited for anything
 * else (a body, a password's hash, a file, another server) calls `ownTurn` before it works on. In the middle of long
 * work it calls `nextTurn`. Work that several requests wait for runs at once, and `charged` measures it. Not charged
 * are waiting, threads other than the main one, and the work of Node itself: reading heads and bodies from sockets, and
 * writing.
 */

/** The interval at which used time is halved. */
const HALF_LIFE = SECOND;

/** A client that has waited this long goes first. */
const PATIENCE = 2 * SECOND;

/** Maximum of waiting requests: of one client, and of one client while OF_KIND of all members or networks wait. */
const [OF_ONE, OF_ONE_OF_MANY, OF_KIND] = [1_000, 10, 2_000];

/** Short turns share a round of the event loop: so many, and none begins after so many ms of it. */
const [TURNS_OF_ROUND, ROUND] = [8, 1];

/** Time in ms that cached answers may take without a turn, all together, in one round of the event loop. */
const AHEAD = 5;

/** A client that has used less time than this (ms) is forgotten. */
const NEXT_TO_NOTHING = 0.1;

export type ClientKind = 'member' | 'network';

/** The client and the groups that it belongs to, the widest first. */
export type ClientGroups = readonly [ClientKind, ...string[]];

/** One request's place in the queues. */
export type Ticket = {
  enter(): Promise<void>; // resolves when the first turn begins, rejects with `full()` if the queue is full
  again(): Promise<void>; // resolves when another turn begins
  isRunning(): boolean; // whether the turn that runs now belongs to this request
  othersWait(): boolean; // whether any request waits for a turn
  charge(ms: number): void;
  now(): number;
};

type Turns = {
  ticket(client: ClientGroups): Ticket;
  charge(client: ClientGroups, ms: number): void; // for work without a turn
  mayGoAhead(): boolean; // whether a cached answer may be sent without a turn
};

type TurnsOptions = {
  full(): Error; // the refusal when a queue is full
  now?(): number; // a steady clock in ms
  defer?(act: () => void): unknown; // setImmediate
};

type Waiter = { ticket: Ticket; start(): void };

/** A client, or a group of clients. */
type Group = {
  parent: Group | null;
  groups: Map<string, Group>;
  busy: Set<Group>; // those of its groups that have waiting requests
  begun: Waiter[]; // requests that have had a turn
  queue: Waiter[]; // the others
  waiting: number; // requests, including those of its groups
  used: number; // ms, including its groups
  since: number; // the time of its last turn, or when it began to wait
};

const tickets = new AsyncLocalStorage<Ticket>();

/** The queues of all clients. See the rule above. */
export function createTurns({ full, now = () => performance.now(), defer = setImmediate }: TurnsOptions): Turns {
  const root = createGroup(null);
  let running: Ticket | null = null;
  let [startedAt, halvedAt] = [0, now()];
  let [turnsLeft, roundStartedAt] = [0, 0];
  let [ahead, isCounting] = [0, false];

  function groupOf(client: ClientGroups): Group {
    let group = root;
    for (const name of client) {
      const known = group.groups.get(name);
      if (known) group = known;
      else group.groups.set(name, group = createGroup(group));
    }
    return group;
  }

  function isFull(client: ClientGroups): boolean {
    const ofKind = root.groups.get(client[0])?.waiting ?? 0;
    return groupOf(client).waiting >= (ofKind < OF_KIND ? OF_ONE : OF_ONE_OF_MANY);
  }

  function join(client: ClientGroups, waiter: Waiter, line: 'begun' | 'queue'): void {
    const own = groupOf(client);
    own[line].push(waiter);
    for (let group = own; group.parent; group = group.parent) {
      if (group.waiting++ > 0) continue;
      group.since = now();
      group.parent.busy.add(group);
    }
    if (turnsLeft === 0) schedule(1);
  }

  function leave(own: Group): void {
    for (let one = own; one.parent; one = one.parent) if (--one.waiting === 0) one.parent.busy.delete(one);
  }

  /** No input is read between the turns of one round of the event loop. */
  function schedule(turns: number): void {
    turnsLeft = turns;
    roundStartedAt = 0;
    for (let n = 0; n < turns; n++) {
      defer(begin);
      defer(end);
    }
  }

  function begin(): void {
    if (now() - (roundStartedAt ||= now()) > ROUND) return;
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

  /** Halves all used times once per HALF_LIFE passed, and forgets clients that have used next to nothing. */
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
        if (running !== ticket) startedAt += ms; // else the running request would pay for this work as well
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
  };
}

function createGroup(parent: Group | null): Group {
  return { parent, groups: new Map(), busy: new Set(), begun: [], queue: [], waiting: 0, used: 0, since: 0 };
}

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

/** Runs `work` as part of the request that has this ticket. */
export function withTicket<T>(ticket: Ticket, work: () => T): T {
  return tickets.run(ticket, work);
}

/** Lets other requests have a turn, in the middle of long work. Outside of requests: one round of the event loop. */
export function nextTurn(): Promise<void> {
  return tickets.getStore()?.again() ?? nextRound();
}

/** In the middle of work that others wait for, as in a slot: lets the event loop go round once, in no queue. */
export const nextRound = (): Promise<void> => round();

/** For use after any waiting: resolves in a turn of this request. Returns undefined if such a turn runs already. */
export function ownTurn(): Promise<void> | undefined {
  const ticket = tickets.getStore();
  return ticket?.isRunning() === false ? ticket.again() : undefined;
}

/** Whether any request waits for a turn, which may have more of the same work. Asked within a request. */
export function othersWait(): boolean {
  return tickets.getStore()?.othersWait() ?? false;
}

/** Returns a function that does the work later, outside of turns, at the charge of the request that asks now. */
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
