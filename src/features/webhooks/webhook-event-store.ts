import { store } from '../hub/hub.ts';


/** An accepted event. `guid` is its post's, `happenedAt` its own time in unix ms; null for events of other types. */
export type AcceptedEvent = {
  sourceId: number;
  id: string;
  bodyId: string | null;
  guid: string | null;
  happenedAt: number | null;
};

export type WebhookEventStore = ReturnType<typeof webhookEvents>;

/** Which events have been accepted, so that a repeated one changes nothing. */
export const webhookEvents = store(({ db, clock }) => {
  const selectLater = db.prepare<[number, string, number], { at: number }>('later event of a post', `
    SELECT happened_at AS at FROM webhook_events WHERE source_id = ? AND guid = ? AND happened_at > ?`);
  const selectKnown = db.prepare<[number, string, string], { id: string }>('known event',
    'SELECT event_id AS id FROM webhook_events WHERE source_id = ? AND event_id IN (?, ?) LIMIT 1');
  const insert = db.prepare<[number, string, number, string | null, number | null]>('remember event', `
    INSERT INTO webhook_events (source_id, event_id, received_at, guid, happened_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`);
  const prune = db.prepare<[number, number]>('forget old events', `
    DELETE FROM webhook_events WHERE (source_id, event_id) IN
      (SELECT source_id, event_id FROM webhook_events WHERE received_at < ? LIMIT ?)`);
  const removeOfSource = db.prepare<[number, number]>('forget events of source', `
    DELETE FROM webhook_events WHERE (source_id, event_id) IN
      (SELECT source_id, event_id FROM webhook_events WHERE source_id = ? LIMIT ?)`);

  return {
    /** Whether something that happened later has been told of that post. */
    isOutrun: (sourceId: number, guid: string, happenedAt: number): boolean =>
      selectLater.get(sourceId, guid, happenedAt) !== undefined,

    /** Whether its id or its very body has been accepted before. */
    isKnown: (sourceId: number, { id, bodyId }: Pick<AcceptedEvent, 'id' | 'bodyId'>): boolean =>
      selectKnown.get(sourceId, id, bodyId ?? id) !== undefined,

    /**
     * False, and nothing written, for one whose id or very body has been accepted before. An id that is known with a
     * body that is new has that body remembered, though: undo it.
     */
    add({ sourceId, id, bodyId, guid, happenedAt }: AcceptedEvent): boolean {
      const receivedAt = clock();
      const at = happenedAt === null ? null : Math.min(happenedAt, receivedAt);
      const isNewBody = bodyId === null || insert.run(sourceId, bodyId, receivedAt, null, null).changes === 1;
      return isNewBody && insert.run(sourceId, id, receivedAt, guid, at).changes === 1;
    },

    /** Forgets up to `limit` that came before `before` (unix ms). Returns how many. */
    prune: (before: number, limit: number): number => prune.run(before, limit).changes,

    removeOfSource: (sourceId: number, limit: number): number => removeOfSource.run(sourceId, limit).changes,
  };
});
