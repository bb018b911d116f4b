/**
 * Commands for a shell that send an event which makes a post: POSIX sh with curl, openssl and od. `secret` null leaves
 * its place to be filled in.
 */
export function webhookExample(url: string, secret: string | null): string {
  return `secret='${secret ?? 'whsec_…'}'
url='${url}'
id="msg_$(openssl rand -hex 12)"
now=$(date +%s)
post='"title":"Hello","content_text":"It works."'
body=$(printf '{"type":"post.published","timestamp":"%s","data":{"id":"%s",%s}}' \\
  "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$id" "$post")
key=$(printf '%s' "\${secret#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf '%s.%s.%s' "$id" "$now" "$body" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
curl -sS "$url" -H 'Content-Type: application/json' \\
  -H "webhook-id: $id" -H "webhook-timestamp: $now" -H "webhook-signature: v1,$signature" \\
  --data-binary "$body"
`;
}
