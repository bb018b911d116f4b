import { join } from 'node:path';
import type { Config } from './config.ts';
import { permissionFlags } from './permission-flags.ts';
import type { Command } from './supervise.ts';

/**
 * MiB. V8 sizes its heap by the machine's memory and lets a busy worker grow to 300 MiB; told of a limit, it collects
 * sooner: 140 MiB at the same speed. The limit itself leaves room for eight feeds of 10 MiB at once.
 */
const MEMORY_FLAGS: Record<string, string[]> = {
  web: ['--max-old-space-size=512'],
  worker: ['--max-old-space-size=512', '--max-semi-space-size=1'],
};

/** What this Node can do, read off `process` by the entrypoints. */
export type NodeFacts = { execPath: string; cwd: string; hasNetFlag: boolean };

/** One program of the hub (src/bin/<name>.ts), confined by Node's permission model. */
export function confinedCommand(config: Config, name: string, args: readonly string[], node: NodeFacts): Command {
  const flags = permissionFlags({ ...config, cwd: node.cwd, hasNetFlag: node.hasNetFlag });
  const memory = MEMORY_FLAGS[name] ?? [];
  return { name, file: node.execPath, args: [...memory, ...flags, entrypoint(config, name), ...args] };
}

/** The same program restarted by tsx whenever one of its files changes; not confined, as tsx compiles and spawns. */
export function watchedCommand(config: Config, name: string, node: NodeFacts): Command {
  const tsx = join(config.projectRoot, 'node_modules/tsx/dist/cli.mjs');
  return { name, file: node.execPath, args: [tsx, 'watch', '--clear-screen=false', entrypoint(config, name)] };
}

function entrypoint(config: Config, name: string): string {
  return join(config.projectRoot, 'src/bin', `${name}.ts`);
}
