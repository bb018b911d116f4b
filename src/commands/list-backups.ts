import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARCHIVE, backupFolder, DATABASE, interimFolder, SUMS } from '../features/backups/backup-folder.ts';
import { backupName } from '../features/backups/backup-name.ts';
import { readVerdicts } from '../features/backups/backup-status.ts';
import { type Manifest, parseManifest } from '../features/backups/manifest.ts';
import { codeOf } from '../platform/error-code.ts';
import { writtenPath } from '../platform/files/granted-name.ts';
import { type Command, type ExitCode, UsageError } from './command.ts';

const MAX_SUMS = 1_000_000; // bytes; a longer SHA256SUMS, which lists many lost uploads, is not parsed

/**
 * Lists the nightly backups on this machine, or with `interim` the interim ones, for restore.sh --list: their folder,
 * then a line for each, the oldest first: name, bytes, schema, and when it was verified, or "failed" or "degraded"; "-"
 * if unknown.
 */
export const backupsCommand: Command = {
  options: {},

  async run(args, _values, { config, out, err }): Promise<ExitCode> {
    const isInterim = args.join(' ') === 'interim';
    if (args.length > 0 && !isInterim) throw new UsageError('expected interim, or nothing');
    const { root, list, pathOf } = (isInterim ? interimFolder : backupFolder)(config.backupDir);
    const verdicts = readVerdicts(config.dataDir);
    let names: string[] = [];
    try {
      names = await list();
    } catch (error) {
      const isMissing = codeOf(error) === 'ENOENT';
      // The first backup makes the folder, except a BACKUP_DIR other than DATA_DIR/backups, which must exist.
      if (!isMissing || (!isInterim && root !== join(config.dataDir, 'backups'))) {
        const problem = isMissing ? 'is not there' : `cannot be read (${codeOf(error) ?? String(error)})`;
        err(`restore: ${writtenPath(root)} ${problem}: is the disk mounted?\n`);
        return 1;
      }
    }
    out(`${writtenPath(root)}\n`);
    for (const name of names) {
      const { at, verdict } = verdicts[name] ?? {};
      const verified = at === undefined ? '-' : verdict === 'verified' ? backupName(at) : String(verdict);
      const manifest = manifestOf(pathOf(name));
      const [size, schema] = [sizeOf(pathOf(name), manifest), manifest?.facts?.schemaVersion];
      out(`${name} ${size ?? '-'} ${schema ?? '-'} ${verified}\n`);
    }
    return 0;
  },
};

function sizeOf(folder: string, manifest: Manifest | undefined): number | undefined {
  const hasArchive = manifest?.hashes.archive !== null;
  const sizes = [...hasArchive ? [DATABASE, ARCHIVE, SUMS] : [DATABASE, SUMS]]
    .map((file) => lstatSync(join(folder, file), { throwIfNoEntry: false })?.size);
  if (!hasArchive) sizes.push(manifest?.facts?.counts.uploadBytes);
  return sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size));
}

function manifestOf(folder: string): Manifest | undefined {
  try {
    const found = lstatSync(join(folder, SUMS));
    if (!found.isFile() || found.size > MAX_SUMS) return undefined;
    return parseManifest(readFileSync(join(folder, SUMS), 'utf8'));
  } catch {
    return undefined;
  }
}
