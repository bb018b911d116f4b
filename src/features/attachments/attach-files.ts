import { HttpError } from '../../platform/http/http-error.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { attachments, uploads, type NewUpload } from './attachment-store.ts';
import { draftFiles } from './draft-file-store.ts';
import { bytesLeft, infected, overQuota } from './receive-upload.ts';
import { scanLater } from './scan-file.ts';
import { uploadFiles } from './upload-files.ts';

/** The maximum number of files of a post, as of a feed's item (MAX_ITEM_FILES): a post's page lists all at once. */
const FILES_OF_POST = 100;

/**
 * Runs in the caller's transaction. `isCounted`: the files were the owner's before, in a draft, so a full quota keeps
 * no scheduled post from going out.
 */
export function attachFiles(
  hub: Hub, postId: number, ownerId: number, files: NewUpload[], isCounted = false,
): number[] {
  if (files.length === 0) return [];
  requireStorable(hub, ownerId, files, isCounted);
  const ids = attachments(hub).attach(postId, ownerId, files);
  requireFewFiles(hub, attachments(hub).countsOfPosts([postId]).get(postId) ?? 0);
  requireNotInfected(hub, files);
  return ids;
}

/** Runs in the caller's transaction. */
export function addFilesToDraft(hub: Hub, draftId: number, accountId: number, files: NewUpload[]): number[] {
  if (files.length === 0) return [];
  requireStorable(hub, accountId, files);
  const ids = draftFiles(hub).add(draftId, accountId, files);
  requireFewFiles(hub, draftFiles(hub).ofDraft(draftId).length);
  requireNotInfected(hub, files);
  return ids;
}

function requireStorable(hub: Hub, ownerId: number, files: NewUpload[], isCounted = false): void {
  const left = isCounted ? Infinity : bytesLeft(hub, ownerId);
  if (files.reduce((sum, file) => sum + file.bytes, 0) > left) throw overQuota(hub, left);
  if (!files.every(({ sha256 }) => uploadFiles(hub).isThere(sha256))) {
    const detail = 'The hub removed the file while it was being stored. Please send the file again.';
    throw new HttpError(503, detail, { headers: { 'retry-after': '1' } });
  }
}

function requireFewFiles(hub: Hub, count: number): void {
  if (count > FILES_OF_POST) throw metLimit(hub, 'files-of-post', 0, `A post may have at most ${FILES_OF_POST} files.`);
}

function requireNotInfected(hub: Hub, files: NewUpload[]): void {
  for (const { sha256, filename } of files) {
    const scan = uploads(hub).find(sha256)?.scan;
    if (scan === 'infected') throw infected(filename);
    if (scan === 'unscanned') scanLater(hub, sha256);
  }
}
