import { ArchiveError } from './gzip-file.ts';
import {
  applyPax, BLOCK, decodeHeader, encodeTarHeader, paddingOf, type TarHeader, type TarKind, type TarMember,
} from './tar-header.ts';

/** A member with its content, which must have exactly `size` bytes; folders have none. */
export type PackedMember = TarMember & { content?: Iterable<Buffer> };

const PIECE = 256 * 1_024; // bytes; small members share one, as every piece costs a turn of the compressor
const END = Buffer.alloc(2 * BLOCK);

/** The bytes of a tar archive (ustar) of these members, in pieces of about 256 KiB. The same members give the same. */
export function* packTar(members: Iterable<PackedMember>): Generator<Buffer, void> {
  const waiting: Buffer[] = [];
  let length = 0;
  for (const part of parts(members)) {
    waiting.push(part);
    length += part.length;
    if (length < PIECE) continue;
    yield waiting.length === 1 ? part : Buffer.concat(waiting, length);
    waiting.length = 0;
    length = 0;
  }
  yield Buffer.concat([...waiting, END]);
}

function* parts(members: Iterable<PackedMember>): Generator<Buffer, void> {
  for (const member of members) {
    yield encodeTarHeader(member);
    let length = 0;
    for (const chunk of member.content ?? []) {
      length += chunk.length;
      yield chunk;
    }
    if (length !== member.size) throw new RangeError(`${member.name} has ${length} bytes instead of ${member.size}`);
    if (paddingOf(length) > 0) yield Buffer.alloc(paddingOf(length));
  }
}

export type UnpackedMember = { kind: TarKind; name: string; size: number };

/** Takes a member's content: `write` each piece as it comes (valid during the call only), `end` after the last. */
export type MemberSink = { write(chunk: Buffer): void; end(): void };

/** Decides on each member before its content is read: throws to refuse it, else says where the content goes. */
type OnMember = (member: UnpackedMember) => MemberSink | undefined;

const MAX_PAX = 64 * 1_024; // bytes of extended records for one member
const MAX_FILLING = 1_024 * 1_024; // zero bytes after the end: tar fills up its last record
const KINDS = new Map<string, TarKind>([['0', 'file'], ['\0', 'file'], ['5', 'folder']]);

type State = 'header' | 'content' | 'padding' | 'pax' | 'end';

/**
 * Reads a tar archive strictly: plain files and folders with relative names, each once, then the end mark and zeros.
 * Everything else (links, devices, pipes, `..`, set-uid, a missing end, bytes after it) is an ArchiveError.
 * Holds no more than a block of it, whatever the archive claims.
 */
export async function unpackTar(chunks: AsyncIterable<Buffer>, onMember: OnMember): Promise<void> {
  const reader = createTarReader(onMember);
  for await (const chunk of chunks) reader.take(chunk);
  reader.finish();
}

function createTarReader(onMember: OnMember) {
  const names = new Set<string>();
  const block = Buffer.alloc(BLOCK);
  let filled = 0; // of `block`
  let state: State = 'header';
  let left = 0; // bytes of content or padding to come
  let padding = 0; // after the content
  let sink: MemberSink | undefined;
  let pax: Buffer[] | undefined; // records for the next member
  let emptyBlocks = 0;

  function take(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) at += step(chunk, at);
  }

  /** Uses up some of the chunk; says how much. */
  function step(chunk: Buffer, at: number): number {
    if (state === 'header' || state === 'end') return fillBlock(chunk, at);
    const part = chunk.subarray(at, at + left);
    left -= part.length;
    if (state === 'content') sink?.write(part);
    else if (state === 'pax') pax?.push(Buffer.from(part));
    else if (!isZero(part)) throw new ArchiveError('holds bytes between its members');
    if (left === 0) contentEnded();
    return part.length;
  }

  function contentEnded(): void {
    if (state === 'content') sink?.end();
    left = state === 'padding' ? 0 : padding;
    state = left > 0 ? 'padding' : 'header';
  }

  function fillBlock(chunk: Buffer, at: number): number {
    const length = chunk.copy(block, filled, at, at + BLOCK - filled);
    filled += length;
    if (filled < BLOCK) return length;
    filled = 0;
    if (isZero(block)) countEmptyBlock();
    else readHeader();
    return length;
  }

  function countEmptyBlock(): void {
    emptyBlocks++;
    if (emptyBlocks >= 2) state = 'end';
    if (emptyBlocks * BLOCK > MAX_FILLING) throw new ArchiveError('has too many zeros after its end');
  }

  function readHeader(): void {
    if (emptyBlocks > 0) throw new ArchiveError('has data after its end');
    const header = decodeHeader(block);
    if (header.type === 'x') return beginPax(header);
    begin(toMember(pax ? applyPax(Buffer.concat(pax), header) : header));
  }

  function beginPax({ size }: TarHeader): void {
    if (pax) throw new ArchiveError('holds extended records that belong to no member');
    if (size > MAX_PAX || size === 0) throw new ArchiveError(`holds extended records of ${size} bytes`);
    pax = [];
    expect('pax', size);
  }

  function begin(member: UnpackedMember): void {
    pax = undefined;
    if (names.has(member.name)) throw new ArchiveError(`holds ${shown(member.name)} twice`);
    names.add(member.name);
    sink = onMember(member);
    if (member.size > 0) expect('content', member.size);
    else sink?.end();
  }

  function expect(next: State, size: number): void {
    state = next;
    left = size;
    padding = paddingOf(size);
  }

  function finish(): void {
    if (state !== 'end') throw new ArchiveError('is cut off: its end is missing');
    if (pax || filled > 0) throw new ArchiveError('ends in the middle of a block');
  }

  return { take, finish };
}

function toMember({ name: written, type, size, mode }: TarHeader): UnpackedMember {
  const kind = KINDS.get(type);
  if (!kind) {
    throw new ArchiveError(`holds ${shown(written)}, which is neither a file nor a folder (type ${shown(type)})`);
  }
  const name = kind === 'folder' ? written.replace(/\/$/, '') : written;
  if (!isPlainName(name)) throw new ArchiveError(`holds a member with the name ${shown(written)}`);
  if (kind === 'folder' && size > 0) throw new ArchiveError(`holds a folder with content, ${shown(name)}`);
  const needed = kind === 'folder' ? 0o700 : 0o400;
  if (mode > 0o777 || (mode & needed) !== needed) {
    throw new ArchiveError(`holds ${shown(name)} with the mode ${mode.toString(8)}`);
  }
  return { kind, name, size };
}

function isPlainName(name: string): boolean {
  const isClean = !/[\x00-\x1f\x7f\\\ufffd]/.test(name);
  return isClean && name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Quoted, without control characters, and short: a name out of a hostile archive goes into a log. */
function shown(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name);
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
