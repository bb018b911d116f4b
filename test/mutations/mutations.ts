/** A promise that is broken on purpose: `from`, which stands once in `file`, becomes `to`, and the named test fails. */
export type Mutation = {
  promise: string;
  file: string;
  from: string;
  to: string;
  test: string; // the file
  name: string; // of the test in it
};

export const MUTATIONS: Mutation[] = [
];
