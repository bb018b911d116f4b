import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Seen } from './recording-world.ts';
import { runProgram, type Outcome } from './run-program.ts';
import { temporaryFolder, writeFiles } from './temporary-project.ts';
import { requireRoot, requireTool } from './tools.ts';
import { waitUntil } from './wait-until.ts';

const WORLD = join(import.meta.dirname, 'recording-world.ts');

/**
 * A machine without any network but a cable to a world that records (`recording-world.ts`): two network namespaces. The
 * test is skipped where they cannot be made.
 */
export async function recordedNetwork(t: TestContext) {
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
