import { HttpError, invalid } from '../../platform/http/problem.ts';
import { byteSize } from '../../platform/http/readable.ts';
import type { Hub } from '../hub/hub.ts';
import { attachments, uploads, type NewUpload } from './attachment-store.ts';
import { scanLater } from './scan-upload.ts';
import { uploadFiles } from './upload-files.ts';

/** How many bytes an account may still upload; negative where its quota was made smaller. */
export function bytesLeft(hub: Hub, accountId: number): number {
  return hub.config.uploadQuotaBytes - uploads(hub).usageOf(accountId);
}

/**
 * Names kept files as attachments of a post, in the caller's transaction; returns their ids. 422 when they do not fit
 * into the owner's quota or are known to be infected; 503 when older files with the same bytes have just been removed.
 */
export function attachFiles(hub: Hub, postId: number, ownerId: number, files: NewUpload[]): number[] {
  if (files.length === 0) return [];
  const left = bytesLeft(hub, ownerId);
  if (files.reduce((sum, file) => sum + file.bytes, 0) > left) throw overQuota(left);
  if (!files.every(({ sha256 }) => uploadFiles(hub).isThere(sha256))) throw sweptAway();
  const ids = attachments(hub).attach(postId, ownerId, files);
  for (const { sha256, filename } of files) {
    const scan = uploads(hub).scanOf(sha256);
    if (scan === 'infected') throw infected(filename);
    if (scan === 'unscanned') scanLater(hub, sha256);
  }
  return ids;
}

/** Removes a kept file whose post was refused after all, unless another post names it. */
export function dropUnnamed(hub: Hub, sha256: string): void {
  if (uploads(hub).scanOf(sha256) !== undefined) return;
  hub.db.write('remove unnamed upload', () => {
    if (uploads(hub).scanOf(sha256) === undefined) uploadFiles(hub).removeNow(sha256);
  });
}

/** 422 that tells how much of a quota is left. */
export function overQuota(left: number): HttpError {
  const rest = Math.max(0, left);
  const detail = 'This would exceed the file quota of the account: ' +
    `${rest === 0 ? 'nothing is left' : `${byteSize(rest)} are left`}.`;
  return new HttpError(422, detail, { errors: [{ pointer: '/attachments', detail }], members: { bytesLeft: rest } });
}

/** 422 for a file in which a scanner has found something. */
export function infected(filename: string): HttpError {
  return invalid([{ pointer: '/attachments', detail: `The file ${filename} is infected and was rejected.` }]);
}

function sweptAway(): HttpError {
  return new HttpError(503, 'Please send the file again.', { headers: { 'retry-after': '1' } });
}
