import { audit, type RecordAct } from '../features/audit/audit.ts';
import { noteError } from '../features/errors/error-store.ts';
import { jobHandlers } from '../features/hub/job-kind.ts';
import { counts, jobs, limits, throttled, type Hub } from '../features/hub/hub.ts';
import { notifications } from '../features/notifications/notification-store.ts';
import { sources } from '../features/sources/source-store.ts';
import { JOB_KINDS } from './job-kinds.ts';

export type Surroundings = Hub;

export type App = ReturnType<typeof createApp>;

/** The hub and what is still asked of it by name. */
export function createApp(hub: Hub) {
  const recordAct: RecordAct = (...event) => audit(hub, ...event);
  return {
    ...hub,
    hub,
    counts: counts(hub),
    errors: { note: (error: unknown) => noteError(hub, error) },
    recordAct,
    limits: limits(hub),
    paced: throttled(hub),
    jobs: jobs(hub),
    handlers: jobHandlers(hub, JOB_KINDS),
    sources: sources(hub),
    notifications: notifications(hub),
  };
}
