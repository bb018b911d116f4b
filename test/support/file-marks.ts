import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';
import { ARROWS, type SourceFile } from './source-tree.ts';

const OPENING = 'request|get|connect|createServer|createConnection|createSocket|Socket|TLSSocket';
const WRITING = 'write\\w*|append\\w*|rename\\w*|rm|rmSync|unlink\\w*|truncate\\w*|copyFile\\w*|cp|cpSync|link\\w*|' +
  'symlink\\w*|createWriteStream|open|openSync|mkdir\\w*|mkdtemp\\w*|rmdir\\w*|chmod\\w*|chown\\w*|utimes\\w*|fsync\\w*';

/** A database whose `exec` is named. Regular expressions have an `exec` too: new names of theirs are added here. */
export const EXEC = '(?<![/\\w])(?!(?:end|expression|form|marks|pattern|regex|sticky|styled)\\b)[a-z]\\w*\\.exec\\b';

/** What a file may do, and the code that does it. */
const RIGHTS = {
  'opens a socket': [
    new RegExp(`(?<!function )\\bfetch\\(|\\b(?:https?|net)\\.(?:${OPENING})\\b`),
    /= fetch\b|\b(?:WebSocket|EventSource)\(/,
    /import (?!type\b)[^;']*from 'node:(?:dns|dns\/promises|tls|dgram|http2)'/,
    /import (?!type\b|http\b|https\b|\{)[^;']*from 'node:(?:https?|net)'/, // under another name
    new RegExp(`import \\{[^}]*\\b(?:${OPENING})\\b[^}]*\\} from 'node:(?:https?|net)'`),
  ],
  'starts a process': [/from 'node:(?:child_process|cluster|worker_threads)'|\bexecve\(/],
  'opens or changes files': [
    new RegExp(`import \\{[^}]*\\b(?:${WRITING})\\b[^}]*\\} from 'node:fs(?:/promises)?'`),
    /import (?:\* as )?\w+ from 'node:fs(?:\/promises)?'/,
  ],
  'runs SQL': [new RegExp(EXEC), /\b(?:db|file|reader)\.prepare\b|\.(?:prepare|pragma)(?:<[^\n]*)?\(/],
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

/** The files in the chapter "The auditor's path" of src/LEDGER.md: `- `platform/db/migrate.ts`: question`. */
export function auditorsPath(): string[] {
  const ledger = readFileSync(join(PROJECT_ROOT, 'src/LEDGER.md'), 'utf8');
  const chapter = /^## The auditor's path\n([^]*?)^## /m.exec(ledger)?.[1] ?? '';
  return [...chapter.matchAll(/^- `([\w/-]+\.ts)`/gm)].map(([, path = '']) => `src/${path}`);
}
