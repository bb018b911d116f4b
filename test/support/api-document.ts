import assert from 'node:assert/strict';
import type { Answer, Client } from './client.ts';

export type Schema = { [keyword: string]: unknown };
type Content = Record<string, { schema: Schema }>;
type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
type Operation = {
  operationId: string;
  summary: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  security: Record<string, string[]>[];
  responses: Record<string, { description?: string; content?: Content; $ref?: string }>;
};
export type ApiDocument = {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Schema>>;
};

/** Says nothing about whether a value fits. */
const NOTES = new Set(['description', 'default', 'maxLength']);

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function typesOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  return Number.isInteger(value) ? ['integer', 'number'] : [typeof value];
}

/** What an array or one value holds, as an array. */
function all<Value>(value: unknown): Value[] {
  return (Array.isArray(value) ? value : [value]) as Value[];
}

/**
 * Holds values against schemas, more strictly than JSON Schema: a member that the schema does not name is a mistake,
 * too. Remembers which members it has met. Knows the keywords that the hub uses, and throws at others.
 */
function strictChecker(schemas: Record<string, Schema>) {
  const met = new Set<string>();

  /** Each mistake with its place; `name` is the schema's. */
  function mistakes(schema: Schema, value: unknown, name: string, at = ''): string[] {
    const found: string[] = [];
    const wrong = (what: string): void => void found.push(`${at || '/'}: ${what}, but is ${JSON.stringify(value).slice(0, 300)}`);
    const inside = (inner: Schema, part: unknown, member: string): void => {
      met.add(`${name}.${member}`);
      found.push(...mistakes(inner, part, `${name}.${member}`, `${at}/${member}`));
    };
    const isObject = typesOf(value)[0] === 'object';
    const members = isObject ? value as Record<string, unknown> : {};
    const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
    const rules: Record<string, (rule: unknown) => void> = {
      $ref: (rule) => {
        const target = String(rule).replace('#/components/schemas/', '');
        found.push(...mistakes(schemas[target] ?? assert.fail(`no schema ${target}`), value, target, at));
      },
      anyOf: (rule) => {
        const tries = all<Schema>(rule).map((one) => mistakes(one, value, name, at));
        if (!tries.some((each) => each.length === 0)) found.push(...tries.flat());
      },
      type: (rule) => {
        if (!all(rule).some((type) => typesOf(value).includes(String(type)))) wrong(`must be ${String(rule)}`);
      },
      required: (rule) => all<string>(rule).filter((member) => isObject && !(member in members))
        .forEach((member) => wrong(`must have ${member}`)),
      properties: () => Object.entries(members).forEach(([member, part]) => {
        const inner = properties[member];
        if (inner) inside(inner, part, member);
        else if (!schema['additionalProperties']) wrong(`must not have ${member}`);
      }),
      additionalProperties: () => {},
      items: (rule) => (Array.isArray(value) ? value : []).forEach((part, index) =>
        found.push(...mistakes(rule as Schema, part, `${name}[]`, `${at}/${index}`))),
      enum: (rule) => void (all(rule).includes(value) || value === null || wrong(`must be one of ${String(rule)}`)),
      const: (rule) => void (rule === value || wrong(`must be ${String(rule)}`)),
      format: (rule) => {
        if (rule === 'date-time' && typeof value === 'string' && !DATE_TIME.test(value)) wrong('must be a time');
      },
      minimum: (rule) => void (Number(value) < Number(rule) && value !== null && wrong(`must be at least ${String(rule)}`)),
      maximum: (rule) => void (Number(value) > Number(rule) && wrong(`must be at most ${String(rule)}`)),
    };
    for (const [keyword, rule] of Object.entries(schema)) {
      if (!NOTES.has(keyword)) (rules[keyword] ?? assert.fail(`a keyword that is not checked: ${keyword}`))(rule);
    }
    return found;
  }

  /** Members of the schemas of these names that no value had. */
  function neverMet(names: string[]): string[] {
    const membersOf = (schema: Schema, name: string): string[] => [
      ...Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).flatMap(([member, inner]) =>
        [`${name}.${member}`, ...membersOf(inner, `${name}.${member}`)]),
      ...(schema['items'] ? membersOf(schema['items'] as Schema, `${name}[]`) : []),
    ];
    return names.flatMap((name) => membersOf(schemas[name] ?? {}, name)).filter((member) => !met.has(member));
  }

  return { mistakes, neverMet };
}

/** A request to an operation: `id` stands in its path, `body` is JSON or, with `type`, a text of that media type. */
export type ApiRequest = {
  id?: number;
  query?: string;
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
  /** Headers that the body decides. */
  sign?: (body: string) => Record<string, string>;
};

/** Sends requests to documented operations and holds each answer against the document. */
export function documentedApi(document: ApiDocument) {
  const checker = strictChecker(document.components['schemas'] ?? {});
  const operations = new Map<string, Operation>(Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const)));
  const seen = new Set<string>();

  function operationOf(name: string): Operation {
    return operations.get(name) ?? assert.fail(`${name} is not documented`);
  }

  /** The answer must be documented: status, media type and each member. */
  async function ask(client: Client, name: string, request: ApiRequest = {}): Promise<Answer> {
    const [method = '', template = ''] = name.split(' ');
    const { id = 1, query, body, type = 'application/json', headers = {}, sign } = request;
    const path = template.replace('{id}', String(id)) + (query === undefined ? '' : `?${query}`);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await client.send(method, path, body === undefined ? { headers } : {
      body: text, headers: { 'content-type': type, ...sign?.(text), ...headers },
    });
    requireDocumented(name, answer);
    if (answer.status < 300 && body !== undefined) seen.add(`${name} takes ${type.split(';')[0]}`);
    return answer;
  }

  function requireDocumented(name: string, { status, headers, text, json }: Answer): void {
    const response = operationOf(name).responses[status] ?? assert.fail(`${name} answered ${status}: ${text}`);
    seen.add(`${name} ${status}`);
    const mediaType = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const problem = document.components['responses']?.['Problem'] as { content: Content };
    const content = response.$ref === undefined ? response.content : problem.content;
    if (content === undefined) return assert.equal(text, '', name);
    seen.add(`${name} ${status} ${mediaType}`);
    const { schema } = content[mediaType] ?? assert.fail(`${name} answered ${status} as ${mediaType}`);
    const value = /[/+]json$/.test(mediaType) ? json<unknown>() : text;
    assert.deepEqual(checker.mistakes(schema, value, name), [], `${name} ${status}`);
  }

  /** The schema of a JSON body: where there are several, that which the value fits. */
  function bodySchema(name: string, value: unknown): { properties?: object; required?: string[] } {
    const { schema } = operationOf(name).requestBody?.content['application/json'] ?? assert.fail(`${name} takes no JSON`);
    const choices = all<Schema>(schema['anyOf'] ?? schema);
    const fitting = choices.find((choice) => checker.mistakes(choice, value, name).length === 0)
      ?? assert.fail(`${name} does not take ${JSON.stringify(value)}`);
    return document.components['schemas']?.[String(fitting['$ref']).replace('#/components/schemas/', '')] ?? fitting;
  }

  const schemas = Object.keys(document.components['schemas'] ?? {});
  return { operations, operationOf, schemas, bodySchema, ask, seen, neverMet: checker.neverMet };
}

export type DocumentedApi = ReturnType<typeof documentedApi>;
