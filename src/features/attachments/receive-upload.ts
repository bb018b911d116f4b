import { isDiskFull } from '../../platform/error-code.ts';
import { HttpError, invalid } from '../../platform/http/reply.ts';
import { MULTIPART_SHAPE, readMultipart, type MultipartLimits } from '../../platform/http/read-multipart.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { byteSize } from '../../platform/in-words.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { attachments, uploads, type NewUpload } from './attachment-store.ts';
import { refusalOf, RefusedFile } from './recognise-images.ts';
import { cleanFilename, startRecognition } from './recognise-file.ts';
import { noteScan, scanFile, scanLater, scannerOf, type ScannerOptions } from './scan-file.ts';
import { uploadFiles } from './upload-files.ts';
import { bytesInFlight, NO_SPACE, openShare, type UploadShare } from './upload-share.ts';

/** The name of the form's parts that hold files. */
const FILE_FIELD = 'attachments';
export const MAX_UPLOADS = 10;

/** Seconds, after which it is worth asking again for a scanner that does not answer. */
const SCANNER_RETRY = 60;

/** A file of a form, in tmp/ until `keepFiles` puts it in its place. */
export type ReceivedFile = NewUpload & { path: string; isKept: boolean };

type ReceivedForm = { fields: Map<string, string[]>; files: ReceivedFile[] };

/**
 * Receives a multipart form for `use`: counts, hashes and recognises each file while it is written to tmp/, then has
 * them scanned. 413, 415 for another type, 422 for damaged or infected files or a full quota, 429 for too many forms at
 * once, 503 when a required scanner is away, 507 when the disk is full. One bad file refuses the whole request.
 * Whatever happens, files that were not kept, or kept without a row that names them, are gone in the end. `typed` gets
 * the form's fields as they come, for a form that is shown again after a refusal.
 */
export async function receiveUpload<Result>(
  hub: Hub, req: MemberRequest, use: (form: ReceivedForm) => Promise<Result>, typed?: Map<string, string[]>,
): Promise<Result> {
  const files: ReceivedFile[] = [];
  const share = openShare(hub, req.viewer.id);
  try {
    const fields = await readForm(hub, req, share, files, typed).catch(refuse);
    await scanAll(hub, files, req);
    return await use({ fields, files });
  } finally {
    share.release(); // at once: rows count for the quota by now, or nothing does
    await Promise.all(files.map(uploadFiles(hub).discard));
    for (const { sha256, isKept } of files) if (isKept) dropUnnamed(hub, sha256);
  }
}

/** Moves received files to their places. To be done before the rows that name them are written. */
export async function keepFiles(hub: Hub, files: ReceivedFile[]): Promise<void> {
  for (const file of files) {
    file.isKept = true; // also when it fails on the way
    await uploadFiles(hub).keep(file).catch(refuse);
  }
}

/** Whether the request's body is a multipart form. */
export function isMultipart({ headers }: MemberRequest): boolean {
  return /^\s*multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/** The first value of each field. */
export function firstValues(fields: Map<string, string[]>): Record<string, string> {
  return Object.fromEntries([...fields].map(([name, [value = '']]) => [name, value]));
}

/** What one form with files may hold. Texts are counted beside the files: these may have to be small, those long. */
export function formLimits({ config: { uploadMaxBytes } }: Hub): MultipartLimits {
  const bytes = 4 * uploadMaxBytes + MULTIPART_SHAPE.fieldBytes;
  return { ...MULTIPART_SHAPE, bytes, fileBytes: uploadMaxBytes, files: MAX_UPLOADS };
}

/** Fills `files` as they come, so that those of a form that breaks off are known. */
function readForm(
  hub: Hub, req: MemberRequest, share: UploadShare, files: ReceivedFile[], typed?: Map<string, string[]>,
): Promise<Map<string, string[]>> {
  const maxTotal = 4 * hub.config.uploadMaxBytes;
  // The quota of an administrator says nothing: the post may be somebody else's. Attaching the files will tell.
  const { id, role } = req.viewer;
  let total = 0;
  const requireRoom = (bytes: number): void => {
    total += bytes;
    if (total > maxTotal) throw new HttpError(413, `The files together may have at most ${maxTotal} bytes.`);
    share.take(bytes);
    const left = role === 'admin' ? Infinity : bytesLeft(hub, id);
    if (bytesInFlight(hub, id) <= left) return;
    share.release(); // at once, so that of several only as many are refused as must be
    throw overQuota(left - bytesInFlight(hub, id));
  };
  return readMultipart(req, formLimits(hub), async ({ field, filename }, chunks) => {
    if (field !== FILE_FIELD) throw new HttpError(400, `Files must be in the field ${FILE_FIELD}.`);
    const named = refusalOf(cleanFilename(filename, 'attachment'));
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
  req.stream.socket.setTimeout(0); // silent while scanners work; Node sets it anew after the answer
  for (const file of files) await scanReceived(hub, scanner, file, req);
}

async function scanReceived(hub: Hub, scanner: ScannerOptions, file: ReceivedFile, req: MemberRequest): Promise<void> {
  const result = await scanFile(scanner, file);
  noteScan(hub, result, file, req);
  if (result.verdict === 'infected') throw infected(file.filename);
  if (result.verdict === 'clean') {
    file.scan = 'clean';
  } else if (hub.config.virusScanRequired) {
    const detail = 'Uploads are not possible now: the virus scanner does not answer. Try again in a minute.';
    throw new HttpError(503, detail, { headers: { 'retry-after': String(SCANNER_RETRY) } });
  }
}

/** Throws what the person who sent the files should read; anything else as it is. */
function refuse(error: unknown): never {
  if (error instanceof RefusedFile) {
    const errors = [{ pointer: `/${FILE_FIELD}`, detail: error.message }];
    throw new HttpError(error.kind === 'type' ? 415 : 422, error.message, { errors });
  }
  throw isDiskFull(error) ? new HttpError(507, NO_SPACE) : error;
}

/** How many bytes an account may still upload; negative where its quota was made smaller. */
export function bytesLeft(hub: Hub, accountId: number): number {
  return hub.config.uploadQuotaBytes - uploads(hub).usageOf(accountId);
}

/** The same number as of a feed's post: whoever opens a post is shown all its files. */
const FILES_OF_POST = 100;

/**
 * Names kept files as attachments of a post, in the caller's transaction; returns their ids. 422 when they do not fit
 * into the owner's quota, are too many or are known to be infected; 503 when older files with the same bytes have just
 * been removed.
 */
export function attachFiles(hub: Hub, postId: number, ownerId: number, files: NewUpload[]): number[] {
  if (files.length === 0) return [];
  const left = bytesLeft(hub, ownerId);
  if (files.reduce((sum, file) => sum + file.bytes, 0) > left) throw overQuota(left);
  if (!files.every(({ sha256 }) => uploadFiles(hub).isThere(sha256))) {
    throw new HttpError(503, 'Please send the file again.', { headers: { 'retry-after': '1' } });
  }
  const ids = attachments(hub).attach(postId, ownerId, files);
  if ((attachments(hub).countsOfPosts([postId]).get(postId) ?? 0) > FILES_OF_POST) {
    throw metLimit(hub, 'files-of-post', 0, `A post may have at most ${FILES_OF_POST} files.`);
  }
  for (const { sha256, filename } of files) {
    const scan = uploads(hub).scanOf(sha256);
    if (scan === 'infected') throw infected(filename);
    if (scan === 'unscanned') scanLater(hub, sha256);
  }
  return ids;
}

/** Removes a kept file whose post was refused after all, unless another post names it. */
function dropUnnamed(hub: Hub, sha256: string): void {
  if (uploads(hub).scanOf(sha256) !== undefined) return;
  hub.db.write('remove unnamed upload', () => {
    if (uploads(hub).scanOf(sha256) === undefined) uploadFiles(hub).removeNow(sha256);
  });
}

/** 422 that tells how much of a quota is left. */
function overQuota(left: number): HttpError {
  const rest = Math.max(0, left);
  const detail = 'This would exceed the file quota of the account: ' +
    `${rest === 0 ? 'nothing is left' : `${byteSize(rest)} are left`}.`;
  return new HttpError(422, detail, { errors: [{ pointer: '/attachments', detail }], members: { bytesLeft: rest } });
}

/** 422 for a file in which a scanner has found something. */
function infected(filename: string): HttpError {
  return invalid([{ pointer: '/attachments', detail: `The file ${filename} is infected and was rejected.` }]);
}
