import type { Source } from '../../ingestors/follow/contract.ts'

/** A source that gives its first operation once it is released: who wants to hear everything can join before. */
export const createGatedSource = <S extends Source>(
  source: S,
): { readonly source: S; readonly release: () => void } => {
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const operations: Source['operations'] = async function* (...args) {
    await gate
    yield* source.operations(...args)
  }
  return { source: { ...source, operations }, release }
}
