// Protects the rule of turns: who has used least of the main thread lately goes first, and nobody waits without end.
import assert from 'node:assert/strict';
import { setImmediate as round } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { inChunks } from '../../src/platform/http/reply.ts';
import { charged, createTurns, nextTurn, ownTurn, withTicket, type ClientGroups } from '../../src/platform/turns.ts';

const address = (n: number): ClientGroups => ['network', `203.0.113.${n}`];
const account = (n: number): ClientGroups => ['member', String(n)];

/** Turns on a clock and an event loop that the test moves. `served` names the clients in the order of their turns. */
function startTurns() {
  let time = 0;
  const deferred: (() => void)[] = [];
  const served: string[] = [];
  const turns = createTurns({ full: () => new Error('full'), now: () => time, defer: (act) => deferred.push(act) });

  /** A request whose work takes so many ms. */
  const ask = async (client: ClientGroups, ms: number, work = async () => {}): Promise<void> => {
    const ticket = turns.ticket(client);
    await ticket.enter();
    served.push(client.at(-1) ?? '');
    time += ms;
    await withTicket(ticket, work);
  };

  return {
    ...turns, ask, served,
    pass: (ms: number) => void (time += ms),
    async run(count: number): Promise<void> {
      for (let n = 0; n < count; n++) {
        for (const act of deferred.splice(0)) {
          act();
          await round();
        }
      }
    },
  };
}

function askOften(ask: ReturnType<typeof startTurns>['ask'], times: number, client: ClientGroups, ms: number): void {
  for (let n = 0; n < times; n++) void ask(client, ms);
}

test('during a flood of requests from one client, the first request of another client runs next', async () => {
  const { ask, run, served } = startTurns();
  askOften(ask, 50, address(1), 10);
  await run(10);
  void ask(address(2), 10);
  await run(1);
  assert.deepEqual(served.slice(9), ['203.0.113.1', '203.0.113.2']);
});

test('time is shared, not turns: who asks for little has more turns', async () => {
  const { ask, run, served } = startTurns();
  askOften(ask, 50, address(1), 30);
  askOften(ask, 50, address(2), 10);
  await run(40);
  assert.equal(served.filter((name) => name === '203.0.113.2').length, 30);
});

test('if many networks and one signed-in member send requests, half of the requests that run are the member’s', async () => {
  const { ask, run, served } = startTurns();
  for (let n = 0; n < 40; n++) askOften(ask, 5, address(n), 10);
  askOften(ask, 100, account(1), 10);
  await run(60);
  const ofMember = served.filter((name) => name === '1').length;
  assert.ok(ofMember >= 29 && ofMember <= 31, `${ofMember} of 60`);
});

test('many accounts together leave networks their half', async () => {
  const { ask, run, served } = startTurns();
  for (let n = 0; n < 40; n++) askOften(ask, 5, account(n), 10);
  askOften(ask, 100, address(1), 10);
  await run(60);
  assert.ok(served.filter((name) => name === '203.0.113.1').length >= 29);
});

test('an IPv6 /48 counts once, however many /56s of it ask', async () => {
  const { ask, run, served } = startTurns();
  for (let n = 0; n < 20; n++) askOften(ask, 5, ['network', '2001:db8::/48', `2001:db8::${n}/56`], 10);
  askOften(ask, 50, address(1), 10);
  await run(40);
  assert.equal(served.filter((name) => name === '203.0.113.1').length, 20);
  assert.equal(new Set(served).size, 21, 'its /56s take turns');
});

test('work after waiting is charged to the client that does it, waiting to nobody', async () => {
  const { ask, run, pass, served } = startTurns();
  const body = Promise.withResolvers<void>();
  const afterBody = async (): Promise<void> => {
    await body.promise;
    await ownTurn();
    served.push('body');
    pass(100);
  };
  void ask(address(1), 0, afterBody);
  await run(1);
  pass(500);
  void ask(address(2), 50);
  await run(1);
  body.resolve();
  await round();
  assert.deepEqual(served, ['203.0.113.1', '203.0.113.2'], 'the body waits for a turn');
  await run(1);
  void ask(address(1), 1);
  void ask(address(2), 1);
  await run(2);
  assert.deepEqual(served.slice(2), ['body', '203.0.113.2', '203.0.113.1']);
});

test('a request whose turn still runs goes on at once, and long work lets others have theirs', async () => {
  const { ask, run, served } = startTurns();
  const inSteps = async (): Promise<void> => {
    await ownTurn();
    served.push('step');
    await nextTurn();
    served.push('step');
  };
  void ask(address(1), 10, inSteps);
  void ask(address(2), 1);
  await run(1);
  assert.deepEqual(served, ['203.0.113.1', 'step']);
  await run(2);
  assert.deepEqual(served.slice(2), ['203.0.113.2', 'step']);
});

test('a request that has begun goes on before another of its client begins, so that few are in work at once', async () => {
  const { ask, run, served } = startTurns();
  const long = (name: string) => async (): Promise<void> => {
    for (let n = 0; n < 3; n++) {
      await nextTurn();
      served.push(name);
    }
  };
  void ask(address(1), 1, long('a'));
  void ask(address(1), 1, long('b'));
  await run(8);
  assert.deepEqual(served, ['203.0.113.1', 'a', 'a', 'a', '203.0.113.1', 'b', 'b', 'b']);
});

test('short turns share a round of the event loop, which ends after a millisecond of them', async () => {
  const { ask, run, served } = startTurns();
  askOften(ask, 20, address(1), 0.3);
  await run(1);
  assert.equal(served.length, 1, 'when it was planned, one request waited');
  await run(1);
  assert.equal(served.length, 1 + 4, 'none begins after more than a millisecond');
  askOften(ask, 20, address(1), 0);
  while (served.length < 20) await run(1);
  const before = served.length;
  await run(1);
  assert.equal(served.length - before, 8);
});

test('work that others wait for runs at once, at the charge of who asked for it', async () => {
  const { ask, run, pass, served } = startTurns();
  let later = (): void => {};
  void ask(address(1), 0, async () => void (later = charged(() => pass(100))));
  await run(1);
  void ask(address(2), 10, async () => later());
  await run(1);
  void ask(address(1), 1);
  void ask(address(2), 1);
  await run(2);
  assert.deepEqual(served.slice(2), ['203.0.113.2', '203.0.113.1']);
});

test('a long answer is made in the turns of its request, also after the socket has taken the first bytes', async () => {
  const { ask, run, served } = startTurns();
  const pieces = function* () {
    for (let n = 0; n < 3; n++) {
      served.push('piece');
      yield 'x'.repeat(20_000);
    }
  };
  let stream: Readable | undefined;
  void ask(address(1), 0, async () => void (stream = inChunks(pieces())));
  await run(1);
  stream?.resume(); // outside of the request
  await round();
  assert.deepEqual(served, ['203.0.113.1', 'piece']);
  await run(1);
  assert.deepEqual(served, ['203.0.113.1', 'piece', 'piece']);
  stream?.destroy();
});

test('what was used long ago counts no more', async () => {
  const { ask, run, pass, served, charge } = startTurns();
  charge(address(1), 1_000);
  pass(20_000);
  charge(address(2), 1);
  void ask(address(2), 1);
  void ask(address(1), 1);
  await run(2);
  assert.deepEqual(served, ['203.0.113.1', '203.0.113.2']);
});

test('a client that has used the main thread for long waits two seconds at most, even if new clients come without end', async () => {
  const { ask, run, served, charge } = startTurns();
  charge(address(0), 100_000);
  void ask(address(0), 10);
  for (let n = 1; n <= 30; n++) {
    void ask(address(n), 100);
    await run(1);
  }
  const place = served.indexOf('203.0.113.0');
  assert.ok(place >= 19 && place <= 21, `place ${place}`);
});

test('a client’s queue ends at a thousand; where many wait, ten of every client still do', async () => {
  const { ask, ticket } = startTurns();
  for (const n of [1, 2]) {
    askOften(ask, 1_000, address(n), 1);
    await assert.rejects(ticket(address(n)).enter(), /full/);
  }
  askOften(ask, 10, address(3), 1);
  await assert.rejects(ticket(address(3)).enter(), /full/);
  askOften(ask, 11, account(1), 1);
});

test('kept answers go ahead until they have taken five ms in this round', async () => {
  const { run, charge, mayGoAhead } = startTurns();
  charge(address(1), 4);
  assert.ok(mayGoAhead());
  charge(address(2), 2);
  assert.ok(!mayGoAhead());
  await run(1);
  assert.ok(mayGoAhead());
});

test('a client with many new connections and long turns lets Node accept the connections of others first', async () => {
  const { ask, run, served, accepted } = startTurns();
  askOften(ask, 100, address(1), 20);
  await run(1);
  for (let n = 0; n < 3; n++) {
    accepted();
    await run(1);
  }
  assert.equal(served.length, 1, 'each of these rounds accepted a connection');
  await run(1);
  assert.equal(served.length, 2);
  for (let n = 0; n < 33; n++) {
    accepted();
    await run(1);
  }
  assert.equal(served.length, 3, 'connections without end do not hold up requests');
});
