import { join } from 'node:path';
import type { NodeFacts } from '../hub-commands.ts';
import type { Command } from '../supervise.ts';

/**
 * The clamd bridge, confined more narrowly than the hub: it reads its own source and .env, writes nothing, starts no
 * other process and has no use for DATA_DIR. Sockets, also Unix ones, need no grant of their path.
 */
export function bridgeCommand(projectRoot: string, args: readonly string[], node: NodeFacts): Command {
  const readable = ['src', 'package.json', '.env'].map((path) => join(projectRoot, path));
  const flags = [
    '--max-old-space-size=64', // MiB; it holds chunks, never files
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    ...(node.hasNetFlag ? ['--allow-net', '--disable-warning=ExperimentalWarning'] : []),
  ];
  const name = 'clamd-bridge';
  return { name, file: node.execPath, args: [...flags, join(projectRoot, 'src/bin', `${name}.ts`), ...args] };
}
