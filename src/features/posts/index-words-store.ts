import type { Db } from '../../platform/db/open-database.ts';
import type { WordsFrom } from './search-query.ts';

/**
 * Returns a function that reads the words of a search index that begin alike. Each word is looked up after the one
 * before, in about 0.05 ms: reading the list at one go would read all places of each word.
 */
export function prepareWordsFrom(db: Db, index: string): WordsFrom {
  db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms_of_${index} USING fts5vocab (main, ${index}, 'instance')`);
  const select = db.prepare<[string], { term: string }>('next word of the search index',
    `SELECT term FROM temp.terms_of_${index} WHERE term >= ? LIMIT 1`);
  return (beginning, most) => {
    const words: string[] = [];
    for (let from = beginning; ; from = `${words.at(-1)}\0`) {
      const term = select.get(from)?.term;
      if (!term?.startsWith(beginning)) return words;
      if (words.length === most) return null;
      words.push(term);
    }
  };
}

/** The words of several indexes that begin alike. */
export function wordsOfAll(indexes: WordsFrom[]): WordsFrom {
  return (beginning, most) => {
    const found = indexes.map((wordsFrom) => wordsFrom(beginning, most));
    const words = new Set(found.flatMap((some) => some ?? []));
    return found.includes(null) || words.size > most ? null : [...words];
  };
}
