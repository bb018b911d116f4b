import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARCHIVE, backupFolder, DATABASE, SUMS } from '../features/backups/backup-folder.ts';
import { backupName } from '../features/backups/backup-name.ts';
import { readVerdicts } from '../features/backups/backup-status.ts';
import { parseManifest } from '../features/backups/manifest.ts';
import { codeOf } from '../platform/error-code.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import type { Command, ExitCode } from './command.ts';

const MAX_SUMS = 1_000_000; // bytes; a longer SHA256SUMS, which lists many lost uploads, is not parsed

/**
 * Lists the backups on this machine for restore.sh --list: first their folder, then a line for each backup, oldest
 * first. A line has the backup's name, bytes, schema and time of verification, or "failed" or "degraded"; "-" stands
 * for an unknown value. Fails if the backups' folder cannot be read.
 */
export const backupsCommand: Command = {
  options: {},
  operands: 0,

  async run(_args, _values, { config, out, err }): Promise<ExitCode> {
    const { root, list, pathOf } = backupFolder(config.backupDir);
    const verdicts = readVerdicts(config.dataDir);
    let names: string[] = [];
    try {
      names = await list();
    } catch (error) {
      const isMissing = codeOf(error) === 'ENOENT';
      // The first backup makes the default folder in DATA_DIR; any other BACKUP_DIR must exist.
      if (!isMissing || root !== join(config.dataDir, 'backups')) {
        const problem = isMissing ? 'is not there' : `cannot be read (${codeOf(error) ?? String(error)})`;
        err(`restore: ${writtenPath(root)} ${problem}: is the disk mounted?\n`);
        return 1;
      }
    }
    out(`${writtenPath(root)}\n`);
    for (const name of names) {
      const { at, verdict } = verdicts[name] ?? {};
      const verified = at === undefined ? '-' : verdict === 'verified' ? backupName(at) : String(verdict);
      out(`${name} ${sizeOf(pathOf(name)) ?? '-'} ${schemaOf(pathOf(name)) ?? '-'} ${verified}\n`);
    }
    return 0;
  },
};

function sizeOf(folder: string): number | undefined {
  const sizes = [DATABASE, ARCHIVE, SUMS].map((file) => lstatSync(join(folder, file), { throwIfNoEntry: false })?.size);
  return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size));
}

function schemaOf(folder: string): number | undefined {
  try {
    const found = lstatSync(join(folder, SUMS));
    if (!found.isFile() || found.size > MAX_SUMS) return undefined;
    return parseManifest(readFileSync(join(folder, SUMS), 'utf8')).facts?.schemaVersion;
  } catch {
    return undefined;
  }
}
