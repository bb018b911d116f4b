import { createHash, timingSafeEqual } from 'node:crypto';
import { HttpError, text, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import {
  CONTENT_TYPE, negotiateFormat, renderOpenMetrics, renderPrometheus,
} from '../../platform/metrics/exposition.ts';
import type { Hub } from '../hub/hub.ts';
import { metricFamilies, readMetrics } from './metrics.ts';

const NO_STORE = { 'cache-control': 'no-store' };

/** For scrapers. */
export function showMetrics(hub: Hub, { headers }: HubRequest): Reply {
  const { metricsToken } = hub.config;
  if (metricsToken !== null && !hasToken(headers.authorization, metricsToken)) throw unauthorized();
  const format = negotiateFormat(headers.accept);
  const render = format === 'openmetrics' ? renderOpenMetrics : renderPrometheus;
  return text(render(metricFamilies(readMetrics(hub))), CONTENT_TYPE[format], { ...NO_STORE, vary: 'Accept' });
}

function unauthorized(): HttpError {
  const headers = { ...NO_STORE, 'www-authenticate': 'Bearer realm="Content Hub metrics"' };
  return new HttpError(401, 'Metrics require the bearer token from METRICS_TOKEN.', { headers });
}

/** Compares digests: of equal length whatever was sent. The scheme's name has no case (RFC 9110, 11.1). */
function hasToken(authorization: string | undefined, token: string): boolean {
  const sent = /^bearer +(.*)$/i.exec(authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(sent), digest(token));
}

function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
