import { SECOND } from './clock.ts';
import type { Log } from './log.ts';

/** Lines of one client in a second; strangers could fill the log with what they are refused. */
const FEW = 5;

/** Clients of one second that are counted apart; any further ones count as one. */
const MAX_CLIENTS = 1_000;

/** Writes a client's first lines in a second, and counts its others in one line, the event `counted`. */
export function limitLines(log: Log, counted: string) {
  const clients = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  function note(client: string, write: () => void): void {
    const name = clients.has(client) || clients.size < MAX_CLIENTS ? client : '';
    const count = (clients.get(name) ?? 0) + 1;
    clients.set(name, count);
    if (count <= FEW) write();
    timer ??= setTimeout(tell, SECOND).unref();
  }

  function tell(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const count of clients.values()) if (count > FEW) log.info(counted, { count: count - FEW });
    clients.clear();
  }

  return { note, tell };
}
