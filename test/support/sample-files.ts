import { crc32, deflateSync } from 'node:zlib';

type Size = { width: number; height: number };

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** A PNG of one shade of grey, with further chunks between header and data. */
export function png({ width, height }: Size, ...extra: Buffer[]): Buffer {
  const rows = deflateSync(Buffer.alloc(height * (1 + width)));
  return Buffer.concat([
    PNG_SIGNATURE, pngHeader({ width, height }), ...extra, pngChunk('IDAT', rows), pngChunk('IEND'),
  ]);
}

/** An IHDR chunk; `form` is depth, colour type, compression, filter, interlace. */
export function pngHeader({ width, height }: Size, form = [8, 0, 0, 0, 0]): Buffer {
  return pngChunk('IHDR', Buffer.concat([uint32(width), uint32(height), Buffer.from(form)]));
}

export function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([uint32(data.length), content, uint32(crc32(content))]);
}

/** A baseline JPEG in grey, every coefficient zero, with further segments at its beginning. */
export function jpeg(size: Size, ...extra: Buffer[]): Buffer {
  const table = Buffer.from([1, ...Array.from({ length: 15 }, () => 0), 0]);
  const blocks = Math.ceil(size.width / 8) * Math.ceil(size.height / 8);
  return Buffer.concat([
    Buffer.from('ffd8', 'hex'), ...extra,
    jpegSegment(0xdb, Buffer.from([0, ...Array.from({ length: 64 }, () => 1)])),
    jpegFrame(0xc0, size),
    jpegSegment(0xc4, Buffer.concat([Buffer.from([0x00]), table])),
    jpegSegment(0xc4, Buffer.concat([Buffer.from([0x10]), table])),
    jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    zeroBits(2 * blocks), Buffer.from('ffd9', 'hex'),
  ]);
}

export function jpegFrame(marker: number, { width, height }: Size): Buffer {
  const oneComponent = Buffer.from([1, 1, 0x11, 0]);
  return jpegSegment(marker, Buffer.concat([Buffer.from([8]), uint16(height), uint16(width), oneComponent]));
}

export function jpegSegment(marker: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xff, marker]), uint16(data.length + 2), data]);
}

/** Zeros, and ones up to the next whole byte, as JPEG pads its data. */
function zeroBits(count: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(count / 8));
  if (count % 8 !== 0) bytes[bytes.length - 1] = 0xff >> count % 8;
  return bytes;
}

/** A GIF of two colours, with a frame for each size, and further blocks before the frames. */
export function gif(size: Size, frames: Size[] = [size], ...extra: Buffer[]): Buffer {
  const screen = Buffer.concat([uint16le(size.width), uint16le(size.height), Buffer.from('800000000000ffffff', 'hex')]);
  return Buffer.concat([Buffer.from('GIF89a'), screen, ...extra, ...frames.map(gifFrame), Buffer.from(';')]);
}

function gifFrame({ width, height }: Size): Buffer {
  const place = Buffer.concat([Buffer.alloc(4), uint16le(width), uint16le(height)]);
  return Buffer.concat([Buffer.from(','), place, Buffer.from([0, 2]), gifSubBlocks(gifCodes(width * height))]);
}

/** Every pixel is the code 0 of three bits; a clear code (4) before every second keeps codes from growing; 5 ends. */
function gifCodes(pixels: number): Buffer {
  const codes = Array.from({ length: pixels }, (_, index) => index % 2 === 0 ? [4, 0] : [0]).flat().concat(5);
  const bytes = Buffer.alloc(Math.ceil(codes.length * 3 / 8));
  codes.forEach((code, index) => [0, 1, 2].forEach((bit) => {
    const at = 3 * index + bit;
    bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (code >> bit & 1) << (at & 7);
  }));
  return bytes;
}

export function gifSubBlocks(data: Buffer): Buffer {
  const count = Math.ceil(data.length / 255);
  const blocks = Array.from({ length: count }, (_, index) => data.subarray(255 * index, 255 * index + 255));
  return Buffer.concat([...blocks.flatMap((block) => [Buffer.from([block.length]), block]), Buffer.from([0])]);
}

/** A WebP without loss, of one colour. */
export function webp(size: Size): Buffer {
  return riff(losslessChunk(size));
}

/** A WebP with loss, 16 × 8, as Chromium 156 encodes a grey area. */
export function lossyWebp(): Buffer {
  return riff(riffChunk('VP8 ', Buffer.from('5001009d012a1000080002c04c25a40004740000e4400000', 'hex')));
}

/** A WebP with frames of these sizes in its upper left corner. */
export function animatedWebp(canvas: Size, frames: Size[] = [canvas, canvas]): Buffer {
  const start = riffChunk('ANIM', Buffer.from('000000000000', 'hex'));
  return riff(webpCanvas(canvas, 0x02), start, ...frames.map((size) => {
    const place = Buffer.concat([Buffer.alloc(6), uint24le(size.width - 1), uint24le(size.height - 1)]);
    return riffChunk('ANMF', Buffer.concat([place, Buffer.from('64000000', 'hex'), losslessChunk(size)]));
  }));
}

export function webpCanvas({ width, height }: Size, flags = 0): Buffer {
  return riffChunk('VP8X', Buffer.concat([Buffer.from([flags, 0, 0, 0]), uint24le(width - 1), uint24le(height - 1)]));
}

/** One symbol for each of green, red, blue, alpha and distance, so that a pixel takes no bit at all (RFC 9649, 3.7). */
export function losslessChunk({ width, height }: Size): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE((width - 1 | (height - 1) << 14) >>> 0);
  const plain = '0' + '0' + '0'; // no transform, no colour cache, no groups of codes
  const symbol = (value: number) => '101' + value.toString(2).padStart(8, '0').split('').reverse().join('');
  const codes = plain + [0x80, 0x80, 0x80, 0xff, 0].map(symbol).join('');
  const bytes = codes.match(/.{1,8}/g)?.map((bits) => parseInt(bits.split('').reverse().join(''), 2)) ?? [];
  return riffChunk('VP8L', Buffer.concat([Buffer.from([0x2f]), size, Buffer.from(bytes)]));
}

export function riff(...chunks: Buffer[]): Buffer {
  const content = Buffer.concat([Buffer.from('WEBP'), ...chunks]);
  return Buffer.concat([Buffer.from('RIFF'), uint32le(content.length), content]);
}

export function riffChunk(type: string, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type, 'latin1'), uint32le(data.length), data, Buffer.alloc(data.length % 2)]);
}

// The sequence header and the one frame of a grey area of 16 × 8, as Chromium 156 encodes it in AV1.
const AV1 = Buffer.from('0a0c0000000197f0068808680c20320a104a0008208210002414', 'hex');

type AvifParts = { brands?: string; size?: Size; properties?: Buffer[]; after?: Buffer[] };

/** An AVIF of 16 × 8; with another size it only claims to be that large. */
export function avif({ brands, size, properties = [], after = [] }: AvifParts = {}): Buffer {
  const type = box('ftyp', Buffer.from(brands ?? 'avif\0\0\0\0avifmif1miaf'));
  const sizes = [ispe(size ?? { width: 16, height: 8 }), ...properties];
  const dataAt = type.length + avifMeta(0, sizes).length + 8;
  return Buffer.concat([type, avifMeta(dataAt, sizes), box('mdat', AV1), ...after]);
}

/** `places`: an ipma box without its head; as it stands, the picture has the properties 1, 2 and 3. */
export function avifMeta(
  dataAt: number, properties: Buffer[], after: Buffer[] = [],
  places = Buffer.from('00000000' + '00000001' + '0001' + '03' + '01' + '82' + '03', 'hex'),
): Buffer {
  const configuration = box('av1C', Buffer.from('81000c00', 'hex'));
  const pixels = fullBox('pixi', Buffer.from('03080808', 'hex'));
  const order = [properties[0] ?? Buffer.alloc(0), configuration, pixels, ...properties.slice(1)];
  const item = fullBox('infe', Buffer.concat([uint16(1), uint16(0), Buffer.from('av01\0')]), 2);
  return fullBox('meta', Buffer.concat([
    fullBox('hdlr', Buffer.concat([uint32(0), Buffer.from('pict'), Buffer.alloc(13)])),
    fullBox('pitm', uint16(1)),
    fullBox('iloc', Buffer.concat([Buffer.from('44000001000100000001', 'hex'), uint32(dataAt), uint32(AV1.length)])),
    fullBox('iinf', Buffer.concat([uint16(1), item])),
    box('iprp', Buffer.concat([box('ipco', Buffer.concat(order)), box('ipma', places)])),
    ...after,
  ]));
}

export function ispe({ width, height }: Size): Buffer {
  return fullBox('ispe', Buffer.concat([uint32(width), uint32(height)]));
}

export function box(type: string, content: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([uint32(8 + content.length), Buffer.from(type, 'latin1'), content]);
}

/** A box with its size in eight bytes. */
export function longBox(type: string, content: Buffer, size = 16 + content.length): Buffer {
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(BigInt(size));
  return Buffer.concat([uint32(1), Buffer.from(type, 'latin1'), long, content]);
}

function fullBox(type: string, content: Buffer, version = 0): Buffer {
  return box(type, Buffer.concat([Buffer.from([version, 0, 0, 0]), content]));
}

/** An ICO with a picture for each size: a grey bitmap, or what is given as the last one. */
export function ico(sizes: Size[], last?: Buffer): Buffer {
  const pictures = sizes.map((size, index) => index === sizes.length - 1 && last ? last : icoBitmap(size));
  let offset = 6 + 16 * sizes.length;
  const entries = pictures.map((picture, index) => {
    const { width, height } = sizes[index] ?? { width: 0, height: 0 };
    const entry = Buffer.concat([
      Buffer.from([width % 256, height % 256, 0, 0, 1, 0, 32, 0]), uint32le(picture.length), uint32le(offset),
    ]);
    offset += picture.length;
    return entry;
  });
  return Buffer.concat([Buffer.from('00000100', 'hex'), uint16le(sizes.length), ...entries, ...pictures]);
}

function icoBitmap({ width, height }: Size): Buffer {
  const rest = Buffer.from('01002000' + '00'.repeat(24), 'hex'); // one plane of 32 bits, not compressed
  const mask = Buffer.alloc(Math.ceil(width / 32) * 4 * height);
  return Buffer.concat([uint32le(40), uint32le(width), uint32le(2 * height), rest, Buffer.alloc(4 * width * height, 0x80), mask]);
}

/** A PDF of one empty page; `inside` is the content of a stream. */
export function pdf(inside: Buffer = Buffer.alloc(0)): Buffer {
  const objects = [
    Buffer.from('<</Type/Catalog/Pages 2 0 R>>'),
    Buffer.from('<</Type/Pages/Kids[3 0 R]/Count 1>>'),
    Buffer.from('<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>'),
    Buffer.concat([Buffer.from(`<</Length ${inside.length}>>stream\n`), inside, Buffer.from('\nendstream')]),
  ];
  let body = Buffer.from('%PDF-1.4\n');
  const offsets = objects.map((object, index) => {
    const offset = body.length;
    body = Buffer.concat([body, Buffer.from(`${index + 1} 0 obj`), object, Buffer.from('\nendobj\n')]);
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const count = objects.length + 1;
  const table = `xref\n0 ${count}\n0000000000 65535 f \n${offsets.join('')}trailer<</Size ${count}/Root 1 0 R>>\n`;
  return Buffer.concat([body, Buffer.from(`${table}startxref\n${body.length}\n%%EOF\n`)]);
}

/** A ZIP archive that holds one empty file. */
export function zip(): Buffer {
  const name = Buffer.from('a');
  const times = Buffer.alloc(4);
  const sizes = Buffer.concat([Buffer.alloc(12), uint16le(name.length), uint16le(0)]);
  const local = Buffer.concat([Buffer.from('PK\x03\x04\x0a\0\0\0\0\0'), times, sizes, name]);
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\x0a\0\x0a\0\0\0\0\0'), times, sizes, Buffer.alloc(14), name]);
  const counts = Buffer.concat([Buffer.alloc(4), uint16le(1), uint16le(1)]);
  const directory = Buffer.concat([counts, uint32le(entry.length), uint32le(local.length), uint16le(0)]);
  return Buffer.concat([local, entry, Buffer.from('PK\x05\x06'), directory]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

function uint16le(value: number): Buffer {
  return uint16(value).reverse();
}

function uint24le(value: number): Buffer {
  return Buffer.from([value & 0xff, value >> 8 & 0xff, value >> 16]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function uint32le(value: number): Buffer {
  return uint32(value).reverse();
}
