import type { AlertFormat } from '../hub/settings.ts';

/** What a receiver answered; `isWhole` is false where the answer broke off, or was longer than is read. */
export type Answer = { status: number; contentType: string; body: string; isWhole: boolean };

export type Outcome = 'delivered' | 'retry' | 'failed';

const WORTH_RETRYING = new Set([408, 425, 429]);

/**
 * Whether an alert arrived. A 2xx counts if the receiver of that format answers so; tried again are what is temporary
 * by its status (408, 425, 429, 5xx) and a 2xx that broke off before it could be understood. All else is final, since
 * it would go wrong again, or tell people twice.
 */
export function judgeAnswer(format: AlertFormat, answer: Answer): Outcome {
  const { status, isWhole } = answer;
  if (status >= 500 || WORTH_RETRYING.has(status)) return 'retry';
  if (status < 200 || status > 299) return 'failed';
  if (isAccepted(format, answer)) return 'delivered';
  return isWhole ? 'failed' : 'retry';
}

function isAccepted(format: AlertFormat, { contentType, body }: Answer): boolean {
  if (format === 'json') return true;
  if (/^text\/html\b/i.test(contentType)) return false; // somebody's sign-in page
  if (format === 'slack') return body.trim() === 'ok';
  return format !== 'rocketchat' || !/"success"\s*:\s*false/.test(body);
}
