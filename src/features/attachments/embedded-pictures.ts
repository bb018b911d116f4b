import { hash } from 'node:crypto';
import { MINUTE } from '../../platform/clock.ts';
import { isDiskFull } from '../../platform/error-code.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { nextRound } from '../../platform/turns.ts';
import { requireRoomForFile } from '../hub/disk-reserve.ts';
import type { Hub } from '../hub/hub.ts';
import { contentRoom, isSourceFull } from '../sources/content-quota.ts';
import { sources } from '../sources/source-store.ts';
import { RefusedFile } from './arriving-file.ts';
import { attachments, uploads, type NewUpload } from './attachment-store.ts';
import { storedAddress } from './own-files.ts';
import { recogniseContent } from './recognise-file.ts';
import {
  isScannerSilent, noteScan, noVerdict, scanFile, scanLater, scannerOf, type FileToScan, type ScanResult,
} from './scan-file.ts';
import { uploadFiles } from './upload-files.ts';

/** A picture that a publisher wrote into a post's content, as a `data:` address, recognised by its bytes. */
export type EmbeddedPicture = Omit<NewUpload, 'scan'> & { body: Buffer };

/** The most pictures of a post, and the most bytes of a picture and of a post's pictures; others leave their words. */
const MAX_PICTURES = 20;
const MAX_BYTES = 1024 * 1024;
const MAX_BYTES_OF_POST = 4 * MAX_BYTES;

/** The most addresses that are decoded, whatever becomes of them: each takes a while. */
const MAX_TRIED = 100;

/** Each attempt fetches the feed again. */
const SCANNER_PAUSE = 15 * MINUTE;

/** A picture of this many pixels or fewer, in width or height, takes up space or counts readers. */
const DOT = 2;

const IMAGE = /<img\b[^<>]*>/gi;
const SOURCE = /\ssrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i;
const BASE64 = /^\s*data:image\/[^,]{0,100};base64,/i;

/**
 * Replaces the `data:` pictures of HTML by addresses of files of the post (`storedAddress`). An address that is refused
 * stays: the sanitiser writes the picture's words. The addresses stand in a `srcset` with less than one pixel for a
 * pixel, so that the sanitiser prefers others: often a small copy stands in a `data:` address until a script runs.
 */
export async function liftPictures(html: string): Promise<{ html: string; pictures: EmbeddedPicture[] }> {
  if (!html.includes('data:image/')) return { html, pictures: [] };
  const read = await readPictures(html);
  const lifted = html.replace(IMAGE, (image) => image.includes('srcset') ? image
    : image.replace(SOURCE, (source, ...addresses: (string | undefined)[]) => {
      const picture = read.get(addresses.slice(0, 3).join(''));
      return picture ? ` srcset="${storedAddress({ ...picture, remoteUrl: null })} 0.5x"` : source;
    }));
  return { html: lifted, pictures: [...new Map([...read.values()].map((one) => [one.sha256, one])).values()] };
}

/** The first pictures of HTML, by their addresses; other requests run between any two. */
async function readPictures(html: string): Promise<Map<string, EmbeddedPicture>> {
  const read = new Map<string, EmbeddedPicture>();
  const tried = new Set<string>();
  const hashes = new Set<string>();
  let [left, characters] = [MAX_BYTES_OF_POST, 2 * MAX_BYTES_OF_POST];
  for (const [image] of html.matchAll(IMAGE)) {
    if (image.includes('srcset')) continue;
    const address = SOURCE.exec(image)?.slice(1).join('') ?? '';
    if (!BASE64.test(address) || address.length > 2 * MAX_BYTES || tried.has(address)) continue;
    characters -= address.length;
    if (characters < 0 || tried.size === MAX_TRIED) break;
    tried.add(address);
    const picture = readPicture(address);
    await nextRound();
    if (!picture) continue;
    const isKnown = hashes.has(picture.sha256);
    if (!isKnown && (hashes.size === MAX_PICTURES || picture.bytes > left)) continue;
    if (!isKnown) left -= picture.bytes;
    hashes.add(picture.sha256);
    read.set(address, picture);
  }
  return read;
}

function readPicture(address: string): EmbeddedPicture | undefined {
  const packed = address.slice(BASE64.exec(address)?.[0].length);
  try {
    const body = Buffer.from(packed.includes('%') ? decodeURIComponent(packed) : packed, 'base64');
    const { mediaType, extension, width = 0, height = 0 } = recogniseContent(body);
    if (body.length > MAX_BYTES || Math.min(width, height) <= DOT) return undefined; // a PDF has no width
    const sha256 = hash('sha256', body);
    return { sha256, bytes: body.length, mediaType, width, height, filename: `${sha256}.${extension}`, body };
  } catch (error) {
    if (error instanceof RefusedFile || error instanceof URIError) return undefined;
    throw error;
  }
}

/**
 * Stores the pictures as uploads are, and scans them; leaves out infected ones, and those for which there is no room,
 * also of the content quota of the source's owner. Without the verdict of a required scanner the posts must wait:
 * throws RetryLaterError in a job, whose source then says why, and a 503 in a request (`sourceId` null).
 */
export async function keepPictures(
  hub: Hub, sourceId: number | null, pictures: EmbeddedPicture[],
): Promise<NewUpload[]> {
  const kept: NewUpload[] = [];
  if (pictures.length > 0 && sourceId !== null && isSourceFull(hub, sourceId)) return [];
  for (const picture of pictures) {
    const upload = await keepPicture(hub, picture).catch((error: unknown) => {
      if (error instanceof HttpError || isDiskFull(error)) return undefined;
      throw error;
    });
    if (upload === 'no verdict') {
      if (sourceId === null) throw noVerdict();
      throw new RetryLaterError('the hub’s virus scanner does not answer', hub.clock() + SCANNER_PAUSE);
    }
    if (upload) kept.push(upload);
  }
  return kept;
}

async function keepPicture(
  hub: Hub, { body, ...file }: EmbeddedPicture,
): Promise<NewUpload | undefined | 'no verdict'> {
  const { receive, keep, discard, isThere } = uploadFiles(hub);
  if (uploads(hub).find(file.sha256) && isThere(file.sha256)) return { ...file, scan: 'unscanned' };
  requireRoomForFile(hub, file.bytes, 'There is no space left for a picture.');
  const received = await receive((async function* () { yield body; })(), () => {});
  const verdict = await scan(hub, { ...received, filename: file.filename });
  const isMissed = verdict === 'unavailable' && hub.config.virusScanRequired;
  if (verdict === 'infected' || isMissed) {
    await discard(received);
    return isMissed ? 'no verdict' : undefined;
  }
  await keep(received);
  return { ...file, scan: verdict === 'clean' ? 'clean' : 'unscanned' };
}

/** Undefined without a scanner. The pictures of a feed do not each wait for one that is silent. */
async function scan(hub: Hub, file: FileToScan & { sha256: string }): Promise<ScanResult['verdict'] | undefined> {
  const scanner = scannerOf(hub);
  if (!scanner) return undefined;
  if (isScannerSilent(hub)) return 'unavailable';
  const result = await scanFile(scanner, file);
  noteScan(hub, result, file);
  return result.verdict;
}

/**
 * Makes the stored pictures the embedded pictures of a post, in the caller's transaction. Pictures that the post has
 * keep their addresses. New ones are left out if they exceed the content quota of the source's owner, are infected or
 * are gone.
 */
export function showPictures(hub: Hub, sourceId: number, postId: number, pictures: NewUpload[]): void {
  const known = new Map(attachments(hub).embedded(postId).map(({ id, sha256 }) => [sha256, id]));
  const source = pictures.length > 0 ? sources(hub).find(sourceId) : undefined;
  const room = source ? contentRoom(hub, source.ownerId) : { bytes: 0, quota: 0 };
  let left = room.quota === null ? Infinity : room.quota - room.bytes;
  pictures.forEach((picture, position) => {
    const { sha256, bytes } = picture;
    const isGone = !uploadFiles(hub).isThere(sha256) || uploads(hub).find(sha256)?.scan === 'infected';
    if (known.delete(sha256) || isGone || bytes > left) return;
    left -= bytes;
    attachments(hub).embed(postId, picture, position);
    if (uploads(hub).find(sha256)?.scan === 'unscanned') scanLater(hub, sha256);
  });
  for (const id of known.values()) attachments(hub).detach(id);
}
