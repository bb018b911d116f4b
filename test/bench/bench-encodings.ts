import { decodeText } from '../../src/platform/markup/decode-text.ts';
import type { BenchRow } from './bench-row.ts';

const BYTES = 10 * 1024 * 1024;
const ROUNDS = 3;

/** By encoding, bytes that keep its decoder busiest: those that it cannot read, or characters far from ASCII. */
const UGLIEST: Record<string, string> = {
  'windows-1252': '92', 'windows-1251': '92', 'koi8-r': 'ff', 'iso-8859-2': '92', 'macintosh': 'd2',
  'utf-8': 'ff', 'utf-16le': '00d8', 'utf-16be': 'd800', 'gbk': 'ff', 'gb18030': 'ff', 'big5': 'ff', 'euc-jp': '8fa1',
  'shift_jis': 'fd', 'iso-2022-jp': '1b24421b2842', 'euc-kr': 'ff', 'utf-32le': '00f60100', 'utf-32be': 'ffffffff',
};

/** 10 MiB of it as text, beside a bare TextDecoder; that has no UTF-32, and UTF-16 stands in. */
export async function benchEncodings(): Promise<BenchRow[]> {
  return Object.entries(UGLIEST).map(([encoding, hex]) => {
    const bytes = Buffer.alloc(BYTES, Buffer.from(hex, 'hex'));
    const bare = encoding.replace('utf-32', 'utf-16');
    const times = Array.from({ length: ROUNDS }, () => [
      timed(() => decodeText(bytes, `text/xml; charset=${encoding}`)),
      timed(() => new TextDecoder(bare).decode(bytes, { stream: true })),
    ] as const);
    const ours = Math.min(...times.map(([time]) => time));
    const peerFigure = Math.min(...times.map(([, time]) => time));
    const want = bare === encoding ? '>= 0.2' : '>= 0.05';
    const name = `10 MiB of ${encoding}`;
    return { name, ours, peer: `TextDecoder, ${bare}`, peerFigure, unit: 'ms', ratio: peerFigure / ours, want };
  });
}

function timed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}
