// `npm run test:mutations [-- WORD…]`: breaks each promise on purpose, in copies of the project, and runs the test that
// has to notice. Words choose the mutations whose promise, file or test has one of them. Exit 0: all were caught.
import { availableParallelism } from 'node:os';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { MUTATIONS } from './mutations.ts';
import { tryMutations, type Mutation, type Verdict } from './try-mutations.ts';

const LABELS = { caught: 'caught', missed: 'NOT CAUGHT', unusable: 'UNUSABLE' };

function isWanted({ promise, file, test }: Mutation): boolean {
  const words = process.argv.slice(2);
  return words.length === 0 || words.some((word) => `${promise} ${file} ${test}`.includes(word));
}

function report({ mutation: { promise, file, test }, result, why }: Verdict): void {
  process.stdout.write(`${LABELS[result]}: ${promise}\n    ${file}, by ${test}: ${why}\n`);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const began = performance.now();
const mutations = MUTATIONS.filter(isWanted);
const verdicts = await tryMutations({
  root: PROJECT_ROOT, mutations, atOnce: availableParallelism(), onVerdict: report,
});
const caught = verdicts.filter(({ result }) => result === 'caught').length;
const seconds = Math.round((performance.now() - began) / 1000);
process.stdout.write(`\n${caught} of ${mutations.length} mutations caught, in ${seconds} s\n`);
const failed = verdicts.filter(({ result }) => result !== 'caught');
if (failed.length > 0) process.stdout.write('\nNot caught:\n');
failed.forEach(report);
process.exitCode = caught === mutations.length && caught > 0 ? 0 : 1;
