import { join } from 'node:path';
import { runHubctl } from '../../src/commands/run-hubctl.ts';
import { hubEnvironment } from './hub-process.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';

/** The operator's command line in this process, on that DATA_DIR or with that environment. */
export async function hubctl(at: string | Record<string, string>, ...argv: string[]): Promise<Outcome> {
  const outcome: Outcome = { status: null, stdout: '', stderr: '' };
  outcome.status = await runHubctl(argv, {
    env: typeof at === 'string' ? hubEnvironment(at) : at,
    out: (text) => void (outcome.stdout += text),
    err: (text) => void (outcome.stderr += text),
  });
  return outcome;
}

/** The same in a process of its own, confined, beside DATA_DIR. */
export function hubctlProcess(dataDir: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const launch = join(PROJECT_ROOT, 'src/bin/launch.ts');
  const options = { env: hubEnvironment(dataDir, env), cwd: join(dataDir, '..') };
  return runProgram(process.execPath, [launch, 'hubctl', ...args], options);
}
