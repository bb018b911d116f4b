// Protects what each kind of receiver is sent: whole, within its limits, and nothing in it commands the receiver.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert } from '../../../src/features/alerts/alert-text.ts';
import { formatAlert, guessFormat, type AlertRequest } from '../../../src/features/alerts/format-alert.ts';
import { describeDestination } from '../../../src/features/alerts/alert-list.ts';
import { sendAlert } from '../../../src/features/alerts/send-alert.ts';
import { ALERT_FORMATS, type AlertFormat } from '../../../src/features/hub/settings.ts';
import { addressFor, alertWith, everyRequest, textsIn } from '../../support/alerts.ts';
import { reply, startOrigin } from '../../support/origin.ts';

const HUB = 'https://hub.example.org';
const JSON_TYPE = 'application/json; charset=utf-8';
const TITLE = 'A source cannot be synchronised';
const TEXT = 'Five attempts have failed.\nThe last answer was 503.';
const REPEATS = '(2 more alerts like this were not sent since the last message)';
const WORKFLOW = '/workflows/0a/triggers/manual/paths/invoke';
const ORIGIN = '2026-01-31 12:00 UTC · sync.exhausted · https://hub.example.org';
const LINES = `${TEXT}\n${REPEATS}\n${ORIGIN}`;

/** What each receiver gets of `alertWith({ suppressed: 2 })`. */
const EXPECTED: Record<Exclude<AlertFormat, 'ntfy'>, unknown> = {
  slack: {
    text: TITLE, mrkdwn: false,
    attachments: [{ color: '#e01e5a', fallback: TITLE, text: LINES, mrkdwn_in: [] }],
  },
  mattermost: { text: `🔴 **${TITLE}**\n${LINES}` },
  rocketchat: { text: `🔴 *${TITLE}*\n${LINES}` },
  discord: {
    content: `**${TITLE}**`, embeds: [{ description: LINES, color: 0xe01e5a }], allowed_mentions: { parse: [] },
  },
  googlechat: { text: `🔴 *${TITLE}*\n${LINES}` },
  teams: {
    type: 'message',
    attachments: [{
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.2',
        body: [
          { type: 'TextBlock', text: TITLE, weight: 'Bolder', size: 'Medium', wrap: true, color: 'Attention' },
          { type: 'TextBlock', text: TEXT.replace('\n', '\n\n'), wrap: true },
          { type: 'TextBlock', text: `${REPEATS}\n\n${ORIGIN}`, wrap: true, isSubtle: true, size: 'Small' },
        ],
        msteams: { width: 'full' },
      },
    }],
  },
  gotify: {
    title: TITLE, message: LINES, priority: 8,
    extras: { 'client::display': { contentType: 'text/plain' }, 'client::notification': { click: { url: HUB } } },
  },
  json: {
    event: 'sync.exhausted', severity: 'error', title: TITLE, text: TEXT, at: '2026-01-31T12:00:00.000Z', hubUrl: HUB,
    suppressed: 2,
  },
};

for (const format of ALERT_FORMATS) {
  test(`what ${format} is sent arrives in its form, at the address that was given`, async (t) => {
    const receiver = await startOrigin(t, reply(200, {}, 'ok'));
    const url = addressFor(format, receiver.url);
    const to = { url, format, userAgent: 'ContentHub/1 (+x)', clock: () => 0 };
    await sendAlert(to, alertWith({ suppressed: 2 }));

    assert.equal(receiver.requests.length, 1);
    const { method, path, headers, body } = receiver.requests[0] ?? assert.fail('nothing came');
    const expectedUrl = format === 'discord' ? `${url}?wait=true` : url;
    assert.deepEqual([method, receiver.url + path], ['POST', expectedUrl]);
    assert.equal(headers['user-agent'], 'ContentHub/1 (+x)');
    assert.equal(headers['content-length'], String(body.length));
    if (format === 'ntfy') {
      assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
      const { title, priority, tags, click } = headers;
      assert.deepEqual([title, priority, tags, click], [TITLE, 'high', 'red_circle', HUB]);
      assert.equal(body.toString(), LINES);
    } else {
      assert.equal(headers['content-type'], JSON_TYPE);
      assert.deepEqual(JSON.parse(body.toString()), EXPECTED[format]);
    }
  });
}

function bodyOf(format: AlertFormat, changes: Partial<Alert>): string {
  return textsIn(requestFor(format, changes).body);
}

function requestFor(format: AlertFormat, changes: Partial<Alert>): AlertRequest {
  return formatAlert(format, addressFor(format, 'http://127.0.0.1:9'), alertWith(changes));
}

/** RFC 2047, section 2 and 6.2: white space between encoded words does not count. */
function decodeWords(value: string): string {
  const words = value.split(' ').map((word) => /^=\?UTF-8\?B\?([A-Za-z0-9+/=]+)\?=$/.exec(word)?.[1]);
  if (words.includes(undefined)) return value;
  const decoder = new TextDecoder('utf-8', { fatal: true }); // each word holds whole characters
  return words.map((word) => decoder.decode(Buffer.from(word ?? '', 'base64'))).join('');
}

test("ntfy's title is ASCII words of at most 75 characters, also where it is long or only looks encoded", () => {
  const owls = '🦉'.repeat(70);
  for (const title of [owls, `xx${owls}`, `xxx${owls}`, '漢字'.repeat(70), 'é', '=?UTF-8?B?b3ds?=', 'a =? b']) {
    const header = requestFor('ntfy', { title }).headers['Title'] ?? '';
    assert.match(header, /^[ -~]+$/);
    for (const word of header.split(' ')) assert.ok(word.length <= 75, word);
    assert.equal(decodeWords(header), title);
  }
  assert.equal(requestFor('ntfy', { title: 'plain ASCII, as it is!' }).headers['Title'], 'plain ASCII, as it is!');
});

test('no character of a title adds a header or a line to one', () => {
  const title = 'a\r\nX-Evil: 1\n\0b\u2028c';
  const changes = { title, event: 'e\r\nX-Evil: 2' };
  for (const { format, request } of everyRequest('http://127.0.0.1:9', changes)) {
    assert.equal('X-Evil' in request.headers, false);
    for (const value of Object.values(request.headers)) assert.match(value, /^[ -~]*$/, format);
  }
});

test('nobody is mentioned, whatever stands in title and text', () => {
  const calls = '@everyone @here @channel @all @ada <!channel> <!here> <@U123> <users/all> <@&42> '
    + 'https://x.example/@all';
  const changes = { title: calls, text: calls };
  for (const format of ['mattermost', 'rocketchat', 'slack'] as const) {
    assert.doesNotMatch(bodyOf(format, changes), /@(?:everyone|here|channel|all|ada|U123)/, format);
    assert.doesNotMatch(bodyOf(format, changes), /<[!@u]/, format);
  }
  assert.doesNotMatch(bodyOf('googlechat', changes), /<users/);
  const discord: { allowed_mentions: unknown } = JSON.parse(requestFor('discord', changes).body);
  assert.deepEqual(discord.allowed_mentions, { parse: [] });
  assert.doesNotMatch(bodyOf('discord', changes), /(?<!\\)</);
});

test("Slack's control characters are written as entities", () => {
  const { text, attachments } = JSON.parse(requestFor('slack', { title: 'a & b <c>', text: '&lt; <http://x|y>' }).body);
  assert.equal(text, 'a &amp; b &lt;c&gt;');
  assert.equal(attachments[0].text.split('\n')[0], '&amp;lt; &lt;http://x|y&gt;');
});

test('Markdown in a text is shown and does not format; links stay links', () => {
  const text = '*a* __b__ ~~c~~ `d` [e](http://f.example) ||g|| \\ <http://h|i>'
    + '\n# j\n- k\n1. l\n> m\nhttps://n.example/o_p_q?r=*';
  const shown = '\\*a\\* \\_\\_b\\_\\_ \\~\\~c\\~\\~ \\`d\\` \\[e\\](http://f.example) \\|\\|g\\|\\| \\\\ ';
  const below = '\n\\# j\n\\- k\n1\\. l\n';
  const link = '\nhttps://n.example/o_p_q?r=\\*\n';
  for (const format of ['mattermost', 'rocketchat'] as const) {
    assert.ok(bodyOf(format, { text }).includes(`${shown}‹http://h\\|i›${below}› m${link}`), format);
  }
  assert.ok(bodyOf('discord', { text }).includes(`${shown}\\<http://h\\|i\\>${below}\\> m${link}`));
});

test('a card of Teams has no links with labels of their own, and keeps lines apart', () => {
  const texts = bodyOf('teams', { text: '[safe](http://evil.example)\nsecond\n\n\nthird' });
  assert.doesNotMatch(texts, /\]\(/);
  assert.match(texts, /evil\.example\)\n\nsecond\n\nthird/);
});

test('characters that reorder or hide what stands around them are left out', () => {
  const changes = { title: 'a\u202eb\u0007c', text: 'd\u2066e\0f\ud800' };
  for (const { format, request } of everyRequest('http://127.0.0.1:9', changes)) {
    assert.doesNotMatch(textsIn(request.body), /[\u202e\u2066\0\u0007]/, format);
    assert.ok(request.body.isWellFormed());
  }
});

test('whatever is sent stays within the limits of its receiver, and what must be known is not cut', () => {
  const bytes = (text: string) => Buffer.byteLength(text);
  const discordText = (body: string) => JSON.parse(body).embeds[0].description.length;
  const limits: Record<AlertFormat, (body: string) => boolean> = {
    slack: (body) => JSON.parse(body).attachments[0].text.length <= 3_000,
    mattermost: (body) => JSON.parse(body).text.length <= 4_000,
    rocketchat: (body) => JSON.parse(body).text.length <= 1_000,
    discord: (body) => JSON.parse(body).content.length <= 2_000 && discordText(body) <= 4_096,
    googlechat: (body) => bytes(body) <= 32_000 && JSON.parse(body).text.length <= 4_000,
    teams: (body) => bytes(body) <= 28_000,
    ntfy: (body) => bytes(body) < 4_096,
    gotify: (body) => JSON.parse(body).message.length <= 4_000,
    json: (body) => bytes(body) <= 100_000,
  };
  for (const filler of ['x', '*', '&', '漢', '🦉', '👩‍👩‍👧‍👦', '@', '\n', 'word ', '\\', '](']) {
    const long = filler.repeat(100_000);
    const changes = { title: `T${long}`, text: `A${long}`, event: 'the.event', suppressed: 7 };
    for (const { format, request } of everyRequest('http://127.0.0.1:9', changes)) {
      assert.ok(limits[format](request.body), `${format}, ${JSON.stringify(filler)}, ${bytes(request.body)} bytes`);
      assert.ok(request.body.isWellFormed());
      assert.ok(bytes(request.headers['Title'] ?? '') <= 1_024);
      const texts = textsIn(request.body);
      const last = /7 more alerts like this.*\n+2026-01-31 12:00 UTC · the\.event · https:\/\/hub/;
      if (format !== 'json') assert.match(texts, last, format);
      assert.match(texts, /[A*]/);
    }
  }
});

test('no escape is cut in half', () => {
  for (let padding = 0; padding < 12; padding += 1) {
    const text = 'x'.repeat(padding) + '&'.repeat(5_000);
    const shown = bodyOf('slack', { text }).split('\n').find((line) => line.includes('&')) ?? '';
    assert.match(shown, /^x*(?:&amp;)+…$/);
  }
});

test('each severity has its own look, the resolved one among them, and a warning is the usual one', () => {
  const looks = (['error', 'warning', 'info', 'resolved'] as const).map((severity) => ({
    slack: JSON.parse(requestFor('slack', { severity }).body).attachments[0].color,
    discord: JSON.parse(requestFor('discord', { severity }).body).embeds[0].color,
    teams: JSON.parse(requestFor('teams', { severity }).body).attachments[0].content.body[0].color,
    mattermost: bodyOf('mattermost', { severity }).slice(0, 2),
    ntfy: requestFor('ntfy', { severity }).headers['Tags'],
  }));
  for (const format of ['slack', 'discord', 'teams', 'mattermost', 'ntfy'] as const) {
    assert.equal(new Set(looks.map((look) => look[format])).size, 4, format);
  }
  const { severity, ...unsaid } = alertWith();
  assert.equal(severity, 'error');
  const url = addressFor('json', 'http://127.0.0.1:9');
  assert.equal(JSON.parse(formatAlert('json', url, unsaid).body).severity, 'warning');
});

test('repeats that were held back are told only where there were any', () => {
  assert.doesNotMatch(bodyOf('gotify', { suppressed: 0 }), /more like/);
  assert.match(bodyOf('gotify', { suppressed: 1 }), /\(1 more alert like this was not sent/);
  assert.match(bodyOf('gotify', { suppressed: 9_999 }), /\(9999 more alerts like this were not sent/);
});

test('an alert without words still says something', () => {
  const changes = { title: ' \n', text: '\0', event: 'sync.exhausted' };
  for (const { format, request } of everyRequest('http://127.0.0.1:9', changes)) {
    assert.match(format === 'ntfy' ? `${request.headers['Title']}` : textsIn(request.body), /sync\.exhausted/);
    assert.ok(request.body.length > 0);
  }
});

test('an address that is none is not repeated', () => {
  assert.throws(() => formatAlert('json', 'no SECRET address', alertWith()), (error: Error) =>
    error instanceof TypeError && !`${error.stack}${JSON.stringify(error)}`.includes('SECRET'));
});

for (const [address, format] of [
  ['https://hooks.slack.com/services/T00/B00/xyz', 'slack'],
  ['https://hooks.slack-gov.com/services/T00/B00/xyz', 'slack'],
  ['https://hooks.slack.com/workflows/T00/A00/1/x', 'json'], ['https://hooks.slack.com/triggers/E/1/x', 'json'],
  ['https://discord.com/api/webhooks/123/ab_c-d', 'discord'],
  ['https://discordapp.com/api/webhooks/123/abc', 'discord'],
  ['https://ptb.discord.com/api/v10/webhooks/123/abc?thread_id=1', 'discord'],
  ['https://discord.com/api/webhooks/123/abc/slack', 'slack'],
  ['https://chat.googleapis.com/v1/spaces/AAA/messages?key=k&token=t', 'googlechat'],
  [`https://prod-12.westeurope.logic.azure.com:443${WORKFLOW}?api-version=1&sig=x`, 'teams'],
  [`https://0a.1.environment.api.powerplatform.com:443/powerautomate/automations/direct${WORKFLOW}?sig=x`, 'teams'],
  ['https://example.webhook.office.com/webhookb2/x/IncomingWebhook/y/z', 'teams'],
  ['https://chat.example.org/hooks/64f0/abcDEF', 'rocketchat'],
  ['https://chat.example.org/hooks/64f0/user/abcDEF', 'rocketchat'],
  ['https://chat.example.org/hooks/abcdefghijklmnopqrstuvwxyz', 'mattermost'],
  ['https://example.org/chat/hooks/abcdefghijklmnopqrstuvwxyz', 'mattermost'],
  ['https://mattermost.example.org/hooks/short', 'mattermost'],
  ['https://push.example.org/message?token=A.b', 'gotify'],
  ['https://example.org/gotify/message?token=A.b', 'gotify'], ['https://example.org/message', 'json'],
  ['https://ntfy.sh/my-topic_1', 'ntfy'], ['https://ntfy.example.org/alerts/', 'ntfy'], ['http://ntfy:80/alerts', 'ntfy'],
  ['https://push.example.org/alerts?auth=QmFzaWMgeDp5', 'ntfy'], ['https://:tk_abc@push.example.org/alerts', 'ntfy'],
  ['https://ntfy.sh/docs', 'json'], ['https://ntfy.sh/', 'json'], ['https://ntfy.sh/a/b', 'json'],
  ['https://ntfy-hook.example/alerts', 'json'], ['https://example.org/a/b?auth=x', 'json'],
  ['http://10.0.0.7:8080/alerts', 'json'], ['https://u:p@example.org/hook', 'json'], ['https://example.org/', 'json'],
  ['https://example.org/a/b', 'json'], ['not an address', 'json'],
  ['https://hooks.slack.com.evil.example/services/T/B/x', 'json'],
] as const) {
  test(`for auto, ${address.slice(0, 90)} is ${format}`, () => assert.equal(guessFormat(address), format));
}

test('of a destination no more is told than scheme, host and port', () => {
  const described = describeDestination('https://user:pass@push.example.org:8443/message?token=x#y');
  assert.equal(described, 'https://push.example.org:8443');
  assert.equal(describeDestination('secret'), 'an address that is not valid');
});
