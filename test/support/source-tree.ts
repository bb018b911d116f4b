import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

/** A source file: `src/…`, its text, and the text without comments. */
export type SourceFile = { name: string; text: string; code: string };

/** One import of a source file; `target` is a path from the project's root, or a package's name. */
type Import = { file: string; target: string };

/** Every TypeScript file of `src`, by name. */
export const SOURCES: SourceFile[] = readdirSync(join(PROJECT_ROOT, 'src'), { recursive: true })
  .map((name) => `src/${String(name)}`)
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .map((name) => readFile(name));

const IMPORT = /^(?:import|export|\}).*\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;

/** Type imports too: whoever reads a file follows them like any other. */
export const IMPORTS: Import[] = SOURCES.flatMap(({ name, text }) =>
  [...text.matchAll(IMPORT)].map((found) => {
    const target = found[1] ?? found[2] ?? found[3] ?? '';
    return { file: name, target: target.startsWith('.') ? posix.join(posix.dirname(name), target) : target };
  }));

/** The imports of one another, without packages. */
export const ARROWS: Import[] = IMPORTS.filter(({ target }) => target.startsWith('src/'));

/** Groups of nodes that reach one another by arrows, each sorted; Tarjan's strongly connected components. */
export function circles(arrows: Import[]): string[][] {
  const next = Map.groupBy(arrows, ({ file }) => file);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];

  function visit(node: string): void {
    order.set(node, order.size);
    lowest.set(node, order.get(node) ?? 0);
    open.push(node);
    for (const { target } of next.get(node) ?? []) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lowest.set(node, Math.min(lowest.get(node) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(node) !== order.get(node)) return;
    const group = open.splice(open.indexOf(node));
    if (group.length > 1) found.push(group.sort());
  }

  for (const node of next.keys()) if (!order.has(node)) visit(node);
  return found;
}

/** src/features/feeds/parse-feed.ts → features/feeds; src/platform/db/migrate.ts → platform/db; src/bin/web.ts → bin */
export function folderOf(file: string): string {
  return posix.dirname(file).slice('src/'.length);
}

/** Arrows between folders, each once. A folder and one inside it count as two. */
export function folderArrows(): Import[] {
  const pairs = ARROWS.map(({ file, target }) => [folderOf(file), folderOf(target)] as const)
    .filter(([from, to]) => from !== to);
  const unique = new Map(pairs.map(([file, target]) => [`${file} ${target}`, { file, target }]));
  return [...unique.values()];
}

function readFile(name: string): SourceFile {
  const text = readFileSync(join(PROJECT_ROOT, name), 'utf8');
  return { name, text, code: withoutComments(text) };
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\/|(?<![:'"`])\/\/[^\n]*/g, '');
}
