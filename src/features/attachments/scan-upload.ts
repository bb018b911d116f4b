import type { Job } from '../../platform/jobs/job-queue.ts';
import type { JobHandler } from '../../platform/jobs/worker.ts';
import { THE_HUB, type RecordAct } from '../audit/audit.ts';
import type { FileToScan, ScanResult } from './scan-file.ts';
import type { UploadFiles } from './upload-files.ts';
import type { UploadStore } from './upload-store.ts';

export const SCAN_UPLOAD = 'scan-upload';

/** Tried, at last once an hour, until there is a verdict. */
export const SCAN_ATTEMPTS = 1_000_000;

export type ScanUploadPayload = { sha256: string };

export type QuarantineDeps = {
  uploads: UploadStore;
  /** Tells an account that its file is kept away, in the same transaction; given by app. */
  tellOwner(accountId: number, filename: string, postId: number): void;
  recordAct: RecordAct;
};

export type Quarantine = (sha256: string, signature: string | null) => void;

export type ScanUploadDeps = {
  uploads: UploadStore;
  uploadFiles: UploadFiles;
  /** Undefined when no scanner is configured. */
  scan: ((file: FileToScan) => Promise<ScanResult>) | undefined;
  /** Counts verdicts, in the transaction that stores them; given by app. */
  countScan(verdict: ScanResult['verdict']): void;
  quarantine: Quarantine;
};

/** Keeps a file that was taken, but is infected, from everybody and tells its owners; in the caller's transaction. */
export function quarantining({ uploads, tellOwner, recordAct }: QuarantineDeps): Quarantine {
  return (sha256, signature) => {
    const scan = uploads.scanOf(sha256);
    if (scan === undefined || scan === 'infected') return;
    uploads.setScan(sha256, 'infected');
    for (const { id, ownerId, postId, filename } of uploads.namersOf(sha256)) {
      recordAct('attachment.quarantined', THE_HUB, { kind: 'attachment', id, name: filename }, { sha256, signature });
      tellOwner(ownerId, filename, postId);
    }
  };
}

/** Scans a file that was accepted without a verdict. Safe to repeat: once there is a verdict, nothing more happens. */
export function scanUpload(deps: ScanUploadDeps): JobHandler {
  const { uploads, uploadFiles, scan, countScan, quarantine } = deps;

  async function run(job: Job): Promise<(() => void) | void> {
    const { sha256 } = job.payload as ScanUploadPayload;
    const bytes = await uploadFiles.sizeOf(sha256);
    if (!scan || bytes === undefined || uploads.scanOf(sha256) !== 'unscanned') return;
    if (bytes !== uploads.bytesOf(sha256)) return; // damaged on the disk: its verdict would not be of the whole file
    const [first] = uploads.namersOf(sha256);
    const result = await scan({ path: uploadFiles.pathOf(sha256), bytes, filename: first?.filename ?? sha256 });
    if (result.verdict === 'unavailable') throw new Error(`the scanner gave no verdict: ${result.reason}`);
    return () => {
      countScan(result.verdict);
      if (result.verdict === 'infected') quarantine(sha256, result.signature);
      else if (uploads.scanOf(sha256) === 'unscanned') uploads.setScan(sha256, 'clean');
    };
  }

  return { concurrency: 1, run, failed: () => countScan('unavailable') };
}
