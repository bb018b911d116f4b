const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/**
 * Headers of every response. The referrer policy is not `no-referrer`: with that, browsers send `Origin: null`
 * with the site's own forms. `secure` adds HSTS (RFC 6797), for a hub that is reached over https.
 */
export function securityHeaders(secure: boolean): [string, string][] {
  return [
    ['X-Content-Type-Options', 'nosniff'],
    ['Referrer-Policy', 'same-origin'],
    ['Content-Security-Policy', CONTENT_SECURITY_POLICY],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ...(secure ? [['Strict-Transport-Security', 'max-age=31536000'] as [string, string]] : []),
  ];
}
