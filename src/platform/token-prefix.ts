/** Every API token begins with this, so that one that leaked into a text can be found and revoked. */
export const TOKEN_PREFIX = 'hub_';
