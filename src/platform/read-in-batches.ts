/** All rows of a list that is read page by page; `next` is asked for those after the last one of before. */
export function* inBatches<Row>(next: (last: Row | undefined) => Row[]): Generator<Row> {
  for (let rows = next(undefined); rows.length > 0; rows = next(rows.at(-1))) yield* rows;
}
