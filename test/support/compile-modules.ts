// Run with NODE_COMPILE_CACHE: has Node compile the hub's modules into that folder, from which tests take them. A program
// of the hub then starts with half of the work.
import { readdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

const sources = join(PROJECT_ROOT, 'src');
for (const name of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.ts') && !name.startsWith('bin/')) await import(join(sources, name));
}
flushCompileCache();
