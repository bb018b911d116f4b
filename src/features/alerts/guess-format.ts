import type { AlertFormat } from '../hub/settings.ts';

type Rule = { format: AlertFormat; matches: (url: URL) => boolean };

// Names that a topic of ntfy cannot have.
const RESERVED_TOPICS = new Set([
  'docs', 'static', 'file', 'app', 'account', 'settings', 'pricing', 'signup', 'login', 'reset-password',
]);

const DISCORD_PATH = /^\/api\/(?:v\d+\/)?webhooks\/\d+\/[\w-]+/;

// The first that matches counts. Self-hosted receivers are told by their paths, whatever their hosts are called.
const RULES: Rule[] = [
  { format: 'slack', matches: (url) => isSlack(url) && url.pathname.startsWith('/services/') },
  { format: 'json', matches: isSlack }, // workflows and triggers there take JSON of their owner's making
  { format: 'slack', matches: (url) => isDiscord(url) && url.pathname.endsWith('/slack') },
  { format: 'discord', matches: isDiscord },
  { format: 'googlechat', matches: ({ hostname }) => hostname === 'chat.googleapis.com' },
  { format: 'teams', matches: isTeams },
  { format: 'rocketchat', matches: ({ pathname }) => /^(?:\/.+)?\/hooks\/\w+\/\w+(?:\/\w+)?\/?$/.test(pathname) },
  { format: 'mattermost', matches: ({ pathname }) => /^(?:\/.+)?\/hooks\/[a-z0-9]{26}\/?$/.test(pathname) },
  { format: 'mattermost', matches: ({ host, pathname }) => /^mattermost\..*\/hooks\/\w+$/.test(host + pathname) },
  { format: 'gotify', matches: (url) => url.pathname.endsWith('/message') && url.searchParams.has('token') },
  { format: 'ntfy', matches: isTopic },
];

/**
 * The format that an address looks like, for `auto`. A single path segment is taken for an ntfy topic; `json` for
 * whatever is not recognised.
 */
export function guessFormat(address: string): AlertFormat {
  const url = URL.parse(address);
  return RULES.find(({ matches }) => url !== null && matches(url))?.format ?? 'json';
}

function isSlack({ hostname }: URL): boolean {
  return hostname === 'hooks.slack.com' || hostname === 'hooks.slack-gov.com';
}

function isDiscord({ hostname, pathname }: URL): boolean {
  return /^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/.test(hostname) && DISCORD_PATH.test(pathname);
}

function isTeams({ hostname, pathname }: URL): boolean {
  return /\/workflows\/[^/]+\/triggers\/manual\/paths\/invoke\/?$/.test(pathname)
    || /\.(?:logic\.azure\.com|api\.powerplatform\.com|webhook\.office\.com)$/.test(hostname);
}

function isTopic({ pathname }: URL): boolean {
  const topic = /^\/([\w-]{1,64})\/?$/.exec(pathname)?.[1];
  return topic !== undefined && !RESERVED_TOPICS.has(topic);
}
