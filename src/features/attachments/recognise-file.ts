import { peek, RefusedFile, startWalk, type ArrivingFile, type FedWalk, type Walk } from './byte-walk.ts';
import { cleanFilename } from './clean-filename.ts';
import { walkPdf, walkText } from './recognise-documents.ts';
import { PNG_SIGNATURE, walkGif, walkJpeg, walkPng, type ImageSize } from './recognise-images.ts';
import { walkAvif, walkWebp } from './recognise-webp-avif.ts';

/** `extension` is the usual one of the type, without a dot; images have a size. */
export type RecognisedFile = { mediaType: string; extension: string; width?: number; height?: number };

/** `begins` is a pattern of the first 16 bytes as latin1; text has none and may begin like anything. */
type FileType = {
  name: string;
  mediaType: string;
  extensions: [string, ...string[]];
  begins?: RegExp;
  walk: (file: ArrivingFile) => Walk<Partial<ImageSize>>;
};

const FILE_TYPES: FileType[] = [
  {
    name: 'a PNG image', mediaType: 'image/png', extensions: ['png'],
    begins: new RegExp(`^${PNG_SIGNATURE.toString('latin1')}`), walk: walkPng,
  },
  {
    name: 'a JPEG image', mediaType: 'image/jpeg', extensions: ['jpg', 'jpeg', 'jfif'],
    begins: /^\xff\xd8\xff/, walk: walkJpeg,
  },
  { name: 'a GIF image', mediaType: 'image/gif', extensions: ['gif'], begins: /^GIF8[79]a/, walk: walkGif },
  { name: 'a WebP image', mediaType: 'image/webp', extensions: ['webp'], begins: /^RIFF[^]{4}WEBPVP/, walk: walkWebp },
  {
    name: 'an AVIF image', mediaType: 'image/avif', extensions: ['avif'],
    begins: /^[^]{4}ftyp(?:avi[fs]|m[is]f1)/, walk: walkAvif,
  },
  { name: 'a PDF document', mediaType: 'application/pdf', extensions: ['pdf'], begins: /^%PDF-/, walk: walkPdf },
  { name: 'text', mediaType: 'text/plain', extensions: ['txt'], walk: walkText },
  { name: 'Markdown', mediaType: 'text/markdown', extensions: ['md', 'markdown'], walk: walkText },
];

/** Every extension that a file may have, without a dot. */
export const FILE_EXTENSIONS = FILE_TYPES.flatMap(({ extensions }) => extensions);

const SIGNATURE_BYTES = 16;

/**
 * Recognises a file while it arrives. Throws RefusedFile at once for a name of no admitted type, in `push` as soon as
 * the content shows what it is not, in `finish`, after the last byte, when it is not whole. Keeps less than 4 KiB.
 */
export function startRecognition(filename: string): FedWalk<RecognisedFile> {
  const expected = typeOfName(filename);
  return startWalk((file) => recognise(file, expected));
}

/** The same for a file that is already there. */
export async function recogniseFile(filename: string, chunks: AsyncIterable<Buffer>): Promise<RecognisedFile> {
  const recognition = startRecognition(filename);
  for await (const chunk of chunks) recognition.push(chunk);
  return recognition.finish();
}

/** Recognises a file whose name says nothing, such as an image out of a feed. Throws RefusedFile. */
export function recogniseContent(bytes: Buffer): RecognisedFile {
  for (const { begins, extensions } of FILE_TYPES) {
    const found = begins && tryAs(extensions[0], bytes); // text does not show by its content what it is
    if (found) return found;
  }
  throw new RefusedFile('type', 'it is neither an image nor a PDF document');
}

function* recognise(file: ArrivingFile, expected: FileType): Walk<RecognisedFile> {
  const head = (yield* peek(file, SIGNATURE_BYTES)).toString('latin1');
  if (head === '') throw new RefusedFile('damaged', 'The file is empty.');
  if (expected.begins?.test(head) === false) throw mismatch(expected, head);
  const size = yield* expected.walk(file);
  return { mediaType: expected.mediaType, extension: expected.extensions[0], ...size };
}

/** Judged by the name as it will be shown, so that nobody sees another extension than the one that was checked. */
function typeOfName(filename: string): FileType {
  const extension = /[^.]\.([^.]+)$/.exec(cleanFilename(filename, ''))?.[1]?.toLowerCase() ?? '';
  const found = FILE_TYPES.find(({ extensions }) => extensions.includes(extension));
  if (found) return found;
  const admitted = FILE_EXTENSIONS.map((each) => `.${each}`).join(', ');
  throw new RefusedFile('type', `Files of this type are not accepted. The name must end in one of: ${admitted}.`);
}

function mismatch(expected: FileType, head: string): RefusedFile {
  const actual = FILE_TYPES.find(({ begins }) => begins?.test(head));
  const detail = actual
    ? `it is ${actual.name}. Give it a name that ends in .${actual.extensions[0]}.`
    : 'its content is something else.';
  return new RefusedFile('type', `The name says that the file is ${expected.name}, but ${detail}`);
}

function tryAs(extension: string, bytes: Buffer): RecognisedFile | undefined {
  const recognition = startRecognition(`file.${extension}`);
  try {
    recognition.push(bytes);
    return recognition.finish();
  } catch (error) {
    if (error instanceof RefusedFile && error.kind === 'type') return undefined;
    throw error;
  }
}
