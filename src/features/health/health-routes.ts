import { createHash, timingSafeEqual } from 'node:crypto';
import { HttpError } from '../../platform/http/problem.ts';
import { json, text, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type Route } from '../../platform/http/router.ts';
import {
  CONTENT_TYPE, type Family, negotiateFormat, renderOpenMetrics, renderPrometheus,
} from '../../platform/metrics/exposition.ts';
import type { Health } from './health-store.ts';

export type HealthRouteDeps = {
  readHealth(): Health & BackupHealth;
  /** Whether the data is being replaced by a backup's: no probe should take the hub for ready then. */
  isRestoring(): boolean;
  families(): Family[];
  metricsToken: string | null;
  /** Told why the database could not be read; the answer itself says no more than that it could not. */
  onUnreadable(error: unknown): void;
};

/**
 * Of the newest one that is there; and of the last one that a run or a verification found good, null once that has gone
 * or was found damaged since.
 */
export type BackupHealth = {
  lastBackup: { ageSeconds: number; verified: boolean } | null;
  lastVerifiedBackup: { ageSeconds: number } | null;
};

const NO_STORE = { 'cache-control': 'no-store' };

/** Health for probes and metrics for scrapers; both answer whatever state the hub is in. */
export function healthRoutes(
  { readHealth, isRestoring, families, metricsToken, onUnreadable }: HealthRouteDeps,
): Route[] {
  return [
    route('GET /api/health', 'public', 'Readiness, or liveness with ?probe=live', showHealth),
    route(
      'GET /api/metrics', 'public', 'Metrics in the Prometheus or OpenMetrics text format', showMetrics,
      { checksBearer: true },
    ),
  ];

  function showHealth({ query }: HubRequest): Reply {
    const probe = query.get('probe') ?? 'ready';
    if (probe === 'live') return json({ ok: true }, 200, NO_STORE);
    if (probe !== 'ready') throw new HttpError(400, 'The probe is either "live" or "ready".', { headers: NO_STORE });
    if (isRestoring()) return unready('A backup is being restored, or that was interrupted.');
    try {
      return json(readHealth(), 200, NO_STORE);
    } catch (error) {
      onUnreadable(error);
      return unready('The database is not readable.');
    }
  }

  function showMetrics({ headers }: HubRequest): Reply {
    if (metricsToken !== null && !hasToken(headers.authorization, metricsToken)) throw unauthorized();
    const format = negotiateFormat(headers.accept);
    const render = format === 'openmetrics' ? renderOpenMetrics : renderPrometheus;
    return text(render(families()), CONTENT_TYPE[format], { ...NO_STORE, vary: 'Accept' });
  }
}

function unready(error: string): Reply {
  return json({ ok: false, database: 'unreadable', error }, 503, NO_STORE);
}

function unauthorized(): HttpError {
  const headers = { ...NO_STORE, 'www-authenticate': 'Bearer realm="Content Hub metrics"' };
  return new HttpError(401, 'The metrics need the bearer token of METRICS_TOKEN.', { headers });
}

/** Compares digests: of equal length whatever was sent. The scheme's name has no case (RFC 9110, 11.1). */
function hasToken(authorization: string | undefined, token: string): boolean {
  const sent = /^bearer +(.*)$/i.exec(authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(sent), digest(token));
}

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
