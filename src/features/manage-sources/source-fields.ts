import { unescape } from 'node:querystring';
import type { JsonObject } from '../../platform/http/body.ts';
import {
  anyOf, choice, field, line, noted, object, optional, orNull, readGiven, secret, text, type Given,
} from '../../platform/http/fields.ts';
import { createInput, type Input } from '../../platform/http/input.ts';
import { withoutFeedScheme } from '../feeds/feed-address.ts';
import type { FeedPassword } from '../feeds/feed-passwords.ts';
import { FOLDER_MAX } from '../follows/follow-store.ts';
import { SOURCE_KINDS, TITLE_MAX, VISIBILITIES, type Visibility } from '../sources/source-store.ts';

const PASSWORD_MAX = 1_024; // bytes

/** Characters; checked before any regular expression or parser reads an address. */
export const ADDRESS_MAX = 2_000;

const title = line({ max: TITLE_MAX });
const visibility = optional(choice(VISIBILITIES));
const folder = optional(line({ max: FOLDER_MAX }));

/** The web address of a feed, without user name and password. */
export const feedUrl = field<string>({ type: 'string', maxLength: ADDRESS_MAX }, (input, name) => {
  const typed = input.optionalText(name, { max: ADDRESS_MAX });
  if (typed === undefined) return undefined;
  return feedAddress(typed)?.url ?? input.refuse(name, 'must be the http or https address of a feed or web page.');
});

/** What a publisher asks for; also read from the address. Null removes both. `password` is read from both members. */
export const CREDENTIALS = {
  username: optional(field<never>(orNull(text).schema, () => undefined)),
  password: optional(field<FeedPassword | null>(orNull(secret(1, PASSWORD_MAX)).schema, readPassword)),
};

export const NEW_SOURCE = {
  kind: choice(SOURCE_KINDS),
  url: optional(field<string>(feedUrl.schema, (input, name) =>
    (input.value('kind') === 'feed' ? feedUrl.read(input, name) ?? input.missing(name) : undefined))),
  title: optional(title), visibility, ...CREDENTIALS, folder,
};

/** NEW_SOURCE in OpenAPI. */
export const NEW_SOURCE_BODY = anyOf(
  object({
    ...NEW_SOURCE, kind: choice(['feed']), url: noted(feedUrl, 'A feed, or a web page that links to a feed'),
  }),
  object({ kind: choice(['webhook', 'native']), title, visibility, folder }),
);

export type NewSource = Given<typeof NEW_SOURCE>;

export function checkNewSource(input: Input, { kind, ...given }: Partial<NewSource>): void {
  const isFeed = kind === undefined || kind === 'feed';
  if (!isFeed && given.title === undefined) input.missing('title');
  if (!isFeed && given.password) input.refuse('username', 'applies only to feeds.');
  checkVisibility(input, given.visibility, Boolean(given.password));
}

/** A source that has or had a password is always private. */
export function checkVisibility(input: Input, wanted: Visibility | undefined, hadPassword: boolean): void {
  const isOpen = hadPassword && wanted === 'public';
  if (isOpen) input.refuse('visibility', 'must be private: the feed requires, or once required, a password.');
}

export function readNewSource(values: JsonObject): NewSource {
  return readGiven(NEW_SOURCE, values, { check: checkNewSource });
}

/** Moves a user name and password in the typed address to their own fields; drops them if either field is filled. */
export function fillPassword<Values extends Record<string, unknown>>(values: Values): Values {
  const { url: typed, username, password } = values;
  const found = typeof typed === 'string' ? feedAddress(typed) : undefined;
  if (!found?.password) return values;
  const { username: name, password: secret } = found.password;
  return { ...values, url: found.url, ...(username || password ? {} : { username: name, password: secret || null }) };
}

/** Returns null if both fields are empty, undefined if both are missing. */
function readPassword(sent: Input): FeedPassword | null | undefined {
  const typed = ['url', 'username', 'password'].map((name) => [name, sent.isNull(name) ? null : sent.value(name)]);
  const values = fillPassword(Object.fromEntries(typed));
  const input = createInput(values, { errors: sent.errors });
  const given = [values['username'], values['password']];
  if (given.every((value) => (value ?? '') === '')) return input.has('username') ? null : undefined;
  const username = input.secret('username', 1, PASSWORD_MAX);
  const isAlone = input.has('password') && input.value('password') === undefined; // null: only a name, such as a token
  const password = isAlone ? '' : input.secret('password', 1, PASSWORD_MAX);
  if (/[:\p{Cc}]/u.test(username)) input.refuse('username', 'must not contain colons or control characters.');
  if (/\p{Cc}/u.test(password)) input.refuse('password', 'must not contain control characters.');
  return { username, password };
}

/** An address without user name and password, which stand beside it. */
type TypedAddress = { url: string; password: FeedPassword | null };

/** Adds a missing `https://` and drops the fragment; undefined if the address is not a fetchable http(s) address. */
export function feedAddress(typed: string): TypedAddress | undefined {
  if (typed.length > ADDRESS_MAX) return undefined;
  const trimmed = withoutFeedScheme(typed);
  const isHostAndPort = /^[^/?#:.]*\.[^/?#:]*:\d/.test(trimmed);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !isHostAndPort;
  const written = hasScheme ? trimmed : `https://${trimmed}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const [username, password] = [unescape(url.username), unescape(url.password)];
  if (!isWeb || url.hostname === '' || /[:\p{Cc}]/u.test(username) || /\p{Cc}/u.test(password)) return undefined;
  [url.username, url.password, url.hash] = ['', '', ''];
  return { url: url.href, password: username || password ? { username, password } : null };
}
