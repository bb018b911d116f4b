// Run with NODE_COMPILE_CACHE: has Node compile the hub's modules into that folder, from which tests take them. A program
// of the hub then starts with half of the work.
import { readdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { PROJECT_ROOT, runProgram } from './run-program.ts';

const sources = join(PROJECT_ROOT, 'src');
for (const name of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.ts') && !name.startsWith('bin/')) await import(join(sources, name));
}
flushCompileCache();

// Compiles the programs, too, each of which ends at this mistake, or because it was told no command. A confined program
// may not look for the type of its modules above src, so Node also tries it as CommonJS.
const env = { ...process.env, BACKUP_RETENTION_DAYS: 'a mistake' };
const compiled = process.env['NODE_COMPILE_CACHE'] ?? '';
const confined = ['--permission', ...[sources, compiled].map((path) => `--allow-fs-read=${path}`), `--allow-fs-write=${compiled}`];
const starts = [
  ...['launch', 'start', 'prepare', 'healthcheck', 'hubctl'].map((name) => ({ name, flags: [] })),
  ...['web', 'worker', 'hubctl'].map((name) => ({ name, flags: confined })),
];
await Promise.all(starts.map(({ name, flags }) => runProgram(process.execPath, [...flags, join(sources, `bin/${name}.ts`)], { env })));
