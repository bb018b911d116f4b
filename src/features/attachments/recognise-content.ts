import { startRecognition, type RecognisedFile } from './recognise-file.ts';
import { RefusedFile } from './refused-file.ts';

/** Of types that show by their content what they are. Text does not. */
const EXTENSIONS = ['jpg', 'png', 'webp', 'gif', 'avif', 'pdf'];

/** Recognises a file whose name says nothing, such as an image out of a feed. Throws RefusedFile. */
export function recogniseContent(bytes: Buffer): RecognisedFile {
  for (const extension of EXTENSIONS) {
    const found = tryAs(extension, bytes);
    if (found) return found;
  }
  throw new RefusedFile('type', 'it is neither an image nor a PDF document');
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
