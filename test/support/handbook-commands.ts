import type { Handbook } from './handbook.ts';

/** Commands that are run by another test: the file, and what it calls them. */
export const ELSEWHERE: Record<string, [file: string, says: string]> = {
  'npm test': ['scripts/scripts.slow.test.ts', `'scripts/run.sh'), 'test'`],
  'CONFIRM_RESTORE=YES ./scripts/restore.sh --restic <name>': ['scripts/restore-typed.slow.test.ts', "['--restic', name]"],
  './scripts/verify-backup.sh data/backups/interim/2026-01-31T141500Z':
    ['scripts/interim-backup.slow.test.ts', `run('verify-backup.sh', folder)`],
  'CONFIRM_RESTORE=YES ./scripts/restore.sh data/backups/interim/2026-01-31T141500Z':
    ['scripts/interim-backup.slow.test.ts', 'runRestore(hub.dataDir, 0, [folder]'],
  './scripts/interim-backup.sh': ['scripts/interim-backup.slow.test.ts', `run('interim-backup.sh')`],
  './scripts/hubctl offsite adopt': ['scripts/off-site-restic-hubs.slow.test.ts', `['offsite', 'adopt', ...args]`],
  './scripts/hubctl offsite adopt --no': ['scripts/off-site-restic-hubs.slow.test.ts', `adopt(hub, staging, '--no')`],
  'restic check --read-data': ['scripts/off-site-restic-damage.slow.test.ts', 'restic check --read-data'],
  'rm /mnt/backup-disk/restic/data/<ab>/<id>': ['scripts/off-site-restic-damage.slow.test.ts', 'rm -f "$RESTIC_REPOSITORY/data/'],
  'restic rebuild-index': ['scripts/off-site-restic-damage.slow.test.ts', 'restic -q rebuild-index'],
  './scripts/restic-backups.sh fetch': ['scripts/off-site-restic-damage.slow.test.ts', `run('restic-backups.sh', ['fetch', name]`],
  'restic forget <id>': ['scripts/off-site-restic-damage.slow.test.ts', `restic('forget', id)`],
  'restic prune --max-repack-size 0': ['scripts/off-site-restic.slow.test.ts', 'prune --max-repack-size 0'],
  'restic snapshots --no-lock': ['scripts/off-site-restic.slow.test.ts', 'hand snapshots --json --no-lock'],
  'rm /mnt/backup-disk/restic/snapshots/<id>*': ['scripts/off-site-restic.slow.test.ts', 'rm "$R"/snapshots/"$id"*'],
  'restic prune --unsafe-recover-no-free-space <id>':
    ['scripts/off-site-restic.slow.test.ts', 'prune --unsafe-recover-no-free-space "$id"'],
  './.runtime/upgrade/new/scripts/upgrade.sh --recover': ['scripts/upgrade-kill.slow.test.ts', `hub.run('--recover')`],
  'systemctl restart content-hub-web content-hub-worker':
    ['scripts/install-systemd-boot.slow.test.ts', 'systemctl restart content-hub-worker'],
  './scripts/upgrade.sh --from ARCHIVE': ['scripts/upgrade-archive.slow.test.ts', "run(`--from '${archive}'`)"],
  './scripts/off-site.sh --new-disk': ['scripts/off-site-folder.slow.test.ts', "run(['--new-disk'])"],
  './scripts/release.sh TAG FOLDER': ['scripts/release.slow.test.ts', './scripts/release.sh'],
  './scripts/release.sh v1.2.3 <folder>': ['scripts/release.slow.test.ts', './scripts/release.sh'],
  'npm run --silent sbom': ['scripts/sbom.test.ts', 'scripts/sbom.ts'],
  'journalctl -u content-hub-web': ['scripts/install-systemd-boot.slow.test.ts', 'journalctl -u content-hub-web'],
  'git status': ['scripts/upgrade-kill.slow.test.ts', "'status', '--short'"],
  'systemctl list-timers': ['scripts/handbook.slow.test.ts', 'system.sh(`systemctl list-timers'],
};

/** Code of several words that nobody is asked to type. */
export const NO_COMMANDS = [
  'result=verified … dir=…', '--every 24', '--restic 20260131-031500', 'rest-server --append-only', 'kill -9', 'port 8080 is in use',
  'hubctl invite', 'hubctl doctor', 'hubctl reindex', 'error: database-gone', 'uploads unreadable',
  'PATCH /api/posts/{draftId}', '{"publishAt": null}',
  '--to v1.2.3', 'tailscale serve --bg 8080', // there is no Tailscale where tests run
  'migrations/… is not of this version', 'is missing', 'tar -xzC .runtime/upgrade/new --strip-components=1 -f content-hub-2.0.1.tar.gz',
  '--from content-hub-2.0.1.tar.gz',
  'the database has schema version …, this program knows only up to …', 'migration … is not safe to apply by itself',
  'database not readable', 'a restore or an upgrade is in progress or was interrupted', "the hub's own database is damaged",
  'uploads missing', 'slow query', 'old rows removed', '"clean": true', '"clean": false', 'AlertExceedsMax yes', '"PutStream": false',
  'chunk_size = 64Mi', 'no hub is in DATA_DIR yet', 'the database lacks migration …', 'restart to apply:',
  'hubctl status', 'upgrade.sh --from', '--ssh-key FILE', '--gpg-key KEY', 'Pack ID does not match, want <id>', 'LoadIndex returned errors', 'restic repair index',
];

/** What the handbook says to run besides its blocks and the first table. */
export function inlineCommands({ spans }: Handbook): string[] {
  const code = spans.filter((span) => /^\.\/| /.test(span));
  return [...new Set(code.filter((span) => !NO_COMMANDS.includes(span)))];
}
