import type { Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';

export type Heartbeat = ReturnType<typeof createHeartbeat>;

/** Lets one process say that it lives, and another see when it last did (unix ms). */
export function createHeartbeat(db: Db, program: string, clock: Clock) {
  const startedAt = clock();
  const write = db.prepare<[string, number, number]>('beat', `
    INSERT INTO heartbeats (program, started_at, seen_at) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET started_at = excluded.started_at, seen_at = excluded.seen_at
  `);
  const read = db.prepare<[string], { seenAt: number }>('last beat', `
    SELECT seen_at AS seenAt FROM heartbeats WHERE program = ?
  `);

  return {
    beat: (): void => void write.run(program, startedAt, clock()),
    lastSeen: (of: string): number | null => read.get(of)?.seenAt ?? null,
  };
}
