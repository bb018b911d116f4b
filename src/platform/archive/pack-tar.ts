import { BLOCK, encodeHeader, paddingOf, type TarMember } from './tar-header.ts';

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
    yield encodeHeader(member);
    let length = 0;
    for (const chunk of member.content ?? []) {
      length += chunk.length;
      yield chunk;
    }
    if (length !== member.size) throw new RangeError(`${member.name} has ${length} bytes instead of ${member.size}`);
    if (paddingOf(length) > 0) yield Buffer.alloc(paddingOf(length));
  }
}
