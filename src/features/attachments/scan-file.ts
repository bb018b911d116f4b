import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SECOND } from '../../platform/clock.ts';
import { codeOf } from '../../platform/error-code.ts';
import { contentDisposition } from '../../platform/http/headers.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Effects } from '../../platform/jobs/finish-jobs.ts';
import { fetchFailure, fetchFromOperator, readAnswer } from '../../platform/net/operator-fetch.ts';
import { actorOf, audit, THE_HUB } from '../audit/audit.ts';
import { counts, enqueue, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { attachments, uploads } from './attachment-store.ts';
import { uploadFiles } from './upload-files.ts';

export type FileToScan = { path: string; bytes: number; filename: string };

/** `signature`: the scanner's name for the virus. `reason`: for the log; of the URL, the hub names only the host. */
export type ScanResult =
  | { verdict: 'clean' }
  | { verdict: 'infected'; signature: string | null }
  | { verdict: 'unavailable'; reason: string };

/** `timeoutMs`: limit of a whole scan. `idleMs`: limit of connecting, and of a pause between two pieces of the file. */
export type ScannerOptions = { url: string; timeoutMs: number; idleMs?: number };

type ScannerAnswer = { status: number; body: string; hadWholeFile: boolean };

const MAX_ANSWER_BYTES = 16 * 1024;
const MAX_QUOTED = 200;
const PIECE = 64 * 1024; // bytes
const UNKNOWN = 'unknown error';

/** A scan without a verdict; the message becomes the `reason` of the result. */
class ScanFailure extends Error {}

/**
 * Sends the file in a POST request as application/octet-stream, with the file name in Content-Disposition. The scanner
 * answers 2xx with a JSON object that has `clean: true` or `clean: false`; any other answer is 'unavailable'. The
 * scanner's URL may have a private address, and a user name and password for Basic authentication (RFC 7617).
 */
export async function scanFile(options: ScannerOptions, file: FileToScan): Promise<ScanResult> {
  const url = new URL(options.url);
  try {
    return verdictOf(await scanOpened(url, file, options), url.host);
  } catch (error) {
    const reason = error instanceof ScanFailure ? error.message : fetchFailure(error, url.host);
    return { verdict: 'unavailable', reason };
  }
}

/** Null if VIRUS_SCAN_URL is not set. */
export function scannerOf({ config: { virusScanUrl: url, virusScanTimeoutSeconds } }: Hub): ScannerOptions | null {
  return url === null ? null : { url, timeoutMs: virusScanTimeoutSeconds * SECOND };
}

async function scanOpened(url: URL, file: FileToScan, options: ScannerOptions): Promise<ScannerAnswer> {
  const handle = await openWhole(file);
  try {
    return await exchange(url, file, handle, options);
  } finally {
    await handle.close();
  }
}

async function exchange(
  url: URL, file: FileToScan, handle: FileHandle, { timeoutMs, idleMs = 10 * SECOND }: ScannerOptions,
): Promise<ScannerAnswer> {
  const stop = new AbortController();
  const stopAfter = (ms: number, what: string) =>
    setTimeout(() => stop.abort(new ScanFailure(`${url.host} ${what} within ${ms / SECOND} s`)), ms);
  const [overall, idle] = [stopAfter(timeoutMs, 'gave no answer'), stopAfter(idleMs, 'took nothing')];
  let taken = 0;

  /** A generator goes on behind `yield` when the piece was taken. */
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let piece; taken < file.bytes; taken += piece.length) {
      piece = await readPiece(handle, taken, file.bytes).catch((failure: unknown) => stop.abort(failure));
      if (!piece) return;
      yield piece;
      idle.refresh();
    }
    clearTimeout(idle); // during a scan no bytes move, so only timeoutMs limits it
  }

  try {
    const request = { method: 'POST', headers: headersFor(file), body: ReadableStream.from(pieces()) } as const;
    const response = await fetchFromOperator(url, { ...request, signal: stop.signal });
    const { body, isWhole } = await readAnswer(response, MAX_ANSWER_BYTES);
    stop.signal.throwIfAborted();
    if (!isWhole) throw new ScanFailure(`${url.host}’s answer broke off, or is longer than ${MAX_ANSWER_BYTES} bytes`);
    return { status: response.status, body, hadWholeFile: taken === file.bytes };
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    clearTimeout(overall);
    clearTimeout(idle);
    stop.abort();
  }
}

async function readPiece(handle: FileHandle, start: number, end: number): Promise<Uint8Array> {
  const piece = Buffer.allocUnsafe(Math.min(PIECE, end - start));
  const { bytesRead } = await handle.read(piece, 0, piece.length, start).catch((cause: unknown) => {
    throw new ScanFailure(`the file cannot be read (${codeOf(cause) ?? UNKNOWN})`);
  });
  if (bytesRead === 0) throw new ScanFailure(`the file ends after ${start} of ${end} bytes`);
  return piece.subarray(0, bytesRead);
}

/** Opens a file and checks its size, because a scanner could find a truncated file clean. */
async function openWhole({ path, bytes }: FileToScan): Promise<FileHandle> {
  const handle = await open(path).catch((cause: unknown) => {
    throw new ScanFailure(`the file cannot be opened (${codeOf(cause) ?? UNKNOWN})`);
  });
  const size = await handle.stat().then((stats) => stats.size, () => undefined);
  if (size === bytes) return handle;
  await handle.close();
  throw new ScanFailure(`the file has ${size ?? 'unknown'} bytes instead of ${bytes}`);
}

function headersFor({ bytes, filename }: FileToScan): Record<string, string> {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(bytes),
    'Content-Disposition': contentDisposition('attachment', filename),
    'Accept': 'application/json',
  };
}

function verdictOf({ status, body, hadWholeFile }: ScannerAnswer, host: string): ScanResult {
  const answer = parseObject(body);
  const detail = forLogLine(answer?.['detail']);
  const said = detail === null ? '' : `: ${detail}`;
  if (status < 200 || status > 299) throw new ScanFailure(`${host} answered ${status}${said}`);
  if (!answer) throw new ScanFailure(`${host} did not answer with a JSON object`);
  if (answer['clean'] === false) return { verdict: 'infected', signature: forLogLine(answer['signature']) };
  if (answer['clean'] !== true) throw new ScanFailure(`${host} said neither clean: true nor clean: false`);
  if (!hadWholeFile) throw new ScanFailure(`${host} called the file clean before it had received the whole file`);
  return { verdict: 'clean' };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function forLogLine(text: unknown): string | null {
  if (typeof text !== 'string' || text === '') return null;
  return text.slice(0, MAX_QUOTED).toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

/** Job: scans a file stored without a scanner's verdict; tries again, in the end about hourly, until there is one. */
export const scanUpload: JobKind<{ sha256: string }> = {
  name: 'scan-upload',
  key: ({ sha256 }) => sha256,
  attempts: 1_000_000,
  concurrency: 1,
  afterRestore: 'run',
  stores: false,
  run: (hub, { sha256 }) => scan(hub, sha256),
  failed: (hub) => countScan(hub, 'unavailable'),
};

/** Does nothing without a scanner. */
export function scanLater(hub: Hub, sha256: string): void {
  if (scannerOf(hub)) enqueue(hub, scanUpload, { sha256 });
}

/** Enqueues a scan of every file without a verdict, for example of files that are older than the scanner. */
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
 * Quarantines stored copies of an infected file. Writes an audit record even if the sender may no longer upload. The
 * sender is a publisher if there is no request.
 */
export function noteScan(
  hub: Hub, result: ScanResult, { filename, sha256 }: Pick<FileToScan, 'filename'> & { sha256: string },
  req?: MemberRequest,
): void {
  hub.db.write('note verdict', () => {
    countScan(hub, result.verdict);
    if (result.verdict === 'infected') quarantine(hub, sha256, result.signature);
  });
  if (result.verdict === 'unavailable') hub.log.warn('file not scanned', { reason: result.reason });
  if (result.verdict !== 'infected') return;
  const found = { sha256, signature: result.signature };
  hub.log.warn('infected file refused', found);
  const { id, name, address } = req ? actorOf(req) : THE_HUB;
  audit(hub, 'attachment.refused', { id, name, address }, { kind: 'attachment', id: null, name: filename }, found);
}

async function scan(hub: Hub, sha256: string): Promise<void | Effects> {
  const scanner = scannerOf(hub);
  const known = uploads(hub).find(sha256);
  if (!scanner || known?.scan !== 'unscanned') return;
  const { bytes } = known;
  // A scan of a damaged file would miss a part of it.
  if (await uploadFiles(hub).stateOf(sha256, bytes) !== 'there') return;
  const [first] = attachments(hub).namersOf(sha256);
  const path = uploadFiles(hub).pathOf(sha256);
  const result = await scanFile(scanner, { path, bytes, filename: first?.filename ?? sha256 });
  if (result.verdict === 'unavailable') throw new Error(`the scanner gave no verdict: ${result.reason}`);
  return () => {
    countScan(hub, result.verdict);
    if (result.verdict === 'infected') quarantine(hub, sha256, result.signature);
    else if (uploads(hub).find(sha256)?.scan === 'unscanned') uploads(hub).setScan(sha256, 'clean');
  };
}

/** Keeps an infected file from everybody and notifies the owners of posts with it, in the caller's transaction. */
function quarantine(hub: Hub, sha256: string, signature: string | null): void {
  const known = uploads(hub).find(sha256)?.scan;
  if (known === undefined || known === 'infected') return;
  uploads(hub).setScan(sha256, 'infected');
  for (const { id, ownerId, postId, filename } of attachments(hub).namersOf(sha256)) {
    audit(hub, 'attachment.quarantined', THE_HUB, { kind: 'attachment', id, name: filename }, { sha256, signature });
    if (ownerId !== null) notifications(hub).add({
      accountId: ownerId,
      kind: 'attachment.quarantined',
      title: `The file ${filename} is infected and has been quarantined`,
      path: `/posts/${postId}`,
    });
  }
}

function countScan(hub: Hub, verdict: ScanResult['verdict']): void {
  counts(hub).add('attachment_scans_total', verdict, 1);
  noteAnswer(hub, verdict);
}

/** The row of `counts` that holds the time when the scanner stopped answering (unix ms), or 0 while it answers. */
const SILENT_SINCE = 'scanner_silent_since';

function noteAnswer(hub: Hub, verdict: ScanResult['verdict']): void {
  const since = counts(hub).value(SILENT_SINCE);
  const isSilent = verdict === 'unavailable';
  if (isSilent !== since > 0) counts(hub).add(SILENT_SINCE, '', isSilent ? hub.clock() : -since);
}

/** Whether the scanner gave no verdict when it was last asked. */
export function isScannerSilent(hub: Hub): boolean {
  return counts(hub).value(SILENT_SINCE) > 0;
}

const RETRY_SECONDS = 60;

/** A 503 for a request whose file needs a verdict that the scanner did not give. */
export function noVerdict(): HttpError {
  const detail = 'The virus scanner does not answer, so the hub accepts no files now. Try again in a minute.';
  return new HttpError(503, detail, { headers: { 'retry-after': String(RETRY_SECONDS) } });
}

/** Since when (unix ms) the scanner is silent; null if the scanner answers, is not set, or is needed by no upload. */
export function scannerSilentSince(hub: Hub): number | null {
  const since = scannerOf(hub) && counts(hub).value(SILENT_SINCE);
  const isNeeded = Boolean(since) && (hub.config.virusScanRequired || uploads(hub).unscanned('', 1).length > 0);
  return isNeeded ? since : null;
}

/** Sends package.json to a required scanner that did not answer, so that its alert ends before the next upload. */
export async function askScannerAgain(hub: Hub): Promise<void> {
  const scanner = scannerOf(hub);
  if (!scanner || !hub.config.virusScanRequired || scannerSilentSince(hub) === null) return;
  const filename = 'package.json';
  const path = join(hub.config.projectRoot, filename);
  const { verdict } = await scanFile(scanner, { path, bytes: (await stat(path)).size, filename });
  if (verdict !== 'unavailable') hub.db.write('note that the scanner answers', () => noteAnswer(hub, verdict));
}
