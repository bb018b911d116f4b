/** Who did something: an account, or the command line and the hub itself (id null). */
export type Actor = { id: number | null; name: string; address: string | null };

export type ActTarget = { kind: string; id: number | null; name: string };

/**
 * Writes one audit record, in the caller's transaction. `act` is noun.verb; `detail` never holds secrets. Throws
 * HttpError 401 for an account that has left, so that what it asked for before that is not done after it.
 */
export type RecordAct = (
  act: string,
  actor: Actor,
  target?: ActTarget,
  detail?: Record<string, string | number | boolean | null>,
) => void;

/** The actor of a request: its signed-in viewer, or nobody from an address. */
export function actorOf(request: { viewer: { id: number; username: string } | null; address: string }): Actor {
  const { viewer, address } = request;
  return { id: viewer?.id ?? null, name: viewer?.username ?? '', address };
}

export const COMMAND_LINE: Actor = { id: null, name: 'command line', address: null };
export const THE_HUB: Actor = { id: null, name: 'hub', address: null };
