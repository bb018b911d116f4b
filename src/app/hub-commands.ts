import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError, loadConfig, PROJECT_ROOT, type Config } from '../features/hub/read-config.ts';
import { permissionFlags } from './permission-flags.ts';
import type { Command } from './supervise.ts';

/**
 * MiB. V8 sizes its heap by the machine's memory and lets a busy worker grow to 300 MiB; told of a limit, it collects
 * sooner: 140 MiB at the same speed. The limit itself leaves room for eight feeds of 10 MiB at once. A nursery of the
 * usual size lets web keep 150 MiB more of what a hundred uploads at once have done with.
 */
const MEMORY_FLAGS: Record<string, string[]> = {
  web: ['--max-old-space-size=512', '--max-semi-space-size=4'],
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

/** The folder that `hubctl verify` or `restore begin` has to read, or undefined for what is something else. */
export function folderToRead(name: string, args: readonly string[]): string | undefined {
  const verb = args[0] === 'restore' ? args.slice(0, 2).join(' ') : args[0];
  if (name !== 'hubctl' || verb !== 'verify' && verb !== 'restore begin') return undefined;
  return args.slice(verb === 'verify' ? 1 : 2).find((arg) => !arg.startsWith('-'));
}

/** hubctl confined to read that folder too. Its reader may be a user who has no right to .env or DATA_DIR. */
export function verifyingCommand(
  env: Record<string, string | undefined>, folder: string, args: readonly string[], node: NodeFacts,
): Command {
  const path = realPath(resolve(node.cwd, folder));
  const { dataDir = path, readPaths = [] } = configOrNothing(env);
  const places = { projectRoot: PROJECT_ROOT, dataDir, readPaths: [...readPaths, path, resolve(node.cwd, folder)] };
  const flags = permissionFlags({ ...places, cwd: node.cwd, hasNetFlag: node.hasNetFlag });
  return { name: 'hubctl', file: node.execPath, args: [...flags, join(PROJECT_ROOT, 'src/bin/hubctl.ts'), ...args] };
}

function configOrNothing(env: Record<string, string | undefined>): Partial<Config> {
  try {
    return loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return {};
    throw error;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // hubctl says that it is not there
  }
}

/** The same program restarted by tsx whenever one of its files changes; not confined, as tsx compiles and spawns. */
export function watchedCommand(config: Config, name: string, node: NodeFacts): Command {
  const tsx = join(config.projectRoot, 'node_modules/tsx/dist/cli.mjs');
  return { name, file: node.execPath, args: [tsx, 'watch', '--clear-screen=false', entrypoint(config, name)] };
}

function entrypoint(config: Config, name: string): string {
  return join(config.projectRoot, 'src/bin', `${name}.ts`);
}
