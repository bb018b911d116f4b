import { join } from 'node:path';
import { runHubctl } from '../../src/commands/run-hubctl.ts';
import { hubEnvironment } from './hub-process.ts';
import { PROJECT_ROOT, runProgram, type Outcome } from './run-program.ts';

/** The operator's command line in this process, on that DATA_DIR or with that environment. */
export function hubctl(at: string | Record<string, string>, ...argv: string[]): Promise<Outcome> {
  return run(at, argv, false);
}

/** The same, as on a terminal. */
export function hubctlOnTerminal(at: string, ...argv: string[]): Promise<Outcome> {
  return run(at, argv, true);
}

async function run(at: string | Record<string, string>, argv: string[], isTerminal: boolean): Promise<Outcome> {
  const outcome: Outcome = { status: null, stdout: '', stderr: '' };
  outcome.status = await runHubctl(argv, {
    env: typeof at === 'string' ? hubEnvironment(at) : at,
    out: (text) => void (outcome.stdout += text),
    err: (text) => void (outcome.stderr += text),
    isTerminal,
  });
  return outcome;
}

/** The same in a process of its own, confined, beside DATA_DIR. */
export function hubctlProcess(dataDir: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const launch = join(PROJECT_ROOT, 'src/bin/launch.ts');
  const options = { env: hubEnvironment(dataDir, env), cwd: join(dataDir, '..') };
  return runProgram(process.execPath, [launch, 'hubctl', ...args], options);
}
