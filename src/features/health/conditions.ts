import { hasPassed, HOUR, MINUTE, SECOND } from '../../platform/clock.ts';
import { describePending } from '../../platform/db/migrate.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { byteSize, duration, plural, utcTime } from '../../platform/in-words.ts';
import { alertDeliveries } from '../alerts/alert-store.ts';
import { wasTakenForTopic } from '../alerts/format-alert.ts';
import { scannerSilentSince } from '../attachments/scan-file.ts';
import { auditRecords } from '../audit/audit-store.ts';
import { AHEAD, isStale, OLDEST_BACKUP, type BackupStatus, type OffsiteRun } from '../backups/backup-status.ts';
import { DATABASE_GONE, DATABASE_GONE_TITLE } from '../backups/rescue-database.ts';
import { readOffsiteQuestion, type OffsiteQuestion } from '../backups/offsite-hub.ts';
import { COPIES, type Destination, type OffsiteStatus } from '../backups/offsite-status.ts';
import { lastSignOfLife } from '../backups/sign-of-life.ts';
import { spaceTaken } from '../backups/storage-space.ts';
import { seenCertificate } from '../history/history-store.ts';
import { PROCESS_ALIVE, settingsToApply } from '../history/process-notes.ts';
import { describeDatabase, readDatabaseNote, type DatabaseFault } from '../hub/database-note.ts';
import { exposedSecrets } from '../hub/read-config.ts';
import { isDiskLow, lowSince, roomInWords } from '../hub/disk-reserve.ts';
import { heartbeats, jobs, oldestDueSeconds, type Hub } from '../hub/hub.ts';
import { contentUsage } from '../sources/content-usage-store.ts';
import { failingSources } from '../sources/source-store.ts';
import { SYNC_SOURCE } from '../sources/sync-state-store.ts';
import { webhooks } from '../webhooks/webhook-store.ts';
import { countIn, RESTORES, type Condition, type Trouble } from './condition.ts';

export const LONGEST_WAIT = HOUR;

/** The web process raises `worker-silent` if it has seen no heartbeat of the worker for this long. */
export const LONGEST_SILENCE = 5 * MINUTE;

/** The hub alerts if a required scanner is silent for this long; meanwhile the worker asks it every minute. */
const SCANNER_PATIENCE = 90 * SECOND;

export const BURST = 20; // unexpected errors within BURST_TIME

/** From this many failing feeds on, a fifth of all, or all of one host, are a problem. Paused ones do not count. */
const MANY_FAILING = 3;
const MANY_OF_ALL = 0.2;

export const NIGHTS_HREF = '/admin#nights';
export const ROOM_HREF = '/admin#room';

const WHY_ASKED: Record<OffsiteQuestion['reason'], string> = {
  restored: 'This hub was restored: in the restic repository it counts as a new one.',
  copied: 'This DATA_DIR was copied: in the restic repository it counts as a new hub.',
  upgraded: 'Since the upgrade from 1.0.0 this hub has a new id in the restic repository.',
  found: 'In the restic repository this hub has a new id: it was restored, copied, or upgraded from 1.0.0.',
};

/** What may be wrong; `hubctl doctor` looks for more. A tile of the overview shows its subject's first problem. */
export const CONDITIONS: readonly Condition[] = [
  {
    name: 'migrations-pending', subject: 'Schema', level: 'warn', state: 'pending', href: null,
    title: 'The database lacks migrations',
    whatToDo: 'Run ./scripts/hubctl migrate.',
    look({ pending }) {
      if (pending.length === 0) return null;
      const { which, whatToDo } = describePending(pending);
      return { state: `${pending.length} pending`, headline: `The database lacks ${which}.`, whatToDo };
    },
  },
  {
    name: 'settings-changed', subject: 'Settings', level: 'warn', state: 'changed', href: null,
    title: 'Settings in .env have changed since the hub was started',
    whatToDo: 'Restart the hub (npm start, or systemctl restart content-hub-web content-hub-worker).',
    look({ hub }) {
      const names = settingsToApply(hub);
      if (names.length === 0) return null;
      const problem = `Settings in .env have changed since the hub was started; restart to apply: ${names.join(', ')}.`;
      return { state: `${names.length} changed`, problem };
    },
  },
  {
    name: 'secrets-readable', subject: 'Settings', level: 'warn', state: 'not private', href: null,
    title: 'Every account of this machine can read secrets of the hub',
    whatToDo: 'Give the file to the account that runs the hub, and run chmod 600 on it.',
    look({ hub }) {
      const files = exposedSecrets(hub.config);
      return files.length === 0 ? null : { problem: `Every account of this machine can read ${files.join(' and ')}.` };
    },
  },
  {
    name: 'web-silent', subject: 'Web', level: 'bad', state: 'not running', href: null,
    title: 'The web process is not running',
    whatToDo: 'Start the hub (npm start, or systemctl start content-hub-web). If web stops again, read its log.',
    look({ hub }) {
      const seenAt = hub.program === 'web' ? hub.clock() : heartbeats(hub).lastSeen('web');
      if (seenAt !== null && !hasPassed(seenAt, PROCESS_ALIVE, hub.clock())) return null;
      return { detail: null, at: seenAt, since: seenAt };
    },
  },
  {
    name: 'worker-silent', subject: 'Worker', level: 'bad', state: 'not running', href: '/admin/errors',
    title: 'The worker is not running: sources are not synchronised',
    whatToDo: 'Start the hub again (npm start, or systemctl restart content-hub-worker), and read its log.',
    look({ worker }) {
      const { ok, seenAt } = worker();
      if (ok) return null;
      return { detail: seenAt === null ? 'never seen' : null, at: seenAt, since: seenAt };
    },
    alert: { over: 'The worker is running again', raisedBy: 'web' },
  },
  {
    name: 'queue-late', subject: 'Queue', level: 'bad', state: 'late', href: '/admin/jobs',
    title: 'A job has waited too long',
    whatToDo: 'See which jobs wait, and whether the worker runs. Restart it if it does nothing.',
    look({ hub }) {
      const waited = oldestDueSeconds(hub) * SECOND;
      if (waited <= LONGEST_WAIT) return null;
      const found = { headline: `A job has waited for ${duration(waited)}.`, since: hub.clock() - waited };
      return isDiskLow(hub) ? { ...found, whatToDo: 'Make room on the disk: jobs that store something wait.' } : found;
    },
  },
  {
    name: 'jobs-failed', subject: 'Queue', level: 'warn', state: 'failed', href: '/admin/jobs?state=failed',
    title: 'Jobs have failed for good',
    whatToDo: 'Read why, then retry or discard each: ./scripts/hubctl jobs list.',
    look({ hub, kept }) {
      const failed = countIn(kept(), 'jobs', 'failed') - jobs(hub).failedCount(SYNC_SOURCE); // see `sync-failed`
      if (failed === 0) return null;
      const headline = failed === 1 ? 'One job has failed for good.' : `${failed} jobs have failed for good.`;
      return { state: `${failed} failed`, since: jobs(hub).failedSince(SYNC_SOURCE), headline };
    },
  },
  {
    name: 'sync-failed', subject: 'Sources', level: 'warn', state: 'failing', href: '/admin#failing',
    title: 'Sources are failing',
    whatToDo: 'See whether the hub reaches them: DNS, a firewall, a publisher that refuses it. ' +
      'Pause or delete those that are gone for good.',
    // A few failing sources are no problem of the hub: their owners are notified. If many fail, it may be the cause.
    look({ hub, kept }) {
      const failing = kept().value('sources', 'feed,failing');
      if (failing < MANY_FAILING) return null;
      const state = `${failing} failing`;
      const since = failingSources(hub).list(1)[0]?.since ?? null;
      const all = failing + kept().value('sources', 'feed,active');
      if (failing >= all * MANY_OF_ALL) return { state, since, headline: `${failing} of ${all} feeds are failing.` };
      const host = failingSources(hub).wholeHost(MANY_FAILING);
      return host && { state, since: host.since, headline: `All ${host.count} feeds of ${host.host} are failing.` };
    },
    // The synchronisation of a source raises the alert `sync-failed` when its retries are used up.
    alert: {
      over: 'All sources are synchronised again', raisedBy: 'its cause',
      lasts: ({ hub }) => jobs(hub).failedCount(SYNC_SOURCE) > 0,
    },
  },
  {
    name: 'content-quota', subject: 'Content quota', level: 'warn', state: 'full', href: '/admin/accounts',
    title: 'Sources of an account have stopped: their contents have reached CONTENT_QUOTA_BYTES',
    whatToDo: 'The owner knows. To give everybody more room, raise CONTENT_QUOTA_BYTES and restart the hub.',
    look({ hub }) {
      const { n, since } = contentUsage(hub).full();
      if (n === 0) return null;
      const whose = n === 1 ? 'an account' : `${n} accounts`;
      const headline = `Sources of ${whose} have stopped: their contents have reached CONTENT_QUOTA_BYTES.`;
      return { state: `${n} full`, since, headline };
    },
    alert: { over: 'All accounts have room for contents again', severity: 'warning' },
  },
  {
    name: 'webhook-silent', subject: 'Webhooks', level: 'warn', state: 'silent', href: '/admin/webhooks',
    title: 'Webhooks have been silent for more than 7 days',
    whatToDo: 'See whether the senders still send, with the right secret. Pause webhooks that nobody uses.',
    look({ hub, kept }) {
      const silent = kept().value('webhooks', 'silent');
      if (silent === 0) return null;
      const [longest] = webhooks(hub).quiet(hub.clock(), Number.MAX_SAFE_INTEGER, 1);
      return { state: `${silent} silent`, since: longest?.quietSinceAt ?? null };
    },
    alert: { over: 'No webhook is silent any more', severity: 'warning', raisedBy: 'its cause' },
  },
  {
    name: 'scanner-silent', subject: 'Virus scanner', level: 'bad', state: 'does not answer', href: null,
    title: 'The virus scanner does not answer: every upload is refused',
    whatToDo: 'See whether it runs at VIRUS_SCAN_URL. The hub’s log says why it gave no verdict (file not scanned).',
    look({ hub }) {
      const since = scannerSilentSince(hub);
      if (since === null) return null;
      const isQuiet = !hasPassed(since, SCANNER_PATIENCE, hub.clock());
      if (hub.config.virusScanRequired) return { since, isQuiet };
      const headline = 'The virus scanner does not answer: uploads are taken unscanned and scanned later.';
      return { since, level: 'warn', isQuiet: true, headline };
    },
    alert: { over: 'The virus scanner answers again' },
  },
  {
    name: 'error-burst', subject: 'Errors', level: 'warn', state: 'too many', href: '/admin/errors',
    title: 'There are many unexpected errors',
    whatToDo: 'Read the list of errors, the most frequent first, and the log.',
    look({ errors }) {
      const { count, since } = errors();
      if (count < BURST) return null;
      return { since, headline: `There are many unexpected errors: ${count} in the last minutes.` };
    },
    alert: { over: 'Unexpected errors are rare again' },
  },
  {
    name: 'alert-undelivered', subject: 'Alerts', level: 'bad', state: 'the last is late', href: '/admin/alerts',
    title: 'The last alert was lost',
    whatToDo: 'Look at ALERT_WEBHOOK_URL and at its receiver.',
    look({ hub }) {
      const [last] = hub.config.alertWebhookUrl === null ? [] : alertDeliveries(hub).list({ limit: 1 });
      if (!last || last.state === 'delivered' || (last.state === 'pending' && last.attempts === 0)) return null;
      const reason = last.lastError ? `: ${last.lastError}` : '';
      const found = { since: last.createdAt, whatToDo: `Look at ALERT_WEBHOOK_URL and at its receiver${reason}.` };
      if (last.state === 'failed') return { ...found, state: 'the last was lost' };
      return { ...found, level: 'warn', headline: 'The last alert has not arrived yet.' };
    },
  },
  {
    name: 'alert-format-unclear', subject: 'Alerts', level: 'warn', state: 'sent as JSON', href: '/admin/alerts',
    title: 'Alerts are sent as JSON to what may be an ntfy topic',
    whatToDo: 'Set ALERT_WEBHOOK_FORMAT=ntfy if it is one, else ALERT_WEBHOOK_FORMAT=json, and restart the hub.',
    look({ hub }) {
      const { alertWebhookUrl: url, alertWebhookFormat: format } = hub.config;
      return format === 'auto' && url !== null && wasTakenForTopic(url) ? {} : null;
    },
  },
  {
    name: 'backup-none', subject: 'Backup here', level: 'warn', state: 'none yet', href: NIGHTS_HREF,
    title: 'No backup has been made yet',
    whatToDo: 'Run ./scripts/backup.sh. ' +
      'For one every night, run ./scripts/install-backup-cron.sh or ./scripts/install-systemd.sh.',
    look: ({ backups }) => (backups().wereEverMade ? null : {}),
  },
  {
    name: 'backup-dir-missing', subject: 'Backup here', level: 'bad', state: 'not there', href: NIGHTS_HREF,
    title: 'The folder of the backups is not there',
    whatToDo: 'Mount the disk of BACKUP_DIR. On a new disk, make the folder BACKUP_DIR and run ./scripts/backup.sh.',
    look({ hub, backups }) {
      const { lost, newestVerified } = backups();
      if (lost === null) return null;
      const what = lost === 'missing' ? 'is not there' : 'holds none of the backups that were made in it';
      const problem = `BACKUP_DIR ${hub.config.backupDir} ${what}: is its disk mounted?`;
      return { problem, detail: newestVerified && 'the last one', at: newestVerified?.createdAt ?? null };
    },
    alert: { over: 'BACKUP_DIR holds backups again' },
    degrades: 'backup-dir',
  },
  {
    name: 'backup-failed', subject: 'Backup here', level: 'bad', state: 'the last failed', href: NIGHTS_HREF,
    title: 'The last backup failed',
    whatToDo: 'Mend what made it fail, then run ./scripts/backup.sh.',
    look({ backups }) {
      const { lastBackup, lastBackupFailed } = backups();
      if (!lastBackup || !lastBackupFailed || lastBackup.verdict === 'degraded') return null;
      return { ...newestHere(backups()), since: lastBackup.at, problem: because('The last backup failed', lastBackup) };
    },
    alert: { over: 'Backups succeed again' },
  },
  {
    name: 'backup-degraded', subject: 'Backup here', level: 'bad', state: 'the last backup is incomplete',
    href: NIGHTS_HREF, title: 'The last backup is incomplete, because the hub lacks data',
    whatToDo: './scripts/hubctl doctor names what is lost or unreadable, and what to do. Then run ./scripts/backup.sh.',
    look({ backups }) {
      const { lastBackup } = backups();
      if (lastBackup?.verdict !== 'degraded') return null;
      const what = `The last backup (${lastBackup.name}) is incomplete, because the hub lacks data`;
      return { ...newestHere(backups()), since: lastBackup.at, problem: because(what, lastBackup) };
    },
    alert: { over: 'Backups are complete again' },
  },
  {
    name: 'backup-stale', subject: 'Backup here', level: 'bad', state: 'too old', href: NIGHTS_HREF,
    title: `No verified backup in the last ${OLDEST_BACKUP / HOUR} hours`,
    whatToDo: 'Run ./scripts/backup.sh. See why cron or the timer made no backup (./scripts/install-backup-cron.sh).',
    look({ hub, backups }) {
      const { wereEverMade, newestVerified, lastBackup, ahead } = backups();
      if (!wereEverMade || !isStale(newestVerified, hub.clock())) return null;
      const stray = ahead.length > 0 ? ` ${ahead.at(-1)} does not count: its name lies in the future.` : '';
      const problem = `No verified backup in the last ${OLDEST_BACKUP / HOUR} hours.${stray}`;
      return { ...newestHere(backups()), since: newestVerified?.createdAt ?? lastBackup?.at ?? null, problem };
    },
    alert: { over: 'There is a recent verified backup again' },
  },
  {
    name: 'backup-interim-failed', subject: 'Interim backups', level: 'warn', state: 'failed', href: NIGHTS_HREF,
    title: 'Interim backups fail or are late',
    whatToDo: 'Read backups/interim.log in DATA_DIR and run ./scripts/interim-backup.sh. ' +
      'To end them, run ./scripts/install-backup-cron.sh or install-systemd.sh with --every 24.',
    look({ interim }) {
      const { last, everyHours, isLate, newestAt } = interim();
      if (last?.ok === false) {
        const headline = last.verdict === 'degraded' ?
          'The last interim backup is incomplete, because the hub lacks data.' : 'The last interim backup failed.';
        return { since: last.at, headline, problem: because(headline.slice(0, -1), last) };
      }
      if (!isLate || everyHours === null) return null;
      const headline = `Interim backups are late: one is due every ${plural(everyHours, 'hour')}.`;
      return { state: 'late', at: newestAt, since: newestAt, headline };
    },
    alert: { over: 'Interim backups are made again', severity: 'warning' },
  },
  {
    name: 'backup-verify-failed', subject: 'Verification', level: 'bad', state: 'failed', href: NIGHTS_HREF,
    title: 'A backup is damaged',
    whatToDo: 'Check its disk. Make a new backup (./scripts/backup.sh), then remove the damaged one.',
    look({ backups }) {
      const { damaged, lastVerification } = backups();
      if (!damaged) return null;
      const since = lastVerification?.name === damaged.name ? lastVerification.at : null;
      return { since, problem: because(`The backup ${damaged.name} is damaged`, damaged) };
    },
    alert: { over: 'No backup on this machine is damaged any more' },
  },
  {
    name: 'backup-offsite-failed', subject: 'Copies elsewhere', level: 'warn', state: 'failing', href: NIGHTS_HREF,
    title: 'Off-site copies are failing',
    whatToDo: 'Mend what the reason names, and run ./scripts/off-site.sh check. ' +
      'The next ./scripts/backup.sh sends whatever a destination lacks.',
    look: ({ offsite }) => offsite().filter(({ hasFailed }) => hasFailed).map((status) => copyFailed(status)),
    alert: { over: 'Off-site copies succeed again' },
  },
  {
    name: 'backup-offsite-stale', subject: 'Copies elsewhere', level: 'warn', state: 'too old', href: NIGHTS_HREF,
    title: 'No recent off-site copy',
    whatToDo: 'Run ./scripts/backup.sh, which sends whatever a destination lacks, and read what it says.',
    look: ({ offsite, backups }) => offsite().filter((one) => one.isStale).map(({ name, last, lastGood }) => {
      const headline = `${COPIES[name]}: none in the last ${OLDEST_BACKUP / HOUR} hours.`;
      const since = lastGood?.at ?? last?.at ?? null;
      return { ...newestCopy(name, lastGood), since, headline, isQuiet: !backups().wereEverMade };
    }),
    alert: { over: 'There are recent off-site copies again' },
  },
  {
    name: 'drill-failed', subject: 'Copies elsewhere', level: 'warn', state: 'the last drill failed',
    href: NIGHTS_HREF, title: 'The last drill with an off-site copy failed',
    whatToDo: 'Mend what the reason names, then run ./scripts/drill.sh.',
    look: ({ drills }) => drills().filter(({ last }) => last?.outcome === 'failed').map(({ name, last }) => {
      const what = `The last drill with an off-site copy (${name}) failed`;
      const [at, detail, problem] = [last?.at ?? null, last?.name ?? null, because(what, last)];
      return { subject: RESTORES[name], since: at, at, detail, headline: `${what}.`, problem };
    }),
    alert: { over: 'The last drill with each off-site copy succeeded' },
  },
  {
    name: 'restore-unproven', subject: 'Copies elsewhere', level: 'warn', state: 'too long ago', href: NIGHTS_HREF,
    title: 'No recent drill has proven that an off-site copy can be restored',
    whatToDo: 'Run ./scripts/drill.sh. backups/nightly.log says why no night has tested a copy.',
    look: ({ drills }) => drills().filter(({ isOverdue }) => isOverdue).map(({ name, intervalDays, lastProven }) => {
      const headline = `No drill of the last ${Math.floor(1.5 * intervalDays)} days has proven that an off-site copy ` +
        `(${name}) can be restored.`;
      return { subject: RESTORES[name], since: lastProven?.at ?? null, headline };
    }),
    alert: { over: 'Drills have proven again that off-site copies can be restored', severity: 'warning' },
  },
  {
    name: 'restic-undecided', subject: 'Older backups in restic', level: 'warn', state: 'not removed',
    href: NIGHTS_HREF, title: 'In the restic repository, this hub counts as a new one',
    whatToDo: 'If this machine replaces the one that sent the older backups, run ./scripts/hubctl offsite adopt: ' +
      'then they are removed as BACKUP_RESTIC_KEEP says. ' +
      'To keep them, or if that machine stays in use, run ./scripts/hubctl offsite adopt --no.',
    look({ hub }) {
      const question = readOffsiteQuestion(hub.config);
      if (question === null) return null;
      const older = question.older.map(({ id, backups, newest }) => `${backups} of hub ${id}, the newest ${newest}`);
      const which = older.length > 0 ? ` (${older.join('; ')})` : '';
      const headline = WHY_ASKED[question.reason];
      return { headline, problem: `${headline} Its older backups stay there${which}.` };
    },
  },
  {
    name: 'heartbeat-failed', subject: 'Sign of life', level: 'warn', state: 'the last was lost', href: NIGHTS_HREF,
    title: 'The last sign of life did not arrive',
    whatToDo: 'Look at HEARTBEAT_URL and at its service, then run ./scripts/hubctl heartbeat.',
    look({ hub }) {
      const last = lastSignOfLife(hub.config.dataDir);
      if (!last?.problem) return null;
      const problem = `The last sign of life did not arrive: ${last.problem}.`;
      return { detail: last.host, at: last.at, since: last.failingSince, problem };
    },
    alert: { over: 'The hub’s signs of life arrive at HEARTBEAT_URL again', severity: 'warning' },
  },
  {
    name: DATABASE_GONE, subject: 'Database', level: 'bad', state: 'lost or damaged', href: null,
    title: DATABASE_GONE_TITLE,
    whatToDo: 'Run ./scripts/hubctl status: it says where the copy is, and what to do.',
    look: ({ hub }) => databaseTrouble(hub, (fault) => fault !== 'index'),
    // The process that makes the copy sends the alert, because the database stores nothing: see rescue-database.ts.
    alert: { over: 'The database is in place again', raisedBy: 'its cause', lasts: () => false },
  },
  {
    name: 'index-damaged', subject: 'Database', level: 'bad', state: 'a damaged index', href: null,
    title: 'An index of the database is damaged; nothing is lost',
    whatToDo: 'Run ./scripts/hubctl reindex.',
    look: ({ hub }) => databaseTrouble(hub, (fault) => fault === 'index'),
    alert: { over: 'All indices of the database are well again' },
  },
  {
    name: 'disk-full', subject: 'Disk', level: 'bad', state: 'full', href: ROOM_HREF,
    title: 'The disk is full: members can store nothing',
    whatToDo: 'Remove files that are not the hub’s, keep fewer backups or a smaller cache, delete the largest ' +
      'sources, or move DATA_DIR to a larger disk.',
    look({ hub }) {
      if (!isDiskLow(hub)) return null;
      const room = roomInWords(hub);
      const taken = `The space is taken by: ${spaceTaken(hub)}.`;
      const problem = `The disk is full: members can store nothing. ${room}. ${taken}`;
      return { detail: room, since: lowSince(hub), problem };
    },
    alert: { over: 'There is room on the disk again: members can write' },
    degrades: 'disk',
  },
  {
    name: 'space-low', subject: 'Disk', level: 'bad', state: 'nearly full', href: ROOM_HREF,
    title: 'The disk is nearly full',
    whatToDo: 'Remove files that are not the hub’s, keep fewer backups, or move DATA_DIR to a larger disk.',
    look({ space }) {
      const { isLow, least, needed, isBackupDisk } = space();
      if (!isLow) return null;
      const room = `${byteSize(least)} are free, and the next backup may need ${byteSize(needed)}`;
      const detail = `${byteSize(least)} free`;
      if (!isBackupDisk) return { detail, headline: `The disk is nearly full: ${room}.` };
      const whatToDo = 'Keep fewer backups (BACKUP_RETENTION_DAYS), or move BACKUP_DIR to a larger disk.';
      return { detail, headline: `The disk of BACKUP_DIR is nearly full: ${room}.`, whatToDo };
    },
    alert: { over: 'The disk has enough space again' },
  },
  {
    name: 'clock-ahead', subject: 'Clock', level: 'warn', state: 'was ahead', href: null,
    title: 'Backups, audit records or jobs have times in the future, because the clock was ahead',
    whatToDo: 'Look at the machine’s clock (timedatectl). Remove backups whose names lie in the future. Audit ' +
      'records and jobs keep their times, so this ends when those have passed.',
    look({ hub, backups }) {
      const { ahead } = backups();
      const isAhead = (at: number | null): at is number => at !== null && at > hub.clock() + AHEAD;
      const [record, job] = [auditRecords(hub).newestAt(), jobs(hub).lastDoneAt()];
      const found = [
        ahead.length > 0 && `${plural(ahead.length, 'backup')} (the last is ${ahead.at(-1)})`,
        isAhead(record) && `records of the audit log (until ${utcTime(record)})`,
        isAhead(job) && `jobs that were done (until ${utcTime(job)})`,
      ].filter(Boolean);
      if (found.length === 0) return null;
      return { problem: `The clock was ahead, so the following lie in the future: ${found.join('; ')}.` };
    },
    alert: { over: 'No backup, audit record or job has a time in the future any more', severity: 'warning' },
  },
  {
    name: 'certificate-ending', subject: 'Certificate', level: 'warn', state: 'ends soon', href: null,
    title: 'The certificate of BASE_URL ends soon',
    whatToDo: 'Renew it on the machine that serves BASE_URL: the log of Caddy, certbot or the like says more.',
    look({ hub }) {
      const { expiresAt, problem } = seenCertificate(hub) ?? {};
      if (!expiresAt) return null;
      const hasEnded = expiresAt <= hub.clock();
      if (!hasEnded && problem !== 'ending') return null;
      if (!hasEnded) return { headline: `The certificate ends at ${utcTime(expiresAt)} and was not renewed.` };
      const headline = 'The certificate has ended: browsers refuse the hub.';
      return { level: 'bad', state: 'has ended', since: expiresAt, headline };
    },
    alert: { over: 'The certificate was renewed' },
  },
  {
    name: 'certificate-for-other-name', subject: 'Certificate', level: 'bad', state: 'for another name', href: null,
    title: 'The certificate is for another name',
    whatToDo: 'Get one for the host name in BASE_URL, on the machine that serves it.',
    look({ hub }) {
      if (seenCertificate(hub)?.problem !== 'other name') return null;
      return { headline: `The certificate is for another name than ${new URL(hub.config.baseUrl).hostname}.` };
    },
  },
];

function databaseTrouble({ config: { dataDir } }: Hub, isOurs: (fault: DatabaseFault) => boolean): Trouble | null {
  const note = readDatabaseNote(dataDir);
  if (!note || !isOurs(note.fault)) return null;
  return { since: note.since, ...describeDatabase(note, writtenPath(dataDir)) };
}

function newestHere({ newestVerified }: BackupStatus): Pick<Trouble, 'detail' | 'at'> {
  const detail = newestVerified ? 'the newest verified backup' : 'none is verified';
  return { detail, at: newestVerified?.createdAt ?? null };
}

function newestCopy(name: Destination, lastGood: OffsiteRun | null): Pick<Trouble, 'subject' | 'detail'> {
  return { subject: COPIES[name], detail: lastGood ? 'last sent' : 'none sent yet' };
}

function copyFailed({ name, last, lastGood }: OffsiteStatus): Trouble {
  const found = { ...newestCopy(name, lastGood), since: lastGood?.at ?? last?.at ?? null };
  if (last?.isDamaged) {
    return {
      ...found, level: 'bad', state: 'damaged', headline: 'The restic repository is damaged.',
      problem: because('The restic repository is damaged', last),
      whatToDo: 'Repair it: see "A damaged restic repository" in scripts/README.md. Then run ./scripts/backup.sh.',
    };
  }
  const haveLaterArrived = (last?.name ?? '') > (last?.unsent ?? '');
  const missing = `The destination lacks ${last?.unsent}${haveLaterArrived ? '' : ' and later backups'}.`;
  const what = `${COPIES[name]} are failing`;
  const problem = because(what, last) + (last?.unsent ? ` ${missing}` : '');
  return { ...found, headline: `${what}.`, problem };
}

function because(what: string, run: { problem: string | null } | null): string {
  const reason = run?.problem ?? 'the reason is not known';
  return `${what}: ${reason}${/[.?!]$/.test(reason) ? '' : '.'}`;
}
