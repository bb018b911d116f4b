import { isDiskFull } from '../../platform/error-code.ts';
import { discardBeforeAnswer } from '../../platform/http/discard-rest.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { MULTIPART_SHAPE, readMultipart, type MultipartLimits } from '../../platform/http/read-multipart.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { byteSize } from '../../platform/in-words.ts';
import { ownTurn } from '../../platform/turns.ts';
import { requireRoomForFile } from '../hub/disk-reserve.ts';
import { countMetLimit, metLimit, once, type Hub } from '../hub/hub.ts';
import { uploads, type NewUpload } from './attachment-store.ts';
import { nameRefusal, RefusedFile } from './arriving-file.ts';
import { cleanFilename, startRecognition } from './recognise-file.ts';
import { noteScan, noVerdict, scanFile, scannerOf, type ScannerOptions } from './scan-file.ts';
import { uploadFiles } from './upload-files.ts';

const FILE_FIELD = 'attachments';
export const MAX_UPLOADS = 10;

const NO_SPACE = 'There is no space left on the hub’s disk for this file.';

/** A file of an upload form. The file lies in tmp/ until `keepFiles` moves it to uploads/. */
export type ReceivedFile = NewUpload & { path: string; isKept: boolean };

type ReceivedForm = { fields: Map<string, string[]>; files: ReceivedFile[] };

/**
 * Passes the fields and files of a multipart form to `use`. If a file is bad, the hub refuses the whole form. Then
 * removes the form's files that `use` did not move to uploads/ (`keepFiles`), and the moved files that no row of the
 * database names. `typed` collects the text fields, so that the page can fill in a refused form again.
 */
export async function receiveUpload<Result>(
  hub: Hub, req: MemberRequest, use: (form: ReceivedForm) => Promise<Result>, typed?: Map<string, string[]>,
): Promise<Result> {
  try {
    return await receiveForm(hub, req, use, typed);
  } catch (error) {
    await discardBeforeAnswer(req.stream, 2 * formLimits(hub).bytes);
    await ownTurn();
    throw error;
  }
}

async function receiveForm<Result>(
  hub: Hub, req: MemberRequest, use: (form: ReceivedForm) => Promise<Result>, typed?: Map<string, string[]>,
): Promise<Result> {
  const files: ReceivedFile[] = [];
  const share = openShare(hub, req.viewer.id);
  try {
    const fields = await readForm(hub, req, share, files, typed).catch(refuse);
    await scanAll(hub, files, req);
    await ownTurn();
    return await use({ fields, files });
  } finally {
    share.release(); // from now on, only the form's files with rows in the database count towards the quota
    await Promise.all(files.map(uploadFiles(hub).discard));
    for (const { sha256, isKept } of files) if (isKept) dropUnnamed(hub, sha256);
  }
}

/** Moves received files from tmp/ to uploads/. Call it before writing the rows that name them. */
export async function keepFiles(hub: Hub, files: ReceivedFile[]): Promise<void> {
  for (const file of files.filter(({ isKept }) => !isKept)) {
    file.isKept = true; // before the move, which may fail after moving the file
    await uploadFiles(hub).keep(file).catch(refuse);
  }
  await ownTurn();
}

export function isMultipart({ headers }: MemberRequest): boolean {
  return /^\s*multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

export function firstValues(fields: Map<string, string[]>): Record<string, string> {
  return Object.fromEntries([...fields].map(([name, [value = '']]) => [name, value]));
}

/** Limits of a form that contains files. The limit of text fields is separate: UPLOAD_MAX_BYTES may be small. */
export function formLimits({ config: { uploadMaxBytes } }: Hub): MultipartLimits {
  const bytes = 4 * uploadMaxBytes + MULTIPART_SHAPE.fieldBytes;
  return { ...MULTIPART_SHAPE, bytes, fileBytes: uploadMaxBytes, files: MAX_UPLOADS };
}

/** Adds each file to `files` when it arrives, so that the caller can remove the files of a broken-off form. */
function readForm(
  hub: Hub, req: MemberRequest, share: UploadShare, files: ReceivedFile[], typed?: Map<string, string[]>,
): Promise<Map<string, string[]>> {
  const maxTotal = 4 * hub.config.uploadMaxBytes;
  // An administrator may attach files to another owner's post: `attachFiles` then checks the quota of that owner.
  const { id, role } = req.viewer;
  let total = 0;
  const requireRoom = (bytes: number): void => {
    total += bytes;
    if (total > maxTotal) throw new HttpError(413, `The files together may have at most ${maxTotal} bytes.`);
    share.take(bytes);
    const left = role === 'admin' ? Infinity : bytesLeft(hub, id);
    if (bytesInFlight(hub, id) <= left) return;
    share.release(); // a refused form's bytes no longer count, so that the account's other forms fit
    throw overQuota(hub, left - bytesInFlight(hub, id));
  };
  return readMultipart(req, formLimits(hub), async ({ field, filename }, chunks) => {
    if (field !== FILE_FIELD) throw new HttpError(400, `Files must be in the form field ${FILE_FIELD}.`);
    const named = nameRefusal(cleanFilename(filename, 'attachment'));
    files.push(await receiveFile(hub, filename, chunks, requireRoom).catch(named));
  }, typed);
}

async function receiveFile(
  hub: Hub, sentName: string, chunks: AsyncIterable<Buffer>, requireRoom: (bytes: number) => void,
): Promise<ReceivedFile> {
  const filename = cleanFilename(sentName, 'attachment');
  const recognition = startRecognition(sentName);
  const received = await uploadFiles(hub).receive(chunks, (chunk) => {
    requireRoom(chunk.length);
    recognition.push(chunk);
  });
  try {
    const { mediaType, width = null, height = null } = recognition.finish();
    return { ...received, filename, mediaType, width, height, scan: 'unscanned', isKept: false };
  } catch (error) {
    await uploadFiles(hub).discard(received);
    throw error;
  }
}

async function scanAll(hub: Hub, files: ReceivedFile[], req: MemberRequest): Promise<void> {
  const scanner = scannerOf(hub);
  if (!scanner) return;
  // The client sends no bytes during a virus scan, so the connection gets no timeout; Node restores the timeout later.
  req.stream.socket.setTimeout(0);
  for (const file of files) await scanReceived(hub, scanner, file, req);
}

async function scanReceived(hub: Hub, scanner: ScannerOptions, file: ReceivedFile, req: MemberRequest): Promise<void> {
  const result = await scanFile(scanner, file);
  noteScan(hub, result, file, req);
  if (result.verdict === 'infected') throw infected(file.filename);
  if (result.verdict === 'clean') {
    file.scan = 'clean';
  } else if (hub.config.virusScanRequired) {
    throw noVerdict();
  }
}

function refuse(error: unknown): never {
  if (error instanceof RefusedFile) {
    const errors = [{ pointer: `/${FILE_FIELD}`, detail: error.message }];
    throw new HttpError(error.kind === 'type' ? 415 : 422, error.message, { errors });
  }
  throw isDiskFull(error) ? new HttpError(507, NO_SPACE) : error;
}

/** How many bytes an account may still upload; negative beyond the quota, as after it was reduced. */
export function bytesLeft(hub: Hub, accountId: number): number {
  return hub.config.uploadQuotaBytes - uploads(hub).usageOf(accountId);
}

function dropUnnamed(hub: Hub, sha256: string): void {
  if (uploads(hub).find(sha256)) return;
  hub.db.write('remove unnamed upload', () => {
    if (!uploads(hub).find(sha256)) uploadFiles(hub).removeNow(sha256);
  });
}

export function overQuota(hub: Hub, left: number): HttpError {
  countMetLimit(hub, 'upload-quota');
  const rest = Math.max(0, left);
  const detail = 'These files would exceed the file quota of the account: ' +
    `${rest === 0 ? 'nothing is left' : `${byteSize(rest)} are left`}.`;
  return new HttpError(422, detail, { errors: [{ pointer: '/attachments', detail }], members: { bytesLeft: rest } });
}

export function infected(filename: string): HttpError {
  return invalid([{ pointer: '/attachments', detail: `The file ${filename} is infected and was rejected.` }]);
}

/** One account may send this many forms with files at the same time. */
const AT_ONCE = 6;
const RETRY_SECONDS = 5;

/** The disk's free space is checked whenever this many bytes have been received. */
const CHECKED_EVERY = 1024 * 1024;

/** The arrived bytes of a form's files, which count towards the quota until the form is stored or has failed. */
type UploadShare = {
  /** Adds arrived bytes to the form's total, before the bytes are written. Throws if the disk is nearly full. */
  take(bytes: number): void;
  release(): void;
};

const shares = once((_: Hub) => new Map<number, Set<{ bytes: number }>>());

/** What has arrived of all the forms that an account is sending now. */
export function bytesInFlight(hub: Hub, accountId: number): number {
  return [...shares(hub).get(accountId) ?? []].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Starts counting a form's bytes towards the account's quota. Throws 429 if the account sends AT_ONCE other forms. */
export function openShare(hub: Hub, accountId: number): UploadShare {
  const all = shares(hub);
  const ofAccount = all.get(accountId) ?? new Set();
  if (ofAccount.size >= AT_ONCE) {
    throw metLimit(hub, 'uploads-at-once', RETRY_SECONDS, 'Too many uploads of this account are in progress.');
  }
  const share = { bytes: 0 };
  all.set(accountId, ofAccount.add(share));
  let checkedAt = -Infinity;

  return {
    take(bytes) {
      share.bytes += bytes;
      if (share.bytes - checkedAt < CHECKED_EVERY) return;
      checkedAt = share.bytes;
      requireRoomForFile(hub, CHECKED_EVERY, NO_SPACE); // the form's bytes until the next check must fit on the disk
    },
    release() {
      share.bytes = 0;
      ofAccount.delete(share);
      // By now `all` may have a newer set for the account, which must stay.
      if (ofAccount.size === 0 && all.get(accountId) === ofAccount) all.delete(accountId);
    },
  };
}
