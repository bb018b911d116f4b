import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './run-program.ts';

/** A word of a command; `text` of a quoted word is without its quotes; `isPlain`: nothing in it is quoted or replaced. */
type Word = { text: string; isPlain: boolean };
export type Command = Word[];

/** Runs of other commands: what follows them is a command too. */
const PREFIXES = /^(?:command|exec|env|flock|timeout|setsid|xargs|set|as_owner|as_coder|run_child|go_on_as_owner|[A-Za-z_]\w*=.*|if|then|elif|else|while|until|do|!|\{|\()$/;

/** Every command in a script for sh, also within "$(…)", here-documents and what trap and sh -c get. */
export function commandsIn(script: string): Command[] {
  const found: Command[] = [];
  parse(script, 0, '', found);
  return found;
}

/** Parses until the closing sign of a substitution; returns the place behind it. */
function parse(text: string, from: number, end: '' | ')', found: Command[]): number {
  let command: Command = [];
  let at = from;
  let cases = 0;
  let isPattern = false;
  const bodies: string[] = [];
  const finish = (): void => {
    if (command.length > 0) found.push(command);
    command = [];
  };
  while (at < text.length) {
    const sign = text[at] ?? '';
    if (sign === end && !isPattern) return finish(), at + 1;
    if (sign === '\\' && text[at + 1] === '\n') at += 2;
    else if (sign === '\n') {
      finish();
      at++;
      for (const word of bodies.splice(0)) {
        const stop = text.indexOf(`\n${word}\n`, at - 1);
        substitutions(text.slice(at, stop), found);
        at = stop + word.length + 2;
      }
    } else if (sign === ' ' || sign === '\t') at++;
    else if (sign === '#') at = text.indexOf('\n', at);
    else if (';&|'.includes(sign)) {
      if (text.startsWith(';;', at) && cases > 0) isPattern = true;
      if (!isPattern || sign !== '|') finish();
      at += text.startsWith(';;', at) ? 2 : 1;
    } else if (sign === '(') at = isPattern ? at + 1 : parse(text, at + 1, ')', (finish(), found));
    else if (sign === ')') { // the end of a pattern of case
      command = [];
      isPattern = false;
      at++;
    } else if (/^\d*[<>]/.test(text.slice(at, at + 4))) {
      const [operator = ''] = /^\d*(?:<<-?|>>|[<>]&?)\s*/.exec(text.slice(at)) ?? [];
      const target = readWord(text, at + operator.length, found);
      if (operator.includes('<<')) bodies.push(target.word.text);
      at = target.next;
    } else {
      const { word, next } = readWord(text, at, found);
      if (next === at) throw new Error(`cannot read: ${text.slice(at, at + 40)}`);
      at = next;
      if (word.isPlain && word.text === 'esac') {
        cases--;
        isPattern = false;
        command = [];
      } else if (word.isPlain && word.text === 'in' && command[0]?.text === 'case') {
        cases++;
        isPattern = true;
        command = [];
      } else command.push(word);
      const isScript = command.at(-2)?.text === 'trap' || (command.at(-2)?.text === '-c' && command.some(({ text: name }) => name === 'sh'));
      if (isScript && !word.isPlain) parse(word.text, 0, '', found);
    }
  }
  finish();
  return at;
}

function readWord(text: string, from: number, found: Command[]): { word: Word; next: number } {
  let [at, read, isPlain] = [from, '', true];
  while (at < text.length && !/[\s;&|()<>]/.test(text[at] ?? '')) {
    const start = at;
    if (text[at] === "'") at = text.indexOf("'", at + 1) + 1;
    else if (text[at] === '"') at = endOfQuoted(text, at + 1, found);
    else if (text[at] === '$' || text[at] === '`') at = endOfExpansion(text, at, found);
    else at += text[at] === '\\' ? 2 : 1;
    const part = text.slice(start, at);
    if (/^['"$`\\]/.test(part)) isPlain = false;
    read += /^['"]/.test(part) ? part.slice(1, -1) : part;
  }
  return { word: { text: read, isPlain }, next: at };
}

function endOfQuoted(text: string, from: number, found: Command[]): number {
  let at = from;
  while (text[at] !== '"') {
    if (at >= text.length) throw new Error(`no end of: ${text.slice(from - 1, from + 40)}`);
    at = text[at] === '$' || text[at] === '`' ? endOfExpansion(text, at, found) : at + (text[at] === '\\' ? 2 : 1);
  }
  return at + 1;
}

/** `${…}` may hold substitutions too, `$((…))` holds numbers. */
function endOfExpansion(text: string, at: number, found: Command[]): number {
  if (text[at] === '`') throw new Error('backquotes are not read');
  if (text.startsWith('$((', at)) return text.indexOf('))', at) + 2;
  if (text.startsWith('$(', at)) return parse(text, at + 2, ')', found);
  if (!text.startsWith('${', at)) return at + (/^\$\w+/.exec(text.slice(at, at + 80))?.[0].length ?? 2);
  let inside = at + 2;
  while (text[inside] !== '}') {
    if (text[inside] === '$') inside = endOfExpansion(text, inside, found);
    else if (text[inside] === '"') inside = endOfQuoted(text, inside + 1, found);
    else if (text[inside] === "'") inside = text.indexOf("'", inside + 1) + 1;
    else inside += text[inside] === '\\' ? 2 : 1;
  }
  return inside + 1;
}

function substitutions(body: string, found: Command[]): void {
  for (const { index } of body.matchAll(/\$\(/g)) endOfExpansion(body, index, found);
}

/** The program, function or word of the shell that a command calls, behind assignments and what runs other commands. */
export function calledBy(command: Command): Word[] {
  const called: Word[] = [];
  let isPrefixed = true;
  for (const word of command) {
    if (!isPrefixed) break;
    const isOption = /^(?:-|\d|[A-Z]+$)/.test(word.text) || (!word.isPlain && called.at(-1)?.text !== 'env');
    if (called.length > 0 && isOption) continue; // of a prefix
    if (/^[A-Za-z_]\w*=/.test(word.text)) continue;
    called.push(word);
    isPrefixed = word.isPlain && PREFIXES.test(word.text);
  }
  return called;
}

/** Every script of the project: its name, and its text. */
export const SCRIPTS: { name: string; text: string }[] = readdirSync(join(PROJECT_ROOT, 'scripts'))
  .filter((name) => name.endsWith('.sh') || name === 'hubctl').sort()
  .map((name) => ({ name, text: readFileSync(join(PROJECT_ROOT, 'scripts', name), 'utf8') }));
