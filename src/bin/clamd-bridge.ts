/**
 * node src/bin/clamd-bridge.ts
 * Lets VIRUS_SCAN_URL use ClamAV's clamd: http://127.0.0.1:CLAMD_BRIDGE_PORT/scan. After SIGTERM, running scans have
 * 8 s to finish.
 */
import type { AddressInfo } from 'node:net';
import { readBridgeConfig } from '../app/clamd-bridge/bridge-settings.ts';
import { createBridgeServer } from '../app/clamd-bridge/bridge-server.ts';
import { onStopSignals } from '../app/processes/stop-signals.ts';
import { configOrExit, settingsSource } from '../features/hub/read-config.ts';
import { SECOND } from '../platform/clock.ts';
import { closeServer } from '../platform/http/connections.ts';
import { createLog, errorFields } from '../platform/log.ts';
import { createClamdClient } from '../platform/net/clamd-client.ts';

const HOST = '127.0.0.1';
const GRACE = 8 * SECOND;

const config = configOrExit(() => readBridgeConfig(settingsSource(process.env)));
const { maxBytes } = config;
const log = createLog('clamd-bridge', config.logLevel, Date.now, (text) => void process.stderr.write(text));
process.on('exit', log.flush);
process.stderr.on('error', () => {}); // EPIPE: the program that reads stderr is gone

const clamd = createClamdClient({ address: config.clamd, maxBytes });
const server = createBridgeServer({ clamd, maxBytes, log });

server.once('error', (error) => {
  log.error('cannot listen', { error: error.message, variable: 'CLAMD_BRIDGE_PORT' });
  process.exit(1);
});

server.listen(config.port, HOST, () => {
  log.info('listening', { host: HOST, port: (server.address() as AddressInfo).port, maxBytes });
  clamd.ping(AbortSignal.timeout(10 * SECOND)).then(
    () => log.info('clamd answers'),
    (error: unknown) => log.warn('clamd does not answer', { error: errorFields(error).error }),
  );
});

onStopSignals(() => void stop(), () => process.exit(1));

async function stop(): Promise<void> {
  log.info('stopping');
  await closeServer(server, GRACE);
  log.info('stopped');
  process.exit(0);
}
