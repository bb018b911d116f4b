// Protects archives of uploads: readable by any tar, and refused when they hold anything but plain members.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ArchiveError } from '../../../src/platform/archive/gzip-file.ts';
import { type PackedMember, packTar, type UnpackedMember, unpackTar } from '../../../src/platform/archive/tar-file.ts';
import { BLOCK, encodeTarHeader } from '../../../src/platform/archive/tar-header.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';

const AT = Date.UTC(2030, 0, 15, 3, 15);

function file(name: string, text: string): PackedMember {
  const content = Buffer.from(text);
  return { kind: 'file', name, size: content.length, modifiedAt: AT, content: [content] };
}

function folder(name: string): PackedMember {
  return { kind: 'folder', name, size: 0, modifiedAt: AT };
}

function pack(members: PackedMember[]): Buffer {
  return Buffer.concat([...packTar(members)]);
}

/** Everything in the archive, fed in pieces of that many bytes. */
async function unpack(archive: Buffer, piece = 100_000): Promise<{ members: UnpackedMember[]; texts: string[] }> {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < archive.length; at += piece) yield archive.subarray(at, at + piece);
  }
  const members: UnpackedMember[] = [];
  const texts: string[] = [];
  await unpackTar(pieces(), (member) => {
    members.push(member);
    let text = '';
    return { write: (chunk) => void (text += chunk.toString('latin1')), end: () => void texts.push(text) };
  });
  return { members, texts };
}

/** A header block with some bytes changed, and its checksum right again. */
function forge(change: (block: Buffer) => void, name = 'uploads/a'): Buffer {
  const block = encodeTarHeader({ kind: 'file', name, size: 0, modifiedAt: AT });
  change(block);
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([block, Buffer.alloc(2 * BLOCK)]);
}

function typed(type: string, link = ''): Buffer {
  return forge((block) => {
    block.write(type, 156, 'latin1');
    block.write(link, 157, 'latin1');
  });
}

function named(name: string): Buffer {
  return forge((block) => block.fill(0, 0, 100).write(name, 0));
}

function moded(mode: number): Buffer {
  return forge((block) => block.write(mode.toString(8).padStart(7, '0'), 100, 'latin1'));
}

function pax(records: string, type = 'x'): Buffer {
  const content = Buffer.from(records);
  const header = forge((block) => {
    block.write(type, 156, 'latin1');
    block.write(content.length.toString(8).padStart(11, '0'), 124, 'latin1');
  }).subarray(0, BLOCK);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + String(rest.length + 2).length;
  return `${length}${rest}`;
}

test('what is packed can be unpacked, in pieces of any length', async () => {
  const texts = ['', 'a', 'b'.repeat(511), 'c'.repeat(512), 'd'.repeat(513), 'e'.repeat(300_000)];
  const archive = pack([folder('uploads'), ...texts.map((text, n) => file(`uploads/${n}`, text))]);

  for (const piece of [1, 7, 511, 512, 513, 10_000_000]) {
    const { members, texts: found } = await unpack(archive, piece);
    assert.deepEqual(found.slice(1), texts);
    assert.deepEqual(members[0], { kind: 'folder', name: 'uploads', size: 0 });
    assert.deepEqual(members[6], { kind: 'file', name: 'uploads/5', size: 300_000 });
  }
});

test('the same members make the same bytes', () => {
  const members = () => [folder('uploads'), file('uploads/a', 'text')];
  assert.deepEqual(pack(members()), pack(members()));
});

test('GNU tar extracts what is packed, with names, sizes, times and modes', (t) => {
  const place = temporaryFolder(t);
  writeFileSync(join(place, 'a.tar'), pack([folder('uploads'), file('uploads/empty', ''), file('uploads/x', 'y'.repeat(5_000))]));

  const said = execFileSync('tar', ['-xpf', 'a.tar'], { cwd: place, stdio: 'pipe' });

  assert.equal(said.length, 0);
  assert.equal(readFileSync(join(place, 'uploads/x'), 'utf8'), 'y'.repeat(5_000));
  assert.deepEqual([statSync(join(place, 'uploads/empty')).size, statSync(join(place, 'uploads/x')).mtimeMs], [0, AT]);
  assert.deepEqual([statSync(join(place, 'uploads')).mode & 0o777, statSync(join(place, 'uploads/x')).mode & 0o777], [0o700, 0o600]);
});

for (const format of ['gnu', 'posix', 'ustar', 'oldgnu', 'pax']) {
  test(`GNU tar's own archive of a folder is accepted, in the format ${format}`, async (t) => {
    const place = temporaryFolder(t);
    writeFiles(place, { 'uploads/ab/one': '1'.repeat(600), 'uploads/cd/two': '' }, 0o600);

    const archive = execFileSync('tar', ['-cf', '-', `--format=${format}`, '--sort=name', 'uploads'], { cwd: place });

    const { members, texts } = await unpack(archive);
    assert.deepEqual(members.map(({ name }) => name),
      ['uploads', 'uploads/ab', 'uploads/ab/one', 'uploads/cd', 'uploads/cd/two']);
    assert.equal(texts[2], '1'.repeat(600));
  });
}

test('a size beyond 8 GiB is written and read, by GNU tar too', async (t) => {
  const size = 9 * 1_024 ** 3;
  const header = encodeTarHeader({ kind: 'file', name: 'uploads/huge', size, modifiedAt: AT });
  const refusal = new Error('seen');
  const seen: UnpackedMember[] = [];
  await assert.rejects(unpackTar((async function* () { yield header; })(), (member) => {
    seen.push(member);
    throw refusal;
  }), refusal);
  assert.deepEqual(seen, [{ kind: 'file', name: 'uploads/huge', size }]);

  const place = temporaryFolder(t);
  writeFileSync(join(place, 'a.tar'), header);
  const listed = (() => {
    try {
      return execFileSync('tar', ['-tvf', 'a.tar'], { cwd: place, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    } catch (error) {
      return String((error as { stdout: Buffer }).stdout); // it ends too soon
    }
  })();
  assert.match(listed, / 9663676416 .*uploads\/huge/);
});

test('a member with more or fewer bytes than it says is the packer\'s mistake', () => {
  assert.throws(() => pack([{ ...file('uploads/a', 'abc'), size: 4 }]), /has 3 bytes instead of 4/);
  assert.throws(() => pack([file(`uploads/${'x'.repeat(100)}`, '')]), RangeError);
});

const good = pack([folder('uploads'), file('uploads/a', 'text')]);
const HOSTILE: Record<string, [Buffer, RegExp]> = {
  'a symbolic link': [typed('2', '/etc/passwd'), /neither a file nor a folder/],
  'a hard link': [typed('1', 'uploads/b'), /neither/],
  'a character device': [typed('3'), /neither/],
  'a block device': [typed('4'), /neither/],
  'a FIFO': [typed('6'), /neither/],
  'a contiguous file': [typed('7'), /neither/],
  'a sparse file': [typed('S'), /neither/],
  'a long name of GNU': [typed('L'), /neither/],
  'records for all members': [Buffer.concat([pax(record('path', 'x'), 'g'), good]), /neither/],
  'an absolute name': [named('/etc/passwd'), /with the name "\/etc\/passwd"/],
  'a name with ..': [named('uploads/../hub.db'), /with the name/],
  'the name ..': [named('..'), /with the name/],
  'a name with .': [named('./uploads/a'), /with the name/],
  'a name with //': [named('uploads//a'), /with the name/],
  'an empty name': [named(''), /with the name ""/],
  'a name with a line break': [named('uploads/a\nb'), /with the name "uploads\/a\\nb"/],
  'a name with a backslash': [named('uploads\\a'), /with the name/],
  'a name that is not UTF-8': [forge((block) => block.fill(0, 0, 100).fill(0xff, 0, 3)), /with the name/],
  'a file whose name ends like a folder': [named('uploads/a/'), /with the name/],
  'a set-uid file': [moded(0o4755), /with the mode 4755/],
  'a set-gid file': [moded(0o2755), /with the mode 2755/],
  'a sticky file': [moded(0o1644), /with the mode 1644/],
  'a file that nobody may read': [moded(0), /with the mode 0/],
  'a folder of mode 000': [forge((block) => block.write('0000000', 100).toString() && block.write('5', 156)), /with the mode 0/],
  'a folder with content': [forge((block) => block.write('5', 156) && block.write('00000000001', 124)), /folder with content/],
  'the same name twice': [pack([file('uploads/a', '1'), file('uploads/a', '1')]), /"uploads\/a" twice/],
  'a folder with the name of a file': [pack([file('uploads/a', '1'), folder('uploads/a')]), /twice/],
  'a path in extended records': [Buffer.concat([pax(record('path', '/etc/passwd')), good]), /with the name "\/etc\/passwd"/],
  'a link path in extended records': [Buffer.concat([pax(record('linkpath', '/etc')), good]), /extended record "linkpath"/],
  'sparse maps in extended records': [Buffer.concat([pax(record('GNU.sparse.major', '1')), good]), /extended record/],
  'malformed extended records': [Buffer.concat([pax('99 path=x\n'), good]), /malformed/],
  'extended records without a number': [Buffer.concat([pax('path=x\n'), good]), /malformed/],
  'a size in words in extended records': [Buffer.concat([pax(record('size', '-1')), good]), /invalid size/],
  'extended records twice': [Buffer.concat([pax(record('uid', '1')), pax(record('uid', '1')), good]), /that belong to no member/],
  'extended records at the end': [Buffer.concat([pax(record('uid', '1')), Buffer.alloc(1_024)]), /belong to no member/],
  'huge extended records': [forge((block) => block.write('x', 156) && block.write('00077777777', 124)), /extended records of/],
  'a size that is no number': [forge((block) => block.write('abc', 124)), /size is not a number/],
  'an impossible size': [forge((block) => block.fill(0xff, 124, 136)), /invalid size/],
  'an unknown format': [forge((block) => block.write('nostar', 257)), /unknown format/],
  'a wrong checksum': [Buffer.concat([Buffer.from('x'), good.subarray(1)]), /wrong checksum/],
  'bytes that are no archive': [Buffer.alloc(2_048, 'no tar '), /checksum/],
  'bytes between members': [(() => {
    const bytes = Buffer.from(good);
    bytes[BLOCK * 2 + 10] = 1;
    return bytes;
  })(), /between its members/],
  'another archive after the end': [Buffer.concat([good, good]), /has data after its end/],
  'a member after one empty block': [Buffer.concat([good.subarray(0, -BLOCK), good]), /has data after its end/],
  'zeros without end': [Buffer.concat([good, Buffer.alloc(2 * 1_024 * 1_024)]), /has too many zeros/],
  'part of a block after the end': [Buffer.concat([good, Buffer.alloc(100)]), /middle of a block/],
  'nothing at all': [Buffer.alloc(0), /cut off/],
  'no end': [good.subarray(0, -2 * BLOCK), /cut off/],
  'half an end': [good.subarray(0, -BLOCK), /cut off/],
};

for (const [what, [archive, message]] of Object.entries(HOSTILE)) {
  test(`case 49: an archive with ${what} is refused`, async () => {
    await assert.rejects(unpack(archive, 100_000), (error: unknown) => {
      assert.ok(error instanceof ArchiveError, String(error));
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /[\n\x1b]/);
      return true;
    });
  });
}

test('case 50: an archive cut at any byte is refused', async () => {
  for (let length = 0; length < good.length; length += 97) {
    await assert.rejects(unpack(good.subarray(0, length)), ArchiveError, `after ${length} bytes`);
  }
});

/** The archive that tar makes of this folder, which holds what no backup may hold. */
function archiveOf(t: TestContext, prepare: (place: string) => void): Buffer {
  const place = temporaryFolder(t);
  mkdirSync(join(place, 'uploads'));
  prepare(place);
  return execFileSync('tar', ['-cf', '-', 'uploads'], { cwd: place });
}

test('case 49: links and pipes that GNU tar archived are refused', async (t) => {
  const prepare: ((place: string) => void)[] = [
    (place) => symlinkSync('/etc', join(place, 'uploads/link')),
    (place) => {
      writeFileSync(join(place, 'uploads/a'), '');
      linkSync(join(place, 'uploads/a'), join(place, 'uploads/b'));
    },
    (place) => execFileSync('mkfifo', [join(place, 'uploads/pipe')]),
  ];
  for (const one of prepare) await assert.rejects(unpack(archiveOf(t, one)), /neither a file nor a folder/);
});
