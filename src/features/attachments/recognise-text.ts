import { TextDecoder } from 'node:util';
import { hasMore, peek, type ArrivingFile, type Walk } from './byte-walk.ts';
import { RefusedFile } from './refused-file.ts';

// The "binary data bytes" of the MIME Sniffing Standard, section 3: what no text holds.
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

/** The whole file must be UTF-8, or UTF-16 with a byte order mark, without control characters of binary data. */
export function* walkText(file: ArrivingFile): Walk<object> {
  const decoder = new TextDecoder(encodingOf(yield* peek(file, 2)), { fatal: true });
  while (yield* hasMore(file)) {
    const bytes = file.atHand();
    if (BINARY.test(decode(decoder, bytes))) throw notText();
    file.skip(bytes.length);
  }
  decode(decoder);
  return {};
}

function encodingOf(head: Buffer): string {
  const mark = head.toString('hex');
  if (mark === 'fffe') return 'utf-16le';
  return mark === 'feff' ? 'utf-16be' : 'utf-8';
}

/** The next part of the text; without bytes, its end, where no character may be left unfinished. */
function decode(decoder: TextDecoder, bytes?: Buffer): string {
  try {
    return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
  } catch {
    throw notText();
  }
}

function notText(): RefusedFile {
  return new RefusedFile('type', 'The content of the file is not plain text in UTF-8 or UTF-16.');
}
