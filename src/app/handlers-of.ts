import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { Hub } from '../features/hub/hub.ts';
import { errorFields } from '../platform/log.ts';

/** The functions of a file that take a hub and a request. A name or a type that does not fit is a type error. */
type HandlersOf<File> = {
  [Name in keyof File as File[Name] extends (hub: Hub, request: never) => unknown ? Name : never]:
    File[Name] extends (hub: Hub, request: infer Request) => infer Result
      ? (hub: Hub, request: Request) => Result | Promise<Awaited<Result>>
      : never;
};

type AnyHandler = (hub: Hub, request: unknown) => unknown;

/** ms. Whoever waits for web asks for its readiness first, which needs no handlers. */
const AFTER_LISTENING = 100;

const loads: (() => Promise<unknown>)[] = [];

/**
 * The handlers of a file that need not be there before web listens: `loadHandlers` loads it, or an earlier first call
 * of one of them.
 */
export function handlersOf<File extends object>(importFile: () => Promise<File>): HandlersOf<File> {
  const handlers = new Map<string, AnyHandler>();
  const named: string[] = [];

  async function load(): Promise<void> {
    const file = await loadFile(importFile);
    for (const name of named) handlers.set(name, functionOf(file, name));
  }

  function handler(name: string): AnyHandler {
    named.push(name);
    return (hub, request) => {
      const call = handlers.get(name);
      return call ? call(hub, request) : load().then(() => handlers.get(name)?.(hub, request));
    };
  }

  loads.push(load);
  return new Proxy({} as HandlersOf<File>, { get: (_, name) => handler(String(name)) });
}

/** As `handlersOf`, of a file whose functions take something else. A second import takes 50 µs. */
export function loadedLater<File extends object>(importFile: () => Promise<File>): () => Promise<File> {
  let file: File | undefined;
  const load = async (): Promise<File> => file ??= await loadFile(importFile);
  loads.push(load);
  return load;
}

/** Loads a file, and names it in the error where it cannot be loaded: for some syntax errors Node does not. */
export async function loadFile<File>(importFile: () => Promise<File>): Promise<File> {
  try {
    return await importFile();
  } catch (cause) {
    const { error, stack } = errorFields(cause);
    const path = /import\('[./]*([^']+)'\)/.exec(String(importFile))?.[1] ?? 'a file';
    throw Object.assign(new Error(`${path}: ${error}`, { cause }), { stack });
  }
}

function functionOf(file: object, name: string): AnyHandler {
  const found: unknown = Reflect.get(file, name);
  if (typeof found !== 'function') throw new Error(`a route names a handler ${name} that does not exist`);
  return found as AnyHandler;
}

/** Loads the files of all handlers, with a turn for requests after each. Rejects when one cannot be loaded. */
export async function loadHandlers(): Promise<void> {
  await delay(AFTER_LISTENING);
  for (const load of loads) {
    await load();
    await nextTurn();
  }
}
