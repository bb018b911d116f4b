import { hasPassed, MINUTE, SECOND } from '../../platform/clock.ts';
import { heartbeats, type Hub } from '../hub/hub.ts';
import { changedSettings } from '../hub/read-config.ts';
import { readings } from './history-store.ts';

/** Web notes each minute that it runs. */
export const PROCESS_ALIVE = 2 * MINUTE + 30 * SECOND;

type Note = { names: string[] };

/** Stores the settings that need a restart of this process, for other processes to show. */
export function noteChangedSettings(hub: Hub): void {
  const names = changedSettings(hub.config);
  if (noted(hub, hub.program).join() === names.join()) return;
  hub.db.write('note changed settings', () => readings(hub).put(noteName(hub.program), { names } satisfies Note));
}

/** Names of settings that need a restart of web, worker or this process. */
export function settingsToApply(hub: Hub): string[] {
  const others = (['web', 'worker'] as const).filter((program) => program !== hub.program && isRunning(hub, program))
    .flatMap((program) => noted(hub, program));
  return [...new Set([...changedSettings(hub.config), ...others])];
}

function isRunning(hub: Hub, program: string): boolean {
  return !hasPassed(heartbeats(hub).lastSeen(program) ?? -Infinity, PROCESS_ALIVE, hub.clock());
}

function noted(hub: Hub, program: string): string[] {
  return readings(hub).find<Note>(noteName(program))?.reading.names ?? [];
}

/** Key of the stored note. */
function noteName(program: string): string {
  return `changed settings of ${program}`;
}
