import { DAY, HOUR, SECOND } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import { isDamage, isMissingObject } from '../../platform/db/open-database.ts';
import type { CountsSnapshot } from '../../platform/metrics/counters.ts';
import { byteSize, duration, measuredTime, plural, utcTime } from '../../platform/in-words.ts';
import { alertDeliveries, storedAlerts } from '../alerts/alert-store.ts';
import { COPIES, type Copies, type Destination } from '../backups/offsite-status.ts';
import { recoveryKitPrintedAt } from '../backups/backup-status.ts';
import { lastSignOfLife } from '../backups/sign-of-life.ts';
import { seenCertificate } from '../history/history-store.ts';
import { recentAnswerTime } from '../history/read-history.ts';
import { heartbeats, oldestDueSeconds, type Hub } from '../hub/hub.ts';
import { SOURCE_STATES } from '../sources/source-store.ts';
import {
  countIn, RESTORES, takeSnapshot, troublesOf, type HubSnapshot, type Restores, type Subject,
} from './condition.ts';
import { CONDITIONS, NIGHTS_HREF, ROOM_HREF } from './conditions.ts';
import { schemaVersionReader } from './read-health.ts';

/** `off`: not set up, not done yet, or not known. `warn`: the hub works, but an operator should look at the problem. */
export type Level = 'good' | 'off' | 'warn' | 'bad';

/** A tile of the overview, and the problem of its subject, if there is one. Times in unix ms. */
export type Finding = {
  subject: string;
  level: Level;
  isBad: boolean; // `warn` or `bad` means that somebody has to act
  state: string; // how a part of the hub is, in a few words: "running", "4 waiting"
  detail: string | null;
  at: number | null; // when the tile's state began or was last seen; of a certificate, when it ends
  problem: string | null; // sentences that explain the health problem and its cause
  headline: string | null; // names the health problem in few words
  since: number | null; // when the problem began, if known
  href: string | null; // a page about it
  whatToDo: string | null; // how to solve the health problem, or how to set up a part of the hub that is `off`
};

type GivenFinding = Pick<Finding, 'subject' | 'state'> & Partial<Finding>;

/** Adds the missing fields; the default level is `good`. */
export function finding(given: GivenFinding): Finding {
  const level = given.level ?? 'good';
  const isBad = level === 'warn' || level === 'bad';
  const headline = given.headline ?? given.problem ?? null;
  const nothing = { detail: null, at: null, problem: null, since: null, href: null, whatToDo: null };
  return { ...nothing, ...given, headline, level, isBad };
}

/** What the operator has to act on, the worst first. */
export function problemsOf(all: readonly Finding[]): Finding[] {
  return [...all.filter(({ level }) => level === 'bad'), ...all.filter(({ level }) => level === 'warn')];
}

type Tile = Omit<GivenFinding, 'subject' | 'level'> & { level?: 'off' };

/** The tiles, in the order of the overview; a problem's fields replace theirs. Null: no tile without a problem. */
const TILES: Record<Subject, (snapshot: HubSnapshot) => Tile | null> = {
  Schema: () => null,
  Settings: () => null,
  Web({ hub, pending }) {
    // While migrations are pending, the table of answer times may not exist.
    const seconds = pending.length > 0 ? undefined : recentAnswerTime(hub, 0.99);
    const detail = seconds === undefined ? null : `p99 ${measuredTime(seconds * SECOND)}`;
    return { state: upFor(hub, 'web'), detail, href: '/admin#answers' };
  },
  Worker: ({ hub, worker }) =>
    ({ state: upFor(hub, 'worker'), detail: `last seen ${worker().lastSeenSeconds} s ago`, href: '/admin/jobs' }),
  Queue: ({ hub, kept }) => ({
    state: `${countIn(kept(), 'jobs', 'queued') + countIn(kept(), 'jobs', 'retrying')} waiting`,
    detail: `oldest due job ${duration(oldestDueSeconds(hub) * SECOND)}`, href: '/admin/jobs',
  }),
  Sources: ({ kept }) => sourcesTile(kept()),
  'Content quota': () => null,
  Webhooks({ kept }) {
    const count = (state: string): number => kept().value('webhooks', state);
    const [active, silent, disabled] = [count('active'), count('silent'), count('disabled')];
    if (active + silent + disabled === 0) return { level: 'off', state: 'none' };
    const detail = disabled > 0 ? `${disabled} paused` : null;
    return { state: `${active} listening`, detail, href: '/admin/webhooks' };
  },
  'Virus scanner': ({ hub }) => (hub.config.virusScanUrl === null ? null : { state: 'no trouble seen' }),
  Errors({ errors }) {
    const { count } = errors();
    return { state: count === 0 ? 'none recently' : `${count} recently`, href: '/admin/errors' };
  },
  Alerts: ({ hub }) => alertsTile(hub),
  'Backup here'({ backups }) {
    const { newestVerified, lastBackup } = backups();
    const detail = lastBackup?.ok && lastBackup.bytes !== null ? byteSize(lastBackup.bytes) : null;
    const state = newestVerified ? 'verified' : 'none';
    return { state, at: newestVerified?.createdAt ?? null, detail, href: NIGHTS_HREF };
  },
  'Interim backups'({ interim }) {
    const { last, everyHours, kept, newestAt } = interim();
    if (!last) return null;
    const every = everyHours === null ? 'by hand' : `every ${plural(everyHours, 'hour')}`;
    return { state: every, at: newestAt, detail: `${plural(kept, 'backup')} here`, href: NIGHTS_HREF };
  },
  Verification({ backups }) {
    const { byVerification, lastVerifiedAt } = backups();
    const count = byVerification.length;
    const detail = count === 0 ? null : `${plural(count, 'backup')} here`;
    const state: Tile = lastVerifiedAt === null ? { level: 'off', state: 'none yet' } : { state: 'passed' };
    return { ...state, at: lastVerifiedAt, detail, href: NIGHTS_HREF };
  },
  ...copiesTiles(),
  'Copies elsewhere': ({ offsite }) => (offsite().length > 0 ? null : {
    level: 'off', state: 'not set up', whatToDo: 'Set BACKUP_OFFSITE_DIR, BACKUP_RCLONE_REMOTE or ' +
      'BACKUP_RESTIC_REPOSITORY: a fire here destroys the hub and its backups.',
  }),
  ...restoresTiles(),
  'Older backups in restic': () => null,
  'Sign of life'({ hub }) {
    const last = lastSignOfLife(hub.config.dataDir);
    return last && { state: 'the last arrived', detail: last.host, at: last.at, href: NIGHTS_HREF };
  },
  'Recovery kit'({ hub }) {
    const at = recoveryKitPrintedAt(hub.config.dataDir);
    if (at !== null) return { state: 'printed', at };
    const whatToDo = 'Run ./scripts/hubctl recovery-kit, print it, and keep it in another place. With it and a ' +
      'backup a new machine can take over.';
    return { level: 'off', state: 'never printed', whatToDo };
  },
  Disk({ space }) {
    const { least, needed } = space();
    const detail = `the next backup may need ${byteSize(needed)}`;
    return { state: `${byteSize(least)} free`, detail, href: ROOM_HREF };
  },
  Database({ storage }) {
    const { databaseBytes, walBytes } = storage();
    return { state: byteSize(databaseBytes), detail: `write-ahead log ${byteSize(walBytes)}`, href: ROOM_HREF };
  },
  Files({ kept }) {
    const [uploads, cache] = [kept().value('uploads_bytes'), kept().value('attachment_cache_bytes')];
    return { state: byteSize(uploads), detail: `uploaded; ${byteSize(cache)} in the cache`, href: ROOM_HREF };
  },
  Clock: () => null,
  Certificate: ({ hub }) => certificateTile(hub),
  Version: ({ hub }) => ({
    state: hub.config.version, detail: `schema ${schemaVersionReader(hub)()}, Node ${process.versions.node}`,
  }),
};

/** The findings that the overview, `hubctl status` and `hubctl doctor` show. `pending`: missing migrations. */
export function findings(hub: Hub, pending: readonly Migration[] = []): Finding[] {
  const snapshot = takeSnapshot(hub, pending);
  return (Object.keys(TILES) as Subject[]).flatMap((subject) => findingOn(subject, snapshot));
}

/** One finding; none if the subject has neither a tile nor a problem. */
export function findingOn(subject: Subject, snapshot: HubSnapshot): Finding[] {
  try {
    const tile = TILES[subject](snapshot);
    const trouble = firstTrouble(subject, snapshot);
    if (!tile && !trouble) return [];
    return [finding({ state: '', ...tile, ...trouble, subject })];
  } catch (error) {
    return unknownYet(error, subject, snapshot.pending);
  }
}

/** A tile for what a damaged database cannot tell, or a database before its migration; other errors are rethrown. */
export function unknownYet(error: unknown, subject: string, pending: readonly Migration[]): Finding[] {
  if (isDamage(error)) return [finding({ subject, level: 'off', state: 'cannot be read' })];
  if (pending.length === 0 || !isMissingObject(error)) throw error;
  return [finding({ subject, level: 'off', state: 'not known before the migration' })];
}

function firstTrouble(subject: Subject, snapshot: HubSnapshot): Partial<Finding> | undefined {
  // A condition of 'Copies elsewhere' looks at all destinations, and finds problems for the tile of each destination.
  const isCopies = ([...Object.values(COPIES), ...Object.values(RESTORES)] as Subject[]).includes(subject);
  const about: Subject[] = isCopies ? [subject, 'Copies elsewhere'] : [subject];
  for (const condition of CONDITIONS.filter((one) => about.includes(one.subject))) {
    const found = troublesOf(condition, snapshot).find((trouble) => trouble.subject === subject);
    if (found) return found;
  }
  return undefined;
}

function copiesTiles(): Record<Copies, (snapshot: HubSnapshot) => Tile | null> {
  const tile = (name: Destination) => ({ offsite }: HubSnapshot): Tile | null => {
    const status = offsite().find((one) => one.name === name);
    if (!status) return null;
    const { lastGood } = status;
    const took = lastGood && `took ${Math.ceil(lastGood.seconds)} s`;
    const detail = lastGood?.bytes ? `${byteSize(lastGood.bytes)}, ${took}` : took;
    return { state: lastGood ? 'sent' : 'none yet', at: lastGood?.at ?? null, detail, href: NIGHTS_HREF };
  };
  return { [COPIES.dir]: tile('dir'), [COPIES.rclone]: tile('rclone'), [COPIES.restic]: tile('restic') };
}

function restoresTiles(): Record<Restores, (snapshot: HubSnapshot) => Tile | null> {
  const tile = (name: Destination) => ({ drills }: HubSnapshot): Tile | null => {
    const status = drills().find((one) => one.name === name);
    if (!status) return null;
    const { last, lastProven, isSealed } = status;
    const compared = last?.outcome === 'compared' ? `${last.name} is as it was sent, seen ${utcTime(last.at)}` : null;
    if (lastProven) {
      const proven = `${lastProven.name}, took ${Math.ceil(lastProven.seconds)} s`;
      return { state: 'proven', at: lastProven.at, detail: proven, href: NIGHTS_HREF };
    }
    const key = isSealed ? ' --identity KEY, the file with the secret key' : '';
    return { level: 'off', state: 'none yet', detail: compared, whatToDo: `Run ./scripts/drill.sh ${name}${key}.` };
  };
  return { [RESTORES.dir]: tile('dir'), [RESTORES.rclone]: tile('rclone'), [RESTORES.restic]: tile('restic') };
}

function sourcesTile(kept: CountsSnapshot): Tile {
  const [active = 0, failing = 0, paused = 0] = SOURCE_STATES.map((state) => countIn(kept, 'sources', state));
  const all = active + failing + paused;
  const notWell = [failing > 0 && `${failing} failing`, paused > 0 && `${paused} paused`].filter(Boolean);
  const state = notWell.length > 0 ? `${active} of ${all} well` : `${all} well`;
  return { state: all === 0 ? 'none yet' : state, detail: notWell.join(', ') || null, href: '/sources' };
}

function alertsTile(hub: Hub): Tile {
  const href = '/admin/alerts';
  if (hub.config.alertWebhookUrl === null) {
    const whatToDo = 'Get a message when something breaks: set ALERT_WEBHOOK_URL.';
    const [last] = storedAlerts(hub, { limit: 1 });
    const detail = last ? `not sent: ${last.title}` : 'alerts are only listed here';
    return { level: 'off', state: 'not set up', detail, at: last?.createdAt ?? null, href, whatToDo };
  }
  const [last] = alertDeliveries(hub).list({ limit: 1 });
  if (!last) return { state: 'none sent yet', href };
  const state = last.state === 'delivered' ? 'the last arrived' : 'an alert is on its way';
  return { state, detail: last.title, at: last.createdAt, href };
}

function certificateTile(hub: Hub): Tile | null {
  if (new URL(hub.config.baseUrl).protocol !== 'https:') return null;
  const seen = seenCertificate(hub);
  if (!seen || seen.expiresAt === null) {
    const detail = seen ? 'the hub cannot reach its own public address' : null;
    return { level: 'off', state: 'not seen', detail, at: seen?.checkedAt ?? null };
  }
  const days = Math.max(0, Math.floor((seen.expiresAt - hub.clock()) / DAY));
  return { state: `${plural(days, 'day')} left`, at: seen.expiresAt };
}

function upFor(hub: Hub, program: 'web' | 'worker'): string {
  const startedAt = heartbeats(hub).lastStarted(program);
  const ms = startedAt === null ? 0 : Math.max(0, hub.clock() - startedAt);
  return ms >= 2 * HOUR ? `${duration(ms)} up` : 'running';
}
