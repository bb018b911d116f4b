import { isUtf8 } from 'node:buffer';
import { readParameters } from './header-parameters.ts';
import { HttpError } from './problem.ts';

const UTF8_NAMES = ['utf-8', 'utf8', 'us-ascii'];

/** All chunks in one buffer, which grows by doubling: thousands of tiny chunks cost no more than a few large ones. */
export async function gatherChunks(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  let [bytes, length] = [Buffer.alloc(0), 0];
  for await (const chunk of chunks) {
    const needed = length + chunk.length;
    if (needed > bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * bytes.length));
      bytes.copy(grown, 0, 0, length);
      bytes = grown;
    }
    chunk.copy(bytes, length);
    length = needed;
  }
  return bytes.subarray(0, length);
}

/** The text of a field, `type` being what its part declares. 400 unless it is UTF-8, said or unsaid. */
export function decodeField(name: string, type: string, bytes: Buffer): string {
  const charset = readParameters(type)?.parameters.get('charset') ?? 'utf-8';
  if (!UTF8_NAMES.includes(charset.toLowerCase()) || !isUtf8(bytes)) {
    throw new HttpError(400, `The field "${name}" is not UTF-8 text.`);
  }
  return bytes.toString('utf8');
}
