import { html, type Html } from '../../platform/http/html.ts';
import { details, postForm } from '../../platform/http/page-parts.ts';
import type { Page } from '../../platform/http/reply.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import type { Source } from '../sources/source-store.ts';
import type { WebhookAccess } from './manage-webhooks.ts';
import type { Webhook } from './webhook-store.ts';

const STATES: Record<Webhook['state'], string> = {
  active: 'receiving events',
  silent: 'silent: no valid event for more than 7 days',
  disabled: 'paused: senders are told to stop (410)',
};

/** For a webhook's managers: its state, instructions, and a button for a new secret. */
export function webhookPanel(webhook: Webhook, url: string, times: Times): Html {
  const { sourceId, state, lastEventAt, previousUntilAt } = webhook;
  const until = previousUntilAt !== null && showTime(times, previousUntilAt, 'exact');
  return html`
  <dl class="facts">
    <dt>Address</dt><dd><code>${url}</code></dd>
    <dt>State</dt><dd>${STATES[state]}</dd>
    <dt>Last event</dt><dd>${lastEventAt === null ? 'none yet' : showTime(times, lastEventAt)}</dd>
    ${until && html`<dt>Previous secret</dt><dd>valid until ${until}</dd>`}
  </dl>
  ${details('How to send events', html`
    <p>Events are signed as in <a href="https://www.standardwebhooks.com/" rel="noopener noreferrer">Standard
      Webhooks</a> 1.0, or as GitHub does (<code>X-Hub-Signature-256</code>). <code>post.published</code> and
      <code>post.updated</code> carry a JSON Feed item in <code>data</code>; <code>post.deleted</code> only its
      <code>id</code>. Put your secret in the first line and run these commands in a shell:</p>
    <pre><code>${webhookExample(url, null)}</code></pre>
    <p>GitHub’s format does not sign the event’s id, so there an event with the same body as another of the last 7 days
      is a duplicate. A webhook that gets only duplicates is marked as silent.</p>`)}
  ${details('New secret', postForm(`/sources/${sourceId}/webhook/rotate`, html`
    <p>The current one stays valid for 24 hours. One that was replaced earlier becomes invalid at once.</p>`,
  html`<button class="secondary">Create new secret</button>`))}`;
}

export function newWebhookPage(source: Source, access: WebhookAccess): Page {
  return secretPage('The webhook is ready', source, access, 'It will not be shown again.');
}

export function newSecretPage(source: Source, access: WebhookAccess): Page {
  const note = 'It will not be shown again. The previous one stays valid for 24 hours.';
  return secretPage('New secret', source, access, note);
}

function secretPage(heading: string, { id, title }: Source, { url, secret }: WebhookAccess, note: string): Page {
  const main = html`
<section class="stack">
  <h1>${heading}</h1>
  <p class="lead">Copy the secret of “${title}” now. ${note}</p>
  <dl class="facts">
    <dt>Address</dt><dd><code>${url}</code></dd>
    <dt>Secret</dt><dd><code>${secret}</code></dd>
  </dl>
  <h2>Try it</h2>
  <p>These commands make a post; they need curl and openssl:</p>
  <pre><code>${webhookExample(url, secret)}</code></pre>
  <p><a class="button" href="/sources/${id}">Go to the source</a></p>
</section>`;
  return { title: heading, main, section: 'sources' };
}

/** POSIX shell commands that send an event and create a post; if `secret` is null, the user puts the secret in. */
export function webhookExample(url: string, secret: string | null): string {
  return `secret='${secret ?? 'whsec_…'}'
url='${url}'
id="msg_$(openssl rand -hex 12)"
now=$(date +%s)
post='"title":"Hello","content_text":"It works."'
body=$(printf '{"type":"post.published","timestamp":"%s","data":{"id":"%s",%s}}' \\
  "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$id" "$post")
key=$(printf '%s' "\${secret#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf '%s.%s.%s' "$id" "$now" "$body" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
curl -sS "$url" -H 'Content-Type: application/json' \\
  -H "webhook-id: $id" -H "webhook-timestamp: $now" -H "webhook-signature: v1,$signature" \\
  --data-binary "$body"
`;
}
