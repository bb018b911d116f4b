import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  readMultipart, type MultipartFile, type MultipartLimits, type OnFile,
} from '../../src/platform/http/read-multipart.ts';
import { HttpError } from '../../src/platform/http/http-error.ts';
import { problemReply } from '../../src/platform/http/reply.ts';
import { sendReply } from '../../src/platform/http/send-reply.ts';
import { BOUNDARY, fieldHeaders, fileHeaders, LIMITS, writeForm } from './multipart.ts';
import { listen } from './ports.ts';
import { rawConnection, type RawConnection } from './raw-exchange.ts';
import { temporaryFolder } from './temporary-project.ts';

export const CONTENT_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** How each reading of a body ended. */
export type Outcome = { fields: Map<string, string[]> } | { error: unknown };

/** A server whose every request is read as a form; refusals are answered as problems. */
export async function startFormServer(t: TestContext, onFile: OnFile, limits: Partial<MultipartLimits> = {}) {
  const outcomes: Outcome[] = [];
  const requests: IncomingMessage[] = [];
  const server = createServer(async (req, res) => {
    requests.push(req);
    try {
      const fields = await readMultipart({ stream: req }, { ...LIMITS, ...limits }, onFile);
      outcomes.push({ fields });
      await sendReply(req, res, { status: 200, headers: {}, body: Buffer.from(JSON.stringify([...fields])), isText: true }, 1024 * 1024);
    } catch (error) {
      outcomes.push({ error });
      const problem = problemReply(error instanceof HttpError ? error : new HttpError(500, String(error)));
      await sendReply(req, res, { ...problem, body: Buffer.from(String(problem.body)), isText: true }, 1024 * 1024);
    }
  });
  return { address: `http://127.0.0.1:${await listen(t, server)}`, outcomes, requests };
}

/** Sends a body in chunked encoding, so that its length is not known beforehand; the status and text of the answer. */
export function send(
  address: string, body: Buffer, contentType = CONTENT_TYPE,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', agent: false, headers: { 'content-type': contentType } };
    const req = httpRequest(address, options, async (res) => {
      const chunks = await res.toArray();
      resolve({ status: res.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
    });
    req.on('error', reject);
    req.write(body.subarray(0, body.length / 2));
    req.end(body.subarray(body.length / 2));
  });
}

/** The head of a request whose body will have `length` bytes; `extra` are header lines of its own. */
export function requestHead(length: number, extra = ''): string {
  const headers = `Host: localhost\r\nContent-Type: ${CONTENT_TYPE}\r\n${extra}Content-Length: ${length}\r\n`;
  return `POST / HTTP/1.1\r\n${headers}\r\n`;
}

/** A connection on which the head of a request has been sent. */
export async function openRequest(t: TestContext, address: string, length: number, extra = ''): Promise<RawConnection> {
  const connection = await rawConnection(address);
  t.after(() => connection.socket.destroy());
  connection.write(requestHead(length, extra));
  return connection;
}

/** Takes files into memory. */
export function keepFiles() {
  const files: (MultipartFile & { data: Buffer })[] = [];
  const onFile: OnFile = async (file, chunks) => void files.push({ ...file, data: await gather(chunks) });
  return { files, onFile };
}

export async function gather(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** Takes files to a folder as an upload would, and removes what it wrote when the file does not arrive whole. */
export function keepInFolder(t: TestContext) {
  const folder = temporaryFolder(t);
  const errors: unknown[] = [];
  const onFile: OnFile = async ({ filename }, chunks) => {
    const path = join(folder, `${errors.length}-${filename}`);
    const file = await open(path, 'wx');
    try {
      for await (const chunk of chunks) await file.write(chunk);
    } catch (error) {
      errors.push(error);
      rmSync(path);
      throw error;
    } finally {
      await file.close();
    }
  };
  return { folder, errors, onFile };
}

export function fileForm(data: string | Buffer, count = 1): Buffer {
  return writeForm(Array.from({ length: count }, (_, i) => ({ headers: fileHeaders(`f${i}`, `${i}.txt`), data })));
}

export function fieldForm(...values: (string | Buffer)[]): Buffer {
  return writeForm(values.map((data, i) => ({ headers: fieldHeaders(`f${i}`), data })));
}

export function refusal(outcome: Outcome | undefined): HttpError {
  assert.ok(outcome && 'error' in outcome && outcome.error instanceof HttpError);
  return outcome.error;
}
