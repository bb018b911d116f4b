import { HOUR } from '../../platform/clock.ts';
import { byteSize, plural } from '../../platform/in-words.ts';
import {
  type BackupStatus, isStale, OLDEST_BACKUP, readBackupStatus, recoveryKitPrintedAt,
} from '../backups/backup-status.ts';
import { readOffsite, type Destination, type OffsiteStatus } from '../backups/offsite-status.ts';
import { readOffsiteQuestion, type OffsiteQuestion } from '../backups/offsite-hub.ts';
import type { Hub } from '../hub/hub.ts';
import { finding, type Finding } from './finding.ts';

const NIGHTS = '/admin#nights';

const DESTINATION_NAMES: Record<Destination, string> = {
  dir: 'Copies on another disk', rclone: 'Copies by rclone', restic: 'Copies by restic',
};

/** What is to be said of backups here, of their verification, of copies elsewhere and of the recovery kit. */
export function backupFindings(hub: Hub): Finding[] {
  const status = readBackupStatus(hub);
  const offsite = readOffsite(hub);
  return [
    backupHere(status, hub.clock()), verification(status),
    ...(offsite.length > 0 ? offsite.map(copies) : [NO_COPIES]), ...oldCopies(readOffsiteQuestion(hub.config)),
    recoveryKit(hub),
  ];
}

function wereEverMade({ lastBackup, byVerification }: BackupStatus): boolean {
  return lastBackup !== null || byVerification.length > 0;
}

/** The newest one that is known to be good, and what came of the last run. */
export function backupHere(status: BackupStatus, now: number): Finding {
  const { newestVerified, lastBackup, lastBackupFailed } = status;
  const bytes = lastBackup?.ok ? lastBackup.bytes : null;
  const common = {
    subject: 'Backup here', state: newestVerified ? 'verified' : 'none', at: newestVerified?.createdAt ?? null,
    detail: bytes === null ? null : byteSize(bytes), href: NIGHTS,
  };
  const since = newestVerified?.createdAt ?? lastBackup?.at ?? null;
  if (!wereEverMade(status)) {
    return finding({
      ...common, level: 'warn', state: 'none yet', problem: 'No backup has been made yet.',
      whatToDo: 'Run ./scripts/backup.sh; for one every night, ./scripts/install-backup-cron.sh or install-systemd.sh.',
    });
  }
  if (lastBackupFailed) {
    const isDegraded = lastBackup?.verdict === 'degraded';
    return finding({
      ...common, level: 'bad', since: lastBackup?.at ?? since, detail: null,
      headline: isDegraded ? 'The last backup lacks something.' : 'The last backup failed.',
      problem: isDegraded ? because('The last backup lacks something', lastBackup) :
        because('The last backup failed', lastBackup),
      whatToDo: isDegraded ? 'The hub has lost data: ./scripts/hubctl doctor says which; restore it from a backup.' :
        'Set right what the reason names, then run ./scripts/backup.sh.',
    });
  }
  if (!isStale(newestVerified, now)) return finding(common);
  const stray = status.ahead.length > 0 ? ` ${status.ahead.at(-1)} does not count: its name lies in the future.` : '';
  return finding({
    ...common, level: 'bad', since,
    headline: `There is no verified backup of the last ${OLDEST_BACKUP / HOUR} hours.`,
    problem: `There is no verified backup of the last ${OLDEST_BACKUP / HOUR} hours.${stray}`,
    whatToDo: 'Run ./scripts/backup.sh, then see why cron or the timer did not (./scripts/install-backup-cron.sh).',
  });
}

function verification({ damaged, lastVerifiedAt, lastVerification, byVerification }: BackupStatus): Finding {
  const all = byVerification.length;
  const common = {
    subject: 'Verification', at: lastVerifiedAt, href: NIGHTS,
    detail: all === 0 ? null : `${plural(all, 'backup')} here`,
  };
  if (!damaged) {
    return finding(lastVerifiedAt === null ? { ...common, level: 'off', state: 'none yet' } :
      { ...common, state: 'passed' });
  }
  return finding({
    ...common, level: 'bad', state: 'failed',
    since: lastVerification?.name === damaged.name ? lastVerification.at : null,
    headline: 'A backup is damaged.', problem: because(`The backup ${damaged.name} is damaged`, damaged),
    whatToDo: 'Look at the disk that it lies on; make another (./scripts/backup.sh), then remove the damaged one.',
  });
}

const NO_COPIES = finding({
  subject: 'Copies elsewhere', level: 'off', state: 'not set up',
  whatToDo: 'Set BACKUP_OFFSITE_DIR, BACKUP_RCLONE_REMOTE or BACKUP_RESTIC_REPOSITORY: a fire takes what is here.',
});

/** When a destination last got what it had missed, and what keeps it from its copies: the hub itself works. */
function copies({ name, last, lastGood, hasFailed, isStale: isOld }: OffsiteStatus): Finding {
  const took = lastGood ? `took ${Math.ceil(lastGood.seconds)} s` : null;
  const common = {
    subject: DESTINATION_NAMES[name], state: lastGood ? 'sent' : 'none yet', at: lastGood?.at ?? null, href: NIGHTS,
    detail: lastGood?.bytes ? `${byteSize(lastGood.bytes)}, ${took}` : took, since: lastGood?.at ?? last?.at ?? null,
  };
  if (hasFailed && last?.isDamaged) {
    return finding({
      ...common, level: 'bad', headline: 'The restic repository is damaged.',
      problem: because('The restic repository is damaged', last),
      whatToDo: 'Repair it: see "A damaged restic repository" in scripts/README.md. Then run ./scripts/backup.sh.',
    });
  }
  if (hasFailed) {
    const isPassed = (last?.name ?? '') > (last?.unsent ?? ''); // later ones arrived
    const unsent = last?.unsent ? ` ${last.unsent} ${isPassed ? 'is' : 'and what came after it are'} not there.` : '';
    return finding({
      ...common, level: 'warn', headline: `${DESTINATION_NAMES[name]} fail.`,
      problem: because(`${DESTINATION_NAMES[name]} fail`, last) + unsent,
      whatToDo: 'Set right what the reason names; ./scripts/off-site.sh check says whether it works again. The next ' +
        'backup sends what is missing.',
    });
  }
  if (!isOld) return finding({ ...common, since: null });
  return finding({
    ...common, level: 'warn', problem: `There have been no ${DESTINATION_NAMES[name].toLowerCase()} recently.`,
    whatToDo: 'Run ./scripts/backup.sh, which sends what is missing, and read what it says.',
  });
}

const WHY_ASKED: Record<OffsiteQuestion['reason'], string> = {
  restored: 'This hub was restored: in the restic repository it is a new hub.',
  copied: 'This DATA_DIR was copied: in the restic repository it is a new hub.',
  upgraded: 'Since the upgrade from 1.0.0 this hub is a new one in the restic repository.',
  found: 'In the restic repository this hub is a new one: it was restored, copied, or upgraded from 1.0.0.',
};

/** Asks whether this machine takes the place of hubs whose backups it does not remove; nothing once that is decided. */
function oldCopies(question: OffsiteQuestion | null): Finding[] {
  if (question === null) return [];
  const headline = WHY_ASKED[question.reason];
  const each = question.older.map(({ id, backups, newest }) => `${backups} of hub ${id}, the newest ${newest}`);
  const which = each.length > 0 ? ` (${each.join('; ')})` : '';
  return [finding({
    subject: 'Older backups in restic', level: 'warn', state: 'not removed', href: NIGHTS, headline,
    problem: `${headline} Backups that were sent there before are not removed${which}.`,
    whatToDo: 'If this machine takes the place of the one that sent them, run ./scripts/hubctl offsite adopt: then ' +
      'they are removed as BACKUP_RESTIC_KEEP says. If that one goes on, or they are to stay, run ' +
      './scripts/hubctl offsite adopt --no.',
  })];
}

function recoveryKit({ config }: Hub): Finding {
  const at = recoveryKitPrintedAt(config.dataDir);
  const subject = 'Recovery kit';
  if (at !== null) return finding({ subject, state: 'printed', at });
  return finding({
    subject, level: 'off', state: 'never printed',
    whatToDo: 'Run ./scripts/hubctl recovery-kit and keep what it prints away from here: with it and a backup a new ' +
      'machine can take over.',
  });
}

/** A sentence with the reason that a run has noted. */
function because(what: string, run: { problem: string | null } | null): string {
  const reason = run?.problem ?? 'the reason is not known';
  return `${what}: ${reason}${/[.?!]$/.test(reason) ? '' : '.'}`;
}
