import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

/** A fenced block: the heading it stands under, what its fence calls it, and its text without the indentation. */
export type Block = { section: string; kind: string; text: string };

export type Handbook = {
  blocks: Block[];
  /** The commands of the first table, each whole, with its options in brackets. */
  usages: string[];
  /** What else is set as code within sentences and tables, in their order. */
  spans: string[];
  /** What stands below a heading, without its blocks. */
  section(heading: string): string;
  /** The rows of the table there, cell by cell, without head and rule. */
  rows(heading: string): string[][];
};

/** The operator's handbook and its reference, parsed as one text. */
export function readHandbook(): Handbook {
  const text = ['README.md', 'REFERENCE.md'].map((name) => readFileSync(join(PROJECT_ROOT, 'scripts', name), 'utf8')).join('\n');
  const [prose, blocks] = takeOutBlocks(text);
  const commandTable = /^\| command \|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)/m.exec(prose)?.[1] ?? '';
  const rest = prose.replace(commandTable, rowsOf(commandTable).map(([, ...cells]) => cells.join('|')).join('\n'));
  return {
    blocks,
    usages: rowsOf(commandTable).flatMap(([cell = '']) => wholeCommands(codeIn(cell))),
    spans: codeIn(rest),
    section: (heading) => sectionOf(prose, heading),
    rows: (heading) => rowsOf(sectionOf(prose, heading)).slice(2),
  };
}

function takeOutBlocks(text: string): [prose: string, blocks: Block[]] {
  const blocks: Block[] = [];
  const fence = /^( *)```(\w*)\n([^]*?)^ *```$/gm;
  const prose = text.replace(fence, (_all, indent: string, kind: string, body: string, at: number) => {
    const section = [...text.slice(0, at).matchAll(/^#{2,3} (.*)$/gm)].at(-1)?.[1] ?? '';
    blocks.push({ section, kind, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') });
    return '';
  });
  return [prose, blocks];
}

function sectionOf(prose: string, heading: string): string {
  return prose.split(/^#{2,3} /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
}

/** Rows of Markdown tables; a bar after a backslash is part of its cell. */
function rowsOf(text: string): string[][] {
  return text.split('\n').filter((line) => line.startsWith('|'))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim().replaceAll('\\|', '|')));
}

function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
}

/** A cell names the program once: what follows the first command are other arguments of the same. */
function wholeCommands([first = '', ...others]: string[]): string[] {
  const [program = ''] = first.split(' ');
  return [first, ...others.map((code) => (code.includes('./scripts/') ? code : `${program} ${code}`))];
}

/** A command with `[options]` and `a|b` without any option, and with all at once, in each alternative. */
export function variantsOf(usage: string): string[] {
  const options = / ?\[([^\]]+)\]/g;
  return [...new Set([usage.replaceAll(options, ''), usage.replaceAll(options, ' $1')])].flatMap(eachAlternative);
}

function eachAlternative(command: string): string[] {
  const found = /\S+\|\S+/.exec(command);
  return found ? found[0].split('|').map((word) => command.replace(found[0], word)) : [command];
}
