import { createInput, type Input } from '../../platform/http/input.ts';
import { SOURCE_KINDS, TITLE_MAX, VISIBILITIES, type SourceKind, type Visibility } from '../sources/source-store.ts';

/** Characters. What is longer is refused before any expression or parser looks at it. */
export const ADDRESS_MAX = 2_000;

/** A source as somebody asks for it. `url` is null for kinds that are not fetched; they have a title. */
export type WantedSource = { kind: SourceKind; url: string | null; title: string | undefined; visibility: Visibility };

export type SourceChange = {
  title: string | undefined;
  visibility: Visibility | undefined;
  paused: boolean | undefined;
};

/** A source to be added, out of a JSON object or form; 422 with all that is wrong with it. */
export function readNewSource(values: Record<string, unknown>): WantedSource {
  const kind = readKind(values);
  const input = createInput(values);
  const url = kind === 'feed' ? readAddress(input) : null;
  const rule = { max: TITLE_MAX };
  const title = kind === 'feed' ? input.optionalText('title', rule) : input.text('title', rule);
  const visibility = input.optionalChoice('visibility', VISIBILITIES) ?? 'public';
  input.done();
  return { kind, url, title, visibility };
}

function readKind(values: Record<string, unknown>): SourceKind {
  const input = createInput(values);
  const kind = input.optionalChoice('kind', SOURCE_KINDS);
  if (values['kind'] === undefined) input.refuse('kind', 'is required.');
  input.done();
  return kind ?? 'feed';
}

function readAddress(input: Input): string {
  const typed = input.text('url', { max: ADDRESS_MAX });
  const url = feedAddress(typed);
  if (typed && !url) input.refuse('url', 'must be the http or https address of a feed or web page.');
  return url ?? '';
}

/** What is to be changed about a source; what is absent stays. 422 with all that is wrong. */
export function readSourceChange(values: Record<string, unknown>): SourceChange {
  const input = createInput(values);
  const change = {
    title: values['title'] === undefined ? undefined : input.text('title', { max: TITLE_MAX }),
    visibility: input.optionalChoice('visibility', VISIBILITIES),
    paused: input.optionalFlag('paused'),
  };
  input.done();
  return change;
}

/**
 * A feed's address as people type it: `https://` may be left out, the fragment does not count. Undefined for what
 * cannot be fetched: another scheme, a user name in it, no host, more than ADDRESS_MAX characters.
 */
export function feedAddress(typed: string): string | undefined {
  if (typed.length > ADDRESS_MAX) return undefined;
  const trimmed = typed.trim().replace(/^feed:(\/\/)?/i, '');
  const isHostAndPort = /^[^/?#:.]*\.[^/?#:]*:\d/.test(trimmed);
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !isHostAndPort;
  const written = hasScheme ? trimmed : `https://${trimmed}`;
  if (!URL.canParse(written)) return undefined;
  const url = new URL(written);
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const isFetchable = isWeb && url.username === '' && url.password === '' && url.hostname !== '';
  url.hash = '';
  return isFetchable ? url.href : undefined;
}
