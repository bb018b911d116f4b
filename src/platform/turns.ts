import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as round } from 'node:timers/promises';
import { hasPassed, SECOND } from './clock.ts';

/*
 * The rule. The main thread does one thing at a time, so all requests wait for turns in one place. The next turn goes
 * to the client that has used the main thread least of late: what it used counts half with every second that passes.
 * Clients are compared in groups. First all members together are compared with all networks together, so each of these
 * two gets half when both want all. Then one account is compared with another, or one network with another: an IPv4
 * address or an IPv6 /48, and within that its /56s. A client that has waited for two seconds goes first. Requests of
 * one client begin in the order in which they came.
 *
 * What is charged. A turn lasts from one immediate of the event loop to the next, in which nothing but the request
 * runs: its code and all its promises that need no waiting. A request that has waited for anything else (a body, a
 * password's hash, a file, another server) passes here again, by `ownTurn`, before it works on; so it does in the
 * middle of long work, by `nextTurn`. Work that others wait for too runs at once, and `charged` measures it. Not
 * charged are waiting, threads other than the main one, and what Node does itself: reading heads and bodies from
 * sockets, and writing.
 */

/** What was used counts half after this time. */
const HALF_LIFE = SECOND;

/** A client that has waited for so long goes first. */
const PATIENCE = 2 * SECOND;

/** Requests that may wait: of one client, fewer where that many of all members or all networks wait. */
const OF_ONE = 1_000;
const OF_ONE_OF_MANY = 10;
const OF_KIND = 2_000;

/** Kept answers need no turn while all together have taken no more ms than this in one round of the event loop. */
const AHEAD = 5;

/** A client that has used fewer ms is forgotten. */
const NEXT_TO_NOTHING = 0.1;

export type ClientKind = 'member' | 'network';

/** The client and the groups that it belongs to, the widest first. */
export type ClientGroups = readonly [ClientKind, ...string[]];

/** One request's place in the queues. */
export type Ticket = {
  enter(): Promise<void>; // resolves when the first turn begins, rejects with `full()` at the end of the queue
  again(): Promise<void>; // resolves when another turn begins
  isRunning(): boolean; // whether the turn that runs now belongs to this request
  charge(ms: number): void;
  now(): number;
};

type Turns = {
  ticket(client: ClientGroups): Ticket;
  /** Charges the client, in ms, for what needed no turn. */
  charge(client: ClientGroups, ms: number): void;
  /** Whether a kept answer may be sent at once. */
  mayGoAhead(): boolean;
};

type TurnsOptions = {
  full(): Error; // the refusal at the end of a queue
  now?(): number; // a steady clock in ms
  defer?(act: () => void): unknown; // setImmediate
};

type Waiter = { ticket: Ticket; start(): void };

/** A client, or a group of clients. */
type Group = {
  parent: Group | null;
  groups: Map<string, Group>;
  busy: Set<Group>; // those of its groups in which somebody waits
  queue: Waiter[];
  waiting: number; // also in its groups
  used: number; // ms, also by its groups
  since: number; // when it last had a turn, or began to wait
};

const tickets = new AsyncLocalStorage<Ticket>();

/** The queues of all clients. See the rule above. */
export function createTurns({ full, now = () => performance.now(), defer = setImmediate }: TurnsOptions): Turns {
  const root = createGroup(null);
  let running: Ticket | null = null;
  let [startedAt, halvedAt] = [0, now()];
  let [isScheduled, isCounting] = [false, false];
  let ahead = 0;

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

  function join(client: ClientGroups, waiter: Waiter): void {
    const own = groupOf(client);
    own.queue.push(waiter);
    for (let group = own; group.parent; group = group.parent) {
      if (group.waiting++ > 0) continue;
      group.since = now();
      group.parent.busy.add(group);
    }
    schedule();
  }

  function leave(own: Group): void {
    for (let group = own; group.parent; group = group.parent) {
      if (--group.waiting === 0) group.parent.busy.delete(group);
    }
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    defer(begin); // no input is read between these two
    defer(end);
  }

  function begin(): void {
    halve();
    let group = root;
    while (group.busy.size > 0) {
      group = leastUsed(group.busy, now());
      group.since = now();
    }
    const next = group.queue.shift();
    if (!next) return;
    leave(group);
    running = next.ticket;
    startedAt = now();
    next.start();
  }

  function end(): void {
    running?.charge(now() - startedAt);
    running = null;
    isScheduled = false;
    if (root.busy.size > 0) schedule();
  }

  function charge(client: ClientGroups, ms: number): void {
    halve();
    for (let group: Group | null = groupOf(client); group; group = group.parent) group.used += ms;
  }

  /** Halves what all have used for each HALF_LIFE that has passed, and forgets who has used next to nothing. */
  function halve(): void {
    const times = Math.floor((now() - halvedAt) / HALF_LIFE);
    if (times < 1) return;
    halvedAt += times * HALF_LIFE;
    halveGroup(root, 2 ** -times);
  }

  function createTicket(client: ClientGroups): Ticket {
    const again = (): Promise<void> => new Promise((start) => join(client, { ticket, start }));
    const ticket: Ticket = {
      enter: () => (isFull(client) ? Promise.reject(full()) : again()),
      again,
      isRunning: () => running === ticket,
      charge(ms) {
        charge(client, ms);
        if (running !== ticket) startedAt += ms; // not the work of the request whose turn it is
      },
      now,
    };
    return ticket;
  }

  function countAhead(ms: number): void {
    ahead += ms;
    if (isCounting) return;
    isCounting = true;
    defer(() => void ([ahead, isCounting] = [0, false]));
  }

  return {
    ticket: createTicket,
    charge(client, ms) {
      charge(client, ms);
      countAhead(ms);
    },
    mayGoAhead: () => ahead < AHEAD,
  };
}

function createGroup(parent: Group | null): Group {
  return { parent, groups: new Map(), busy: new Set(), queue: [], waiting: 0, used: 0, since: 0 };
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

/** Runs the work of the request that has this ticket. */
export function withTicket<T>(ticket: Ticket, work: () => T): T {
  return tickets.run(ticket, work);
}

/** Lets others have a turn, in the middle of long work. Outside of requests, the event loop goes round once. */
export function nextTurn(): Promise<void> {
  return tickets.getStore()?.again() ?? nextRound();
}

/** In the middle of work that others wait for, as in a slot: lets the event loop go round once, in no queue. */
export function nextRound(): Promise<void> {
  return round();
}

/** After waiting for anything: resolves in a turn of this request. Returns undefined if that runs already. */
export function ownTurn(): Promise<void> | undefined {
  const ticket = tickets.getStore();
  return ticket?.isRunning() === false ? ticket.again() : undefined;
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
