import type { Db } from '../../platform/db/open-database.ts';
import { HttpError, invalid } from '../../platform/http/problem.ts';
import { byteSize } from '../../platform/http/readable.ts';
import type { UploadFiles } from './upload-files.ts';
import type { NewUpload, UploadStore } from './upload-store.ts';

export type AttachDeps = {
  db: Db;
  uploads: UploadStore;
  uploadFiles: UploadFiles;
  quotaBytes: number;
  /** Starts a job that scans a file which came without a verdict; given by app. */
  scanLater(sha256: string): void;
};

export type AttachingFiles = ReturnType<typeof attachingFiles>;

/** Names kept files as attachments of posts. */
export function attachingFiles({ db, uploads, uploadFiles, quotaBytes, scanLater }: AttachDeps) {
  const bytesLeft = (accountId: number): number => quotaBytes - uploads.usageOf(accountId);

  const removeUnlessNamed = db.transaction('remove unnamed upload', (sha256: string): void => {
    if (uploads.scanOf(sha256) === undefined) uploadFiles.removeNow(sha256);
  });

  return {
    bytesLeft,

    /** How many bytes too few an account has left for the files of a source that `ownerId` owns; 0 if they fit. */
    bytesMissing(source: { id: number; ownerId: number }, accountId: number): number {
      const bytes = uploads.bytesOfSource(source.id, source.ownerId);
      return bytes === 0 ? 0 : Math.max(0, bytes - bytesLeft(accountId));
    },

    /**
     * In the caller's transaction; returns their ids. 422 when they do not fit into the owner's quota or are known to
     * be infected; 503 when older files with the same bytes have just been removed.
     */
    attach(postId: number, ownerId: number, files: NewUpload[]): number[] {
      if (files.length === 0) return [];
      const left = bytesLeft(ownerId);
      if (files.reduce((sum, file) => sum + file.bytes, 0) > left) throw overQuota(left);
      if (!files.every(({ sha256 }) => uploadFiles.isThere(sha256))) throw sweptAway();
      const ids = uploads.attach(postId, ownerId, files);
      for (const { sha256, filename } of files) {
        const scan = uploads.scanOf(sha256);
        if (scan === 'infected') throw infected(filename);
        if (scan === 'unscanned') scanLater(sha256);
      }
      return ids;
    },

    /** Removes a kept file whose post was refused after all. */
    dropUnnamed(sha256: string): void {
      if (uploads.scanOf(sha256) === undefined) removeUnlessNamed(sha256);
    },
  };
}

/** 422 that tells how much of a quota is left. */
export function overQuota(left: number): HttpError {
  const bytesLeft = Math.max(0, left);
  const rest = bytesLeft === 0 ? 'nothing is left of it' : `${byteSize(bytesLeft)} are left`;
  const detail = `This would go over the space for files of the account: ${rest}.`;
  return new HttpError(422, detail, { errors: [{ pointer: '/attachments', detail }], members: { bytesLeft } });
}

/** 422 for a file in which a scanner has found something. */
export function infected(filename: string): HttpError {
  return invalid([{ pointer: '/attachments', detail: `The file ${filename} is infected and was not taken.` }]);
}

function sweptAway(): HttpError {
  return new HttpError(503, 'The file has to be sent once more.', { headers: { 'retry-after': '1' } });
}
