import { attachingFiles } from '../features/attachments/attach-files.ts';
import { createCacheFiles } from '../features/attachments/cache-files.ts';
import { bufferedCounts } from '../features/hub/hub.ts';
import { cachedFiles as cachedFilesOf } from '../features/attachments/cache-store.ts';
import { receivingFiles } from '../features/attachments/receive-files.ts';
import { createRemoteCache } from '../features/attachments/remote-cache.ts';
import { createScanner, type ScanResult } from '../features/attachments/scan-file.ts';
import { quarantining, scanUpload, SCAN_ATTEMPTS, SCAN_UPLOAD } from '../features/attachments/scan-upload.ts';
import { sweepingUploads } from '../features/attachments/sweep-uploads.ts';
import { createUploadFiles } from '../features/attachments/upload-files.ts';
import { uploads as uploadsOf } from '../features/attachments/upload-store.ts';
import { backupLock } from '../features/hub/data-locks.ts';
import type { notifications as notificationsOf } from '../features/notifications/notification-store.ts';
import { SECOND } from '../platform/clock.ts';
import { takeFileLock } from '../platform/db/file-lock.ts';
import type { MemberRequest } from '../platform/http/router.ts';
import type { JobQueue } from '../platform/jobs/job-queue.ts';
import type { KeptCounts } from '../platform/metrics/kept-counts.ts';
import { actorOf, type RecordAct } from '../features/audit/audit.ts';
import type { Surroundings } from './app.ts';

export type AttachmentNeeds = Pick<Surroundings, 'db' | 'config' | 'clock' | 'outbound' | 'log'> & {
  hub: Surroundings;
  jobs: JobQueue;
  counts: KeptCounts;
  notifications: ReturnType<typeof notificationsOf>;
  recordAct: RecordAct;
};

/** How files come in, are scanned, kept, given out and swept away. */
export function createAttachments(needs: AttachmentNeeds) {
  const { hub, db, config, clock, outbound, log, jobs, counts, notifications, recordAct } = needs;
  const uploadFiles = createUploadFiles(config.dataDir);
  const uploads = uploadsOf(hub);
  const scan = config.virusScanUrl === null
    ? undefined
    : createScanner({ url: config.virusScanUrl, timeoutMs: config.virusScanTimeoutSeconds * SECOND });

  const scanLater = (sha256: string): void => {
    if (scan === undefined) return;
    jobs.enqueue({ kind: SCAN_UPLOAD, payload: { sha256 }, dedupeKey: sha256, maxAttempts: SCAN_ATTEMPTS });
  };
  const countScan = (verdict: ScanResult['verdict']): void => counts.add('attachment_scans_total', verdict, 1);

  const quarantine = quarantining({
    uploads, recordAct,
    tellOwner: (accountId, filename, postId) => notifications.add({
      accountId,
      kind: 'attachment.quarantined',
      title: `The file ${filename} was found to be infected and is kept away from readers`,
      path: `/posts/${postId}`,
    }),
  });

  const noteVerdict = db.transaction('note verdict', (result: ScanResult, sha256: string): void => {
    countScan(result.verdict);
    if (result.verdict === 'infected') quarantine(sha256, result.signature); // where the same bytes were taken before
  });

  /** What a scanner found stands whether or not the person may still upload. */
  function onScan(
    result: ScanResult, { filename, sha256 }: { filename: string; sha256: string }, req: MemberRequest,
  ): void {
    noteVerdict(result, sha256);
    if (result.verdict === 'unavailable') log.warn('file not scanned', { reason: result.reason });
    if (result.verdict !== 'infected') return;
    const found = { sha256, signature: result.signature };
    log.warn('infected file refused', found);
    const { id, name, address } = actorOf(req);
    recordAct('attachment.refused', { id, name, address }, { kind: 'attachment', id: null, name: filename }, found);
  }

  const attaching = attachingFiles({ db, uploads, uploadFiles, quotaBytes: config.uploadQuotaBytes, scanLater });

  return {
    uploads,
    uploadFiles,
    attach: attaching.attach,
    bytesMissing: attaching.bytesMissing,

    receive: receivingFiles({
      uploadFiles, scan, onScan,
      maxBytes: config.uploadMaxBytes,
      bytesLeft: attaching.bytesLeft,
      dropUnnamed: attaching.dropUnnamed,
      scanRequired: config.virusScanRequired,
    }),

    remoteCache: createRemoteCache({
      outbound, clock,
      files: createCacheFiles(config.dataDir),
      store: cachedFilesOf(hub),
      maxFileBytes: config.uploadMaxBytes,
      maxBytes: config.attachmentCacheMaxBytes,
      count: (result) => bufferedCounts(hub).add('attachment_cache_requests_total', result),
    }),

    sweeping: sweepingUploads({
      db, uploads, uploadFiles, clock, log,
      takeBackupLock: () => takeFileLock(backupLock(config.dataDir)),
    }),

    /** Jobs for files that have no verdict, such as those from before a scanner was configured; up to `limit`. */
    scanUnscanned(after: string, limit: number): string[] {
      const found = scan === undefined ? [] : uploads.unscanned(after, limit);
      found.forEach(scanLater);
      return found;
    },

    handlers: {
      [SCAN_UPLOAD]: scanUpload({ uploads, uploadFiles, scan, countScan, quarantine }),
    },
  };
}
