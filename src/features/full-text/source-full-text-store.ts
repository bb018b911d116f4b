import { store } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';

/**
 * `isChosen`: `isAlways` is somebody's choice, and is not offered. `uses`: requests of members for full texts.
 * `samples`: the posts that are compared with their pages; empty before the comparison begins, null without one.
 */
type SourceFullText = { isAlways: number; isChosen: number; uses: number; samples: number[] | null };

/** The number of fetches with a result: 'ready', or the reason why a post got no full text. */
export type ResultCount = { reason: string; n: number };

const NOTHING: SourceFullText = { isAlways: 0, isChosen: 0, uses: 0, samples: null };

export const sourceFullTexts = store(({ db }) => {
  const select = db.prepare<[number], Omit<SourceFullText, 'samples'> & { samples: string | null }>(
    'full texts of source', `
    SELECT is_always AS isAlways, is_chosen AS isChosen, uses, samples FROM full_text_sources WHERE source_id = ?`);
  const choose = db.prepare<[{ sourceId: number; isAlways: 0 | 1 }]>('choose full texts of source', `
    INSERT INTO full_text_sources (source_id, is_always, is_chosen) VALUES (@sourceId, @isAlways, 1)
    ON CONFLICT DO UPDATE SET is_always = @isAlways, is_chosen = 1`);
  const setSamples = db.prepare<[{ sourceId: number; samples: string }]>('set the compared posts of a source', `
    INSERT INTO full_text_sources (source_id, samples) VALUES (@sourceId, @samples)
    ON CONFLICT DO UPDATE SET samples = @samples`);

  return {
    find(sourceId: number): SourceFullText {
      const row = select.get(sourceId);
      return row ? { ...row, samples: row.samples === null ? null : JSON.parse(row.samples) } : NOTHING;
    },
    choose: (sourceId: number, isAlways: boolean): void => void choose.run({ sourceId, isAlways: isAlways ? 1 : 0 }),
    addUse: db.prepare<[sourceId: number]>('count a use of the button', `
      INSERT INTO full_text_sources (source_id, uses) VALUES (?, 1) ON CONFLICT DO UPDATE SET uses = uses + 1`).run,
    setSamples: (sourceId: number, postIds: number[]): void =>
      void setSamples.run({ sourceId, samples: JSON.stringify(postIds) }),
    addResult: db.prepare<[sourceId: number, reason: string]>('count a full text of a source', `
      INSERT INTO full_text_results (source_id, reason, n) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1`).run,
    results: db.prepare<[sourceId: number], ResultCount>('results of full texts of a source',
      'SELECT reason, n FROM full_text_results WHERE source_id = ? ORDER BY n DESC').all,
    resultsOfOwner: db.prepare<[ownerId: number], ResultCount>('results of full texts of an owner', `
      SELECT r.reason, SUM(r.n) AS n FROM full_text_results r ${joinSource('r.source_id')}
       WHERE s.owner_id = ? GROUP BY r.reason ORDER BY n DESC`).all,
    allResults: db.prepare<[], ResultCount>('results of full texts',
      'SELECT reason, SUM(n) AS n FROM full_text_results GROUP BY reason ORDER BY n DESC').all,
  };
});
