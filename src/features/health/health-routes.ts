import { anyOf, choice, noted, text, type Shown } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, text as textReply, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { errorFields } from '../../platform/log.ts';
import {
  CONTENT_TYPE, negotiateFormat, renderOpenMetrics, renderPrometheus,
} from '../../platform/metrics/exposition.ts';
import { isRestoreUnderWay } from '../backups/restore-state.ts';
import { databaseNote, isDatabaseGone } from '../hub/database-file.ts';
import { describeDatabase } from '../hub/database-note.ts';
import type { Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { probes } from './answer-probes.ts';
import { metricFamilies, readMetrics } from './metrics.ts';
import { isSecret } from './own-check.ts';
import { ALIVE, HEALTH, readHealth, UNREADY } from './read-health.ts';

const NO_STORE = { 'cache-control': 'no-store' };

export const HEALTH_ROUTES: Endpoint[] = [
  {
    pattern: 'GET /api/health', access: 'public', summary: 'Readiness of the hub, or liveness: ?probe=live',
    settings: { anyHost: true }, handler: showHealth,
    operation: {
      query: { probe: noted(choice(['live', 'ready']), { default: 'ready' }).schema },
      answers: {
        200: { 'application/json': anyOf(HEALTH, ALIVE).schema }, 503: { 'application/json': UNREADY.schema },
      },
      proof: 'none',
    },
  },
  {
    pattern: 'GET /api/metrics', access: 'public', summary: 'Metrics in the Prometheus or OpenMetrics text format',
    settings: { checksBearer: true, anyHost: true }, handler: showMetrics,
    operation: {
      answers: { 200: { 'text/plain': text.schema, 'application/openmetrics-text': text.schema } },
      proof: 'metrics',
    },
  },
];

/** GET /api/health: not ready (503) during a restore, and while the database is lost or cannot be read. */
export function showHealth(hub: Hub, req: HubRequest): Reply {
  const probe = req.query.get('probe') ?? 'ready';
  if (probe === 'live') return json({ ok: true }, 200, NO_STORE);
  if (probe !== 'ready') throw new HttpError(400, 'probe must be live or ready.', { headers: NO_STORE });
  return probes(hub).answer('ready', () => readiness(hub));
}

function readiness(hub: Hub): Reply {
  if (isRestoreUnderWay(hub.config.dataDir)) {
    return unready('A backup is being restored, or a restore was interrupted.');
  }
  if (isDatabaseGone(hub)) return databaseGone(hub);
  try {
    return json(readHealth(hub), 200, NO_STORE);
  } catch (error) {
    hub.log.error('database not readable', errorFields(error)); // this reply does not quote the error
    return unready('The database is not readable.');
  }
}

/** Says what to do and, once there is a copy of the database, where it is: `DATA_DIR` stands for the path. */
function databaseGone(hub: Hub): Reply {
  const found = databaseNote(hub);
  if (!found) return unready('database-gone');
  const note = { ...found, problem: found.problem?.replaceAll(hub.config.dataDir, 'DATA_DIR') ?? null };
  const rescue = note.rescue && { file: note.rescue.file, verified: note.rescue.verified };
  return unready('database-gone', { ...(rescue && { rescue }), ...describeDatabase(note) });
}

function unready(error: string, more: Partial<Shown<typeof UNREADY>> = {}): Reply {
  return json({ ok: false, database: 'unreadable', error, ...more }, 503, NO_STORE);
}

/** GET /api/metrics: throws 401 if METRICS_TOKEN is set and the scraper does not send it. */
export function showMetrics(hub: Hub, { headers }: HubRequest): Reply {
  const { metricsToken } = hub.config;
  if (metricsToken !== null && !hasToken(headers.authorization, metricsToken)) {
    const challenge = { ...NO_STORE, 'www-authenticate': 'Bearer realm="Content Hub metrics"' };
    throw new HttpError(401, 'Metrics require the bearer token from METRICS_TOKEN.', { headers: challenge });
  }
  const format = negotiateFormat(headers.accept);
  const render = format === 'openmetrics' ? renderOpenMetrics : renderPrometheus;
  return probes(hub).answer(format, () =>
    textReply(render(metricFamilies(readMetrics(hub))), CONTENT_TYPE[format], { ...NO_STORE, vary: 'Accept' }));
}

/** Whether a request's Authorization header contains `token`. `Bearer` is case-insensitive (RFC 9110, section 11.1). */
function hasToken(authorization: string | undefined, token: string): boolean {
  return isSecret(/^bearer +(.*)$/i.exec(authorization ?? '')?.[1] ?? '', token);
}
