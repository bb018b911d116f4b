import { store } from '../hub/hub.ts';
import type { Trouble } from './troubles.ts';

/** What is known of one kind of trouble; times in unix ms. */
export type AlertEvent = {
  event: Trouble;
  isOpen: number;
  isTold: number;
  untold: number;
  subjects: string[];
  raisedAt: number | null;
  toldAt: number | null;
  overToldAt: number | null;
};

type Columns = Omit<AlertEvent, 'subjects'> & { subjects: string };

export type AlertEventStore = ReturnType<typeof alertEvents>;

const COLUMNS = `event, is_open AS isOpen, is_told AS isTold, untold, subjects, raised_at AS raisedAt,
  told_at AS toldAt, over_told_at AS overToldAt`;

/** One row for each kind of trouble that there has been. */
export const alertEvents = store(({ db }) => {
  const select = db.prepare<[string], Columns>('alert event', `SELECT ${COLUMNS} FROM alert_events WHERE event = ?`);
  const selectAll = db.prepare<[], Columns>('alert events', `SELECT ${COLUMNS} FROM alert_events`);
  const upsert = db.prepare<[Columns]>('store alert event', `
    INSERT INTO alert_events (event, is_open, is_told, untold, subjects, raised_at, told_at, over_told_at)
    VALUES (@event, @isOpen, @isTold, @untold, @subjects, @raisedAt, @toldAt, @overToldAt)
    ON CONFLICT DO UPDATE SET is_open = excluded.is_open, is_told = excluded.is_told, untold = excluded.untold,
      subjects = excluded.subjects, raised_at = excluded.raised_at, told_at = excluded.told_at,
      over_told_at = excluded.over_told_at`);

  return {
    find(event: Trouble): AlertEvent | undefined {
      const row = select.get(event);
      return row && toEvent(row);
    },

    all: (): AlertEvent[] => selectAll.all().map(toEvent),

    put: ({ subjects, ...row }: AlertEvent): void => void upsert.run({ ...row, subjects: JSON.stringify(subjects) }),
  };
});

function toEvent({ subjects, ...row }: Columns): AlertEvent {
  return { ...row, subjects: JSON.parse(subjects) as string[] };
}
