import { ArchiveError } from './gzip-file.ts';
import {
  applyPax, BLOCK, decodeHeader, encodeTarHeader, paddingOf, type TarHeader, type TarKind, type TarMember,
} from './tar-header.ts';

/** A member of a tar archive, with content of exactly `size` bytes; folders have no content. */
export type PackedMember = TarMember & { content?: Iterable<Buffer> };

const PIECE = 256 * 1_024; // bytes; several small files share a piece, because each piece costs a call of gzip
const END = Buffer.alloc(2 * BLOCK);

/** The bytes of a tar archive (ustar); every piece but the last has at least PIECE. Equal members give equal bytes. */
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

/** Takes the content of an archived file. The `chunk` passed to `write` is valid only until `write` returns. */
export type MemberSink = { write(chunk: Buffer): void; end(): void };

type OnMember = (member: UnpackedMember) => MemberSink | undefined;

const MAX_PAX = 64 * 1_024; // maximum bytes of extended records for one member of an archive
const MAX_FILLING = 1_024 * 1_024; // maximum zero bytes at an archive's end: tar fills up its last record
const KINDS = new Map<string, TarKind>([['0', 'file'], ['\0', 'file'], ['5', 'folder']]);

/** Yields how many archive bytes the parser accepts next, and receives so many or fewer; none at the end. */
type Parsing<Result> = Generator<number, Result, Buffer>;

/**
 * Reads a tar archive strictly: plain files and folders with relative names, each once, then the end mark and zeros.
 * Throws ArchiveError for links, devices, pipes, `..`, set-uid files, a missing end mark, bytes after the end and the
 * like. Besides the names, it holds at most a few times MAX_PAX in memory, whatever the archive claims.
 */
export async function unpackTar(chunks: AsyncIterable<Buffer>, onMember: OnMember): Promise<void> {
  const parsing = parseArchive(onMember);
  let { value: most = 0 } = parsing.next();
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + most);
      at += piece.length;
      most = parsing.next(piece).value ?? 0;
    }
  }
  parsing.next(Buffer.alloc(0));
}

function* parseArchive(onMember: OnMember): Parsing<void> {
  const names = new Set<string>();
  for (let block = yield* takeBlock(); !isZero(block); block = yield* takeBlock()) {
    const member = toMember(yield* parseHeader(block));
    if (names.has(member.name)) throw new ArchiveError(`the archive holds ${shown(member.name)} twice`);
    names.add(member.name);
    const sink = onMember(member);
    yield* takeBytes(member.size, (piece) => sink?.write(piece));
    sink?.end();
    yield* takePadding(member.size);
  }
  yield* parseEnd();
}

function* parseHeader(block: Buffer): Parsing<TarHeader> {
  const header = decodeHeader(block);
  if (header.type !== 'x') return header;
  const { size } = header;
  if (size > MAX_PAX || size === 0) throw new ArchiveError(`the archive holds extended records of ${size} bytes`);
  const records: Buffer[] = [];
  yield* takeBytes(size, (piece) => void records.push(Buffer.from(piece)));
  yield* takePadding(size);
  const next = yield* takeBlock();
  const described = isZero(next) ? header : decodeHeader(next);
  if (described.type === 'x') throw new ArchiveError('the archive holds extended records that belong to no member');
  return applyPax(Buffer.concat(records), described);
}

/** Checks the end of an archive: after a first block of zeros, a second must follow; more zeros may follow. */
function* parseEnd(): Parsing<void> {
  let zeros = BLOCK;
  for (let piece = yield MAX_FILLING; piece.length > 0; piece = yield MAX_FILLING) {
    if (!isZero(piece)) throw new ArchiveError('the archive has data after its end');
    zeros += piece.length;
    if (zeros > MAX_FILLING) throw new ArchiveError('the archive has too many zeros after its end');
  }
  if (zeros < 2 * BLOCK) throw cutOff();
  if (zeros % BLOCK > 0) throw new ArchiveError('the archive ends in the middle of a block');
}

function* takeBytes(size: number, use: (piece: Buffer) => void): Parsing<void> {
  for (let left = size; left > 0;) {
    const piece = yield left;
    if (piece.length === 0) throw cutOff();
    left -= piece.length;
    use(piece);
  }
}

function* takeBlock(): Parsing<Buffer> {
  const block = Buffer.alloc(BLOCK);
  let filled = 0;
  yield* takeBytes(BLOCK, (piece) => void (filled += piece.copy(block, filled)));
  return block;
}

function* takePadding(size: number): Parsing<void> {
  yield* takeBytes(paddingOf(size), (piece) => {
    if (!isZero(piece)) throw new ArchiveError('the archive holds bytes between its members');
  });
}

function cutOff(): ArchiveError {
  return new ArchiveError('the archive is cut off: its end is missing');
}

function toMember({ name: written, type, size, mode }: TarHeader): UnpackedMember {
  const kind = KINDS.get(type);
  if (!kind) {
    throw new ArchiveError(`the archive holds ${shown(written)}, neither a file nor a folder (type ${shown(type)})`);
  }
  const name = kind === 'folder' ? written.replace(/\/$/, '') : written;
  if (!isPlainName(name)) throw new ArchiveError(`the archive holds a member with the name ${shown(written)}`);
  if (kind === 'folder' && size > 0) throw new ArchiveError(`the archive holds a folder with content, ${shown(name)}`);
  const needed = kind === 'folder' ? 0o700 : 0o400;
  if (mode > 0o777 || (mode & needed) !== needed) {
    throw new ArchiveError(`the archive holds ${shown(name)} with the mode ${mode.toString(8)}`);
  }
  return { kind, name, size };
}

function isPlainName(name: string): boolean {
  const isClean = !/[\x00-\x1f\x7f\\\ufffd]/.test(name);
  return isClean && name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Quotes, escapes and shortens a name: one from a hostile archive goes into a log. */
function shown(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name);
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
