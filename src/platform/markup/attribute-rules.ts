import { escapeHtml } from './entities.ts';
import { singleLine } from './control-characters.ts';
import { safeLink } from './safe-url.ts';
import type { Attributes } from './html-tokenizer.ts';

/** The value to write, or undefined to leave the attribute out. What a rule returns it must also accept unchanged. */
type AttributeRule = (value: string, baseUrl: string) => string | undefined;

const MAX_TITLE_LENGTH = 1_000;
const MAX_SPAN = 100;

const address: AttributeRule = (value, baseUrl) => safeLink(value, baseUrl);
const flag: AttributeRule = () => '';
const language = pattern(/^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,5}$/i);
const direction = oneOf('ltr', 'rtl', 'auto');
const integer = pattern(/^-?[0-9]{1,6}$/);

const ATTRIBUTE_RULES: Record<string, [name: string, rule: AttributeRule][]> = {
  a: [['class', oneOf('remote-image')], ['title', title], ['hreflang', language]],
  abbr: [['title', title]],
  dfn: [['title', title]],
  blockquote: [['cite', address]],
  q: [['cite', address]],
  del: [['cite', address], ['datetime', moment]],
  ins: [['cite', address], ['datetime', moment]],
  time: [['datetime', moment]],
  td: [['colspan', span], ['rowspan', span]],
  th: [['colspan', span], ['rowspan', span], ['scope', oneOf('row', 'col', 'rowgroup', 'colgroup')]],
  col: [['span', span]],
  colgroup: [['span', span]],
  ol: [['start', integer], ['reversed', flag], ['type', pattern(/^[1aAiI]$/)]],
  li: [['value', integer]],
  details: [['open', flag]],
  code: [['class', languageClass]],
};

const EVERYWHERE: [name: string, rule: AttributeRule][] = [['lang', language], ['dir', direction]];

/** The allowed attributes of an element as they are written, each with a space before it. */
export function allowedAttributes(element: string, attributes: Attributes, baseUrl: string): string {
  if (attributes.size === 0) return '';
  return write(ATTRIBUTE_RULES[element] ?? [], attributes, baseUrl) + write(EVERYWHERE, attributes, baseUrl);
}

/** One attribute as it is written, with a space before it. */
export function attribute(name: string, value: string): string {
  return ` ${name}="${escapeHtml(value)}"`;
}

function write(rules: [name: string, rule: AttributeRule][], attributes: Attributes, baseUrl: string): string {
  let written = '';
  for (const [name, rule] of rules) {
    const given = attributes.get(name);
    const value = given === undefined ? undefined : rule(given, baseUrl);
    if (value !== undefined) written += attribute(name, value);
  }
  return written;
}

function title(value: string): string | undefined {
  const line = value.length <= MAX_TITLE_LENGTH ? singleLine(value) : '';
  return line === '' ? undefined : line;
}

function moment(value: string): string | undefined {
  const trimmed = value.trim();
  return /^[\w:.+\- ]{1,64}$/.test(trimmed) ? trimmed : undefined;
}

function span(value: string): string | undefined {
  const cells = /^\s*[0-9]{1,6}/.test(value) ? Math.min(parseInt(value, 10), MAX_SPAN) : 1;
  return cells > 1 ? String(cells) : undefined;
}

function languageClass(value: string): string | undefined {
  return value.split(/\s+/, 20).find((token) => /^language-[\w+#.-]{1,40}$/.test(token));
}

function pattern(allowed: RegExp): AttributeRule {
  return (value) => {
    const trimmed = value.trim();
    return allowed.test(trimmed) ? trimmed : undefined;
  };
}

function oneOf(...allowed: string[]): AttributeRule {
  return (value) => {
    const word = value.trim().toLowerCase();
    return allowed.includes(word) ? word : undefined;
  };
}
