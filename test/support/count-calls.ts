import { Session, type Profiler } from 'node:inspector/promises';
import type { TestContext } from 'node:test';

/** How often a function of that file has been called since; Node itself counts, so that nothing is put in its place. */
export async function countCalls(t: TestContext, file: string, functionName: string): Promise<() => Promise<number>> {
  const session = new Session();
  session.connect();
  t.after(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let calls = 0;

  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage'); // counts begin anew each time
    const script = result.find(({ url }: Profiler.ScriptCoverage) => url.endsWith(file));
    const found = script?.functions.find((one: Profiler.FunctionCoverage) => one.functionName === functionName);
    calls += found?.ranges[0]?.count ?? 0;
    return calls;
  };
}
