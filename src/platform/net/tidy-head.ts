import type { Socket } from 'node:net';

/** The most bytes of the status line and headers of an answer; as many as Chromium takes. */
export const MAX_HEAD_BYTES = 256 * 1024;

const END_OF_HEAD = /[^\r\n]\r?\n\r?\n/;
const STATUS = /^HTTP\/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)/i;
const FIELD = /^([!#$%&'*+.^`|~\w-]+)[ \t]*:(.*)$/s;
// Bytes from 0x80 stay: headers in UTF-8 have them.
const CONTROLS = /[\0-\x08\x0a-\x1f\x7f]/g;

const PROPER = /^HTTP\/1\.[01] \d{3}[^\r\n]*\r\n(?:[!#$%&'*+.^`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/;
const FRAMINGS = /\n(?:content-length|transfer-encoding):.*/gi;
const USUAL_BYTES = 4_096;

/**
 * Rewrites the status line and headers of the answer on a socket as Node's parser wants them, when they are as browsers
 * and curl take them: lines that end with LF, folded lines, blanks before a colon, control characters, a length beside
 * chunks or given twice. Lines that are no header are left out. Nothing can hide in them, because the socket carries
 * one request and its answer. Lengths that differ stay, so that the parser refuses the answer.
 */
export function tidyHead(socket: Socket): void {
  const push = socket.push;
  const received: Buffer[] = [];
  let size = 0;
  let seam = '';
  socket.push = (chunk: Buffer | null): boolean => {
    if (chunk && received.length === 0 && (isProper(chunk) || isNoHttp(chunk))) socket.push = push;
    if (chunk && socket.push === push) return socket.push(chunk);
    if (chunk) received.push(chunk);
    size += chunk?.length ?? 0;
    const seen = seam + (chunk?.toString('latin1') ?? ''); // Latin-1, so that each character is a byte
    const end = END_OF_HEAD.exec(seen);
    if (chunk && !end && size <= MAX_HEAD_BYTES) {
      seam = seen.slice(-4);
      return true;
    }
    socket.push = push; // what follows the head passes untouched
    const all = Buffer.concat(received);
    const length = end ? size - seen.length + end.index + end[0].length : 0;
    socket.push(Buffer.from(tidied(all.toString('latin1', 0, length)), 'latin1'));
    const wantsMore = socket.push(all.subarray(length));
    return chunk ? wantsMore : socket.push(null);
  };
}

/** Most answers need no rewriting. */
function isProper(answer: Buffer): boolean {
  const [head] = PROPER.exec(answer.toString('latin1', 0, USUAL_BYTES)) ?? [];
  const [framing, second] = head?.match(FRAMINGS) ?? [];
  return head !== undefined && second === undefined && !framing?.includes(',');
}

/** What does not begin as HTTP passes unchanged: the parser refuses it at once. */
function isNoHttp(answer: Buffer): boolean {
  const first = answer.toString('latin1', 0, 5).toUpperCase();
  return !'HTTP/'.startsWith(first.trimStart().slice(0, 5));
}

function tidied(head: string): string {
  const [first = '', ...lines] = head.trim().replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const [, status] = STATUS.exec(first) ?? [];
  if (status === undefined) return head;
  const fields = lines.flatMap((line) => {
    const [, name, value = ''] = FIELD.exec(line) ?? [];
    return name === undefined ? [] : [{ name, value: value.replace(CONTROLS, ' ').trim() }];
  });
  const written = framed(fields).map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status}\r\n${written}\r\n`;
}

type Field = { name: string; value: string };

/** Says the body's length once, and not at all beside chunks, which count (RFC 9112 section 6.3). */
function framed(fields: Field[]): Field[] {
  const isLength = ({ name }: Field): boolean => /^content-length$/i.test(name);
  const isChunked = ({ name, value }: Field): boolean =>
    /^transfer-encoding$/i.test(name) && /\bchunked\s*$/i.test(value);
  const others = fields.filter((field) => !isLength(field));
  if (others.some(isChunked)) return others;
  const lengths = fields.filter(isLength).flatMap(({ value }) => value.split(',').map((one) => one.trim()));
  return [...others, ...[...new Set(lengths)].filter(Boolean).map((value) => ({ name: 'Content-Length', value }))];
}
