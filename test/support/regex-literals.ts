/** After these a slash begins a regular expression: it cannot divide anything. */
const BEFORE_REGEX = /(?:^|[-(,=:[!&|?{};+*%<>~^]|\b(?:return|typeof|case|of|in|await|yield))$/;

/** Every regular expression that stands in a TypeScript text as such. Throws where that cannot be told. */
export function regexLiterals(text: string): RegExp[] {
  const found: RegExp[] = [];
  const templates: number[] = []; // how many braces are open within each `${`
  let before = ''; // the code before, without white space
  for (let at = 0; at < text.length; ) {
    const sign = text[at] ?? '';
    const rest = text.slice(at, at + 2);
    if (/\s/.test(sign)) at++;
    else if (rest === '//') at = indexOrEnd(text, '\n', at);
    else if (rest === '/*') at = indexOrEnd(text, '*/', at) + 2;
    else if (sign === '"' || sign === "'") at = (before = '"', endOfText(text, at));
    else if (sign === '`' || (sign === '}' && templates.at(-1) === 0)) {
      if (sign === '}') templates.pop();
      at = endOfTemplate(text, at + 1);
      before = text[at - 1] === '`' ? '"' : '{';
      if (before === '{') templates.push(0);
    } else if (sign === '/' && BEFORE_REGEX.test(before)) {
      const end = endOfRegex(text, at);
      const [flags = ''] = /^[a-z]*/.exec(text.slice(end, end + 10)) ?? [];
      found.push(new RegExp(text.slice(at + 1, end - 1), flags));
      at = end + flags.length;
      before = '"';
    } else {
      if (sign === '/' && text[at + 1] !== ' ') throw new Error(`${rest} may divide or begin a regular expression`);
      const depth = templates.length - 1;
      if (sign === '{' && depth >= 0) templates[depth] = (templates[depth] ?? 0) + 1;
      if (sign === '}' && depth >= 0) templates[depth] = (templates[depth] ?? 0) - 1;
      before = /\w/.test(sign) && /\w$/.test(before) && /\w/.test(text[at - 1] ?? '') ? before + sign : sign;
      at++;
    }
  }
  return found;
}

function indexOrEnd(text: string, wanted: string, from: number): number {
  const index = text.indexOf(wanted, from);
  return index < 0 ? text.length : index;
}

function endOfText(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== text[start]) end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** Behind the closing sign, or behind the `${` of the first thing within. */
function endOfTemplate(text: string, start: number): number {
  let end = start;
  while (text[end] !== '`') {
    if (text.startsWith('${', end)) return end + 2;
    end += text[end] === '\\' ? 2 : 1;
  }
  return end + 1;
}

function endOfRegex(text: string, start: number): number {
  let isClass = false;
  let end = start + 1;
  for (; text[end] !== '/' || isClass; end++) {
    if (text[end] === '\\') end++;
    else if (text[end] === '[') isClass = true;
    else if (text[end] === ']') isClass = false;
  }
  return end + 1;
}
