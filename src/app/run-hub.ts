import { localAddress, type Config } from '../features/hub/read-config.ts';
import { confinedCommand, watchedCommand, type NodeFacts } from './hub-commands.ts';
import { onStopSignals } from './stop-signals.ts';
import { supervise, type Ending } from './supervise.ts';
import { waitForHealth } from './wait-for-health.ts';

/** What web tells whoever started it, once: where it listens, or why it cannot. */
export type WebMessage = { listening: { host: string; port: number } } | { failed: string };

export type RunHubOptions = {
  node: NodeFacts;
  env: Record<string, string | undefined>;
  watch: boolean; // restart on change; tsx keeps web's messages to itself, so that the port must be a fixed one
  onReady: (address: string) => void; // web is healthy; the address is the one on this machine
};

/** By which restore.sh asks that the hub make room for it. */
export const PAUSE_SIGNAL = 'SIGUSR2';

/** What runHub resolves to when it has. */
export const PAUSED = 'the hub has stopped for a restore';

/**
 * Runs web and worker until a signal or until one of them ends. Resolves to null after a stop that was asked for,
 * otherwise to a line that says why it ended.
 */
export async function runHub(config: Config, { node, env, watch, onReady }: RunHubOptions): Promise<string | null> {
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  let failure: string | undefined;

  const onMessage = (name: string, message: unknown): void => {
    if (name !== 'web' || !isWebMessage(message)) return;
    if ('failed' in message) failure = message.failed;
    else resolve(localAddress(message.listening.host, message.listening.port));
  };

  const commands = ['web', 'worker'].map((name) =>
    watch ? watchedCommand(config, name, node) : confinedCommand(config, name, [], node),
  );
  const supervision = supervise(commands, { cwd: node.cwd, env, onMessage });
  const ignoreSignals = onStopSignals(supervision.stop, supervision.kill);
  let isPaused = false;
  const pause = (): void => {
    isPaused = true;
    supervision.stop();
  };
  process.on(PAUSE_SIGNAL, pause);
  if (watch) resolve(localAddress(config.host, config.port));

  const over = new AbortController();
  void listening.then(async (address) => {
    if (await waitForHealth(address, over.signal)) onReady(address);
  });

  const ending = await supervision.ended;
  over.abort();
  ignoreSignals();
  process.off(PAUSE_SIGNAL, pause);
  return isPaused ? PAUSED : describeEnding(ending, failure);
}

function describeEnding(ending: Ending, failure: string | undefined): string | null {
  if (ending.stopRequested) return null;
  return failure ?? `${ending.died ?? 'the hub ended'}; the hub has stopped`;
}

function isWebMessage(message: unknown): message is WebMessage {
  if (typeof message !== 'object' || message === null) return false;
  if ('failed' in message) return typeof message.failed === 'string';
  if (!('listening' in message) || typeof message.listening !== 'object' || message.listening === null) return false;
  const { listening } = message;
  return 'host' in listening && typeof listening.host === 'string' && 'port' in listening;
}
