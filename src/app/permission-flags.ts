import { relative } from 'node:path';

export type Access = {
  projectRoot: string;
  dataDir: string; // must exist: Node grants what is below a folder only if it is one when the process starts
  readPaths: readonly string[];
  cwd: string; // of the process that gets the flags
  hasNetFlag: boolean; // Node ≥ 25 closes the network too, and opens it with --allow-net; Node 24 rejects that flag
};

/**
 * The flags that confine a process of the hub (Node's permission model): it reads the project, DATA_DIR and
 * what the kernel says about itself (for the metrics), writes DATA_DIR, and starts no other process.
 */
export function permissionFlags({ projectRoot, dataDir, readPaths, cwd, hasNetFlag }: Access): string[] {
  const readable = [projectRoot, dataDir, '/proc/self', ...readPaths];
  return [
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${withoutComma(dataDir, cwd)}`,
    '--allow-addons',
    '--disable-warning=SecurityWarning', // "--allow-addons must be used with extreme caution", at every start
    ...(hasNetFlag ? ['--allow-net', '--disable-warning=ExperimentalWarning'] : []),
  ];
}

/** Node warns of every comma in --allow-fs-write, which separated paths once; a relative path often has none. */
function withoutComma(path: string, cwd: string): string {
  return path.includes(',') ? relative(cwd, path) || '.' : path;
}
