import { hasMore, take, type ArrivingFile, type Walk } from './byte-walk.ts';
import { RefusedFile } from './refused-file.ts';

const TAIL_BYTES = 2048;
const VERSION = /^%PDF-\d\.\d$/;

// White space of PDF includes the zero byte (ISO 32000-1, 7.2.2). Nothing else may follow the end.
const END = /^startxref[\s\0]+(\d{1,15})[\s\0]+%%EOF[\s\0]*$/;

/** A PDF begins at its first byte and ends with the place of its cross-reference table, which must be in the file. */
export function* walkPdf(file: ArrivingFile): Walk<object> {
  const head = yield* take(file, 8);
  if (!VERSION.test(head.toString('latin1'))) throw damaged('it does not begin as a PDF does');
  let tail = head;
  while (yield* hasMore(file)) {
    const bytes = file.atHand();
    tail = Buffer.concat([tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    file.skip(bytes.length);
  }
  const end = tail.lastIndexOf('startxref');
  const table = Number(END.exec(tail.toString('latin1', Math.max(end, 0)))?.[1] ?? 0);
  const endPosition = file.position() - tail.length + end;
  // Zero stands at the end of the first part of a file made for viewing while loading: the rest is missing.
  if (table === 0 || table >= endPosition) throw damaged('it has no valid end and may have been cut short');
  return {};
}

function damaged(what: string): RefusedFile {
  return new RefusedFile('damaged', `The PDF document is damaged: ${what}.`);
}
