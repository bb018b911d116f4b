import { HttpError, invalid, type FieldError } from './problem.ts';

export type Input = ReturnType<typeof createInput>;

type TextRule = { max: number; min?: number; pattern?: RegExp; expected?: string };

/**
 * Reads members of a JSON object or form and collects every mistake with its pointer. Call `done()` before
 * using what was read: it throws 422 with all of them.
 */
export function createInput(values: Record<string, unknown>) {
  const errors: FieldError[] = [];

  function refuse(name: string, detail: string): void {
    errors.push({ pointer: `/${name}`, detail: `${labelOf(name)} ${detail}` });
  }

  function text(name: string, rule: TextRule): string {
    const value = optionalText(name, rule);
    if (value === undefined && !errors.some((error) => error.pointer === `/${name}`)) refuse(name, 'is required.');
    return value ?? '';
  }

  /** Undefined when the member is missing or, in a form, left empty. */
  function optionalText(name: string, { max, min = 1, pattern, expected }: TextRule): string | undefined {
    const value = values[name];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value !== 'string') return void refuse(name, 'must be text.');
    const trimmed = value.trim();
    if (trimmed.length < min || trimmed.length > max) return void refuse(name, `must have ${min} to ${max} characters.`);
    if (/[\u0000-\u001f\u007f]/.test(trimmed)) return void refuse(name, 'must not contain control characters.');
    if (pattern && !pattern.test(trimmed)) return void refuse(name, expected ?? 'has the wrong form.');
    return trimmed;
  }

  function optionalChoice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = values[name];
    if (value === undefined || value === '') return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) refuse(name, `must be one of ${choices.join(', ')}.`);
    return found;
  }

  function optionalFlag(name: string): boolean | undefined {
    const value = values[name];
    if (value === undefined) return undefined;
    if (typeof value === 'boolean') return value;
    return void refuse(name, 'must be true or false.');
  }

  function optionalInteger(name: string, min: number, max: number): number | undefined {
    const value = values[name];
    if (value === undefined || value === '') return undefined;
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number;
    return void refuse(name, `must be an integer from ${min} to ${max}.`);
  }

  /** Text taken as it is: no trimming, any characters; `min` and `max` are UTF-8 bytes. */
  function secret(name: string, min: number, max: number): string {
    const value = values[name];
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) : -1;
    if (bytes < 0) refuse(name, 'is required.');
    else if (bytes < min || bytes > max) refuse(name, `must have ${min} to ${max} bytes.`);
    return typeof value === 'string' ? value : '';
  }

  function done(): void {
    if (errors.length > 0) throw invalid(errors);
  }

  return { text, optionalText, optionalChoice, optionalFlag, optionalInteger, secret, refuse, done };
}

/** displayName → Display name */
function labelOf(name: string): string {
  if (name === 'url') return 'The address';
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** An id out of a path: a positive integer, else 404, since nothing can be there. */
export function pathId(params: Record<string, string>, name = 'id'): number {
  const value = params[name] ?? '';
  if (!/^[1-9]\d{0,14}$/.test(value)) throw new HttpError(404, 'There is nothing at this address.');
  return Number(value);
}
