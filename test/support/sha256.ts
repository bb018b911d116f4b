import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** In hexadecimal digits. */
export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** The same of a file. */
export function sha256Of(path: string): string {
  return sha256(readFileSync(path));
}
