import { DAY, hasPassed, HOUR, SECOND } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import { byteSize, duration, measuredTime, plural } from '../../platform/in-words.ts';
import { assertInPlace, oldestDueSeconds, readWorker, schemaVersionReader } from '../health/read-health.ts';
import { BURST, BURST_TIME, roomInWords } from '../health/watch-troubles.ts';
import { findSpace, readStorageSizes, spaceTaken } from '../health/storage-space.ts';
import { certificates } from '../history/certificate-store.ts';
import { PROCESS_ALIVE } from '../history/changed-settings.ts';
import { FINE, history } from '../history/history-store.ts';
import { recentAnswerTime } from '../history/read-history.ts';
import { isDiskLow, lowSince } from '../hub/disk-reserve.ts';
import { counts, heartbeats, jobs, type Hub } from '../hub/hub.ts';
import { failingSources } from '../sources/source-store.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { alertFinding } from './alert-finding.ts';
import { backupFindings } from './backup-findings.ts';
import { finding, type Finding, type Told } from './finding.ts';
import { pendingFindings, unknownYet } from './pending-findings.ts';
import { scannerFinding } from './scanner-finding.ts';
import { settingsFinding } from './settings-finding.ts';

/** A job that waits longer is overdue. */
export const LONGEST_WAIT = HOUR;

/**
 * Everything that the overview, `hubctl status` and `hubctl doctor` say of the hub, from one reading. `pending`: the
 * migrations that the database lacks, of which only the command line sees any.
 */
export function findings(hub: Hub, pending: readonly Migration[] = []): Finding[] {
  assertInPlace(hub);
  const kept = lazily(() => counts(hub).read());
  const looks: [subject: string, look: () => Finding | Finding[]][] = [
    ['Schema', () => pendingFindings(pending)], ['Settings', () => settingsFinding(hub)],
    ['Web', () => web(hub)], ['Worker', () => worker(hub)], ['Queue', () => queue(hub, kept())],
    ['Sources', () => sourcesOf(hub, kept())], ['Webhooks', () => webhooksOf(hub, kept())],
    ['Virus scanner', () => scannerFinding(hub)], ['Errors', () => errors(hub)], ['Alerts', () => alertFinding(hub)],
    ['Backups', () => backupFindings(hub)],
    ['Disk', () => storage(hub, kept())], ['Certificate', () => certificate(hub)],
    ['Version', () => version(hub)],
  ];
  return looks.flatMap(([subject, look]) => {
    try {
      return look();
    } catch (error) {
      return unknownYet(subject, pending)(error);
    }
  });
}

/** Reads once, when it is first asked. */
function lazily<Value>(read: () => Value): () => Value {
  let known: { value: Value } | undefined;
  return () => (known ??= { value: read() }).value;
}

/** Whoever reads this in web is answered by it; `hubctl` sees when it was last there. */
function web(hub: Hub): Finding {
  const seenAt = hub.program === 'web' ? hub.clock() : heartbeats(hub).lastSeen('web');
  const isThere = seenAt !== null && !hasPassed(seenAt, PROCESS_ALIVE, hub.clock());
  const startedAt = heartbeats(hub).lastStarted('web');
  if (isThere) {
    const seconds = recentAnswerTime(hub, 0.99);
    const detail = seconds === undefined ? null : `p99 ${measuredTime(seconds * SECOND)}`;
    return finding({ subject: 'Web', state: upFor(hub, startedAt), detail, href: '/admin#answers' });
  }
  return finding({
    subject: 'Web', level: 'bad', state: 'not running', at: seenAt, since: seenAt, problem: 'Web does not run.',
    whatToDo: 'Start the hub (npm start, or systemctl start content-hub-web), and read its log if it ends again.',
  });
}

function worker(hub: Hub): Finding {
  const { ok, lastSeenSeconds } = readWorker(hub);
  const seenAt = heartbeats(hub).lastSeen('worker');
  const seen = lastSeenSeconds === null ? 'never seen' : `last seen ${lastSeenSeconds} s ago`;
  if (ok) {
    const state = upFor(hub, heartbeats(hub).lastStarted('worker'));
    return finding({ subject: 'Worker', state, detail: seen, href: '/admin/jobs' });
  }
  return finding({
    subject: 'Worker', level: 'bad', state: 'not running', detail: seenAt === null ? seen : null, at: seenAt,
    since: seenAt, problem: 'The worker does not run: sources are not synchronised.', href: '/admin/errors',
    whatToDo: 'Start the hub again (npm start, or systemctl restart content-hub-worker), and read its log.',
  });
}

function upFor({ clock }: Hub, startedAt: number | null): string {
  const ms = startedAt === null ? 0 : Math.max(0, clock() - startedAt);
  return ms >= 2 * HOUR ? `${duration(ms)} up` : 'running';
}

function queue(hub: Hub, kept: CountsReading): Finding {
  const waitedSeconds = oldestDueSeconds(hub, kept);
  const inState = (state: string): number => kept.labels('jobs').filter((label) => label.endsWith(`,${state}`))
    .reduce((sum, label) => sum + kept.value('jobs', label), 0);
  const failed = inState('failed');
  const common = {
    subject: 'Queue', state: `${inState('queued') + inState('retrying')} waiting`,
    detail: `oldest due job ${duration(waitedSeconds * SECOND)}`, href: '/admin/jobs',
  };
  if (waitedSeconds * SECOND > LONGEST_WAIT) {
    return finding({
      ...common, level: 'bad', problem: `A job has waited for ${duration(waitedSeconds * SECOND)}.`,
      since: hub.clock() - waitedSeconds * SECOND,
      whatToDo: isDiskLow(hub) ? 'Make room on the disk: jobs that would store something wait for it.' :
        'See whether the worker runs, and which jobs wait; restart the worker if it does nothing.',
    });
  }
  if (failed === 0) return finding(common);
  return finding({
    ...common, level: 'warn', detail: `${failed} failed`, since: jobs(hub).failedSince(),
    problem: failed === 1 ? 'A job has failed for good.' : `${failed} jobs have failed for good.`,
    href: '/admin/jobs?state=failed', whatToDo: 'Read why, then retry or discard them: ./scripts/hubctl jobs list.',
  });
}

function sourcesOf(hub: Hub, kept: CountsReading): Finding {
  const sum = (states: string[]): number => kept.labels('sources')
    .filter((label) => states.includes(label.split(',')[1] ?? ''))
    .reduce((total, label) => total + kept.value('sources', label), 0);
  const [all, failing, paused] = [sum(['active', 'failing', 'paused']), sum(['failing']), sum(['paused'])];
  const notWell = [failing > 0 && `${failing} failing`, paused > 0 && `${paused} paused`].filter(Boolean);
  const state = notWell.length > 0 ? `${all - failing - paused} of ${all} well` : `${all} well`;
  const common = { subject: 'Sources', state: all === 0 ? 'none yet' : state, detail: notWell.join(', ') || null };
  if (failing === 0) return finding({ ...common, href: '/sources' });
  return finding({
    ...common, level: 'warn', since: failingSources(hub).list(1)[0]?.since ?? null, href: '/admin#failing',
    problem: failing === 1 ? 'A source fails.' : `${failing} sources fail.`,
    whatToDo: 'Read what is wrong with each on its page; those that are gone for good can be paused or deleted.',
  });
}

function webhooksOf(hub: Hub, kept: CountsReading): Finding {
  const [active, silent] = [kept.value('webhooks', 'active'), kept.value('webhooks', 'silent')];
  const unused = kept.value('webhooks', 'disabled');
  if (active + silent + unused === 0) return finding({ subject: 'Webhooks', level: 'off', state: 'none' });
  const common = { subject: 'Webhooks', state: `${active} listening`, href: '/admin/webhooks' };
  if (silent === 0) return finding({ ...common, detail: unused > 0 ? `${unused} paused` : null });
  const [quiet] = webhooks(hub).quiet(hub.clock(), Number.MAX_SAFE_INTEGER, 1);
  return finding({
    ...common, level: 'warn', detail: `${silent} silent`, since: quiet?.quietSinceAt ?? null,
    problem: silent === 1 ? 'A webhook has been silent for more than a week.' :
      `${silent} webhooks have been silent for more than a week.`,
    whatToDo: 'See whether their senders still send, and with the right secret; pause those that are no longer used.',
  });
}

/** As many as an alert is sent of, within the last five-minute spans that are over. */
function errors(hub: Hub): Finding {
  const now = hub.clock();
  const seen = history(hub).one(FINE, now - BURST_TIME - FINE, 'errors')
    .filter(({ at, value }) => at <= now && value > 0);
  const count = seen.reduce((sum, { value }) => sum + value, 0);
  const state = count === 0 ? 'none recently' : `${count} recently`;
  const common = { subject: 'Errors', state, href: '/admin/errors' };
  if (count < BURST) return finding(common);
  return finding({
    ...common, level: 'warn', since: seen[0]?.at ?? null, problem: 'There are many unexpected errors.',
    whatToDo: 'Read them in the list of errors, and the log about them: what comes most often is the one to look into.',
  });
}

function storage(hub: Hub, kept: CountsReading): Finding[] {
  const { databaseBytes, walBytes } = readStorageSizes(hub.config.databasePath);
  const uploadBytes = kept.value('uploads_bytes');
  const { isLow, least, needed } = findSpace(hub, uploadBytes);
  const disk = {
    subject: 'Disk', state: `${byteSize(least)} free`, detail: `the next backup may need ${byteSize(needed)}`,
    href: '/admin#room',
  };
  const files = kept.value('attachment_cache_bytes');
  const low: Told = {
    ...disk, level: 'bad', problem: `The disk is nearly full: ${byteSize(least)} are free.`,
    whatToDo: 'Make room: remove what is not the hub’s, keep fewer backups, or move DATA_DIR to a larger disk.',
  };
  return [
    finding(isDiskLow(hub) ? fullDisk(hub) : isLow ? low : disk),
    finding({
      subject: 'Database', state: byteSize(databaseBytes), detail: `write-ahead log ${byteSize(walBytes)}`,
      href: '/admin#room',
    }),
    finding({
      subject: 'Files', state: byteSize(uploadBytes), detail: `uploaded; ${byteSize(files)} in the cache`,
      href: '/admin#room',
    }),
  ];
}

/** Until there is room, only administrators, signing in and deleting write. */
function fullDisk(hub: Hub): Told {
  return {
    subject: 'Disk', level: 'bad', state: 'full', detail: roomInWords(hub), since: lowSince(hub), href: '/admin#room',
    headline: 'The disk is full: members can store nothing.',
    problem: `The disk is full: members can store nothing. The space is taken by: ${spaceTaken(hub)}.`,
    whatToDo: 'Remove what is not the hub’s, keep fewer backups or a smaller cache, delete the largest sources, or ' +
      'move DATA_DIR to a larger disk.',
  };
}

/** Where the hub is on https: how long the certificate is good that the worker last saw. */
function certificate({ config, ...hub }: Hub): Finding[] {
  const { protocol, origin, hostname } = new URL(config.baseUrl);
  if (protocol !== 'https:') return [];
  const seen = certificates(hub).find(origin);
  const subject = 'Certificate';
  if (!seen || seen.expiresAt === null) {
    const detail = seen ? 'the hub cannot reach its own address' : null;
    return [finding({ subject, level: 'off', state: 'not seen', detail, at: seen?.checkedAt ?? null })];
  }
  const days = Math.max(0, Math.floor((seen.expiresAt - hub.clock()) / DAY));
  const common = { subject, state: `${plural(days, 'day')} left`, at: seen.expiresAt };
  const whatToDo = `Renew it where ${hostname} is served: see the log of Caddy, certbot or whatever does so.`;
  if (seen.expiresAt <= hub.clock()) {
    const problem = 'The certificate has ended: browsers refuse the hub.';
    return [finding({ ...common, level: 'bad', problem, since: seen.expiresAt, whatToDo })];
  }
  if (seen.problem === 'ending') {
    return [finding({ ...common, level: 'warn', problem: 'The certificate ends soon and was not renewed.', whatToDo })];
  }
  if (seen.problem !== 'other name') return [finding(common)];
  const problem = `The certificate is for another name than ${hostname}.`;
  return [finding({ ...common, level: 'bad', problem, whatToDo })];
}

function version(hub: Hub): Finding {
  return finding({
    subject: 'Version', state: hub.config.version,
    detail: `schema ${schemaVersionReader(hub)()}, Node ${process.versions.node}`,
  });
}
