// Protects what auditors are told of connections: a hub and its scripts open those of the table, no more and no less.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CONNECTIONS } from '../support/connections.ts';
import type { Seen } from '../support/recording-world.ts';
import { type Outcome, PROJECT_ROOT, runProgram } from '../support/run-program.ts';
import { temporaryFolder, writeFiles } from '../support/temporary-project.ts';
import { requireRoot, requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const DAY = join(PROJECT_ROOT, 'test/support/operated-day.ts');

/** An operator's day on a machine whose network records. */
async function passDay(t: TestContext, how: 'quiet' | 'connected') {
  for (const tool of ['rclone', 'restic']) if (!requireTool(t, tool)) return undefined;
  const network = await recordedNetwork(t);
  if (!network) return undefined;
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const { status, stderr } = await network.run([process.execPath, DAY, how], { PATH, NODE_COMPILE_CACHE });
  assert.equal(status, 0, stderr);
  return network;
}

test('a hub without optional settings and without feeds of other sites sends no packet off its machine in a day', async (t) => {
  const network = await passDay(t, 'quiet');
  if (!network) return;
  assert.deepEqual(network.seen(), []);
  assert.equal(network.packets(), 0);

  const { PATH = '' } = process.env;
  await network.run([process.execPath, '-e', `require('dns').lookup('seen.example', () => {})`], { PATH });
  assert.deepEqual([...new Set(network.seen().map(({ kind, host }) => `${kind} ${host}`))], ['name seen.example']);
  const before = network.packets();
  assert.ok(before > 0, 'packets are counted');
  await network.run([process.execPath, '-e', `require('net').connect(80, '2001:db8::1').on('error', () => {})`], { PATH });
  assert.ok(network.packets() > before && network.unanswered() > 0, 'also over IPv6');
});

test('with everything configured, the machine opens the connection of each row of the ledger’s table, and no other connection', async (t) => {
  const network = await passDay(t, 'connected');
  if (!network) return;
  const leaving = Object.entries(CONNECTIONS).filter(([name, { owner }]) => name !== 'names' && owner !== 'this machine');
  const expected = leaving.map(([name]) => `${name}.example`).sort();
  const hosts = (kind: string): string[] => [...new Set(network.seen().filter((one) => one.kind === kind).map(({ host }) => host))].sort();
  assert.deepEqual(hosts('connection'), expected);
  assert.deepEqual(hosts('name'), expected);
  assert.equal(network.unanswered(), 0, 'packets to other ports');

  const toPublishers = leaving.filter(([, { owner }]) => owner === "a publisher's").map(([name]) => `${name}.example`);
  const sent = network.seen().filter(({ host }) => toPublishers.includes(host)).flatMap(({ headers = [] }) => headers);
  const named = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'];
  assert.deepEqual([...new Set(sent)].sort(), named, 'and tells publishers nothing about readers');
});

const WORLD = join(import.meta.dirname, '../support/recording-world.ts');

/**
 * A machine without any network but a cable to a world that records (`recording-world.ts`): two network namespaces. The
 * test is skipped where they cannot be made.
 */
async function recordedNetwork(t: TestContext) {
  if (!requireRoot(t, 'only root can make networks') || !requireTool(t, 'ip') || !requireTool(t, 'unshare')) return undefined;
  const [machine, world] = [`machine-${process.pid}`, `world-${process.pid}`];
  const ip = (args: string): string => execFileSync('ip', args.split(' '), { encoding: 'utf8' });
  const inside = (space: string, ...command: string[]): string =>
    execFileSync('ip', ['netns', 'exec', space, ...command], { encoding: 'utf8' });
  for (const space of [machine, world]) {
    ip(`netns add ${space}`);
    t.after(() => ip(`netns del ${space}`));
    // The kernel itself must send nothing over IPv6.
    for (const [name, value] of [['router_solicitations', 0], ['addr_gen_mode', 1]]) {
      inside(space, 'sh', '-c', `echo ${value} >/proc/sys/net/ipv6/conf/default/${name}`);
    }
    ip(`-n ${space} link set lo up`);
  }
  ip(`link add cable netns ${machine} type veth peer name cable netns ${world}`);
  for (const [space, end] of [[machine, 2], [world, 1]] as const) {
    // One address at both ends, so that neither has to ask for the other's.
    ip(`-n ${space} link set cable address 02:00:00:00:00:01 arp off multicast off up`);
    ip(`-n ${space} addr add 10.77.0.${end}/24 dev cable`);
    ip(`-n ${space} addr add fd77::${end}/64 dev cable nodad`);
  }
  ip(`-n ${machine} route add default via 10.77.0.1`);
  ip(`-n ${machine} route add default via fd77::1`);
  // Every address is the world's own, but for the machine's.
  ip(`-n ${world} route add 10.77.0.0/24 dev cable table local`);
  ip(`-n ${world} route add local 0.0.0.0/0 dev lo table local`);
  ip(`-n ${world} -6 route add fd77::/64 dev cable table local`);
  ip(`-n ${world} -6 route add local ::/0 dev lo table local`);

  const folder = temporaryFolder(t);
  const record = join(folder, 'record'); // a file has each line at once; lines in a pipe would be seen later
  const output = openSync(record, 'w');
  const recorder = spawn('ip', ['netns', 'exec', world, process.execPath, WORLD], { stdio: ['ignore', output, 'inherit'] });
  closeSync(output);
  const said = (): string => readFileSync(record, 'utf8');
  t.after(() => recorder.kill('SIGKILL'));
  await waitUntil('the world listens', () => said().includes('ready\n'));
  writeFiles(folder, { 'resolv.conf': 'nameserver 10.77.0.1\noptions timeout:15 attempts:2\n' });
  const before = sentBy();

  function sentBy(): number {
    return Number(inside(machine, 'cat', '/sys/class/net/cable/statistics/tx_packets'));
  }

  /** A counter of the world's kernel, such as `Tcp OutRsts`. */
  function counted(protocol: string, name: string): number {
    const rows = inside(world, 'cat', '/proc/net/snmp').split('\n').filter((line) => line.startsWith(`${protocol}: `));
    const [names = [], values = []] = rows.map((line) => line.split(' '));
    return Number(values[names.indexOf(name)]);
  }

  function udpOverIpv6(): number {
    return Number(/^Udp6NoPorts\s+(\d+)/m.exec(inside(world, 'cat', '/proc/net/snmp6'))?.[1]);
  }

  return {
    /** Runs a program on the machine. */
    run: (command: string[], env: Record<string, string>): Promise<Outcome> => {
      const script = `mount --bind '${join(folder, 'resolv.conf')}' /etc/resolv.conf && exec "$0" "$@"`;
      return runProgram('ip', ['netns', 'exec', machine, 'unshare', '-m', 'sh', '-c', script, ...command], { env });
    },
    /** What came from the machine so far. */
    seen: (): Seen[] => said().split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)),
    /** Packets that the machine has sent. */
    packets: (): number => sentBy() - before,
    /** Packets to ports at which nobody listens, which are not among `seen`. */
    unanswered: (): number => counted('Tcp', 'OutRsts') + counted('Udp', 'NoPorts') + udpOverIpv6(),
  };
}
