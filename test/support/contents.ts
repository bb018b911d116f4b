import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

/**
 * node test/support/contents.ts
 * Writes the tables of contents anew, out of the headings: a line for each chapter, with its sections.
 */
export const WITH_CONTENTS = ['scripts/README.md', 'scripts/REFERENCE.md', 'src/LEDGER.md', 'src/README.md'];

const TABLE = /(?:^(?:- \[| {2}\[).*\n)+/m;
const WIDTH = 120;

type Heading = { level: number; text: string };

/** The headings of a Markdown text, but for what stands in blocks of code. */
export function headingsOf(text: string): Heading[] {
  const prose = text.replaceAll(/^( *)```[^]*?^ *```$/gm, '');
  return [...prose.matchAll(/^(#+) (.*)$/gm)].map(([, marks = '', heading = '']) =>
    ({ level: marks.length, text: heading }));
}

/** Where a link leads that names a heading, as the places make it that show Markdown. */
export function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
}

/** The table of contents that a text has. */
export function contentsIn(text: string): string {
  return TABLE.exec(text)?.[0] ?? '';
}

/** The one that its headings ask for. */
export function contentsOf(text: string): string {
  const chapters: string[][] = [];
  for (const { level, text: heading } of headingsOf(text)) {
    const link = `[${heading}](#${anchorOf(heading)})`;
    if (level === 2) chapters.push([link]);
    if (level === 3) chapters.at(-1)?.push(link);
  }
  return chapters.map(lines).join('');
}

/** A chapter and its sections, in lines that are short enough. */
function lines([chapter = '', ...sections]: string[]): string {
  const parts = sections.map((section, index) => (index < sections.length - 1 ? `${section} ·` : section));
  const written = [`- ${chapter}${parts.length > 0 ? ':' : ''}`];
  for (const part of parts) {
    const line = `${written.at(-1)} ${part}`;
    if (line.length > WIDTH) written.push(`  ${part}`);
    else written[written.length - 1] = line;
  }
  return `${written.join('\n')}\n`;
}

if (import.meta.main) {
  for (const document of WITH_CONTENTS) {
    const [file, text] = [join(PROJECT_ROOT, document), readFileSync(join(PROJECT_ROOT, document), 'utf8')];
    writeFileSync(file, text.replace(TABLE, () => contentsOf(text)));
  }
}
