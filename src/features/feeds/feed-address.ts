const QUOTED = /^[<"'`“„«‘‹][^]*[>"'`”“»’›]$/;
const FEED_SCHEME = /^(?:web\+)?(?:feed|rss|podcast|pcast|itpc)(s?):(\/\/)?/i;

/**
 * An address as people, pages and programs write it for feeds, without quotes around it and the schemes that only mean
 * "a feed": `feed://host` means http, `feeds://host` https.
 */
export function withoutFeedScheme(address: string): string {
  const trimmed = address.trim();
  const bare = QUOTED.test(trimmed) ? trimmed.slice(1, -1).trim() : trimmed;
  const written = bare.replace(/^(?:url|view-source):\s*/i, '');
  const [scheme = '', secure = '', slashes] = FEED_SCHEME.exec(written) ?? [];
  const rest = written.slice(scheme.length).replace(/^(https?)(?=\/\/)/i, '$1:');
  return slashes && !/^https?:/i.test(rest) ? `http${secure}://${rest}` : rest;
}
