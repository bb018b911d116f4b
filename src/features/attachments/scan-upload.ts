import type { Effects } from '../../platform/jobs/finish-jobs.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { actorOf, audit, THE_HUB } from '../audit/audit-store.ts';
import { counts, enqueue, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { attachments, uploads } from './attachment-store.ts';
import { scanFile, scannerOf, type ScanResult } from './scan-file.ts';
import { uploadFiles } from './upload-files.ts';

/** Scans a file that was accepted without a verdict: tried, at last once an hour, until there is one. */
export const scanUpload: JobKind<{ sha256: string }> = {
  name: 'scan-upload',
  key: ({ sha256 }) => sha256,
  attempts: 1_000_000,
  concurrency: 1,
  afterRestore: 'run',
  run: (hub, { sha256 }) => scan(hub, sha256),
  failed: (hub) => countScan(hub, 'unavailable'),
};

/** Starts a job that scans a file without a verdict, where a scanner is configured. */
export function scanLater(hub: Hub, sha256: string): void {
  if (scannerOf(hub)) enqueue(hub, scanUpload, { sha256 });
}

/** Every file without a verdict gets a job that asks for one, such as those from before a scanner was configured. */
export async function scanUnscanned(hub: Hub, stopping: AbortSignal): Promise<void> {
  if (!scannerOf(hub)) return;
  let after = '';
  await throttled(hub)('scan unscanned uploads', (limit) => {
    const found = uploads(hub).unscanned(after, limit);
    for (const sha256 of found) scanLater(hub, sha256);
    after = found.at(-1) ?? after;
    return found.length;
  }, () => stopping.aborted);
}

/**
 * Counts and logs what a scanner said of a file that comes in. An infected one is audited, whether or not its sender
 * may still upload, and the same bytes taken before are quarantined.
 */
export function noteScan(
  hub: Hub, result: ScanResult, { filename, sha256 }: { filename: string; sha256: string }, req: MemberRequest,
): void {
  hub.db.write('note verdict', () => {
    countScan(hub, result.verdict);
    if (result.verdict === 'infected') quarantine(hub, sha256, result.signature);
  });
  if (result.verdict === 'unavailable') hub.log.warn('file not scanned', { reason: result.reason });
  if (result.verdict !== 'infected') return;
  const found = { sha256, signature: result.signature };
  hub.log.warn('infected file refused', found);
  const { id, name, address } = actorOf(req);
  audit(hub, 'attachment.refused', { id, name, address }, { kind: 'attachment', id: null, name: filename }, found);
}

/** Safe to repeat: once there is a verdict, nothing more happens. */
async function scan(hub: Hub, sha256: string): Promise<void | Effects> {
  const scanner = scannerOf(hub);
  const bytes = await uploadFiles(hub).sizeOf(sha256);
  if (!scanner || bytes === undefined || uploads(hub).scanOf(sha256) !== 'unscanned') return;
  if (bytes !== uploads(hub).bytesOf(sha256)) return; // damaged on the disk: its verdict would not be of the whole file
  const [first] = attachments(hub).namersOf(sha256);
  const path = uploadFiles(hub).pathOf(sha256);
  const result = await scanFile(scanner, { path, bytes, filename: first?.filename ?? sha256 });
  if (result.verdict === 'unavailable') throw new Error(`the scanner gave no verdict: ${result.reason}`);
  return () => {
    countScan(hub, result.verdict);
    if (result.verdict === 'infected') quarantine(hub, sha256, result.signature);
    else if (uploads(hub).scanOf(sha256) === 'unscanned') uploads(hub).setScan(sha256, 'clean');
  };
}

/** Keeps a file that was taken, but is infected, from everybody and tells its owners; in the caller's transaction. */
function quarantine(hub: Hub, sha256: string, signature: string | null): void {
  const known = uploads(hub).scanOf(sha256);
  if (known === undefined || known === 'infected') return;
  uploads(hub).setScan(sha256, 'infected');
  for (const { id, ownerId, postId, filename } of attachments(hub).namersOf(sha256)) {
    audit(hub, 'attachment.quarantined', THE_HUB, { kind: 'attachment', id, name: filename }, { sha256, signature });
    notifications(hub).add({
      accountId: ownerId,
      kind: 'attachment.quarantined',
      title: `The file ${filename} is infected and has been quarantined`,
      path: `/posts/${postId}`,
    });
  }
}

function countScan(hub: Hub, verdict: ScanResult['verdict']): void {
  counts(hub).add('attachment_scans_total', verdict, 1);
}
