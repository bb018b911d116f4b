/** A header value with its parameters; names of parameters are in lower case. */
export type ParameterizedValue = { value: string; parameters: Map<string, string> };

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"; // RFC 9110 §5.6.2
const VALUE = new RegExp(`${TOKEN}(?:/${TOKEN})?`, 'y');
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${TOKEN})=(?:(${TOKEN})|"([^"]*)")`, 'y');

/**
 * Reads `value; name=token; name="quoted"`. Null for anything else, also for a parameter that is given twice. Within
 * quotes a backslash stands for itself, as browsers send it: what older programs escape as \" is refused, not guessed.
 */
export function readParameters(text: string): ParameterizedValue | null {
  const value = matchAt(VALUE, text, 0);
  if (value === null) return null;
  const parameters = new Map<string, string>();
  for (let at = value[0].length; at < text.length;) {
    const found = matchAt(PARAMETER, text, at);
    const name = found?.[1]?.toLowerCase();
    if (!found || name === undefined || parameters.has(name)) return null;
    parameters.set(name, found[2] ?? found[3] ?? '');
    at += found[0].length;
  }
  return { value: value[0], parameters };
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
