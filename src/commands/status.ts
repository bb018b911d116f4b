import { sinceInWords } from '../features/health/condition.ts';
import { findings, problemsOf, type Finding, type Level } from '../features/health/findings.ts';
import { isoTime } from '../platform/clock.ts';
import { utcTime } from '../platform/in-words.ts';
import { singleLine } from '../platform/markup/tidy-text.ts';
import type { Command } from './command.ts';

/** Prints what the administrators' overview shows: the verdict, then each finding, problems first. */
export const statusCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, context) {
    const { hub, pending } = await context.lookAtHub();
    const all = findings(hub, pending);
    const problems = problemsOf(all);
    const others = all.filter(({ isBad }) => !isBad);
    const text = (): string => overallVerdict(all) + [...problems, ...others].map(findingLines).join('');
    context.out(values['json'] ? jsonOf(all) : text());
    return problems.length === 0 ? 0 : 1;
  },
};

const MARKS: Record<Level, string> = { good: 'ok', off: '-', warn: 'WARN', bad: 'BAD' };

/** "All is well.", or the number of problems. */
export function overallVerdict(all: readonly Finding[]): string {
  const problems = problemsOf(all);
  if (problems.length === 0) return 'All is well.\n';
  return problems.length === 1 ? 'One thing needs attention.\n' : `${problems.length} things need attention.\n`;
}

/** One line for the finding; a second with the problem, since when, and what to do. Control characters are removed. */
export function findingLines({ subject, level, state, detail, at, problem, since, whatToDo }: Finding): string {
  const more = [detail, at !== null && utcTime(at)].filter(Boolean).join(', ');
  const line = `${MARKS[level].padEnd(4)} ${singleLine(`${subject}: ${state}${more && ` (${more})`}`)}\n`;
  const below = [problem, sinceInWords(since), whatToDo].filter(Boolean).join(' ');
  return below === '' ? line : `${line}     ${singleLine(below)}\n`;
}

/** The findings as JSON: times in RFC 3339, null if unknown. */
export function jsonOf(all: readonly Finding[]): string {
  const findings = all.map(({ subject, level, state, detail, at, problem, since, whatToDo }) => ({
    subject, level, state, detail, at: at === null ? null : isoTime(at),
    problem, since: since === null ? null : isoTime(since), whatToDo,
  }));
  return `${JSON.stringify({ ok: problemsOf(all).length === 0, findings })}\n`;
}
