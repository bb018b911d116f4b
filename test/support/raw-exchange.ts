import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One answer as it came over the wire; header names in lower case. */
type RawAnswer = { status: number; headers: Map<string, string>; body: string };

export type RawConnection = {
  socket: Socket;
  write(bytes: string | Buffer): void;
  /** The next answer on the connection, whose body must have a length. */
  answer(): Promise<RawAnswer>;
  /** Resolves when the server has closed the connection. */
  ended(): Promise<void>;
};

/** A bare TCP connection to an HTTP server, for requests that no proper client makes. */
export async function rawConnection(address: string): Promise<RawConnection> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}); // seen as the end of the connection
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  await once(socket, 'connect');

  async function until<T>(read: () => T | undefined): Promise<T> {
    for (;;) {
      const found = read();
      if (found !== undefined) return found;
      const isOver = socket.destroyed || socket.readableEnded;
      if (isOver) throw new Error(`the connection ended after ${JSON.stringify(received.toString())}`);
      await change(socket);
    }
  }

  function take(): RawAnswer | undefined {
    const end = received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [first = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
    const headers = new Map(lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
    }));
    const status = Number(first.split(' ')[1]);
    const bodyLength = status === 304 || status === 204 ? 0 : Number(headers.get('content-length') ?? 0);
    if (received.length < end + 4 + bodyLength) return undefined;
    const body = received.subarray(end + 4, end + 4 + bodyLength).toString();
    received = received.subarray(end + 4 + bodyLength);
    return { status, headers, body };
  }

  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    answer: () => until(take),
    async ended() {
      while (!socket.readableEnded && !socket.destroyed) await change(socket);
    },
  };
}

/** Resolves when more has come, or nothing will any more. */
function change(socket: Socket): Promise<void> {
  const events = ['data', 'end', 'close'];
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) socket.off(event, done);
      resolve();
    };
    for (const event of events) socket.on(event, done);
  });
}
