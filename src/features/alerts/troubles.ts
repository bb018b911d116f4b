export type Severity = 'error' | 'warning' | 'info' | 'resolved';

/** A kind of trouble in words: when it happened, and when it is over. */
type Words = { title: string; severity: Severity; over: string };

/** Every kind that is told. Each is told of once an hour at most, however many things are in that trouble. */
export const TROUBLES = {
  'sync-failed': {
    title: 'Sources cannot be synchronised', severity: 'error', over: 'All sources are synchronised again',
  },
  'webhook-silent': {
    title: 'No events from webhooks for more than 7 days', severity: 'warning', over: 'No webhook is silent any more',
  },
  'worker-silent': {
    title: 'The worker of the hub is not running', severity: 'error', over: 'The worker of the hub is running again',
  },
  'backup-failed': {
    title: 'A backup failed', severity: 'error', over: 'Backups succeed again',
  },
  'backup-stale': {
    title: 'There is no recent verified backup', severity: 'error', over: 'There is a recent verified backup again',
  },
  'backup-verify-failed': {
    title: 'A backup failed its verification', severity: 'error', over: 'The backup is verified again',
  },
  'space-low': {
    title: 'The disk of the hub is nearly full', severity: 'error', over: 'The disk of the hub has space again',
  },
  'error-burst': {
    title: 'Many unexpected errors', severity: 'error', over: 'Unexpected errors are rare again',
  },
} satisfies Record<string, Words>;

export type Trouble = keyof typeof TROUBLES;

/** What one message says; `suppressed` more of the kind it does not name. */
export type TroubleMessage = { title: string; body: string; severity: Severity; suppressed: number };

/** Of a trouble that happened `untold` times, `subjects` among them; `isOver` where it has passed already. */
export function troubleMessage(trouble: Trouble, subjects: string[], untold: number, isOver: boolean): TroubleMessage {
  const { title, severity } = TROUBLES[trouble];
  const lines = isOver ? [...subjects, 'This has already been resolved.'] : subjects;
  return { title, body: lines.join('\n'), severity, suppressed: Math.max(0, untold - subjects.length) };
}

/** That a trouble is over; it may have come back `untold` times in between. */
export function overMessage(trouble: Trouble, subjects: string[], untold: number): TroubleMessage {
  const { title, over } = TROUBLES[trouble];
  const body = [`Resolved: ${title}`, ...subjects].join('\n');
  return { title: over, body, severity: 'resolved', suppressed: Math.max(0, untold - subjects.length) };
}
