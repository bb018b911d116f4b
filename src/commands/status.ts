import { findings } from '../features/admin/findings.ts';
import { problemsOf } from '../features/admin/finding.ts';
import type { Command } from './command.ts';
import { jsonOf, findingLines, verdictOf } from './say-findings.ts';

/** Says what the administrators' overview says: first whether all is well, then each thing, what is wrong first. */
export const statusCommand: Command = {
  options: { json: { type: 'boolean' } },
  operands: 0,

  async run(_args, values, context) {
    const { hub, pending } = await context.lookAtHub();
    const all = findings(hub, pending);
    const problems = problemsOf(all);
    const others = all.filter(({ isBad }) => !isBad);
    context.out(values['json'] ? jsonOf(all) : verdictOf(all) + [...problems, ...others].map(findingLines).join(''));
    return problems.length === 0 ? 0 : 1;
  },
};
