import { DAY } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { hashSecret, signText } from '../../platform/secrets.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { DEFAULT_PREFERENCES } from '../hub/preferences.ts';
import { LIVE } from './credential-store.ts';

/** Query parameter: an app password's id, the day on which the address expires, and a signature. */
const SIGNED = 'app';

/** Signed addresses work for at least this many days, because apps show pictures of old posts. */
const SIGNED_DAYS = 90;

const SIGNATURE_LENGTH = 22;

/** The signatures in a text, each of which opens a file without an app password. */
export const SIGNATURES = new RegExp(`(?<=\\?${SIGNED}=\\d{1,15}\\.\\d{1,6}\\.)[\\w-]{${SIGNATURE_LENGTH}}`, 'g');

type AppPassword = Pick<Viewer, 'id' | 'username' | 'displayName'> & { hash: string };

const signers = store(({ db }) => {
  const select = db.prepare<[number, number], AppPassword>('app password that signs', `
    SELECT a.id, a.username, a.display_name AS displayName, t.token_hash AS hash
      FROM api_tokens t JOIN accounts a ON a.id = t.account_id
     WHERE t.id = ? AND t.for_reader = 1 AND ${LIVE}`);
  return { find: (id: number, now: number): AppPassword | undefined => select.get(id, now) };
});

/** Apps load signed paths without an Authorization header. Addresses expire with the app password that signs them. */
export function createAddressSigner(hub: StoreHub, { credentialId }: Viewer): (path: string) => string {
  const signer = signers(hub).find(credentialId, hub.clock());
  const expiryDay = Math.floor(hub.clock() / DAY) + SIGNED_DAYS + 1; // the same all day, because apps cache by address
  return (path) => {
    const claim = `${credentialId}.${expiryDay}`;
    return signer ? `${path}?${SIGNED}=${claim}.${signatureOf(path, claim, signer.hash)}` : path;
  };
}

/** The viewer for whom a path is signed; null if the signature is wrong, has expired, or the app password has ended. */
export function viewerOfAddress(hub: StoreHub, path: string, query: URLSearchParams): Viewer | null {
  const [, id = '', day = '', signature = ''] = /^(\d{1,15})\.(\d{1,6})\.([\w-]+)$/.exec(query.get(SIGNED) ?? '') ?? [];
  const now = hub.clock();
  const signer = Number(day) * DAY > now ? signers(hub).find(Number(id), now) : undefined;
  if (!signer || !isEqual(signature, signatureOf(path, `${id}.${day}`, signer.hash))) return null;
  const { hash: _, ...account } = signer;
  const app = { role: 'member', via: 'token', scope: 'reader', credentialId: Number(id) } as const;
  return { ...account, ...app, preferences: DEFAULT_PREFERENCES };
}

/** Compares the hashes of two texts, so that the duration of the comparison reveals nothing about the texts. */
function isEqual(one: string, other: string): boolean {
  return hashSecret(one) === hashSecret(other);
}

function signatureOf(path: string, claim: string, hash: string): string {
  return signText(`${path}\n${claim}`, hash).slice(0, SIGNATURE_LENGTH);
}
