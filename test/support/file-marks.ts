import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';
import { ARROWS, type SourceFile } from './source-tree.ts';


const OPENING = 'request|get|connect|createServer|createConnection|createSocket';
const WRITING = 'write\\w*|append\\w*|rename\\w*|rm|rmSync|unlink\\w*|truncate\\w*|copyFile\\w*|cp|cpSync|link\\w*|' +
  'symlink\\w*|createWriteStream|open|openSync|mkdtemp\\w*|chmod\\w*|chown\\w*|utimes\\w*|fsync\\w*';

/** What a file may do, and the code that does it. */
const RIGHTS = {
  'opens a socket': [
    new RegExp(`\\bfetch\\(|\\b(?:http|https|net|tls|dgram)\\.(?:${OPENING})\\b`),
    new RegExp(`import \\{[^}]*\\b(?:${OPENING})\\b[^}]*\\} from 'node:(?:https?|http2|net|tls|dgram)'`),
  ],
  'starts a process': [/from 'node:(?:child_process|cluster|worker_threads)'|\bexecve\(/],
  'opens or changes files': [
    new RegExp(`import \\{[^}]*\\b(?:${WRITING})\\b[^}]*\\} from 'node:fs(?:/promises)?'`),
    /import (?:\* as )?\w+ from 'node:fs(?:\/promises)?'/,
  ],
  'runs SQL': [/\b(?:db|file|reader)\.(?:prepare|exec)\b|\.(?:prepare|pragma)(?:<[^\n]*)?\(/],
};

export type RightName = keyof typeof RIGHTS;
export const RIGHT_NAMES = Object.keys(RIGHTS) as RightName[];

/** Whether the file's own code uses the right. */
export function uses({ code }: SourceFile, right: RightName): boolean {
  return RIGHTS[right].some((pattern) => pattern.test(code));
}

/** Whether a program, such as `src/bin/web.ts`, loads that file, also late. Files that are only named for types count. */
export function loads(program: string, wanted: string): boolean {
  const loaded = new Set([program]);
  for (const name of loaded) for (const { file, target } of ARROWS) if (file === name) loaded.add(target);
  return loaded.has(wanted);
}

/** The files in the chapter "The auditor's path" of src/README.md: `- `platform/db/migrate.ts`: question`. */
export function auditorsPath(): string[] {
  const readme = readFileSync(join(PROJECT_ROOT, 'src/README.md'), 'utf8');
  const chapter = /^## The auditor's path\n([^]*?)(?=^## |(?![^]))/m.exec(readme)?.[1] ?? '';
  return [...chapter.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => `src/${path}`);
}
