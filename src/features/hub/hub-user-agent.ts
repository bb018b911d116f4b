import type { Config } from './config.ts';

/** How the hub introduces itself to other servers. */
export function hubUserAgent({ version, baseUrl }: Config): string {
  return `ContentHub/${version} (+${baseUrl})`;
}
