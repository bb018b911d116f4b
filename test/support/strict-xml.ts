/** An element as an XML reader must see it; `text` is its own text and CDATA, without that of its children. */
export type XmlNode = { name: string; attributes: Map<string, string>; children: XmlNode[]; text: string };

const NAME = '[A-Za-z_:][\\w:.-]*';
const ATTRIBUTES = `(?:\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*`;
const TOKEN = new RegExp([
  '<!--(?:(?!--)[^])*-->',
  '<!\\[CDATA\\[([^]*?)\\]\\]>',
  `</(${NAME})\\s*>`,
  `<(${NAME})(${ATTRIBUTES})\\s*(/?)>`,
  '([^<]+)',
].join('|'), 'y');
const ATTRIBUTE = new RegExp(`(${NAME})\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'g');
const ILLEGAL = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const PREDEFINED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads XML 1.0 without a document type as strictly as the recommendation asks, for documents that the hub wrote.
 * Throws for what is not well-formed. Shares nothing with the hub's own reader, which forgives.
 */
export function parseStrictXml(source: string): XmlNode {
  const illegal = ILLEGAL.exec(source);
  if (illegal) throw new Error(`illegal character at ${illegal.index}`);
  const document: XmlNode = { name: '', attributes: new Map(), children: [], text: '' };
  const open = [document];
  TOKEN.lastIndex = /^(?:<\?xml version="1\.0"[^>]*\?>)?/.exec(source)?.[0].length ?? 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(source);
    if (!token) throw new Error(`not well-formed at ${at}: ${source.slice(at, at + 40)}`);
    take(open, token);
  }
  const [root, ...others] = document.children;
  const isWhole = open.length === 1 && others.length === 0 && document.text.trim() === '';
  if (!root || !isWhole) throw new Error('a document is one whole element');
  return root;
}

function take(open: XmlNode[], [, cdata, end, start, attributes, isEmpty, text]: RegExpExecArray): void {
  const current = open.at(-1);
  if (!current) throw new Error('an end without a beginning');
  if (cdata !== undefined) current.text += cdata;
  if (text !== undefined) current.text += decode(text);
  if (end !== undefined && open.pop()?.name !== end) throw new Error(`</${end}> ends another element`);
  if (start === undefined) return;
  const node: XmlNode = { name: start, attributes: readAttributes(attributes ?? ''), children: [], text: '' };
  current.children.push(node);
  if (isEmpty !== '/') open.push(node);
}

function readAttributes(written: string): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = '', double, single] of written.matchAll(ATTRIBUTE)) {
    if (attributes.has(name)) throw new Error(`${name} twice`);
    attributes.set(name, decode((double ?? single ?? '').replace(/[\t\n\r]/g, ' ')));
  }
  return attributes;
}

function decode(text: string): string {
  if (text.includes(']]>')) throw new Error(']]> in text');
  return text.replace(/&([^;]{0,20};?)/g, (whole, reference: string) => {
    const [, hex, decimal] = /^#(?:x([0-9A-Fa-f]+)|(\d+));$/.exec(reference) ?? [];
    const code = hex ? parseInt(hex, 16) : decimal ? Number(decimal) : undefined;
    const character = code === undefined ? PREDEFINED[reference.slice(0, -1)] : String.fromCodePoint(code);
    const isLegal = character !== undefined && reference.endsWith(';') && !ILLEGAL.test(character);
    if (!isLegal) throw new Error(`${whole} means nothing`);
    return character;
  });
}
