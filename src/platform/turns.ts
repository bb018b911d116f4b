import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextRound } from 'node:timers/promises';
import { hasPassed, SECOND } from './clock.ts';

/*
 * The rule. The main thread does one thing at a time, so all requests wait for turns in one place. The next turn goes
 * to the client that has used the main thread least of late: what it used counts half with every second that passes.
 * Clients are compared in groups. First all members together are compared with all networks together, so each of these
 * two gets half when both want all. Then one account is compared with another, or one network with another: an IPv4
 * address or an IPv6 /48, and within that its /56s. A client that has waited for two seconds goes first. Requests of
 * one client begin in the order in which they came, and one that has begun goes on before another begins.
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

/** Short turns share a round of the event loop: so many, and none begins after so many ms of it. */
const TURNS_OF_ROUND = 8;
const ROUND = 1;

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
  othersWait(): boolean; // whether any request waits for a turn
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
  begun: Waiter[]; // requests that have had a turn
  queue: Waiter[]; // the others
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
    for (let group = own; group.parent; group = group.parent) {
      if (--group.waiting === 0) group.parent.busy.delete(group);
    }
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
    roundStartedAt ||= now();
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

  /** Halves what all have used for each HALF_LIFE that has passed, and forgets who has used next to nothing. */
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

/** Runs the work of the request that has this ticket. */
export function withTicket<T>(ticket: Ticket, work: () => T): T {
  return tickets.run(ticket, work);
}

/** Lets others have a turn, in the middle of long work. Outside of requests, the event loop goes round once. */
export function nextTurn(): Promise<void> {
  return tickets.getStore()?.again() ?? nextRound();
}

/** After waiting for anything: resolves in a turn of this request. Returns undefined if that runs already. */
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
