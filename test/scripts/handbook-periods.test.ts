// Protects the handbook: its retention, limits and alerts are the program's, and each alert's name leads to what to do.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FINISHED_JOBS_KEPT } from '../../src/app/schedule.ts';
import { OLDEST_BACKUP } from '../../src/features/backups/backup-status.ts';
import { LEAST_FREE } from '../../src/features/backups/backup-folder.ts';
import { BURST_TIME } from '../../src/features/health/condition.ts';
import { BURST, LONGEST_SILENCE } from '../../src/features/health/conditions.ts';
import { ALERT_WORDS } from '../../src/features/health/watch-conditions.ts';
import { HYSTERESIS } from '../../src/features/hub/disk-reserve.ts';
import { PASSWORD_LINK_LIFETIME, SESSION_LIFETIME, SESSION_MAX } from '../../src/features/accounts/credential-store.ts';
import { ENDED_OFFERS_KEPT, OFFER_LIFETIME } from '../../src/features/manage-sources/offer-store.ts';
import { DRAFT_LIFETIME, PENDING_LIFETIME, RESTORABLE } from '../../src/features/writing/draft-store.ts';
import { INVITATION_HOURS } from '../../src/features/accounts/join-hub.ts';
import { DELIVERED_KEPT, FAILED_KEPT, MAX_ATTEMPTS } from '../../src/features/alerts/send-alert.ts';
import { REMIND_EVERY, TELL_EVERY } from '../../src/features/alerts/raise-alerts.ts';
import { KEPT_UNNAMED } from '../../src/features/attachments/upload-files.ts';
import { previewRetention } from '../../src/features/retention/remove-old-rows.ts';
import { DAYS } from '../../src/features/sources/run-store.ts';
import { COARSE, FINE, KEPT as KEPT_FIGURES, RUNS_KEPT } from '../../src/features/history/history-store.ts';
import { EVENTS_KEPT } from '../../src/features/webhooks/receive-event.ts';
import { LONGEST_QUIET } from '../../src/features/webhooks/manage-webhooks.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/platform/clock.ts';
import { backoff } from '../../src/platform/jobs/finish-jobs.ts';
import { anchorOf } from '../support/contents.ts';
import { readHandbook } from '../support/handbook.ts';
import { startHub } from '../support/hub.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { SOURCES } from '../support/source-tree.ts';

const HANDBOOK = readHandbook();
const UNITS = [[DAY, 'day'], [HOUR, 'hour'], [MINUTE, 'minute']] as const;

/** A period as the handbook writes it: a day, 26 hours. */
function words(ms: number): string {
  const [unit, noun] = UNITS.find(([length]) => ms % length === 0) ?? [SECOND, 'second'];
  if (ms === unit) return `${noun === 'hour' ? 'an' : 'a'} ${noun}`;
  return `${ms / unit} ${noun}s`;
}

/** The only row of that section's table that begins so, as one text. */
function row(section: string, beginning: string): string {
  const [found, ...more] = HANDBOOK.rows(section).filter(([first = '']) => first.startsWith(beginning));
  assert.ok(found && more.length === 0, `"${section}" has one row for ${beginning}`);
  return found.slice(1).join(' | ');
}

/** Fails where the text has not exactly these periods, in this order. */
function assertSays(text: string, periods: string[]): void {
  assert.deepEqual(text.match(/\b(\d+|an?) (day|hour|minute)s?\b/g) ?? [], periods, text);
}

test('the reference has every event of the log with its level and fields, and no other event', () => {
  const calls = SOURCES.flatMap(({ code }) => [...code.matchAll(/\blog\.(info|warn|error)\(\s*'([^']+)'(?:,\s*\{([^}]*)\})?/g)]);
  const counted = SOURCES.flatMap(({ code }) => [...code.matchAll(/\blimitLines\(log, '([^']+)'/g)]);
  const logged = [...calls.map(([, level = '', event = '']) => `${event}: ${level}`), ...counted.map(([, event]) => `${event}: info`)];
  const rows = HANDBOOK.rows('Events of the log');
  const told = rows.flatMap(([event = '', when = '']) => [...when.matchAll(/^(?!warn:|error:)|\b(?:warn|error)(?=:)/g)]
    .map(([level]) => `${event}: ${level || 'info'}`));
  const byWatch = ['web delivers alerts while the worker is silent: info', 'the worker delivers alerts again: info'];
  assert.deepEqual(told.sort(), [...new Set([...logged, ...byWatch])].sort());
  const fieldsOf = new Map(rows.map(([event = '', , fields = '']) => [event, fields]));
  for (const [, , event = '', members = ''] of calls) {
    const names = members.split(',').flatMap((member) => /^\s*(\w+)/.exec(member)?.[1] ?? []);
    const untold = names.filter((name) => name !== 'requestId' && !fieldsOf.get(event)?.includes(`\`${name}\``));
    assert.deepEqual(untold, [], event);
  }
});

const KEPT = 'Retention';

test('what the daily removal covers is kept for as long as the handbook says, in days that can be set', async (t) => {
  const hub = await startHub(t);
  const begins: Record<string, string> = {
    notifications: 'notifications', readingHistory: 'reading history', auditRecords: 'audit events',
    errorEvents: 'error events', posts: 'posts',
  };
  const variables: Record<string, string> = {
    notifications: 'NOTIFICATION_RETENTION_DAYS', readingHistory: 'READING_HISTORY_RETENTION_DAYS',
    auditRecords: 'AUDIT_RETENTION_DAYS', posts: 'POST_RETENTION_DAYS',
  };
  for (const { kind, keptMs } of previewRetention(hub.handle)) {
    const beginning = begins[kind] ?? assert.fail(`${kind} are removed after a time: add to "${KEPT}" in ` +
      'scripts/REFERENCE.md how long the hub keeps them, and to this test how that row begins and which setting it names');
    const text = row(KEPT, beginning);
    assertSays(text, keptMs > 0 ? [words(keptMs)] : []);
    assert.equal(/`([A-Z_]+)`/.exec(text)?.[1], variables[kind]);
  }
});

const OWN_PERIODS: Record<string, string[]> = {
  invitations: [`${INVITATION_HOURS.standard} hours`, words(INVITATION_HOURS.max * HOUR), 'a minute'],
  sessions: [words(SESSION_LIFETIME), words(SESSION_MAX)],
  'password links': [words(PASSWORD_LINK_LIFETIME), 'a minute'],
  'offers of sources': [words(OFFER_LIFETIME), words(ENDED_OFFERS_KEPT)],
  'sign-in networks': [],
  'drafts of posts': [words(DRAFT_LIFETIME), words(RESTORABLE), words(PENDING_LIFETIME)],
  'finished jobs': [words(FINISHED_JOBS_KEPT)],
  'failed jobs': [],
  alerts: [words(DELIVERED_KEPT), words(FAILED_KEPT)],
  'webhook events': [words(EVENTS_KEPT)],
  'deleted posts': [],
  'unused files': [words(KEPT_UNNAMED)],
  'plot figures': [words(KEPT_FIGURES.get(FINE) ?? 0), words(KEPT_FIGURES.get(COARSE) ?? 0)],
  'backup runs': [words(RUNS_KEPT)],
  'source history': [words(DAYS * DAY)],
  backups: [],
};

for (const [beginning, periods] of Object.entries(OWN_PERIODS)) {
  test(`the handbook's row "${beginning}" says ${periods.join(', ') || 'no period'}, as the program has it`, () => {
    assertSays(row(KEPT, beginning), periods);
  });
}

test('no rate limit lasts longer than the handbook says', () => {
  const names = readdirSync(join(PROJECT_ROOT, 'src'), { recursive: true }).map(String);
  const sources = names.filter((name) => name.endsWith('.ts'));
  const limits = sources.flatMap((name) => limitsIn(readFileSync(join(PROJECT_ROOT, 'src', name), 'utf8')));
  assert.ok(limits.length >= 6, `${limits.length} limits are found`);
  assertSays(row(KEPT, 'rate limits'), [words(Math.max(...limits))]);
});

/** How long each limit takes to forget, in milliseconds, from `burst: 10, everyMs: 2 * SECOND`. */
function limitsIn(source: string): number[] {
  const units: Record<string, number> = { SECOND, MINUTE, HOUR, DAY };
  return [...source.matchAll(/burst: ([\d_]+), everyMs: (?:(\d+) \* )?([A-Z]+)(?: \/ (\d+))?/g)]
    .map(([, burst = '', times = '1', unit = '', parts = '1']) =>
      Number(burst.replaceAll('_', '')) * Number(times) * (units[unit] ?? NaN) / Number(parts));
}

test('every row of what is kept is compared with the program', () => {
  const others = [
    'notifications', 'reading history', 'posts', 'audit events', 'error events', 'rate limits',
  ];
  const compared = [...others, ...Object.keys(OWN_PERIODS)];
  const rows = HANDBOOK.rows(KEPT).map(([first = '']) => first);
  assert.deepEqual(rows.filter((first) => !compared.some((beginning) => first.startsWith(beginning))), []);
});

test('each trouble that is told has its row among the alerts, with the bounds that the program has', () => {
  const cells = HANDBOOK.rows('Alert events').map(([first = '']) => first).join();
  const events = [...cells.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name);
  assert.deepEqual(events.sort(), [...ALERT_WORDS.keys()].sort());
  const alert = (event: string): string => row('Alert events', `\`${event}\``);
  assertSays(alert('webhook-silent'), [words(LONGEST_QUIET)]);
  assertSays(alert('worker-silent'), [words(LONGEST_SILENCE)]);
  assertSays(alert('backup-stale'), [words(OLDEST_BACKUP)]);
  assertSays(alert('error-burst'), [words(BURST_TIME), words(BURST_TIME)]);
  assert.ok(alert('error-burst').startsWith(`${BURST} unexpected errors`));
  assert.match(alert('space-low'), new RegExp(`less than ${LEAST_FREE / 1024 ** 3} GiB is free`));
  assert.equal(HYSTERESIS, 1.1, '10 % more, the handbook says');
});

test('how often alerts are told and tried is said below the table as well', () => {
  const [, text = ''] = /^(A kind of alert[^]*?)\n\n/m.exec(HANDBOOK.section('How alerts are sent')) ?? [];
  const waits = [1, 2, 3, 4].map((attempts) => backoff(attempts, () => 0.5)).reduce((sum, wait) => sum + wait, 0);
  assert.equal(MAX_ATTEMPTS, 5);
  assert.equal(Math.round(waits / MINUTE / 5) * 5, 45, 'to five minutes');
  const told = [
    `once ${words(TELL_EVERY)}`, `once ${words(REMIND_EVERY)}`, `${words(TELL_EVERY)} after the last`, 'attempted five times', '45 minutes',
  ];
  const at = told.map((said) => text.replaceAll('\n', ' ').indexOf(said));
  assert.deepEqual(at, at.filter((place) => place >= 0).sort((a, b) => a - b), `${at.join()} of ${told.join(', ')}`);
});

test('the chapter “When something is wrong” names every alert, and every rule in the section to which the rule leads', () => {
  const read = (name: string): string => readFileSync(join(PROJECT_ROOT, 'scripts', name), 'utf8');
  const [, chapter = ''] = /^## When something is wrong\n([^]*?)^## /m.exec(read('README.md')) ?? [];
  const sections = new Map(chapter.split(/^### /m).map((text) => [anchorOf(text.split('\n', 1)[0] ?? ''), text]));
  const isNamed = (text: string | undefined, name: string): boolean => text?.includes(`\`${name}\``) ?? false;
  assert.deepEqual([...ALERT_WORDS.keys()].filter((name) => !isNamed(chapter, name)), [], 'the chapter “When something ' +
    'is wrong” of scripts/README.md lacks these alerts: add each name, in backquotes, to the section about its fault');
  const rules = [...read('monitoring/alerts.yml').matchAll(/- alert: (\w+)[^]*?runbook: scripts\/README\.md#([\w-]+)/g)];
  assert.ok(rules.length > 20, `${rules.length} rules`);
  assert.deepEqual(rules.filter(([, name = '', anchor = '']) => !isNamed(sections.get(anchor), name)).map(([, name]) => name), []);
});
