import { calledBy, commandsIn, SCRIPTS } from './shell-commands.ts';

/** Programs of the machine that scripts call, by who makes them; the versions are those of the machine. */
export const SCRIPT_PROGRAMS: Record<string, { programs: string[]; for: string }> = {
  'GNU coreutils': {
    programs: [
      'basename', 'cat', 'chmod', 'comm', 'cp', 'cut', 'date', 'dd', 'df', 'dirname', 'du', 'env', 'head', 'id', 'install', 'ln', 'ls',
      'mkdir', 'mktemp', 'mv', 'nproc', 'paste', 'readlink', 'rm', 'rmdir', 'sha256sum', 'sleep', 'sort', 'stat', 'sync', 'tail', 'tee',
      'timeout', 'touch', 'tr', 'uname', 'wc',
    ],
    for: 'files, hashes and text, in all scripts',
  },
  'a shell (`/bin/sh`)': { programs: ['sh'], for: 'all scripts' },
  awk: { programs: ['awk'], for: 'tables in the output of other programs' },
  'GNU sed, grep, diffutils, findutils': { programs: ['sed', 'grep', 'cmp', 'find', 'xargs'], for: 'text and files, in all scripts' },
  'util-linux': { programs: ['flock', 'setpriv', 'setsid'], for: 'locks, and running as the account that owns the data' },
  'the C library’s tools': { programs: ['getent'], for: 'names and homes of accounts' },
  'GNU tar, gzip': { programs: ['tar', 'gzip'], for: 'encrypted copies, upgrades, the private Node' },
  Node: { programs: ['node', 'npm'], for: 'the hub itself; packages at set-up' },
  git: { programs: ['git'], for: '`upgrade.sh`, `release.sh`; the commit in a recovery kit' },
  'GnuPG, OpenSSH': {
    programs: ['gpg', 'ssh-keygen'], for: 'signatures of releases: `upgrade.sh --from` if `UPGRADE_VERIFY` is set, `release.sh`',
  },
  systemd: { programs: ['systemctl'], for: 'the units, if they are installed' },
  cron: { programs: ['crontab'], for: 'the nightly backup, if `install-backup-cron.sh` was run' },
  age: { programs: ['age'], for: 'encrypted copies, if `BACKUP_AGE_RECIPIENT` is set' },
  rclone: { programs: ['rclone'], for: 'copies on remotes, if `BACKUP_RCLONE_REMOTE` is set' },
  restic: { programs: ['restic'], for: 'the repository, if `BACKUP_RESTIC_REPOSITORY` is set' },
};

const BUILTINS = new Set(('! . : [ { } break cd command continue do done echo elif else end exec exit export fi for if kill ' +
  'printf pwd read return set shift test then trap true umask until wait while').split(' '));

/** What the scripts call that is neither a function nor a part of the shell: by name, or by what is put in at run time. */
export function calledPrograms() {
  const functions = new Set(SCRIPTS.flatMap(({ text }) => [...text.matchAll(/^(\w+)\(\) *[{(]/gm)].map(([, name = '']) => name)));
  const calls = SCRIPTS.flatMap(({ name: script, text }) => commandsIn(text).flatMap(calledBy)
    .filter((word) => !functions.has(word.text) && !BUILTINS.has(word.text))
    .map((word) => ({ script, ...word })));
  return { named: calls.filter(({ isPlain }) => isPlain), putIn: calls.filter(({ isPlain }) => !isPlain) };
}
