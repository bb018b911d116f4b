import { randomBelow } from '../support/random.ts';

const BEGINNINGS = ['b', 'br', 'c', 'ch', 'd', 'f', 'fl', 'g', 'h', 'k', 'l', 'm', 'n', 'p', 'qu', 'r', 's', 'sh', 'st', 't', 'v', 'w'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea', 'ou'];
const ENDINGS = ['', '', 'n', 'r', 's', 't', 'l', 'm', 'ng', 'nd', 'ck'];

/** Words of a language: a few of them are most of what is written. */
const VOCABULARY = 4_000;

/** Texts that compress and are found as written ones: `words(9)` is nine of them, `title(3)` the same as a title; `all` begins with the most common. */
export function madeUpWords(seed: number) {
  const below = randomBelow(seed);
  const one = (parts: string[]): string => parts[below(parts.length)] ?? '';
  const syllable = (): string => one(BEGINNINGS) + one(VOWELS) + one(ENDINGS);
  const all = Array.from({ length: VOCABULARY }, (_, index) =>
    Array.from({ length: 1 + (index > 150 ? 1 : 0) + below(2) }, syllable).join(''));
  const word = (): string => all[Math.floor(VOCABULARY * (below(2 ** 20) / 2 ** 20) ** 3)] ?? '';
  const words = (count: number): string => Array.from({ length: count }, word).join(' ');
  const title = (count: number): string => words(count).replace(/^./, (letter) => letter.toUpperCase());
  return { words, title, all };
}
