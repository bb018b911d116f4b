/** node src/bin/hubctl.ts <command> [argument…]: the operator's command line; --help lists the commands. */
import { runHubctl } from '../commands/run-hubctl.ts';

process.exitCode = await runHubctl(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
});
