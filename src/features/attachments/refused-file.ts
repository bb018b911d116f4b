/**
 * `type`: not one of the admitted types, or not what the name's extension says (415).
 * `damaged`: of an admitted type, but not whole (422). `dimensions`: more pixels than are admitted (422).
 */
export type RefusalKind = 'type' | 'damaged' | 'dimensions';

/** Thrown for a file that is not kept because of what it holds; the message is for the person who sent it. */
export class RefusedFile extends Error {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, reason: string) {
    super(reason);
    this.kind = kind;
  }
}
