import { HttpError, invalid, type FieldError } from './problem.ts';

type TextRule = { max: number; min?: number; pattern?: RegExp; expected?: string };

/** Notes what is wrong with a member; the detail follows its name, as in "must be text." */
type Refuse = (detail: string) => undefined;

/**
 * Reads members of a JSON object or form and collects every mistake with its pointer. What is optional is undefined
 * when it is missing or wrong. Call `done()` before using what was read: it throws 422 with all mistakes.
 */
export function createInput(values: Record<string, unknown>) {
  const errors: FieldError[] = [];

  function refuse(name: string, detail: string): undefined {
    errors.push({ pointer: `/${name}`, detail: `${labelOf(name)} ${detail}` });
  }

  const refusing = (name: string): Refuse => (detail) => refuse(name, detail);
  const isRefused = (name: string): boolean => errors.some((error) => error.pointer === `/${name}`);
  const optionalText = (name: string, rule: TextRule) => readText(values[name], rule, refusing(name));

  return {
    optionalText,

    text(name: string, rule: TextRule): string {
      const value = optionalText(name, rule);
      if (value === undefined && !isRefused(name)) refuse(name, 'is required.');
      return value ?? '';
    },

    optionalChoice: <Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined =>
      readChoice(values[name], choices, refusing(name)),
    optionalFlag: (name: string): boolean | undefined => readFlag(values[name], refusing(name)),
    optionalInteger: (name: string, min: number, max: number): number | undefined =>
      readInteger(values[name], min, max, refusing(name)),

    /** Text taken as it is: no trimming, any characters; `min` and `max` are UTF-8 bytes. */
    secret: (name: string, min: number, max: number): string =>
      readSecret(values[name], min, max, refusing(name)) ?? '',

    refuse,

    done(): void {
      if (errors.length > 0) throw invalid(errors);
    },
  };
}

/** An id out of a path: a positive integer, else 404, since nothing can be there. */
export function pathId(params: Record<string, string>, name = 'id'): number {
  const id = parseId(params[name] ?? '');
  if (id === undefined) throw new HttpError(404, 'There is nothing at this address.');
  return id;
}

function readText(value: unknown, { max, min = 1, pattern, expected }: TextRule, refuse: Refuse): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return refuse('must be text.');
  const trimmed = value.trim();
  if (trimmed.length < min || trimmed.length > max) return refuse(`must have ${min} to ${max} characters.`);
  if (/[\u0000-\u001f\u007f]/.test(trimmed)) return refuse('must not contain control characters.');
  if (pattern && !pattern.test(trimmed)) return refuse(expected ?? 'has the wrong form.');
  return trimmed;
}

function readChoice<Choice extends string>(
  value: unknown, choices: readonly Choice[], refuse: Refuse,
): Choice | undefined {
  if (value === undefined || value === '') return undefined;
  return choices.find((choice) => choice === value) ?? refuse(`must be one of ${choices.join(', ')}.`);
}

function readFlag(value: unknown, refuse: Refuse): boolean | undefined {
  return value === undefined || typeof value === 'boolean' ? value : refuse('must be true or false.');
}

function readInteger(value: unknown, min: number, max: number, refuse: Refuse): number | undefined {
  if (value === undefined || value === '') return undefined;
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number;
  return refuse(`must be an integer from ${min} to ${max}.`);
}

function readSecret(value: unknown, min: number, max: number, refuse: Refuse): string | undefined {
  if (typeof value !== 'string') return refuse('is required.');
  const bytes = Buffer.byteLength(value);
  return bytes >= min && bytes <= max ? value : refuse(`must have ${min} to ${max} bytes.`);
}

/** displayName → Display name */
function labelOf(name: string): string {
  if (name === 'url') return 'The address';
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** An id as it stands in addresses, queries and on the command line: a positive integer; undefined for other text. */
export function parseId(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
