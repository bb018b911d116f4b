/** Who is asking; null for anybody. */
export type Viewer = {
  id: number;
  username: string;
  displayName: string;
  role: 'admin' | 'member';
  via: 'session' | 'token';
  /** Of the session or token, so that signing out ends just this one. */
  credentialId: number;
};
