const WORD_START = '=?UTF-8?B?';
const WORD_END = '?=';
const WORD_BYTES = 45; // as 60 characters of base64; an encoded word may have 75 in all (RFC 2047, section 2)

/**
 * Text as a header value in ASCII: as it is where it is visible ASCII that does not look encoded, else as encoded words
 * (RFC 2047), none of which holds part of a character.
 */
export function encodeHeader(text: string): string {
  const line = text.toWellFormed().replace(/\s+/g, ' ').trim();
  if (/^[ -~]*$/.test(line) && !line.includes('=?')) return line;
  return chunksOf(line).map((chunk) => WORD_START + Buffer.from(chunk).toString('base64') + WORD_END).join(' ');
}

function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (const character of text) {
    if (Buffer.byteLength(chunk + character) > WORD_BYTES) {
      chunks.push(chunk);
      chunk = '';
    }
    chunk += character;
  }
  return [...chunks, chunk];
}
