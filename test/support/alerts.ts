import type { Alert } from '../../src/features/alerts/alert-text.ts';
import { formatAlert, type AlertRequest } from '../../src/features/alerts/format-alert.ts';
import { ALERT_FORMATS, type AlertFormat } from '../../src/features/hub/settings.ts';

/** An alert of 31 January 2026, noon, with what a test changes about it. */
export function alertWith(changes: Partial<Alert> = {}): Alert {
  return {
    title: 'A source cannot be synchronised',
    text: 'Five attempts have failed.\nThe last answer was 503.',
    severity: 'error',
    event: 'sync.exhausted',
    at: Date.UTC(2026, 0, 31, 12),
    hubUrl: 'https://hub.example.org',
    suppressed: 0,
    ...changes,
  };
}

/** An address of the kind that each receiver gives out, at `origin`; its secret parts contain "SECRET". */
export function addressFor(format: AlertFormat, origin: string): string {
  return origin + PATHS[format];
}

const PATHS: Record<AlertFormat, string> = {
  slack: '/services/T0SECRET/B0SECRET/xSECRETx',
  mattermost: '/hooks/secretsecretsecretsecretse',
  rocketchat: '/hooks/idSECRET/tokenSECRET',
  discord: '/api/webhooks/123/tokenSECRET-x_y',
  googlechat: '/v1/spaces/SECRET/messages?key=keySECRET&token=tokenSECRET%3D',
  teams: '/workflows/SECRET/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers&sv=1.0&sig=SECRET-sig',
  ntfy: '/topicSECRET',
  gotify: '/message?token=A.SECRET',
  json: '/alerts/SECRET?secret=SECRET',
};

/** The request of each format at an origin. */
export function everyRequest(
  origin: string, changes: Partial<Alert> = {},
): { format: AlertFormat; request: AlertRequest }[] {
  return ALERT_FORMATS.map((format) => {
    return { format, request: formatAlert(format, addressFor(format, origin), alertWith(changes)) };
  });
}

/** All texts in a body, of JSON or plain, joined. */
export function textsIn(body: string): string {
  if (!body.startsWith('{')) return body;
  const texts: string[] = [];
  JSON.parse(body, (_key, value: unknown) => {
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  return texts.join('\n');
}
