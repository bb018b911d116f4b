/**
 * Who did something: an account, or the command line and the hub itself (id null). `recheck` throws 401 or 403 where
 * that account may not do it any more.
 */
export type Actor = { id: number | null; name: string; address: string | null; recheck?: () => void };

export type ActTarget = { kind: string; id: number | null; name: string };

/**
 * Writes one audit record, in the caller's transaction. `act` is noun.verb; `detail` never holds secrets. Throws
 * HttpError 401 or 403 where the session, token, role or account has gone with which the act was asked for: what was
 * begun before that is not done after it. An act that ends the actor's own session or token is recorded first.
 */
export type RecordAct = (
  act: string,
  actor: Actor,
  target?: ActTarget,
  detail?: Record<string, string | number | boolean | null>,
) => void;

type Request = { viewer: { id: number; username: string } | null; address: string; recheck(): void };

/** The actor of a request: its signed-in viewer, or nobody from an address. */
export function actorOf(request: Request): Actor {
  const { viewer, address, recheck } = request;
  return { id: viewer?.id ?? null, name: viewer?.username ?? '', address, recheck };
}

export const COMMAND_LINE: Actor = { id: null, name: 'command line', address: null };
export const THE_HUB: Actor = { id: null, name: 'hub', address: null };
