import { ArchiveError } from './gzip-file.ts';

export const BLOCK = 512;

export type TarKind = 'file' | 'folder';

/** A file or folder in a tar archive: its name is a relative path of plain segments, without a `/` at the end. */
export type TarMember = { kind: TarKind; name: string; size: number; modifiedAt: number }; // bytes, unix ms

export type TarHeader = { name: string; type: string; size: number; mode: number };

/** Offsets and lengths of fields of a tar header (POSIX.1-2024, pax, "ustar Interchange Format"). */
const NAME = [0, 100] as const;
const MODE = [100, 8] as const;
const UID = [108, 8] as const;
const GID = [116, 8] as const;
const SIZE = [124, 12] as const;
const MTIME = [136, 12] as const;
const CHECKSUM = [148, 8] as const;
const TYPE = 156;
const MAGIC = [257, 8] as const;
const PREFIX = [345, 155] as const;

const MAGICS = ['ustar\x0000', 'ustar  \0']; // POSIX, GNU
const MODES: Record<TarKind, number> = { file: 0o600, folder: 0o700 };
const LARGEST_OCTAL = 8 ** 11 - 1; // 11 digits; as a size, one byte less than 8 GiB

const HARMLESS = new Set(['atime', 'comment', 'ctime', 'gid', 'gname', 'mtime', 'uid', 'uname']);

type Field = readonly [offset: number, length: number];

/** Makes a member's header block, owned by user 0. Throws RangeError if the name, with a folder's /, is too long. */
export function encodeTarHeader({ kind, name, size, modifiedAt }: TarMember): Buffer {
  const block = Buffer.alloc(BLOCK);
  const bytes = Buffer.from(kind === 'folder' ? `${name}/` : name);
  if (bytes.length > NAME[1]) throw new RangeError(`the name ${name} is too long for an archive`);
  bytes.copy(block);
  writeOctal(block, MODE, MODES[kind]);
  writeOctal(block, UID, 0);
  writeOctal(block, GID, 0);
  writeSize(block, size);
  writeOctal(block, MTIME, Math.min(Math.max(Math.floor(modifiedAt / 1_000), 0), LARGEST_OCTAL));
  block.write(kind === 'folder' ? '5' : '0', TYPE, 'latin1');
  block.write(MAGICS[0] ?? '', MAGIC[0], 'latin1');
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, CHECKSUM[0], 'latin1');
  return block;
}

/** Reads a tar header block. Throws ArchiveError unless it is a valid one of POSIX or GNU tar. */
export function decodeHeader(block: Buffer): TarHeader {
  if (readOctal(block, CHECKSUM, 'checksum') !== checksum(block)) {
    throw new ArchiveError('the archive holds a header with a wrong checksum');
  }
  const magic = slice(block, MAGIC).toString('latin1');
  if (!MAGICS.includes(magic)) throw new ArchiveError('the archive holds a member of an unknown format');
  // The bytes at PREFIX hold the beginning of the name in a POSIX header block, but times in a GNU header block.
  const prefix = magic === MAGICS[0] ? readText(block, PREFIX) : '';
  const name = readText(block, NAME);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(block[TYPE] ?? 0),
    size: readSize(block),
    mode: readOctal(block, MODE, 'mode'),
  };
}

/**
 * Applies extended records to the header after them (POSIX.1-2024, pax, "pax Extended Header": each record is
 * `<length> <key>=<value>\n`). Throws ArchiveError for malformed records and unknown keys.
 */
export function applyPax(bytes: Buffer, header: TarHeader): TarHeader {
  const changed = { ...header };
  for (let at = 0; at < bytes.length; ) {
    const { key, value, length } = readRecord(bytes.subarray(at));
    if (key === 'path') changed.name = value;
    else if (key === 'size') changed.size = toSize(value);
    else if (!HARMLESS.has(key)) {
      throw new ArchiveError(`the archive holds the extended record ${JSON.stringify(key.slice(0, 80))}`);
    }
    at += length;
  }
  return changed;
}

/** Bytes of padding after a file of `size` bytes, up to the next block. */
export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function writeOctal(block: Buffer, [offset, length]: Field, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
}

/** A size from 8 GiB on is written in binary with the highest bit set, as GNU tar does. */
function writeSize(block: Buffer, size: number): void {
  if (size <= LARGEST_OCTAL) return writeOctal(block, SIZE, size);
  block[SIZE[0]] = 0x80;
  block.writeBigUInt64BE(BigInt(size), SIZE[0] + 4);
}

function readSize(block: Buffer): number {
  if (((block[SIZE[0]] ?? 0) & 0x80) === 0) return readOctal(block, SIZE, 'size');
  const high = slice(block, [SIZE[0] + 1, 3]);
  const size = Number(block.readBigUInt64BE(SIZE[0] + 4));
  const isWhole = block[SIZE[0]] === 0x80 && high.every((byte) => byte === 0) && Number.isSafeInteger(size);
  if (!isWhole) throw new ArchiveError('the archive holds a member of an invalid size');
  return size;
}

function readOctal(block: Buffer, field: Field, what: string): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(slice(block, field).toString('latin1'))?.[1];
  if (digits === undefined) throw new ArchiveError(`the archive holds a member whose ${what} is not a number`);
  return Number.parseInt(digits, 8);
}

/** Reads text up to the first NUL. Bytes that are not UTF-8 become U+FFFD, which no name in a backup contains. */
function readText(block: Buffer, field: Field): string {
  const bytes = slice(block, field);
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

/** The sum of all bytes of a header, with the bytes of the checksum field counted as spaces. */
function checksum(block: Buffer): number {
  let sum = CHECKSUM[1] * 0x20;
  for (const byte of block) sum += byte;
  for (const byte of slice(block, CHECKSUM)) sum -= byte;
  return sum;
}

function slice(block: Buffer, [offset, length]: Field): Buffer {
  return block.subarray(offset, offset + length);
}

function readRecord(bytes: Buffer): { key: string; value: string; length: number } {
  const digits = /^([1-9]\d{0,5}) /.exec(bytes.toString('latin1', 0, 8))?.[1] ?? '';
  const length = Number(digits);
  const text = bytes.toString('utf8', digits.length + 1, length);
  const equals = text.indexOf('=');
  const isWhole = digits !== '' && length <= bytes.length && equals > 0 && text.endsWith('\n');
  if (!isWhole) throw new ArchiveError('the archive holds a malformed extended record');
  return { key: text.slice(0, equals), value: text.slice(equals + 1, -1), length };
}

function toSize(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new ArchiveError('the archive holds a member of an invalid size');
}
