import { join, resolve } from 'node:path';
import {
  filesOfSavedPost, findSavedFiles, searchSavedFiles, type SavedFile,
} from '../features/attachments/attachment-store.ts';
import { BackupError, timeOfBackup, timeOfInterim } from '../features/backups/backup-name.ts';
import { interimFolder } from '../features/backups/backup-folder.ts';
import { readBackupStatus } from '../features/backups/backup-status.ts';
import { extractUpload, openBackup, type OpenBackup, readSaved } from '../features/backups/verify-backup.ts';
import { findSavedPost, searchSavedPosts } from '../features/posts/saved-posts-store.ts';
import { isoTime } from '../platform/clock.ts';
import { codeOf, messageOf } from '../platform/error-code.ts';
import { grantedName, writtenPath } from '../platform/files/granted-name.ts';
import { byteSize, plural } from '../platform/in-words.ts';
import { type CommandContext, type ExitCode, UsageError } from './command.ts';
import { absentLines } from './verify.ts';

const EXPECTED = 'expected show <backup> [text], extract <backup> post <id>, ' +
  'extract <backup> upload <sha256|filename>, or nothing to make a backup';

/** `hubctl backup show|extract|due`: reads existing backups. */
export async function readBackup(args: string[], context: CommandContext): Promise<ExitCode> {
  const [verb, backup = '', ...rest] = args;
  if (verb === 'due' && args.length === 1) return tellDue(context);
  if (backup === '') throw new UsageError(EXPECTED);
  try {
    if (verb === 'show' && rest.length <= 1) return await show(await openNamed(backup, context), rest[0], context);
    if (verb === 'extract' && rest.length === 2) return await extract(await openNamed(backup, context), rest, context);
  } catch (error) {
    if (!(error instanceof BackupError) && codeOf(error) === undefined) throw error;
    context.err(`backup: ${messageOf(error)}\n`);
    return 1;
  }
  throw new UsageError(EXPECTED);
}

function openNamed(backup: string, context: CommandContext): Promise<OpenBackup> {
  const { backupDir } = context.config;
  if (timeOfBackup(backup) !== undefined) return openBackup(join(backupDir, backup));
  if (timeOfInterim(backup) !== undefined) return openBackup(interimFolder(backupDir).pathOf(backup));
  return openBackup(grantedName(resolve(backup)));
}

const SHOWN = 50;

async function show(backup: OpenBackup, text: string | undefined, { out }: CommandContext): Promise<ExitCode> {
  const { folder, facts } = backup;
  out(`Backup ${writtenPath(folder)}\n`);
  if (facts) {
    const { accounts, sources, posts, attachments, uploads, uploadBytes } = facts.counts;
    out(`  made         ${isoTime(facts.createdAt)} by version ${facts.version}, schema ${facts.schemaVersion}\n`);
    out(`  content      ${plural(accounts, 'account')}, ${plural(sources, 'source')}, ${plural(posts, 'post')}\n`);
    out(`  attachments  ${attachments} in ${plural(uploads, 'file')}, ${byteSize(uploadBytes, 1)}\n`);
    for (const line of absentLines(facts.absent)) out(`  absent       ${line}\n`);
  }
  if (text === undefined) return 0;
  const posts = await readSaved(backup, (db) => searchSavedPosts(db, text, SHOWN));
  for (const { id, publishedAt, title } of posts) out(`post ${id}  ${isoTime(publishedAt)}  ${inLine(title)}\n`);
  const files = await readSaved(backup, (db) => searchSavedFiles(db, text, SHOWN));
  for (const file of files) out(`upload ${fileLine(file)}\n`);
  return 0;
}

function fileLine({ sha256, bytes, filename, postId }: SavedFile): string {
  return `${sha256}  ${byteSize(bytes, 1)}  ${inLine(filename)}  (post ${postId})`;
}

/** The text on one line, without terminal control characters. */
function inLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

async function extract(backup: OpenBackup, [kind, which = '']: string[], context: CommandContext): Promise<ExitCode> {
  if (kind === 'post' && /^\d{1,15}$/.test(which)) {
    const post = await readSaved(backup, (db) => findSavedPost(db, Number(which)));
    if (!post) throw new BackupError(`there is no post ${which} in this backup`);
    const attachments = await readSaved(backup, (db) => filesOfSavedPost(db, Number(which)));
    context.out(`${JSON.stringify({ post, attachments }, null, 2)}\n`);
    return 0;
  }
  if (kind !== 'upload') throw new UsageError(EXPECTED);
  const files = await readSaved(backup, (db) => findSavedFiles(db, which));
  const [sha256, ...others] = new Set(files.map((file) => file.sha256));
  if (sha256 === undefined) throw new BackupError(`there is no upload ${JSON.stringify(which)} in this backup`);
  if (others.length > 0) {
    for (const file of files) context.err(`${fileLine(file)}\n`);
    throw new BackupError('several files have that name: give the SHA-256 of one file');
  }
  await extractUpload(backup, sha256, (chunk) => context.out(Buffer.from(chunk)));
  return 0;
}

/** Prints the backups to verify tonight: the newest backup, and the backup that was verified longest ago. */
function tellDue({ config, out }: CommandContext): ExitCode {
  const { newest, byVerification } = readBackupStatus({ config, clock: Date.now });
  const longest = byVerification.find(({ name }) => name !== newest?.name);
  for (const one of [newest, longest]) if (one) out(`${one.name}\n`);
  return 0;
}
