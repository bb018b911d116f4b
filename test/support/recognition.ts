import assert from 'node:assert/strict';
import { startRecognition, type RecognisedFile } from '../../src/features/attachments/recognise-file.ts';
import { RefusedFile } from '../../src/features/attachments/arriving-file.ts';

/** What comes of a file that arrives in these pieces, as one line; anything but a refusal is thrown. */
export function outcome(filename: string, ...pieces: Buffer[]): string {
  try {
    const recognition = startRecognition(filename);
    for (const piece of pieces) recognition.push(Buffer.from(piece));
    return describe(recognition.finish());
  } catch (error) {
    if (error instanceof RefusedFile) return `${error.kind}: ${error.message}`;
    throw error;
  }
}

export function assertRefused(filename: string, content: Buffer, reason: RegExp): void {
  assert.match(outcome(filename, content), reason, filename);
}

/** The bytes with some of them replaced. */
export function patched(bytes: Buffer, offset: number, hex: string): Buffer {
  const replacement = Buffer.from(hex, 'hex');
  return Buffer.concat([bytes.subarray(0, offset), replacement, bytes.subarray(offset + replacement.length)]);
}

function describe({ mediaType, extension, width, height }: RecognisedFile): string {
  return [mediaType, extension, ...(width === undefined ? [] : [`${width}×${height}`])].join(' ');
}
