// A reporter of Node's test runner: one JSON line for each test, for `try-mutations.ts`.
import type { TestEvent } from 'node:test/reporters';

/** How one test ended; `why` is the beginning of what it failed with, on one line. */
export type TestOutcome = { name: string; ended: 'passed' | 'failed' | 'skipped'; why: string };

const LONGEST = 160; // characters

export default async function* reportOutcomes(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, skip, todo } = data;
    const isSkipped = skip !== undefined || todo !== undefined;
    const ended = isSkipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    const why = type === 'test:fail' ? shortened(data.details.error) : isSkipped ? String(skip ?? todo) : '';
    yield `${JSON.stringify({ name, ended, why } satisfies TestOutcome)}\n`;
  }
}

function shortened(error: Error): string {
  const { message } = error.cause instanceof Error ? error.cause : error;
  return message.replace(/\s+/g, ' ').slice(0, LONGEST);
}
