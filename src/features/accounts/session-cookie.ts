import { SECOND } from '../../platform/clock.ts';
import { setCookie } from '../../platform/http/headers.ts';
import { SESSION_COOKIE } from './authenticate.ts';
import { SESSION_LIFETIME } from './credential-store.ts';

/** The Set-Cookie value that keeps a browser signed in. */
export function sessionCookie(session: string, secure: boolean): string {
  return setCookie(SESSION_COOKIE, session, { secure, maxAge: SESSION_LIFETIME / SECOND });
}

/** The Set-Cookie value that makes a browser forget its session. */
export function endedSession(secure: boolean): string {
  return setCookie(SESSION_COOKIE, '', { secure, maxAge: 0 });
}
