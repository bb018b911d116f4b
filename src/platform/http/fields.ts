import { isoTime } from '../clock.ts';
import type { JsonObject } from './body.ts';
import { createInput, MAX_LIMIT, STANDARD_LIMIT, type Input, type TextRule } from './input.ts';
import type { Schema } from './router.ts';

/** A JSON value of an answer: its JSON Schema, and how it is made of a value of the hub's. */
export type Shape<Json = unknown, Row = never> = {
  readonly schema: Schema;
  readonly show: (row: Row) => Json;
  readonly isOptional?: boolean;
  /** The name of the row's column, if it differs. */
  readonly column?: string;
};

/** A value that requests may have: `read` takes it from JSON or a form, or refuses it in `input`. */
export type Field<Value = unknown, Json = unknown, Row = never> = Shape<Json, Row> & {
  readonly read: (input: Input, name: string) => Value | undefined;
};

export type Fields = Readonly<Record<string, Field>>;
export type Shapes = Readonly<Record<string, Shape>>;

type Optional<All> = { [Name in keyof All]: All[Name] extends { isOptional: true } ? Name : never }[keyof All];
type ValueOf<One> = One extends Field<infer Value> ? Value : never;
type RowOf<One> = One extends { show: (row: infer Row) => unknown } ? Row : never;
type ColumnOf<All, Name extends keyof All> = All[Name] extends { column: infer Column extends string } ? Column : Name;

/** The type of what answers of a shape show. */
export type Shown<One> = One extends { show: (row: never) => infer Json } ? Json : never;

/** What fields read: an optional one that did not come has no property. */
export type Given<All extends Fields> = { [Name in Exclude<keyof All, Optional<All>>]: ValueOf<All[Name]> }
  & { [Name in Optional<All>]?: ValueOf<All[Name]> };

type Members<All extends Shapes> = { [Name in Exclude<keyof All, Optional<All>>]: Shown<All[Name]> }
  & { [Name in Optional<All>]?: Shown<All[Name]> | undefined };

type Rows<All extends Shapes> =
  { readonly [Name in keyof All as Name extends Optional<All> ? never : ColumnOf<All, Name>]: RowOf<All[Name]> }
  & { readonly [Name in keyof All as Name extends Optional<All> ? ColumnOf<All, Name> : never]?:
    RowOf<All[Name]> | undefined };

const MAX_ID = Number.MAX_SAFE_INTEGER;

function asItIs<Json>(schema: Schema): Shape<Json, Json> {
  return { schema, show: (row) => row };
}

/** A field whose value answers show as it is. */
export function field<Value>(
  schema: Schema, read: (input: Input, name: string) => Value | undefined,
): Field<Value, Value, Value> {
  return { ...asItIs<Value>(schema), read };
}

export const text = asItIs<string>({ type: 'string' });
export const integer = asItIs<number>({ type: 'integer' });
export const anything = asItIs<object>({ type: 'object', additionalProperties: true });
export const id = whole(1);

/** SQLite has 1 and 0. */
export const flag: Field<boolean, boolean, boolean | number> = {
  schema: { type: 'boolean' },
  read: (input, name) => input.optionalFlag(name),
  show: (row) => row === true || row === 1,
};

/** Unix ms in the hub, RFC 3339 in requests and answers. */
export const time: Field<number, string, number> = {
  schema: { type: 'string', format: 'date-time' },
  read: (input, name) => input.time(name),
  show: (row) => isoTime(row),
};

/** A list of at most `max` ids. */
export function ids(max: number): Field<number[], readonly number[], readonly number[]> {
  const read = (input: Input, name: string): number[] | undefined => {
    const value = input.value(name);
    if (value === undefined || isListOfIds(value, max)) return value;
    return input.refuse(name, `must be a list of at most ${max} ids.`);
  };
  return { ...array(id), read };
}

function isListOfIds(value: unknown, max: number): value is number[] {
  return Array.isArray(value) && value.length <= max && value.every((one) => Number.isSafeInteger(one) && one > 0);
}

/** A line of text, trimmed; an empty one counts as missing. */
export function line(rule: TextRule): Field<string, string, string> {
  return field({ type: 'string', maxLength: rule.max }, (input, name) => input.optionalText(name, rule));
}

/** A field that must not be empty, if it comes. */
export function filled<One extends Field>(one: One): One {
  const read: One['read'] = (input, name) =>
    one.read(input, name) ?? (input.has(name) ? input.missing(name, 'must not be empty.') : undefined);
  return { ...one, read };
}

/** Text of several lines, not trimmed. */
export function prose(max: number): Field<string, string, string> {
  return field({ type: 'string', maxLength: max }, (input, name) => input.prose(name, max));
}

/** `min` and `max`: bytes. */
export function secret(min: number, max: number): Field<string, string, string> {
  return field({ type: 'string', format: 'password' }, (input, name) => input.optionalSecret(name, min, max));
}

export function whole(minimum: number, maximum = MAX_ID): Field<number, number, number> {
  const bounds = maximum === MAX_ID ? { minimum } : { minimum, maximum };
  return field({ type: 'integer', ...bounds }, (input, name) => input.optionalInteger(name, minimum, maximum));
}

export function choice<const Choice extends string>(choices: readonly Choice[]): Field<Choice, Choice, Choice> {
  return field({ type: 'string', enum: choices }, (input, name) => input.optionalChoice(name, choices));
}

export function orNull<Value, Json, Row>(one: Field<Value, Json, Row>): Field<Value | null, Json | null, Row | null>;
export function orNull<Json, Row>(one: Shape<Json, Row>): Shape<Json | null, Row | null>;
export function orNull<Json, Row>(
  { read, ...one }: Shape<Json, Row> & { read?: Field['read'] },
): Shape<Json | null, Row | null> {
  return {
    ...one,
    schema: nullable(one.schema),
    show: (row) => (row === null ? null : one.show(row)),
    ...(read && { read: (input: Input, name: string) => (input.isNull(name) ? null : read(input, name)) }),
  };
}

function nullable({ type, enum: choices, ...schema }: Schema): Schema {
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'], ...(Array.isArray(choices) && { enum: [...choices, null] }) };
}

export function optional<One extends Shape>(one: One): One & { isOptional: true } {
  return { ...one, isOptional: true };
}

/** A member that a row has under another name. */
export function from<Column extends string, One extends Shape>(column: Column, one: One): One & { column: Column } {
  return { ...one, column };
}

/** A shape with further keywords of JSON Schema; a text is its description. */
export function noted<One extends Shape>(one: One, keywords: string | Schema): One {
  const more = typeof keywords === 'string' ? { description: keywords } : keywords;
  return { ...one, schema: { ...one.schema, ...more } };
}

export function array<Json, Row>(items: Shape<Json, Row>): Shape<readonly Json[], readonly Row[]> {
  return { schema: { type: 'array', items: items.schema }, show: (rows) => rows.map(items.show) };
}

/** An object; further columns of a row are left out, and undefined ones. */
export function object<All extends Shapes>(members: All): Shape<Members<All>, Rows<All>> {
  const all = Object.entries(members);
  const required = all.flatMap(([name, { isOptional }]) => (isOptional ? [] : [name]));
  const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, schema]));
  const show = (row: Record<string, never>): object => {
    const shown: Record<string, unknown> = {};
    for (const [name, one] of all) {
      const value = row[one.column ?? name];
      if (value !== undefined) shown[name] = one.show(value);
    }
    return shown;
  };
  return { schema: { type: 'object', required, properties }, show: show as Shape<Members<All>, Rows<All>>['show'] };
}

/** A shape of what is JSON already. */
export function ready<Json>(shape: Shape<Json>): Shape<Json, Json> {
  return { ...shape, show: (row) => row };
}

/** A shape whose rows are made of others. */
export function madeOf<Json, Row, Other>(shape: Shape<Json, Row>, rowOf: (other: Other) => Row): Shape<Json, Other> {
  return { ...shape, show: (other) => shape.show(rowOf(other)) };
}

/** One page of a list; `next` is the cursor of the next page, null on the last. */
export function listOf<Json, Row>(items: Shape<Json, Row>) {
  return object({ items: array(items), next: orNull(text) });
}

/** The parameters of a query that choose a page of a list. */
export const PAGE = {
  limit: noted(integer, { minimum: 1, maximum: MAX_LIMIT, default: STANDARD_LIMIT }),
  cursor: noted(text, 'The value of `next` on the previous page'),
};

export function anyOf<One, Other>(one: Shape<One>, other: Shape<Other>): Shape<One | Other, One | Other> {
  return asItIs({ anyOf: [one.schema, other.schema] });
}

const NAMED = Symbol('the schema that a reference means');

/** A shape that the API's description has once, under this name. */
export function named<One extends Shape>(name: string, one: One): One {
  return { ...one, schema: { $ref: `#/components/schemas/${name}`, [NAMED]: { name, schema: one.schema } } };
}

/** The named schemas that schemas refer to, by their names. */
export function namedIn(schemas: unknown, found: Record<string, Schema> = {}): Record<string, Schema> {
  if (typeof schemas !== 'object' || schemas === null) return found;
  const { name, schema } = (schemas as { [NAMED]?: { name: string; schema: Schema } })[NAMED] ?? {};
  if (name !== undefined && schema && !found[name]) {
    found[name] = schema;
    namedIn(schema, found);
  }
  for (const part of Object.values(schemas)) namedIn(part, found);
  return found;
}

/** Refuses faults that no field alone shows, and throws what comes before them, such as missing rights. */
export type Check<All extends Fields> = (input: Input, given: Partial<Given<All>>) => void;

/** Reads the fields of a JSON object or, with `isForm`, of a form; throws 422 with the faults of all. */
export function readGiven<All extends Fields>(
  fields: All, values: JsonObject, { isForm = false, check }: { isForm?: boolean; check?: Check<NoInfer<All>> } = {},
): Given<All> {
  const input = createInput(values, { isForm });
  const read = Object.entries(fields).map(([name, one]) => {
    const value = one.read(input, name);
    if (value === undefined && !one.isOptional) input.missing(name);
    return [name, value] as const;
  });
  const given = Object.fromEntries(read.filter(([, value]) => value !== undefined)) as Given<All>;
  check?.(input, given);
  input.done();
  return given;
}
