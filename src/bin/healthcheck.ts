/**
 * node src/bin/healthcheck.ts
 * Exit 0 when web's readiness answers 200 with ok: true within 5 s, 1 with the reason otherwise.
 */
import { loadConfigOrExit, localAddress } from '../features/hub/read-config.ts';
import { askReadiness } from '../app/processes/readiness.ts';

const config = loadConfigOrExit(process.env);
const address = localAddress(config.host, config.port);
const problem =
  config.port === 0
    ? 'PORT is 0: nothing says where web listens'
    : await askReadiness(address, AbortSignal.timeout(5_000));
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
