/** node src/bin/hubctl.ts <command> [argument…]: the operator's command line; --help lists the commands. */
import { runHubctl } from '../commands/run-hubctl.ts';

// EPIPE: the reader, such as head, closed early: ends without a message. Other errors, such as a full disk, get one.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`hubctl: the output could not be written: ${error.message}\n`);
  process.exit(1);
});

process.exitCode = await runHubctl(process.argv.slice(2), {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
});
