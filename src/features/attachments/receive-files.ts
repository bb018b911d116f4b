import { isDiskFull } from '../../platform/error-code.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { MULTIPART_SHAPE, readMultipart } from '../../platform/http/read-multipart.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { cleanFilename } from './clean-filename.ts';
import { infected, overQuota } from './attach-files.ts';
import { startRecognition } from './recognise-file.ts';
import { RefusedFile } from './byte-walk.ts';
import type { FileToScan, ScanResult } from './scan-file.ts';
import type { ReceivedBytes, UploadFiles } from './upload-files.ts';
import type { NewUpload } from './upload-store.ts';

/** The name of the form's parts that hold files. */
export const FILE_FIELD = 'attachments';
export const MAX_FILES = 10;

/** Seconds, after which it is worth asking again for a scanner that does not answer. */
const SCANNER_RETRY = 60;

/** Fields and files of a form; no file is kept before `keep`. */
export type Received = {
  fields: Map<string, string[]>;
  files: NewUpload[];
  /** Moves the files to their places. To be done before the rows that name them are written. */
  keep(): Promise<void>;
  /** Removes what was not kept, and what was kept without a row that names it. To be called whatever happened. */
  discard(): Promise<void>;
};

export type ReceiveDeps = {
  uploadFiles: UploadFiles;
  maxBytes: number;
  /** Bytes that an account may still upload. */
  bytesLeft(accountId: number): number;
  /** Removes a kept file unless a row names it. */
  dropUnnamed(sha256: string): void;
  /** Undefined when no scanner is configured. */
  scan: ((file: FileToScan) => Promise<ScanResult>) | undefined;
  scanRequired: boolean;
  /** Told of every verdict, for metrics, log and audit. */
  onScan(result: ScanResult, file: { filename: string; sha256: string }, req: MemberRequest): void;
};

/** `typed` gets the form's fields as they come, for a form that is shown again after a refusal. */
export type ReceiveFiles = (req: MemberRequest, typed?: Map<string, string[]>) => Promise<Received>;

type Incoming = ReceivedBytes & Omit<NewUpload, 'scan'> & { isKept: boolean };

/**
 * Receives a multipart form: counts, hashes and recognises each file while it is written to tmp/, then has them
 * scanned. 413, 415 for another type, 422 for damaged or infected files or a full quota, 503 when a required scanner
 * is away, 507 when the disk is full. One bad file refuses the whole request, and nothing of it stays.
 */
export function receivingFiles(deps: ReceiveDeps): ReceiveFiles {
  const { uploadFiles, maxBytes } = deps;
  const maxTotal = 4 * maxBytes;
  // Beside the files, so that small ones do not mean short texts.
  const bytes = maxTotal + MULTIPART_SHAPE.fieldBytes;
  const limits = { ...MULTIPART_SHAPE, bytes, fileBytes: maxBytes, files: MAX_FILES };

  return async (req, typed) => {
    const incoming: Incoming[] = [];
    const discard = async (): Promise<void> => {
      await Promise.all(incoming.map(uploadFiles.discard));
      for (const { sha256, isKept } of incoming) if (isKept) deps.dropUnnamed(sha256);
    };
    try {
      const left = roomFor(req.viewer, deps);
      const requireRoom = (size: number): void => {
        if (total(incoming) + size > maxTotal) throw tooMuch(maxTotal);
        if (total(incoming) + size > left) throw overQuota(left);
      };
      const fields = await readMultipart(req, limits, async ({ field, filename }, chunks) => {
        if (field !== FILE_FIELD) throw new HttpError(400, `Files belong into the field ${FILE_FIELD}.`);
        incoming.push(await receiveOne(uploadFiles, filename, chunks, requireRoom));
      }, typed);
      if (deps.scan) req.stream.socket.setTimeout(0); // silent while scanners work; Node sets it anew after the answer
      const files = [];
      for (const file of incoming) files.push(await scanned(deps, file, req));
      return { fields, files, keep: () => keepAll(uploadFiles, incoming), discard };
    } catch (error) {
      await discard();
      throw toRefusal(error);
    }
  };
}

async function receiveOne(
  uploadFiles: UploadFiles, sentName: string, chunks: AsyncIterable<Buffer>, requireRoom: (bytes: number) => void,
): Promise<Incoming> {
  const filename = cleanFilename(sentName, 'attachment');
  const recognition = startRecognition(sentName);
  let bytes = 0;
  const received = await uploadFiles.receive(chunks, (chunk) => {
    bytes += chunk.length;
    requireRoom(bytes);
    recognition.push(chunk);
  });
  try {
    const { mediaType, width = null, height = null } = recognition.finish();
    return { ...received, filename, mediaType, width, height, isKept: false };
  } catch (error) {
    await uploadFiles.discard(received);
    throw error;
  }
}

async function scanned(deps: ReceiveDeps, file: Incoming, req: MemberRequest): Promise<NewUpload> {
  const { path, isKept, ...upload } = file;
  if (!deps.scan) return { ...upload, scan: 'unscanned' };
  const result = await deps.scan({ path, bytes: file.bytes, filename: file.filename });
  deps.onScan(result, file, req);
  if (result.verdict === 'clean') return { ...upload, scan: 'clean' };
  if (result.verdict === 'infected') throw infected(file.filename);
  if (!deps.scanRequired) return { ...upload, scan: 'unscanned' };
  const detail = 'Files cannot be taken now, because the virus scanner does not answer. Try again in a minute.';
  throw new HttpError(503, detail, { headers: { 'retry-after': String(SCANNER_RETRY) } });
}

async function keepAll(uploadFiles: UploadFiles, incoming: Incoming[]): Promise<void> {
  for (const file of incoming) {
    file.isKept = true; // also when it fails on the way
    await uploadFiles.keep(file).catch((error: unknown) => { throw toRefusal(error); });
  }
}

/** The quota of an administrator says nothing: the post may be somebody else's. Attaching the files will tell. */
function roomFor({ id, role }: MemberRequest['viewer'], { bytesLeft }: ReceiveDeps): number {
  return role === 'admin' ? Infinity : bytesLeft(id);
}

function total(files: Incoming[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

function tooMuch(limit: number): HttpError {
  return new HttpError(413, `The files together may have at most ${limit} bytes.`);
}

/** What the person who sent the files should read; anything else stays as it is. */
function toRefusal(error: unknown): unknown {
  if (error instanceof RefusedFile) {
    const errors = [{ pointer: `/${FILE_FIELD}`, detail: error.message }];
    return new HttpError(error.kind === 'type' ? 415 : 422, error.message, { errors });
  }
  return isDiskFull(error) ? new HttpError(507, 'There is no space left on the hub’s disk for this file.') : error;
}
