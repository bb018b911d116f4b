import type { Db } from '../db/open-database.ts';
import { RANKS, type Rank } from './job-queue.ts';

export type JobColumns = {
  id: number;
  kind: string;
  payload: string;
  dedupeKey: string | null;
  lane: string | null;
  attempts: number;
  maxAttempts: number;
};

/** For every fourth job to run, a worker looks first for doubtful jobs (RANKS), lest they starve. */
const DOUBTFUL_EVERY = 4;

/** Doubtful jobs take this share of the places of a kind, or one: their hosts may hang, and others must run too. */
const DOUBTFUL_SHARE = 3 / 4;

type OwnedColumns = JobColumns & { owner: number };
type Held = { owner: number; rank: Rank; n: number };

/** In a rank, jobs of the owners with the fewest running ones are first: nobody's many jobs hold up those of others. */
export function createOwnerTurns(db: Db) {
  const sql = prepareTurns(db);
  const last = new Map<string, number>(); // for each job kind, the owner whose turn was last
  let taken = 0;

  return function takeTurns<Job>(kind: string, limit: number, now: number, take: (row: JobColumns) => Job): Job[] {
    const held = sql.held.all(kind);
    const holds = new Map<number, number>();
    for (const { owner, n } of held) holds.set(owner, (holds.get(owner) ?? 0) + n);
    const places = limit + held.reduce((sum, { n }) => sum + n, 0);
    let doubtful = held.reduce((sum, { rank, n }) => sum + (rank === RANKS.doubtful ? n : 0), 0);
    const mostDoubtful = Math.max(1, Math.floor(places * DOUBTFUL_SHARE));
    const jobs: Job[] = [];

    function takeRound(rank: Rank, room: number): number {
      const first = firstOfOwners(kind, rank, now, room + holds.size);
      const least = Math.min(...first.map(({ owner }) => holds.get(owner) ?? 0));
      const lanes = new Set<string>();
      const free = first
        .filter(({ owner }) => (holds.get(owner) ?? 0) === least)
        .filter(({ lane }) => lane === null || (!lanes.has(lane) && lanes.add(lane)))
        .slice(0, room);
      for (const row of free) {
        jobs.push(take(row));
        holds.set(row.owner, least + 1);
        last.set(kind, row.owner);
      }
      return free.length;
    }

    function takeSome(): number {
      const untilDoubtful = DOUBTFUL_EVERY - 1 - taken % DOUBTFUL_EVERY;
      const { asked, usual } = RANKS;
      const order = untilDoubtful === 0 ? [RANKS.doubtful, asked, usual] : [asked, usual, RANKS.doubtful];
      for (const rank of order) {
        const left = Math.min(limit - jobs.length, Math.max(1, untilDoubtful));
        const room = rank === RANKS.doubtful ? Math.min(left, mostDoubtful - doubtful) : left;
        const some = room > 0 ? takeRound(rank, room) : 0;
        if (rank === RANKS.doubtful) doubtful += some;
        taken += some;
        if (some > 0) return some;
      }
      return 0;
    }

    while (jobs.length < limit && takeSome() > 0);
    return jobs;
  };

  function firstOfOwners(kind: string, rank: Rank, now: number, limit: number): OwnedColumns[] {
    const after = last.get(kind) ?? 0;
    const rest = sql.first.all({ kind, rank, after, now, limit });
    if (rest.length === limit || after === 0) return rest;
    const known = new Set(rest.map(({ owner }) => owner));
    const wrapped = sql.first.all({ kind, rank, after: 0, now, limit });
    return [...rest, ...wrapped.filter(({ owner }) => !known.has(owner))];
  }
}

type FirstOfOwners = { kind: string; rank: Rank; after: number; now: number; limit: number };

function prepareTurns(db: Db) {
  return {
    held: db.prepare<[string], Held>('places held', `
      SELECT owner, rank, COUNT(*) AS n FROM jobs WHERE kind = ? AND state = 'running' AND owner IS NOT NULL
       GROUP BY owner, rank`),
    // The query skips from owner to owner in the index, so that its cost hardly grows with the number of jobs.
    first: db.prepare<[FirstOfOwners], OwnedColumns>('whose turn', `
      WITH RECURSIVE owners (owner) AS (
        SELECT (SELECT MIN(j.owner) FROM jobs AS j
                 WHERE j.kind = @kind AND j.rank = @rank AND j.owner > @after AND j.state IN ('queued', 'retrying'))
        UNION ALL
        SELECT (SELECT MIN(j.owner) FROM jobs AS j
                 WHERE j.kind = @kind AND j.rank = @rank AND j.owner > owners.owner
                   AND j.state IN ('queued', 'retrying'))
          FROM owners WHERE owner IS NOT NULL)
      SELECT jobs.id, jobs.kind, payload, dedupe_key AS dedupeKey, lane, attempts, max_attempts AS maxAttempts,
             jobs.owner
        FROM owners CROSS JOIN jobs ON jobs.id = (
          SELECT j.id FROM jobs AS j
           WHERE j.kind = @kind AND j.rank = @rank AND j.owner = owners.owner AND j.state IN ('queued', 'retrying')
             AND j.run_at <= @now
             AND (j.lane IS NULL OR NOT EXISTS
                   (SELECT 1 FROM jobs AS busy WHERE busy.lane = j.lane AND busy.state = 'running'))
           ORDER BY j.run_at, j.id LIMIT 1)
       LIMIT @limit`),
  };
}
