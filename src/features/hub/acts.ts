import { readForm, readJson, type JsonObject } from '../../platform/http/body.ts';
import {
  object, readGiven, type Fields, type Given, type Shape, type Shapes, type Shown,
} from '../../platform/http/fields.ts';
import { orAgain } from '../../platform/http/form-faults.ts';
import { nextLink, pathId, type Input } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, noContent, seeOther, type Reply, type ReplyHeaders } from '../../platform/http/reply.ts';
import type {
  Access, MemberRequest, Operation, Pattern, RequestFor, RouteSettings, Schema, Viewer,
} from '../../platform/http/router.ts';
import type { Hub } from './hub.ts';

type EndpointFor<By extends Access> = {
  pattern: Pattern; access: By; summary: string;
  handler: (hub: Hub, req: RequestFor<By>) => Reply | Promise<Reply>;
  settings?: RouteSettings;
  operation?: Operation;
};

type MemberHandler = EndpointFor<'member'>['handler'];

/** A route before it has a hub. */
export type Endpoint = { [By in Access]: EndpointFor<By> }[Access];

type Eventually<Value> = Value | Promise<Value>;

type Form = Record<string, string>;
export type RefusedForm = { values: Form; problem: HttpError };

type AnyOf<By> = {
  [Status in keyof By & number]: readonly [
    status: Status, body: By[Status] extends Shape ? Shown<By[Status]> : null, headers?: ReplyHeaders,
  ]
}[keyof By & number];

/** Something that the API, a form or both may do. Its fields are read alike from both, and described in OpenAPI. */
type Act<All extends Fields, Made, Json, By> = {
  api?: Pattern;
  form?: Pattern;
  /** By default members. */
  access?: 'admin';
  summary: string;
  fields?: All;
  /** Describes the fields, if bodies are of several kinds. */
  body?: Shape;
  /** In bytes, if not the usual limit. */
  jsonLimit?: number;
  /** See `Check`. */
  check?(input: Input, given: Partial<Given<All>>, hub: Hub, req: MemberRequest): void;
  run(hub: Hub, given: Given<All>, req: MemberRequest): Eventually<Made>;
  /** What the API answers, with `status`; by default 204 without a body. */
  shape?: Shape<Json>;
  show?(made: NoInfer<Made>, hub: Hub, req: MemberRequest): Json;
  status?: 200 | 201 | 202;
  /** In place of `shape`, for answers with several statuses, or with headers of their own. */
  shapes?: By;
  reply?(made: NoInfer<Made>, hub: Hub, req: MemberRequest): AnyOf<NoInfer<By>>;
  /** Refusals of the API that neither its route nor another property implies. */
  refusals?: number[];
  /** `session`: an API token is not enough. */
  proof?: 'session';
  /** Whether it may write on a full disk; by default, DELETE and administrators may. */
  usesReserve?: boolean;
  /** The act's fields in a form, if they have other names or values there. */
  typed?(values: Form): JsonObject;
  /** Answers a form's other buttons. */
  instead?(hub: Hub, req: MemberRequest, values: Form): Eventually<Reply | undefined>;
  /** Where a form leads, or `next` tells from the result; `:id` stands for the path's. */
  to?: string;
  next?(made: NoInfer<Made>, hub: Hub, req: MemberRequest, values: Form): Eventually<string | Reply>;
  /** The page that shows a refused form again. */
  again?(hub: Hub, req: MemberRequest, refused: RefusedForm): Eventually<Reply>;
  /** For which refusals; by default for all but 401. */
  againFor?: number[];
};

/** The routes of an act. */
export function act<All extends Fields, Made, Json, By extends Record<number, Shape | null>>(
  declared: Act<All, Made, Json, By>,
): Endpoint[] {
  const one: AnyAct = declared;
  const { api, form, access = 'member', summary, usesReserve } = one;
  const settings = usesReserve === undefined ? {} : { usesReserve };
  const routes: Endpoint[] = [];
  if (api !== undefined) {
    const handler: MemberHandler = (hub, req) => answerApi(one, hub, req);
    routes.push({ pattern: api, access, summary, settings, operation: operationOf(one), handler });
  }
  if (form !== undefined) {
    const ofForm = `Form: ${summary.charAt(0).toLowerCase()}${summary.slice(1)}`;
    const handler: MemberHandler = (hub, req) => answerForm(one, hub, req);
    routes.push({ pattern: form, access, summary: ofForm, settings, handler });
  }
  return routes;
}

type AnyAct = Omit<Act<Fields, unknown, unknown, Record<number, Shape | null>>, 'reply'>
  & { reply?(made: unknown, hub: Hub, req: MemberRequest): readonly [number, unknown, ReplyHeaders?] };

function operationOf({ fields, body, shape, shapes, status = 200, refusals, proof }: AnyAct): Operation {
  return {
    ...(fields && { body: { 'application/json': (body ?? object(fields)).schema } }),
    answers: contentOf(shapes ?? (shape ? { [status]: shape } : { 204: null })),
    ...(refusals && { refusals }), ...(proof && { proof }),
  };
}

function contentOf(shapes: Record<number, Shape | null>): Operation['answers'] {
  return Object.fromEntries(Object.entries(shapes).map(([status, shape]) =>
    [status, shape && { 'application/json': shape.schema }]));
}

async function answerApi(declared: AnyAct, hub: Hub, req: MemberRequest): Promise<Reply> {
  const { fields, jsonLimit, show, reply, status = 200 } = declared;
  const made = await perform(declared, hub, req, fields ? await readJson(req, jsonLimit) : {});
  if (show) return json(show(made, hub, req), status);
  if (!reply) return noContent();
  const [code, body, headers] = reply(made, hub, req);
  return body === null ? { ...noContent(headers), status: code } : json(body, code, headers);
}

async function answerForm(declared: AnyAct, hub: Hub, req: MemberRequest): Promise<Reply> {
  const { fields, typed, instead, to = '/', next, again, againFor } = declared;
  const values = fields || instead ? await readForm(req) : {};
  const submit = async (): Promise<Reply> => {
    const other = await instead?.(hub, req, values);
    if (other) return other;
    const made = await perform(declared, hub, req, typed ? typed(values) : values, true);
    const then = next ? await next(made, hub, req, values) : to;
    return typeof then === 'string' ? seeOther(then.replace(':id', req.params['id'] ?? '')) : then;
  };
  return again ? orAgain(submit, (problem) => again(hub, req, { values, problem }), againFor) : submit();
}

async function perform(
  { fields = {}, check, run, proof }: AnyAct, hub: Hub, req: MemberRequest, values: JsonObject, isForm = false,
): Promise<unknown> {
  if (proof === 'session') requireSession(req.viewer);
  const given = readGiven(fields, values, { isForm, check: (input, read) => check?.(input, read, hub, req) });
  return run(hub, given, req);
}

/** For acts that need a session only with some of their fields; the others have `proof`. */
export function requireSession({ via }: Viewer): void {
  if (via === 'session') return;
  throw new HttpError(403, 'An API token cannot do this: it needs a session and the current password.');
}

/** The effect of an act on what its path names. */
export function byId<Made>(effect: (hub: Hub, id: number, req: MemberRequest) => Made) {
  return (hub: Hub, _given: unknown, req: MemberRequest): Made => effect(hub, pathId(req.params), req);
}

type View<By extends Access> = {
  /** By default members. */
  access?: By;
  summary: string;
  query?: Shapes;
  refusals?: number[];
  settings?: RouteSettings;
};

/** A route of the API that shows something. A page of a list links to the next one. */
export function view<Row, By extends Access = 'member'>(
  pattern: Pattern, { access, summary, query, refusals, settings }: View<By>,
  shape: Shape<unknown, Row>, find: (hub: Hub, req: RequestFor<By>) => Eventually<Row>,
): Endpoint {
  const answers = contentOf({ 200: shape, ...(access === 'public' && { 304: null }) });
  return {
    pattern, access: access ?? 'member', summary, ...(settings && { settings }),
    operation: { ...(query && { query: schemasOf(query) }), answers, ...(refusals && { refusals }) },
    handler: async (hub: Hub, req: RequestFor<By>) => {
      const shown = shape.show(await find(hub, req));
      const { next = null } = shown as { next?: string | null };
      return json(shown, 200, nextLink(req.path, req.query, next));
    },
  } as Endpoint; // the handler takes what `access` admits
}

export function schemasOf(shapes: Shapes): Record<string, Schema> {
  return Object.fromEntries(Object.entries(shapes).map(([name, { schema }]) => [name, schema]));
}
