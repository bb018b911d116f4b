import { HttpError, invalid, type FieldError } from '../../platform/http/problem.ts';
import type { IncomingPost } from '../posts/incoming-post.ts';
import { isObject, readMembers, type JsonObject } from './event-members.ts';
import { readGuid, readItem } from './read-item.ts';

/** What an event asks for; `at` is its own time, unix ms. Events of other types only show that the sender lives. */
export type WebhookEvent =
  | { kind: 'publish'; type: string; at: number; item: IncomingPost }
  | { kind: 'delete'; type: string; at: number; guid: string }
  | { kind: 'other'; type: string };

type Content = { kind: 'publish'; item: IncomingPost } | { kind: 'delete'; guid: string };

const PUBLISHING = new Set(['post.published', 'post.updated']);
const DELETING = 'post.deleted';

const TYPE = /^[a-zA-Z0-9_.]{1,128}$/; // Standard Webhooks 1.0
const MAX_ERRORS = 20;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads `{ "type", "timestamp", "data": <JSON Feed 1.1 item> }`, to be called once the signature holds. `baseUrl` is
 * what relative links of an item without an address of its own resolve against; `headerType` the name that GitHub gives
 * an event outside its body, for one without a type. Throws HttpError 400 for what is no event, with the mistakes and
 * their places in a JSON object.
 */
export function readEvent(body: Buffer, baseUrl: string, headerType: string | null = null): WebhookEvent {
  const event = parseObject(body);
  if (event['type'] === undefined && headerType !== null) return { kind: 'other', type: headerType };
  const type = readType(event);
  if (!PUBLISHING.has(type) && type !== DELETING) return { kind: 'other', type };

  const errors: FieldError[] = [];
  const members = readMembers(event, '', errors);
  const at = members.required('timestamp', members.instant('timestamp'));
  const data = members.required('data', members.object('data'));
  const content = data === null ? null : readContent(type, data, baseUrl, errors);
  if (errors.length > 0 || at === null || content === null) throw invalid(errors.slice(0, MAX_ERRORS), 400);
  return { ...content, type, at };
}

function readContent(type: string, data: JsonObject, baseUrl: string, errors: FieldError[]): Content | null {
  if (type === DELETING) {
    const guid = readGuid(data, errors);
    return guid === null ? null : { kind: 'delete', guid };
  }
  const item = readItem(data, baseUrl, errors);
  return item === null ? null : { kind: 'publish', item };
}

function parseObject(body: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(UTF8.decode(body));
  } catch {
    throw new HttpError(400, 'The body is not valid JSON in UTF-8.');
  }
  if (!isObject(value)) throw new HttpError(400, 'The body must be a JSON object.');
  return value;
}

function readType({ type }: JsonObject): string {
  if (typeof type === 'string' && TYPE.test(type)) return type;
  const detail = '“type” must be a name of letters, digits, underscores and full stops, such as post.published.';
  throw invalid([{ pointer: '/type', detail }], 400);
}
